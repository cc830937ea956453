/* pace.h - how fast a filter fills, from what is seen of it now and then, and when it will be full.
 *
 * The pace is that of the last half hour to an hour, or since it was first seen; but for the minute
 * after that, in which whoever made it may have filled it at once. One that has not grown for some
 * minutes has none. A filter that loses keys, as one that is rebuilt, begins anew.
 *
 * Units:   microseconds of the actor's clock, keys.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_COORDINATOR_WEB_PACE_H
#define ORBLOOM_COORDINATOR_WEB_PACE_H

#include <stdint.h>

#define PACE_LEAST_US UINT64_C(60000000)
#define PACE_HALF_US  UINT64_C(1800000000)
#define PACE_QUIET_US UINT64_C(300000000)

/* Nobody plans for what is further away. */
#define PACE_MOST_S (UINT64_C(10) * 365 * 24 * 3600)

#define PACE_UNKNOWN UINT64_MAX

/* Zeroed: it was not seen yet. */
struct pace {
    uint64_t first_us; /* when it was seen first */
    uint64_t from_us;
    uint64_t from_keys;
    uint64_t half_us; /* what `from` is to be next */
    uint64_t half_keys;
    uint64_t last_keys; /* as it was seen last ... */
    uint64_t grown_us;  /* ... and it had grown */
};

/* It has so many keys now; times rise, and are above 0. */
void pace_note(struct pace *self, uint64_t now_us, uint64_t keys);

/* Keys a second; 0: it does not fill, or that is not known yet. */
double pace_keys_per_s(const struct pace *self, uint64_t now_us, uint64_t keys);

/* In how many seconds it has `capacity` keys; PACE_UNKNOWN: that can't be told. */
uint64_t pace_full_in_s(const struct pace *self, uint64_t now_us, uint64_t keys, uint64_t capacity);

#endif
