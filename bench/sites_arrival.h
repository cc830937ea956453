/* sites_arrival.h - when keys that one site has acknowledged are present at the other one.
 *
 * That one is asked again and again about those that it did not call present yet. A false positive
 * counts as there.
 *
 * Errors:  false, said on stderr.
 * Threads: sites_arrival_sample() starts one and ends it.
 */
#ifndef ORBLOOM_BENCH_SITES_ARRIVAL_H
#define ORBLOOM_BENCH_SITES_ARRIVAL_H

#include "base/telemetry/latency.h"
#include "bench/sites_clusters.h"

/* Add single keys at the first site for so long, numbered from `first`, one every few ms; into
 * `lag` goes the time of each, from its acknowledgement until a check at the second site has called
 * it present. */
bool sites_arrival_sample(const struct sites_clusters *clusters, const char *filter, uint64_t first,
                          uint64_t for_us, struct latency *lag);

struct sites_arrival {
    uint64_t first_us; /* from the call until the first one was there ... */
    uint64_t all_us;   /* ... and until all were */
};

/* Wait at a site until keys `first` to `first + count` are there, of which one of 64 is asked for,
 * and the last ones. A minute at most. */
bool sites_arrival_wait(const struct sites_cluster *site, const char *filter, uint64_t first,
                        uint64_t count, struct sites_arrival *out);

#endif
