/* Buckets of the histogram: one for each microsecond up to 63, from there on 32 for each
 * doubling. */
#include "base/telemetry/latency.h"

enum { SUB_BITS = 5, SUBS = 1 << SUB_BITS };

/* 0 to 63 us have a bucket each; from there on 32 a doubling. */
static uint32_t bucket_of(uint64_t latency_us)
{
    uint32_t shift = 0;
    uint32_t bucket;

    while (latency_us >> shift >= 2 * SUBS) {
        shift++;
    }
    bucket = shift * SUBS + (uint32_t)(latency_us >> shift);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The longest time that belongs to a bucket. */
static uint64_t end_of(uint32_t bucket)
{
    uint32_t shift = bucket < 2 * SUBS ? 0 : bucket / SUBS - 1;

    return ((uint64_t)(bucket - shift * SUBS + 1) << shift) - 1;
}

void latency_add(struct latency *self, uint64_t latency_us)
{
    self->counts[bucket_of(latency_us)]++;
    self->total++;
}

uint64_t latency_quantile_us(const struct latency *self, double share)
{
    double wanted = share * (double)self->total;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        sum += self->counts[i];
        if (sum > 0 && (double)sum >= wanted) {
            return end_of(i);
        }
    }
    return 0;
}

void latency_fade(struct latency *self)
{
    uint32_t half = 0; /* What is odd goes on to the next bucket, so that thin tails stay. */

    self->total = 0;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        half += self->counts[i];
        self->counts[i] = half / 2;
        self->total += self->counts[i];
        half %= 2;
    }
}
