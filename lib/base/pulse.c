/* The two questions at each beat: was the gap a pause, and for how long do frames still count as
 * having waited through it? */
#include "base/pulse.h"

void pulse_beat(struct pulse *self, uint64_t now_us)
{
    if (self->last_us != 0 && now_us > self->last_us + PULSE_PAUSE_US) {
        if (now_us >= self->handed_us) { /* Else what waited for the pause before may still come. */
            self->paused_us = self->last_us;
        }
        self->handed_us = now_us + PULSE_HANDOVER_US;
    }
    self->last_us = now_us;
}

uint64_t pulse_waited_us(const struct pulse *self, uint64_t now_us)
{
    return now_us < self->handed_us ? now_us - self->paused_us : 0;
}
