/* churn.h - the thread that creates and drops filters, while everything else goes on.
 *
 * "keep" lives as long as the torture, and "window", which keeps its keys for a while only.
 * "turn-K", of one kind after the other, is filled, read back whole, dropped, and the next
 * one follows. "brief-a" and "brief-b" live for a moment, again and again under the same names:
 * what was acknowledged under a name after its reuse is in the new filter.
 *
 * Errors:  to the tally: a filter that can't be created or dropped within the cluster's time.
 * Threads: churn_thread() is the body of one; churn_begin() is called before any is started.
 */
#ifndef ORBLOOM_TESTS_TORTURE_CHURN_H
#define ORBLOOM_TESTS_TORTURE_CHURN_H

#include "tests/torture/torture.h"

struct churn_thread {
    struct torture *torture;
    uint64_t random;
};

/* Create "keep" and "window". */
bool churn_begin(struct torture *torture);

/* Until torture.ending. */
void *churn_thread(void *context);

#endif
