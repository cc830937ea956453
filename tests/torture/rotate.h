/* rotate.h - the thread that replaces the cluster key, over and over, while everything else goes
 * on, as docs/security.md tells an operator to: add, renew, promote, wait until all is signed anew,
 * retire. After add, promote and retire each daemon gets the ring into its own file, and SIGHUP.
 *
 * A daemon has the ring once its log says so, or it was started since the file was there. One that
 * is dead gets it with its next start, one that is stopped when it goes on.
 *
 * Errors:  to the tally: a step that is not done within the cluster's time once faults are over.
 * Threads: rotate_thread() is the body of one; `enough` and `idle` may be used by any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_ROTATE_H
#define ORBLOOM_TESTS_TORTURE_ROTATE_H

#include "tests/torture/watch.h"

struct rotate_thread {
    struct torture *torture;
    const struct watch_thread *watch;
    uint64_t random;
    _Atomic bool
        enough;        /* the faults are over: what has begun comes to its end, and nothing more */
    _Atomic bool idle; /* no step is under way, and none will be */
};

/* From run_start_worker(); until `enough`, while the main thread serves torture.hangups. */
void *rotate_thread(void *context);

#endif
