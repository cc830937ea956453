/* pace.h - how fast batches go by. */
#ifndef ORBLOOM_LINK_PACE_H
#define ORBLOOM_LINK_PACE_H

#include <stdint.h>

/* Bytes of batches, and how many of them in a second, by the last tick. */
struct pace {
    uint64_t bytes;
    uint64_t before;
    uint64_t per_s;
    uint64_t at_us;
};

#endif
