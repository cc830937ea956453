/* move.h - the thread that moves replicas, while everything else goes on: a node is drained and
 * comes back, one after the other, and now and then gets its share again by a rebalance.
 *
 * A drained node is offered as `spare` for a moment: a fault may take another one's data, and its
 * replicas are given to the spare before it returns.
 *
 * Errors:  to the tally: a drain that can't be taken back within the cluster's time.
 * Threads: move_thread() is the body of one.
 */
#ifndef ORBLOOM_TESTS_TORTURE_MOVE_H
#define ORBLOOM_TESTS_TORTURE_MOVE_H

#include "tests/torture/admin.h"
#include "tests/torture/watch.h"

struct move_thread {
    struct torture *torture;
    struct watch_thread *watch;
    uint64_t random;
};

/* Who gives the commands. */
struct move {
    struct torture *torture;
    struct watch_thread *watch;
    uint64_t *random;
    struct admin admin;
};

/* One attempt; `undo` is tried until it is done. False: refused. Daemons by index. */
bool move_drain(struct move *self, uint32_t index, bool undo);

/* Until nothing is left on it, for so long. */
bool move_await_empty(const struct move *self, uint32_t index, uint64_t most_ms);

/* Until torture.ending; no node is being drained then. */
void *move_thread(void *context);

#endif
