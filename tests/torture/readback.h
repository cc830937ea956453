/* readback.h - threads that read acknowledged keys back, one through each router.
 *
 * A pass after faults: the newest keys and as many random ones of all filters, of everyone, and
 * samples of both through each set of R replicas. The last pass: every key, through every set.
 * Beside them one thread checks random keys all the time, and keys that were never added.
 *
 * Threads: started by the main thread, which asks for passes.
 */
#ifndef ORBLOOM_TESTS_TORTURE_READBACK_H
#define ORBLOOM_TESTS_TORTURE_READBACK_H

#include "tests/torture/checks.h"

struct readback_thread {
    struct torture *torture;
    char router[DAEMON_ENDPOINT_BYTES];
    uint64_t random;
    _Atomic uint64_t wanted; /* passes asked for */
    _Atomic uint64_t done;
    _Atomic bool all; /* the next pass is of every key through every set */
};

/* The bodies of threads: until torture.over. */
void *readback_thread(void *context);  /* a struct readback_thread */
void *readback_endless(void *context); /* the same; `router` is not used */

/* Every key of a filter, through all sets. */
void readback_filter(struct checks *checks, struct ledger_filter *filter);

#endif
