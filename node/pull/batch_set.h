/* batch_set.h - which batches a replica has: intervals of numbers, bounded, never a wrong "yes".
 *
 * Routers number the batches of a slot group one after the other, so what a replica was sent is
 * nearly always one interval for each router. What peers tell of their logs is compared with that,
 * and only what is lacking is fetched. Memory is bounded by forgetting: the series used longest
 * ago of its bucket, the lowest interval of a series that has too many. Forgotten counts as
 * lacking, and is fetched once more than needed.
 *
 * Shape:   a series is of one producer, filter, epoch, keyset, slice and slot group.
 * With as many series under way as there are filters, a set that is too small for them forgets what
 * comes again and again: replicas would tell each other the same batches for ever. So it is made
 * for as many as there are.
 *
 * Errors:  batch_set_reserve(): STATUS_NOMEM, and the set is as before; elsewhere what there is no
 *          memory for is forgotten.
 * Owner:   batch_set_fini().
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_BATCH_SET_H
#define ORBLOOM_NODE_PULL_BATCH_SET_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATCH_SET_BUCKETS = 128 /* at least */, BATCH_SET_WAYS = 8, BATCH_SET_RANGES = 64 };

struct batch_series_key {
    uint64_t producer_id;
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t slice;
    uint32_t keyset;
    uint32_t group;
};

struct number_range {
    uint64_t first;
    uint64_t last;
};

struct batch_series {
    struct batch_series_key key;
    uint64_t used; /* clock of the set at the last use */
    uint32_t nranges;
    struct number_range ranges[BATCH_SET_RANGES]; /* ascending, none touches the next */
};

/* Some 1.1 KB for each series; zeroed it is empty, and made for few. */
struct batch_set {
    uint64_t clock;
    unsigned bits;                /* of the hash, which choose a bucket */
    struct batch_series **series; /* BATCH_SET_WAYS a bucket; NULL: free */
};

void batch_set_fini(struct batch_set *self); /* or NULL */

/* Room for so many series, nearly all of them at once; never less than before. */
MUST_USE enum status batch_set_reserve(struct batch_set *self, size_t nseries);

/* Forget all. */
void batch_set_clear(struct batch_set *self);

void batch_set_add(struct batch_set *self, const struct batch_series_key *key, uint64_t number);

bool batch_set_has(struct batch_set *self, const struct batch_series_key *key, uint64_t number);

/* The numbers of [first, last] that are not in the set, ascending: BATCH_SET_RANGES + 1 ranges at
 * most. Returns how many `out` got; it has room for all. */
size_t batch_set_lacking(struct batch_set *self, const struct batch_series_key *key, uint64_t first,
                         uint64_t last, struct number_range *out, size_t room);

#endif
