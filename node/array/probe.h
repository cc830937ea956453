/* probe.h - looks absent keys up as checks do, to measure the rate of false positives as it is.
 *
 * The hash of an absent key is any number, so any number is an absent key: the chance that it is
 * one of n keys is n in 2^64. They are drawn of the shards of one slot group that is FULL here, and
 * looked up by what executes the checks of routers. That is what one replica says; a router
 * decides by several, which all have nearly the same bits.
 *
 * Nothing is written but counts.
 *
 * Units:   lookups; time is monotonic, in microseconds.
 * Errors:  none.
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_ARRAY_PROBE_H
#define ORBLOOM_NODE_ARRAY_PROBE_H

#include "node/array/hosted.h"

enum {
    PROBE_KEYS = 256 /* at once, at most: less than 0.1 ms, also in arrays that no cache holds */
};

/* Look `count` of them up, PROBE_KEYS at most, in the next slot group of the filter, in turn.
 * `random`: state of the generator. No probes: no group here serves checks. */
struct probe_count probe_filter(struct hosted_filter *self, const struct filter_document *document,
                                uint64_t now_us, uint32_t count, uint64_t *random);

/* What has come of those in a group's arrays as they are now; nothing where it serves no checks. */
struct probe_count probe_found(struct hosted_filter *self, const struct filter_document *document,
                               uint64_t now_us, uint32_t group);

#endif
