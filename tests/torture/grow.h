/* grow.h - the thread that has filters grow and shrink, while everything else goes on: another
 * capacity, another rate, taken back half-way; some filters grow by themselves besides.
 *
 * What is asked for never has less room than a filter's keys need, and never a rate above the one
 * that it was made for. That a coordinator refuses, as another change is under way or keys are too
 * many by now, is fine.
 *
 * Errors:  watch.h finds an expansion that does not come to its end.
 * Threads: grow_thread() is the body of one.
 */
#ifndef ORBLOOM_TESTS_TORTURE_GROW_H
#define ORBLOOM_TESTS_TORTURE_GROW_H

#include "tests/torture/torture.h"

struct grow_thread {
    struct torture *torture;
    uint64_t random;
};

/* Until torture.ending. */
void *grow_thread(void *context);

#endif
