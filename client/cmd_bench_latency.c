#include "client/cmd_bench_latency.h"

enum { SUB_BITS = 5, SUBS = 1 << SUB_BITS };

unsigned latency_bucket(uint64_t latency_us)
{
    unsigned shift = 0;
    unsigned bucket;

    while (latency_us >> shift >= 2 * SUBS) {
        shift++;
    }
    bucket = shift * SUBS + (unsigned)(latency_us >> shift);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

double latency_bucket_us(unsigned bucket)
{
    unsigned shift = bucket < 2 * SUBS ? 0 : bucket / SUBS - 1;
    uint64_t value = bucket - shift * SUBS;

    return (double)(((value + 1) << shift) - 1);
}

void latency_add(struct latency *self, uint64_t latency_us)
{
    self->buckets[latency_bucket(latency_us)]++;
    self->count++;
}

double latency_at(const struct latency *self, double share)
{
    double wanted = share * (double)self->count;
    uint64_t sum = 0;

    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        sum += self->buckets[i];
        if (sum > 0 && (double)sum >= wanted) {
            return latency_bucket_us(i);
        }
    }
    return 0;
}
