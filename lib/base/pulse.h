/* pulse.h - was this process stopped, and what may have waited for it meanwhile?
 *
 * Whoever is stopped (SIGSTOP, a suspended machine, a call that hangs) doesn't notice; what comes
 * then waits in sockets, and looks as if it had just come. So a loop that runs comes round at least
 * every PULSE_US and says so; a longer time between two beats was a pause. What is handed over
 * within a while after one may have waited since it began: sockets hand it over little by little.
 *
 * Units:   microseconds of a monotonic clock.
 * Threads: none.
 */
#ifndef ORBLOOM_BASE_PULSE_H
#define ORBLOOM_BASE_PULSE_H

#include <stdint.h>

enum {
    PULSE_US = 200000,         /* the loop comes round so often, or oftener */
    PULSE_PAUSE_US = 400000,   /* a longer time between two beats was a pause */
    PULSE_HANDOVER_US = 500000 /* what waited is handed over within so long after it */
};

/* Zeroed, nothing has beaten yet. */
struct pulse {
    uint64_t last_us;
    uint64_t paused_us; /* the last beat before the pause */
    uint64_t handed_us; /* until then what comes may be of before its end */
};

/* The loop has come round. */
void pulse_beat(struct pulse *self, uint64_t now_us);

/* What is handed over now has waited for so long, at most. */
uint64_t pulse_waited_us(const struct pulse *self, uint64_t now_us);

#endif
