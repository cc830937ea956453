/* healing.h - how much is asked of a cluster that heals: machines are of any speed.
 *
 * Errors:  none.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_TESTS_TORTURE_HEALING_H
#define ORBLOOM_TESTS_TORTURE_HEALING_H

#include <stdbool.h>
#include <stdint.h>

/* From something destroyed to everything whole. */
enum healing {
    HEALING_STORM,  /* other faults come meanwhile, but for those that destroy data */
    HEALING_CALM,   /* no faults: it gets peace */
    HEALING_EASED,  /* ... and little to do: it gets time */
    HEALING_FAILED, /* it took longer than the cluster's patience */
};

enum healing healing_after(uint64_t took_ms, uint64_t patience_ms);

/* Adds a second, of `pace`. */
uint64_t healing_pace(uint64_t pace, bool eased);

#endif
