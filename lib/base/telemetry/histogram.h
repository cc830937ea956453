/* histogram.h - how long many things took, in buckets that every process has alike, so that they
 * can be added up over processes and over time.
 *
 * 16 buckets, from 100 us, each twice as long as the one before, and one for what took longer.
 * latency.h tells quantiles of one process, and more finely.
 *
 * Units:   microseconds.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BASE_TELEMETRY_HISTOGRAM_H
#define ORBLOOM_BASE_TELEMETRY_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 16, HISTOGRAM_LEAST_US = 100 };

/* Begins as zeros. */
struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS + 1]; /* of each bucket alone; the last one has no bound */
    uint64_t sum_us;
};

/* What is in a bucket took no longer than this. */
static inline uint64_t histogram_bound_us(unsigned bucket)
{
    return (uint64_t)HISTOGRAM_LEAST_US << bucket;
}

static inline void histogram_add(struct histogram *self, uint64_t duration_us)
{
    unsigned bucket = 0;

    while (bucket < HISTOGRAM_BUCKETS && duration_us > histogram_bound_us(bucket)) {
        bucket++;
    }
    self->counts[bucket]++;
    self->sum_us += duration_us;
}

#endif
