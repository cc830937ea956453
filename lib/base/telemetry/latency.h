/* latency.h - how long something takes: quantiles of many times, in fixed memory.
 *
 * A histogram with 32 buckets to each doubling: a quantile is never too short, and too long by
 * at most 4 %. Where only recent times matter, latency_fade() now and then lets old ones go.
 *
 * Units:   microseconds; what is longer than 70 minutes counts as that.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BASE_TELEMETRY_LATENCY_H
#define ORBLOOM_BASE_TELEMETRY_LATENCY_H

#include <stdint.h>

enum { LATENCY_BUCKETS = 928 };

/* All zero: nothing known. */
struct latency {
    uint64_t total;
    uint32_t counts[LATENCY_BUCKETS];
};

void latency_add(struct latency *self, uint64_t latency_us);

/* The time that this share (0 to 1) of them did not exceed; 0 when nothing is known. */
uint64_t latency_quantile_us(const struct latency *self, double share);

/* Halve all counts. */
void latency_fade(struct latency *self);

#endif
