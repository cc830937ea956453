/* node_circle.h - several nodes with disks that talk to each other, in one thread and virtual time.
 *
 * Nodes are 1 to n at tcp://node-1:7000 and so on. A coordinator gives them their ids and the node
 * list, and judges their boots as the real one does. Disks keep what was written when a node is
 * killed. Frames arrive at once, in order, unless their way is cut.
 *
 * Errors:  a failed cr_assert.
 * Owner:   circle_init()'s caller calls circle_fini().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_NODE_CIRCLE_H
#define ORBLOOM_TESTS_SUPPORT_NODE_CIRCLE_H

#include "node/private.h"
#include "tests/support/memory_disk.h"

enum {
    CIRCLE_MAX = 5,
    CIRCLE_LINKS = 250, /* that one opens, one after the other */
    CIRCLE_FRAMES = 1024,
    CIRCLE_MAX_KEYS = 65536,
    CIRCLE_ROUTER = 200, /* the producer_id of the router that adds */
    CIRCLE_GUEST = CIRCLE_MAX + 1,
};

struct circle;

/* Or the guest: another process that asks nodes and the coordinator, as a router does. */
struct circle_node {
    struct circle *circle;
    uint32_t id;
    struct effects effects;
    struct memory_disk *disk;
    struct node *node;            /* NULL: it is down */
    struct actor actor;           /* self NULL: it is down, or there is none */
    uint32_t links[CIRCLE_LINKS]; /* the node that it leads to; 0: the coordinator */
    uint32_t nlinks;
    uint32_t nclosed;
    struct job *jobs[JOB_NLANES];
    bool cut;    /* frames from and to other nodes are lost */
    bool frozen; /* nothing gets durable */
};

struct circle_frame {
    uint32_t from;
    uint32_t to; /* 0: the test, or the coordinator */
    uint32_t link;
    bool answer;
    uint8_t *bytes;
    size_t size;
};

struct circle {
    struct circle_node nodes[CIRCLE_MAX + 1]; /* the last place is the guest's */
    uint32_t count;
    uint64_t now_us;
    uint64_t random;
    struct codec_arena *arena;
    struct circle_frame frames[CIRCLE_FRAMES];
    size_t first;
    size_t last;
    uint32_t retain_mib;
    struct filter_document *stored; /* may be set: the coordinator hands it on to who registers */
    bool silent;                    /* no coordinator answers */
    /* May be set: what else the coordinator hears from the guest, and answers. */
    void (*sync_guest)(void *context, const struct sync_request *request, struct sync_reply *reply);
    void *sync_context;
    uint32_t sync_link;                     /* by which link it asks: one for each coordinator */
    struct node_record records[CIRCLE_MAX]; /* what the store says */
    bool registered[CIRCLE_MAX];
    uint64_t revision;           /* of the node list */
    uint64_t scrub_us;           /* of nodes that are started */
    uint32_t steps[NODE_NSTEPS]; /* likewise */
    uint32_t keyset;             /* adds go to that one only, as part of a list; 0: to all */
    bool relayed;                /* adds come from another site */

    /* What went between nodes. */
    uint64_t requests[PULL_FILTERS + 1]; /* by enum pull_kind */
    uint64_t bytes;
    /* May be set: looks at frames between nodes, and may change them; false: lost. */
    bool (*spy)(struct circle *circle, struct circle_frame *frame, struct frame *decoded);

    /* The answer to the test's last request. */
    struct subrequest_reply reply;
    uint64_t present[CIRCLE_MAX_KEYS / 64];
    uint64_t absent[CIRCLE_MAX_KEYS / 64];
    struct frame answer; /* valid until the next frame is decoded */
    bool answered;
};

void circle_init(struct circle *self, uint32_t count);
void circle_fini(struct circle *self);

struct node *circle_node(struct circle *self, uint32_t id);

/* A node's process ends (kill -9) and another one begins on the same disk. */
void circle_stop(struct circle *self, uint32_t id);
void circle_start(struct circle *self, uint32_t id);

/* Somebody who is no node: its effects are there before its actor is. */
const struct effects *circle_guest_effects(struct circle *self);
void circle_guest_start(struct circle *self, const struct actor *actor);
void circle_guest_stop(struct circle *self);

/* One of its jobs, if any is waiting. False: none is. */
bool circle_run_job(struct circle *self, struct circle_node *one);

/* Everything that happens within so much time. */
void circle_run(struct circle *self, uint64_t us);

/* A filter of durability sync on the first rule.replicas nodes, as they live now, one slot group
 * each when `spread`. */
void circle_document(struct circle *self, uint64_t id, const struct quorum_rule *rule,
                     uint32_t nnodes, struct filter_document *out);

/* Sign it and hand it to one node, or to all (0). Epoch and revision are what they are. */
void circle_hand(struct circle *self, struct filter_document *document, uint32_t id);

/* As a router: one batch to one node. Returns its status. */
enum status circle_add(struct circle *self, uint32_t id, const struct filter_document *document,
                       uint64_t batch, const uint64_t *fingerprints, uint32_t count);

/* How many are "present" at a FULL node, which answers; -1: it does not answer. */
int circle_count(struct circle *self, uint32_t id, const struct filter_document *document,
                 const uint64_t *fingerprints, uint32_t count);

/* How many of them are in the node's log or runs, however it stands. */
size_t circle_logged(struct circle *self, uint32_t id, const struct filter_document *document,
                     const uint64_t *fingerprints, uint32_t count);

/* What the node's log says of its batches, in order, but for their fingerprints; those that are
 * kept. At most `room`; how many. */
size_t circle_batches(struct circle *self, uint32_t id, struct record_batch *out, size_t room);

/* A frame as from another node; its answer is in `answer`. */
void circle_ask(struct circle *self, uint32_t id, struct frame *frame);

uint64_t circle_counter(const struct circle *self, uint32_t id, enum node_counter counter);

#endif
