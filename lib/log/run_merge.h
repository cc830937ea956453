/* run_merge.h - many sorted sources into one: union without repeats, a slice at a time.
 *
 * Shape:   sources are runs and sorted arrays in memory; any of them may be empty.
 * Errors:  those of run.h; STATUS_TOO_LARGE: more than RUN_MERGE_MAX sources.
 * Owner:   borrows what it is given; readers must be at their beginning (or sought alike).
 * Threads: none; one at a time.
 */
#ifndef ORBLOOM_LOG_RUN_MERGE_H
#define ORBLOOM_LOG_RUN_MERGE_H

#include "log/run.h"

enum { RUN_MERGE_MAX = 64 /* sources at once */ };

/* Sort ascending and drop repeats; returns how many are left. `spare` has room for as many.
 * `count` is below 2^32. */
size_t run_sort(uint64_t *fingerprints, uint64_t *spare, size_t count);

struct run_merge;

/* Ascending; repeats are fine. */
struct run_array {
    const uint64_t *fingerprints;
    size_t count;
};

MUST_USE enum status run_merge_create(struct run_reader *const *runs, size_t nruns,
                                      const struct run_array *arrays, size_t narrays,
                                      struct run_merge **out);
void run_merge_destroy(struct run_merge **merge);

/* The next `room` (1 or more) fingerprints of the union, ascending; fewer only at the end, then
 * none. After an error, which says that a source can't be read, every call repeats it. */
MUST_USE enum status run_merge_next(struct run_merge *self, uint64_t *into, size_t room,
                                    size_t *count);

/* Runs of one set (filter, keyset, slice) are merged when RUN_MERGE_LEAST of a tier have come
 * together, RUN_MERGE_MOST at once. The lowest tier holds runs of less than RUN_TIER_KEYS; each
 * tier above RUN_MERGE_LEAST times as many as the one below. A merge so lifts what it rewrites by a
 * tier (repeats apart): n fingerprints are rewritten about log8(n / RUN_TIER_KEYS) times, and a
 * set has less than RUN_MERGE_LEAST runs a tier when nothing is left to merge. Runs are only ever
 * read from end to end, so it matters little how many there are. */
enum { RUN_MERGE_LEAST = 8, RUN_MERGE_MOST = 16, RUN_TIER_KEYS = 4096 };

/* Which runs to merge next, of those of one filter: the smallest of the lowest tier that has
 * enough, `least` (RUN_MERGE_LEAST, but for tests; 2 or more). Pure. Returns how many indices were
 * put into `chosen`, all of one set; 0: none need merging. Takes nruns^2 steps at most. */
size_t run_merge_plan(const struct record_run *runs, size_t nruns, size_t least,
                      size_t chosen[RUN_MERGE_MOST]);

#endif
