/* change.h - how a replica of a shard is replaced without losing an acknowledged key.
 *
 * A slot's old member is A, its new one D: another node, or another life of the same one, the
 * former being gone. Each stage is an epoch of its own:
 *
 *   v1 single: writes count with A, reads ask A. D is known.
 *   v2 pair:   writes count with A and D, reads ask A. Before v3, F members of the read set have
 *              fenced v2, and D holds what N - W + 1 of those held by then.
 *   v3 moved:  writes count with A and D, reads ask D. Before v4, F members of the old read set
 *              (A's) have fenced v3.
 *   v4 single: D alone.
 *
 * Why so: before D is read, nobody may still be told "acknowledged" by writes that D can't have
 * seen (v1's), hence the first fence, and everything older is copied. Before A is left out of
 * writes, nobody may still read A (v2's), hence the second one. F = N - min(W, R) + 1. Left out,
 * each of these loses keys: tests/models/replica_change.pml, and the mutants of the simulator.
 *
 * D is the next life of A's node where there is one, and else, when that node is to leave, what
 * move_plan.h proposes. A pair that was begun is seen through with its D, unless D's node
 * is to leave as well.
 *
 * All slots of a filter whose nodes have a new life change together, in one epoch. Slot groups are
 * independent of each other: each has quorums of its own. A group waits for the others while they
 * can go on, so that there are few epochs; it does not wait for what can't.
 *
 * If D dies in v2 its node's next life takes its place (still v2), and the way back to A alone is
 * open. If D dies in v3 the change ends with the fences of the others, and another one begins. A
 * group that has fewer than F members left, or no N - W + 1 to copy from, stays as it is, and never
 * counts what it has not; until an operator gives up what is gone, see loss.h:
 * that counts as fenced, and as copied.
 *
 * Errors:  none.
 * Owner:   the caller's arrays.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_CHANGE_H
#define ORBLOOM_COORDINATOR_PLAN_CHANGE_H

#include "coordinator/plan/evidence.h"
#include "coordinator/plan/move_plan.h"
#include "map/document.h"
#include "proto/admin_message.h"

enum slot_stage { SLOT_SINGLE, SLOT_PAIR, SLOT_MOVED };

enum slot_stage slot_stage(const struct slot *slot);

/* One legal edit of a slot. Every other one is refused. */
struct change_move {
    enum slot_stage from;
    enum slot_stage to;
    bool keeps_incoming; /* false: another one, or none */
    bool hands_over;     /* the incoming member becomes the current one; else that stays */
    bool takes_fences;   /* F of the current members, under the epoch that is left */
    bool takes_copy;     /* the incoming member is complete under that epoch */
};

/* The table; *count rows. */
const struct change_move *change_moves(size_t *count);

/* The row that leads from one to the other; NULL: there is none. */
const struct change_move *change_move_of(const struct slot *from, const struct slot *to);

enum change_action {
    CHANGE_NOTHING, /* every slot names the life that its node has */
    CHANGE_AWAIT,   /* see `wait` */
    CHANGE_WRITE,   /* the groups in `next` are the next epoch's */
};

enum change_wait {
    CHANGE_WAIT_NONE = 0,
    CHANGE_WAIT_FENCES,    /* `have` of `needed` in `group` */
    CHANGE_WAIT_COPY,      /* `who` is not complete in `group` */
    CHANGE_WAIT_REPLICAS,  /* only `have` members are left of the `needed` ones: for good, unless
                              the others come back with their data */
    CHANGE_WAIT_DISK,      /* `who` keeps memory only: there is no log to copy */
    CHANGE_WAIT_MOVE,      /* `who` is to leave `group`, and the plan has no successor: see there */
    CHANGE_WAIT_SUCCESSOR, /* `who` was given up in `group`, and nobody takes its place yet */
};

struct change_decision {
    enum change_action action;
    enum change_step step; /* unless NOTHING */
    uint32_t slots;        /* pairs under way */
    enum change_wait wait;
    uint32_t group;
    uint32_t have;
    uint32_t needed;
    struct member who;
};

/* What the nodes' present lives, and the evidence about this epoch, allow. A life that an operator
 * has confirmed to be off counts as fenced, unless it is heard of.
 *
 * `evidence`: about the document's epoch, or NULL: none yet. `alive`: for each node of the list
 * whether it was heard of lately; NULL: all are. `plan`: for slots whose nodes are to leave; NULL:
 * none is. `next`: ngroups places. */
void change_decide(const struct filter_document *document, const struct node_list *nodes,
                   const struct evidence *evidence, const bool *alive, const struct move_plan *plan,
                   struct slot_group *next, struct change_decision *out);

/* Bit s: a fence of the current member of slot s would help this group on. 0 for groups that are
 * not changing. */
uint8_t change_fences_wanted(const struct filter_document *document, const struct node_list *nodes,
                             const struct evidence *evidence, uint32_t group);

#endif
