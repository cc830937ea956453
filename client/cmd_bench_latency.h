/* cmd_bench_latency.h - latencies in buckets no wider than 4 % of their value.
 *
 * Units:   microseconds.
 * Threads: none.
 */
#ifndef ORBLOOM_CLIENT_CMD_BENCH_LATENCY_H
#define ORBLOOM_CLIENT_CMD_BENCH_LATENCY_H

#include <stdint.h>

enum { LATENCY_BUCKETS = 1024 };

struct latency {
    uint64_t buckets[LATENCY_BUCKETS];
    uint64_t count;
};

void latency_add(struct latency *self, uint64_t latency_us);

/* What a share (0 to 1) of them did not exceed, within 4 %; 0 when there are none. */
double latency_at(const struct latency *self, double share);

/* The latency's bucket and the bucket's upper end. */
unsigned latency_bucket(uint64_t latency_us);
double latency_bucket_us(unsigned bucket);

#endif
