/* kernel_array.h - the line kernel on one array, beside what bounds it and what it replaces.
 *
 * Half of the keys looked up are present. Loops run over KERNEL_QUERIES keys.
 *
 * Units:   sizes in bytes; rates of loops in keys a second, error rates as shares.
 * Errors:  STATUS_NOMEM; nothing else fails.
 * Threads: none.
 */
#ifndef ORBLOOM_BENCH_KERNEL_ARRAY_H
#define ORBLOOM_BENCH_KERNEL_ARRAY_H

#include "base/status.h"
#include "filter/lines.h"

enum { KERNEL_BATCH = 1024, KERNEL_QUERIES = 1 << 22, KERNEL_SHARD_BITS = 2, KERNEL_SHARDS = 4 };

/* Filters, of which one at a time uses the array, and the classic filter beside them. */
struct kernel_array {
    uint64_t asked_bytes; /* The array has a little less: whole pages a shard. */
    uint64_t lines;       /* Per shard. */
    uint64_t size_bytes;
    uint64_t nkeys; /* What a filter for 1 % of errors would hold. */
    uint8_t *array;
    uint8_t *classic;
    uint8_t *shards[KERNEL_SHARDS];
    uint64_t *queries;   /* Every second one present. */
    uint64_t *newcomers; /* All absent, other ones in each round. */
    uint64_t *present;
    uint64_t next_key;
};

/* Filled, ready for the loops. */
MUST_USE enum status kernel_array_init(struct kernel_array *self, uint64_t size_bytes);
void kernel_array_fini(struct kernel_array *self);

/* What the machine can do: one random line a key, fetched as the kernel does, one word of it
 * read, no bits derived. The hint is 2 (fetch into the second-level cache) or 3 (first). */
double kernel_run_limit(struct kernel_array *self, int hint);

/* k = 7 double-hashed bits, key by key, stopping at the first clear bit. */
double kernel_run_classic(struct kernel_array *self);

/* In batches of KERNEL_BATCH. */
double kernel_run_check(struct kernel_array *self, uint32_t z);
double kernel_run_add(struct kernel_array *self, uint32_t z);

/* One filter at its capacity. */
struct kernel_error_rate {
    double asked;
    uint32_t z;
    double bits_per_key;
    double classic_bits_per_key; /* The textbook's, for the rate asked for. */
    double model;
    double measured;
};

enum { KERNEL_ERROR_RATES = 4 };

/* Fills anew: no loops may follow. `index` below KERNEL_ERROR_RATES. */
MUST_USE enum status kernel_error_rate(struct kernel_array *self, unsigned index,
                                       struct kernel_error_rate *out);

#endif
