#include "router/latency.h"

enum { SUB_BITS = 2, SUBS = 1 << SUB_BITS };

/* 0 to 7 us have a bucket each; from there on four a doubling. */
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

/* The first time that belongs to the next bucket. */
static uint64_t end_of(uint32_t bucket)
{
    uint32_t shift = bucket < 2 * SUBS ? 0 : bucket / SUBS - 1;

    return (uint64_t)(bucket - shift * SUBS + 1) << shift;
}

void latency_add(struct latency *self, uint64_t latency_us)
{
    self->counts[bucket_of(latency_us)]++;
    self->total++;
    if (self->total < LATENCY_HALF_AT) {
        return;
    }
    self->total = 0;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        self->counts[i] /= 2;
        self->total += self->counts[i];
    }
}

uint64_t latency_quantile_us(const struct latency *self, double share)
{
    double wanted = share * self->total;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        sum += self->counts[i];
        if (sum > 0 && sum >= wanted) {
            return end_of(i);
        }
    }
    return 0;
}
