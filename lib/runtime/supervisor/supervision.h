/* supervision.h - what a process tells its supervisor, and when. Pure.
 *
 *   starting   EXTEND_TIMEOUT_USEC: a boot may take as long as it has to
 *   serving    READY=1, and WATCHDOG=1 where there is a watchdog
 *   stopping   STOPPING=1, EXTEND_TIMEOUT_USEC
 *
 * again and again as long as it moves, as a datagram may be lost where many speak; in each of them
 * STATUS, a line for people, when it is another one than before. Of a process that does not move
 * nothing else is said, and so it is ended.
 *
 * Units:   microseconds of a monotonic clock.
 * Threads: none.
 */
#ifndef ORBLOOM_RUNTIME_SUPERVISOR_SUPERVISION_H
#define ORBLOOM_RUNTIME_SUPERVISOR_SUPERVISION_H

#include "base/telemetry/health.h"

enum {
    SUPERVISION_EVERY_US = 5000000,   /* so often it speaks, or oftener */
    SUPERVISION_EXTEND_US = 30000000, /* what is no boot any more, where there is no watchdog */
    SUPERVISION_TEXT_BYTES = HEALTH_WHY_BYTES + 256
};

enum supervision_stage { SUPERVISION_STARTING, SUPERVISION_SERVING, SUPERVISION_STOPPING };

struct supervision {
    uint64_t watchdog_us; /* how long it may be silent; 0: for ever */
    enum supervision_stage stage;
    bool refused; /* the last SIGHUP */
    uint64_t next_us;
    char status[SUPERVISION_TEXT_BYTES]; /* as it was told last */
};

/* In its first stage. */
void supervision_init(struct supervision *self, uint64_t watchdog_us);

/* It serves from now on, unless it is about to end; it is due to say so. */
void supervision_ready(struct supervision *self);

/* What is to be said at once, as there may be no next time: the first time STOPPING=1, then "". */
const char *supervision_stop(struct supervision *self);

/* SIGHUP: what is to be said before, `mono_us` being the time by CLOCK_MONOTONIC; "" of one that
 * does not serve. Afterwards it is due to say that it is ready. */
const char *supervision_reload(const struct supervision *self, uint64_t mono_us,
                               char text[SUPERVISION_TEXT_BYTES]);
void supervision_reloaded(struct supervision *self, bool refused);

static inline bool supervision_due(const struct supervision *self, uint64_t now_us)
{
    return now_us >= self->next_us;
}

/* What is to be said now: `moves` tells whether it hangs, `fitness` whether it is of use. */
const char *supervision_beat(struct supervision *self, uint64_t now_us, const struct health *moves,
                             const struct health *fitness, char text[SUPERVISION_TEXT_BYTES]);

#endif
