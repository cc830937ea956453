/* mixed.h - the course in which everything happens at once: filters come and go, grow, replicas
 * move, and faults of every kind hit every kind of process.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_MIXED_H
#define ORBLOOM_TESTS_TORTURE_MIXED_H

#include "tests/torture/run.h"

/* Start all that, but for the faults. */
void mixed_begin(struct run *run);

void mixed_run(struct run *run);

#endif
