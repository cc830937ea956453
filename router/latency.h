/* latency.h - how fast somebody answers: a quantile of recent times, in fixed memory.
 *
 * A histogram with four buckets to each doubling, so that a quantile is off by less than a
 * quarter. When it has LATENCY_HALF_AT times all counts are halved: what is old fades, and a
 * change shows within a few hundred answers.
 *
 * Units:   microseconds; what is longer than about a minute counts as that.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_ROUTER_LATENCY_H
#define ORBLOOM_ROUTER_LATENCY_H

#include <stdint.h>

enum { LATENCY_BUCKETS = 100, LATENCY_HALF_AT = 2048 };

/* All zero: nothing known. */
struct latency {
    uint32_t total;
    uint16_t counts[LATENCY_BUCKETS];
};

void latency_add(struct latency *self, uint64_t latency_us);

/* The time within which that share of the answers came: the upper end of its bucket. 0 when
 * nothing is known. */
uint64_t latency_quantile_us(const struct latency *self, double share);

#endif
