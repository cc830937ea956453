/* pull_repair.h - where do the exact sets of two replicas differ? A state machine that says what to
 * ask the source next, compares its digests with the own ones, and judges every answer.
 *
 *   ROOTS -> NODES (level by level, 64 parts a node) -> RANGES -> DONE
 *
 * Both sides digest what they held at one moment, their view. The root digests of the group's
 * shards come first; equal ones are done with. Nodes that differ are asked for the digests of their
 * 64 parts, until a node has so few fingerprints that sending them is cheaper. What the source has
 * in those ranges is sent then, and the owner of this machine takes over what his own set lacks. A
 * shard of which too much differs is sent whole.
 *
 * A range is named by its prefix: the top bits that its fingerprints share.
 *
 * Round trips: 1 for the roots, 1 a level, 1 for the ranges, as long as each fits a message.
 * Memory:  8 bytes a node that differs, REPAIR_MAX_NODES at most; beyond, shards are sent whole.
 * Errors:  STATUS_NOMEM where said.
 * Owner:   repair_fini().
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_PULL_REPAIR_H
#define ORBLOOM_NODE_PULL_PULL_REPAIR_H

#include "map/pull_message.h"

enum {
    REPAIR_LEAF_KEYS = 96,      /* about as many bytes as digests and another level take */
    REPAIR_CROWDED_PART = 8,    /* a shard of whose leaves more than 1 in 8 differ is sent whole */
    REPAIR_MAX_NODES = 1 << 20, /* of one level */
};

enum repair_phase { REPAIR_ROOTS, REPAIR_NODES, REPAIR_RANGES, REPAIR_DONE };

struct repair_list {
    uint64_t *prefixes;
    size_t count;
    size_t capacity;
};

struct repair {
    enum repair_phase phase;
    struct pull_scope scope;
    struct member source;
    uint32_t shard_bits;
    struct repair_list shards; /* of the group */

    uint64_t view;     /* the source's name for it; 0: not told yet */
    uint64_t view_end; /* all of the source's log below it is in the view */

    uint32_t leaf_bits;        /* length of the prefixes whose fingerprints are sent */
    uint32_t bits;             /* of the nodes under way */
    struct repair_list nodes;  /* NODES: whose parts are compared; RANGES: what is sent */
    size_t at;                 /* all nodes before are done */
    struct repair_list below;  /* NODES: parts that differ */
    struct repair_list copies; /* shards to be sent whole */
    uint64_t from;             /* RANGES: where to go on within the question */

    uint32_t round_trips;
    uint64_t ranges; /* sent, or to be sent */
};

/* Of a shard, as its owner digests it. */
struct repair_root {
    uint64_t digest;
    uint64_t count;
};

/* The shards of the scope's group, of 2^shard_bits; group_of_shard is borrowed for the call. */
MUST_USE enum status repair_init(struct repair *self, const struct pull_scope *scope,
                                 const struct member *source, uint32_t shard_bits,
                                 const uint16_t *group_of_shard);
void repair_fini(struct repair *self);

/* The next question; it borrows from the machine. Not in DONE. */
void repair_question(const struct repair *self, struct pull_request *out);

/* May the answer be used? As pull_judge(); also STATUS_MALFORMED: fingerprints outside of what was
 * asked for. */
MUST_USE enum status repair_judge(const struct repair *self, const struct pull_reply *reply);

/* A judged answer; the own digests are of the same ranges in the same order. STATUS_NOMEM: it
 * can't go on. */
MUST_USE enum status repair_take_roots(struct repair *self, const struct pull_reply *reply,
                                       const struct repair_root *own);
MUST_USE enum status repair_take_digests(struct repair *self, const struct pull_reply *reply,
                                         const uint64_t *own);

/* What the fingerprints of a judged answer lacked here is taken over, all of it. */
void repair_take_ranges(struct repair *self, const struct pull_reply *reply);

#endif
