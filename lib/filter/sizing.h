/* sizing.h - how many bits a filter needs for its capacity and rate, and the way back.
 *
 * Keys fall on lines like balls into bins, so a line holds a Poisson number of keys with
 * mean lambda = z n / lines, however the keys spread over shards. A line with j keys lets
 * an absent key pass with (1 - (63/64)^j)^8, hence
 *     rate(z = 1) = sum over j of Poisson(j; lambda) (1 - (63/64)^j)^8
 *     rate(z = 2) = (the same sum)^2, up to 1 % more when measured: a pair of lines in one
 *                   page shares lambda / 63 keys.
 * A plan keeps the expected rate at 0.9 of the asked one, and for small filters lower:
 * four standard deviations of the rate of one filter must still fit under the bound. Where a shard
 * has less than a page of lines, both hold even with the most keys that each shard may take.
 * Where two arrays of the same keys are asked and "present" of either decides, their rates add
 * up: the sum is kept at 0.94, and two standard deviations of it under the bound.
 *
 * Units:   capacity and keys count distinct fingerprints; rates are probabilities.
 * Errors:  STATUS_INVALID for arguments outside their range; outputs untouched then.
 * Threads: any; no state.
 * Source:  Putze, Sanders, Singler (2007), section 3, for one bit a lane; Bloom (1970) for
 *          the classic filter.
 */
#ifndef ORBLOOM_FILTER_SIZING_H
#define ORBLOOM_FILTER_SIZING_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define SIZING_CAPACITY_MAX     UINT64_C(1000000000000)
#define SIZING_CAPACITY_GROWTH  64 /* max_capacity when not given, in capacities. */
#define SIZING_RATE_MIN         1e-9
#define SIZING_RATE_MAX         0.5
#define SIZING_SHARD_BITS_MIN   4
#define SIZING_SHARD_BITS_MAX   12
#define SIZING_SHARD_BYTES_GOAL (UINT64_C(32) << 20) /* At max_capacity. */

struct sizing_request {
    uint64_t capacity;     /* 1 .. SIZING_CAPACITY_MAX */
    double rate;           /* SIZING_RATE_MIN .. SIZING_RATE_MAX */
    uint64_t max_capacity; /* 0 (64 capacities) or capacity .. 64 SIZING_CAPACITY_MAX */
};

struct sizing_plan {
    uint32_t shard_bits;
    uint32_t z;
    uint64_t lines; /* Per shard: 1 to 63, or a multiple of 64; see lines.h. */
    uint64_t shard_bytes;
    uint64_t total_bytes; /* All shards, one replica. */
    double bits_per_key;  /* At capacity. */
    double expected_rate; /* At capacity, by the model. */
};

/* What one generation's arrays are, of all shards together. */
struct sizing_array {
    uint64_t lines; /* > 0 */
    uint32_t z;
    uint64_t capacity; /* It takes no more keys than that. */
};

/* What a generation is to be read beside: another one, with so many keys in both. */
struct sizing_mix {
    struct sizing_array other;
    uint64_t keys;
    double rate; /* The bound of the sum. */
};

/* The classic filter: k hashes into one array of m bits. */
struct sizing_classic {
    uint64_t bits;
    uint32_t hashes;
    double rate; /* With these rounded numbers. */
    double bits_per_key;
};

/* A new filter: shard_bits follow from max_capacity, the rest from capacity and rate. */
MUST_USE enum status sizing_plan_make(const struct sizing_request *request,
                                      struct sizing_plan *plan);

/* A new generation of a filter whose shard_bits (0 .. 12) were fixed at creation;
 * max_capacity is not read. */
MUST_USE enum status sizing_plan_generation(const struct sizing_request *request,
                                            uint32_t shard_bits, struct sizing_plan *plan);

/* The same with as many lines more as it takes that sizing_mixes() holds of `mix`. Where the other
 * array leaves less than 0.04 of the bound, as it has more keys than it is for, the new one
 * is made for that much. */
MUST_USE enum status sizing_plan_beside(const struct sizing_request *request, uint32_t shard_bits,
                                        const struct sizing_mix *mix, struct sizing_plan *plan);

/* With so many keys in each of two arrays, as far as it takes them: does the sum of both rates
 * stay within the bound? */
bool sizing_mixes(const struct sizing_array *a, const struct sizing_array *b, uint64_t keys,
                  double rate);

/* The most keys with which they do, up to `most`. */
uint64_t sizing_mix_keys(const struct sizing_array *a, const struct sizing_array *b, uint64_t most,
                         double rate);

/* The model's rate with `keys` distinct keys in lines_total > 0 lines (all shards). */
double sizing_rate(uint64_t keys, uint64_t lines_total, uint32_t z);

/* Distinct keys, estimated from the bits set: -64 ln(1 - fill) keys a line, over z.
 * bits_total is a multiple of 512, > 0. When every bit is set, a lower bound. */
uint64_t sizing_estimate_keys(uint64_t bits_set, uint64_t bits_total, uint32_t z);

/* m = ceil(-n ln p / (ln 2)^2), k = round(m/n ln 2). Ranges as in sizing_request. */
MUST_USE enum status sizing_classic_make(uint64_t capacity, double rate,
                                         struct sizing_classic *classic);

/* (1 - e^(-k n/m))^k, m/n = bits_per_key > 0, k = hashes > 0. */
double sizing_classic_rate(double bits_per_key, uint32_t hashes);

#endif
