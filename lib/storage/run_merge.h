/* run_merge.h - many sorted sources into one: union without repeats, a slice at a time.
 *
 * Shape:   sources are runs and one sorted array in memory; any of them may be empty.
 * Errors:  those of run.h.
 * Owner:   borrows what it is given; readers must be at their beginning (or sought alike).
 * Threads: none; one at a time.
 */
#ifndef ORBLOOM_STORAGE_RUN_MERGE_H
#define ORBLOOM_STORAGE_RUN_MERGE_H

#include "storage/run.h"

enum { RUN_MERGE_MAX = 64 /* runs at once */ };

/* Sort ascending and drop repeats; returns how many are left. `spare` has room for as many. */
size_t run_sort(uint64_t *fingerprints, uint64_t *spare, size_t count);

struct run_merge;

MUST_USE enum status run_merge_create(struct run_reader *const *runs, size_t nruns,
                                      const uint64_t *sorted, size_t nsorted,
                                      struct run_merge **out);
void run_merge_destroy(struct run_merge **merge);

/* Up to `room` more fingerprints of the union, ascending; *count 0 at the end. */
MUST_USE enum status run_merge_next(struct run_merge *self, uint64_t *into, size_t room,
                                    size_t *count);

/* Which of a filter's runs to merge next: pure. Runs of like size are merged, so that each
 * fingerprint is rewritten about log4(n) times and a filter has few runs. Returns how many
 * indices were put into `chosen`; 0: none need merging. */
size_t run_merge_plan(const struct record_run *runs, size_t nruns, size_t chosen[RUN_MERGE_MAX]);

#endif
