/* batch_set.h - which batches a replica has: intervals of numbers, bounded, never a wrong "yes".
 *
 * Routers number the batches of a slot group one after the other, so what a replica was sent is
 * nearly always one interval for each router. What peers tell of their logs is compared with that,
 * and only what is lacking is fetched. Memory is bounded by forgetting: the series used longest
 * ago of its bucket, the lowest interval of a series that has too many. Forgotten counts as
 * lacking, and is fetched once more than needed.
 *
 * Shape:   a series is one router's boot, filter, epoch, lineage, slice and slot group.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_CLUSTER_BATCH_SET_H
#define ORBLOOM_CLUSTER_BATCH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATCH_SET_BUCKETS = 128, BATCH_SET_WAYS = 8, BATCH_SET_RANGES = 64 };

struct batch_series_key {
    uint64_t boot;
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t slice;
    uint32_t lineage;
    uint32_t group;
};

struct number_range {
    uint64_t first;
    uint64_t last;
};

struct batch_series {
    struct batch_series_key key;
    uint64_t used; /* clock of the set at the last use; 0: free */
    uint32_t nranges;
    struct number_range ranges[BATCH_SET_RANGES]; /* ascending, none touches the next */
};

/* Some 1.1 MB, touched as it is used; zeroed it is empty. */
struct batch_set {
    uint64_t clock;
    struct batch_series series[BATCH_SET_BUCKETS][BATCH_SET_WAYS];
};

void batch_set_add(struct batch_set *self, const struct batch_series_key *key, uint64_t number);

bool batch_set_has(struct batch_set *self, const struct batch_series_key *key, uint64_t number);

/* What of [first, last] is not in the set, ascending: BATCH_SET_RANGES + 1 ranges at most. Returns
 * how many `out` got; it has room for all. */
size_t batch_set_lacking(struct batch_set *self, const struct batch_series_key *key, uint64_t first,
                         uint64_t last, struct number_range *out, size_t room);

#endif
