/* checks.h - acknowledged keys asked for, many batches in flight, every answer judged.
 *
 * An "absent" is a lost key. No answer, from whom all replicas may be asked, is asked again until
 * there is one or the cluster's time is up; from a set of replicas it is only counted.
 *
 * Errors:  all that must end the torture goes to the tally.
 * Owner:   checks_open()'s caller calls checks_close().
 * Threads: one a struct checks.
 */
#ifndef ORBLOOM_TESTS_TORTURE_CHECKS_H
#define ORBLOOM_TESTS_TORTURE_CHECKS_H

#include "client/orbloom.h"
#include "tests/torture/torture.h"

enum { CHECKS_BATCH = 4096, CHECKS_DEPTH = 8 };

struct checks_batch {
    struct ledger_filter *filter; /* taken; put back when the batch is answered */
    uint64_t numbers[CHECKS_BATCH];
    uint32_t count;
    uint32_t slots; /* 0: all */
    bool insist;    /* ask until every key is answered */
    bool never;     /* keys that were never added */

    uint64_t expiry_ms; /* until then all must be there */
    uint32_t state;     /* an enum tally_state: the filter's when it was asked */

    bool busy; /* the rest is checks.c's */
    bool waiting;
    uint64_t first_ms;
    uint64_t again_ms;
    uint32_t times; /* it was asked again */
    char keys[CHECKS_BATCH * LEDGER_KEY_BYTES];
};

struct checks {
    struct torture *torture;
    struct orbloom *handle;
    const char *routers;
    uint32_t lengths[CHECKS_BATCH];
    struct checks_batch batches[CHECKS_DEPTH];
};

/* Fill filter, numbers, count, slots, insist and never; false: there is nothing more. */
typedef bool (*checks_fill_fn)(void *context, struct checks_batch *batch);

/* NULL: said in the tally. */
struct checks *checks_open(struct torture *torture, const char *routers);
void checks_close(struct checks **self);

/* Until `fill` has no more and everything is answered, or the torture has failed. */
void checks_run(struct checks *self, checks_fill_fn fill, void *context);

#endif
