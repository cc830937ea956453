/* move_plan.h - which node takes over a replica whose node is to leave.
 *
 * A node leaves when it is drained, replaced, or has been silent for too long. Each of its slots
 * needs a successor: a node that holds no slot of the group, keeps a log, is alive, does not leave
 * itself and has room; of those one on another host and zone than the rest of the group, then the
 * one with the lowest share of its memory in use. For a node that is replaced there is one
 * candidate only.
 *
 * The plan is a proposal for slots that have no successor yet, and for those whose successor is
 * to leave too. What becomes of it is for change.h; a pair that was begun goes on without
 * the plan.
 *
 * Units:   bytes of arrays.
 * Errors:  move_plan_make(): STATUS_NOMEM.
 * Owner:   move_plan_fini() frees; a zeroed plan is ready and holds nothing.
 * Threads: none; pure and deterministic.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_MOVE_PLAN_H
#define ORBLOOM_COORDINATOR_PLAN_MOVE_PLAN_H

#include "base/status.h"
#include "map/document.h"

/* A node of the list, as who plans sees it. */
struct move_node {
    const struct node_record *record;
    bool alive;
    bool leaves;          /* to be emptied, for whatever reason */
    uint64_t used_bytes;  /* of all slots that documents name it in, those under way included */
    uint64_t groups;      /* ... and how many they are */
    uint64_t most_groups; /* ... and may be; 0: any number */
};

/* Why a slot that is to leave has no successor. */
enum move_lack {
    MOVE_LACK_NONE = 0,
    MOVE_LACK_TURN,   /* other groups are moving: see `budget` */
    MOVE_LACK_NODE,   /* no other node can take it */
    MOVE_LACK_ROOM,   /* ... `candidate` could, and lacks `missing_bytes` */
    MOVE_LACK_GROUPS, /* ... and holds as many slot groups as it may */
    MOVE_LACK_LOG,    /* the filter is kept in memory only: there is nothing to copy from */
};

struct move_targets {
    uint32_t nodes[QUORUM_MAX_REPLICAS]; /* 0: the slot stays, or has a successor, or lacks one */
    uint8_t wanted;                      /* bit s: slot s needs one */
};

struct move_plan {
    struct move_targets *groups;
    uint32_t ngroups;
    enum move_lack lack; /* of the first slot that lacks one for more than its turn, else of any */
    uint32_t group;
    uint32_t leaver;    /* node */
    uint32_t candidate; /* node; 0: none */
    uint64_t missing_bytes;
    uint32_t waiting;       /* slots that are to leave and have no successor ... */
    uint64_t waiting_bytes; /* ... and their bytes */
    bool shares_host;       /* a successor shares a host with another replica of its group */
};

/* How many groups of a document are on their way from one node to another. */
uint32_t move_groups_under_way(const struct filter_document *document);

/* Bytes of one replica of a slot group: of all that it reads, for each keyset and slice. */
uint64_t move_group_bytes(const struct filter_document *document, uint32_t group);

/* Bytes of the slots that a document names the node in. */
uint64_t move_bytes_held(const struct filter_document *document, uint32_t node);

/* Slots that a document names the node in. */
uint32_t move_slots_held(const struct filter_document *document, uint32_t node);

/* Could the node come to the group? It has none of its slots, and its life was not given up there:
 * a life that was given up counts for nothing, so a replica moved to it would be lost. */
bool move_may_come(const struct filter_document *document, uint32_t group,
                   const struct node_record *record);

/* May the node hold so many slot groups more? */
bool move_may_hold(const struct move_node *node, uint64_t more);

/* Could the node be the incoming member of a pair that goes on? */
bool move_may_stay(const struct node_list *nodes, uint32_t node);

/* `nodes`: all of the list; used_bytes and groups grow by what is planned. `budget`: how many
 * groups may begin to move. `leaver`: the node whose lacks are noted, 0: those of all. */
MUST_USE enum status move_plan_make(const struct filter_document *document, struct move_node *nodes,
                                    uint32_t nnodes, uint32_t budget, uint32_t leaver,
                                    struct move_plan *out);
void move_plan_fini(struct move_plan *self);

/* The planned successor of a slot; 0: none. `self` may be NULL. */
uint32_t move_plan_target(const struct move_plan *self, uint32_t group, uint32_t slot);

/* Should the slot have a successor, and has none? */
bool move_plan_lacks(const struct move_plan *self, uint32_t group, uint32_t slot);

#endif
