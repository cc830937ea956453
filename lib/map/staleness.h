/* staleness.h - the bound of checks of a filter in several sites: "absent" is said only if all that
 * was acknowledged at each of them earlier than that before the check is known.
 *
 * Documents and requests have it as microseconds, and 1 more: 1 is a bound of 0, a fresh check; 0
 * is none. What a router makes of it: site/freshness.h.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_STALENESS_H
#define ORBLOOM_MAP_STALENESS_H

#include "base/number.h"

#include <stdbool.h>
#include <stdint.h>

#define STALENESS_MAX_US (UINT64_C(30) * 24 * 3600 * 1000000)

/* That of so many microseconds, at most STALENESS_MAX_US. */
uint64_t staleness_of(uint64_t bound_us);

/* The way back: of none one that is longer than any, UINT64_MAX. */
uint64_t staleness_bound(uint64_t max_staleness);

bool staleness_valid(uint64_t max_staleness);

/* "5s", "0", "none". Returns `text`. */
const char *staleness_show(uint64_t max_staleness, char text[NUMBER_TEXT_BYTES]);

#endif
