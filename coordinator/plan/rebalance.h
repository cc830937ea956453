/* rebalance.h - which replica to move so that the fullest nodes become less full.
 *
 * A move gains when both nodes are then less full than the one it leaves was: so the fullest node's
 * share of memory in use never rises, no sequence of moves comes back to where it began, and there
 * is an end. What shares no host with another replica of its group goes on sharing none.
 *
 * Units:   bytes of arrays; shares are parts of a node's memory limit.
 * Errors:  none.
 * Owner:   the caller's arrays.
 * Threads: none; pure and deterministic.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_REBALANCE_H
#define ORBLOOM_COORDINATOR_PLAN_REBALANCE_H

#include "coordinator/plan/move_plan.h"

#include <stddef.h>

struct rebalance_move {
    const struct filter_document *document;
    uint32_t group;
    uint32_t slot;
    uint32_t from; /* nodes */
    uint32_t to;
    uint64_t bytes;
};

/* The move that gains most, after those in `done` (of which none need have been made). `documents`:
 * of filters that are served. `nodes`: used_bytes as documents say, what is under way counted at
 * both ends. False: there is nothing to gain. */
bool rebalance_next(const struct filter_document *const *documents, size_t ndocuments,
                    const struct move_node *nodes, uint32_t nnodes,
                    const struct rebalance_move *done, size_t ndone, struct rebalance_move *out);

#endif
