/* changes.h - the thread that asks for one kind of change, again and again: one after the other is
 * seen to its end.
 *
 * An expansion goes to the capacity for all keys, then to twice that and back. A drain takes the
 * nodes in turn. A replacement takes a node's data: the next one is made to take its place while it
 * is dead; each second time it comes back at once, and its replicas are copied to its next life.
 *
 * Errors:  to the tally: a change that does not come to its end.
 * Threads: changes_thread() is the body of one; the rest may be read by any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_CHANGES_H
#define ORBLOOM_TESTS_TORTURE_CHANGES_H

#include "tests/torture/move.h"

struct changes_thread {
    struct torture *torture;
    struct watch_thread *watch;
    uint64_t random;
    _Atomic bool enough;      /* no round begins any more */
    _Atomic bool underway;    /* a change is asked for, or about to be */
    _Atomic bool idle;        /* no round is going on, and none will be */
    _Atomic uint32_t leaving; /* index + 1 of the node that replicas leave */
    _Atomic uint32_t lose;    /* index + 1 of a node whose data is to be taken, */
    _Atomic bool lose_place;  /* ... and its place given away; the main thread sets lose to 0 */
    _Atomic uint64_t rounds;
};

void *changes_thread(void *context);

#endif
