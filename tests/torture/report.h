/* report.h - what the torture says at its end.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_REPORT_H
#define ORBLOOM_TESTS_TORTURE_REPORT_H

#include "tests/torture/faults.h"

/* Each lost key, once more through every router and every set of replicas. */
void report_losses(struct torture *torture);

/* The table, totals, and the closing line. Returns the exit status. */
int report_end(struct torture *torture, const struct faults *faults, uint64_t took_ms);

/* More false positives than the filters' bound allows? Told in the tally. */
void report_judge_rate(struct torture *torture);

#endif
