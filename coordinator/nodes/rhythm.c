/* The longest gap of the window under way and of the one before: so long a single late report
 * counts. */
#include "coordinator/nodes/rhythm.h"

#include <stdbool.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void rhythm_note(struct rhythm *self, uint64_t last_us, uint64_t now_us, uint64_t timeout_us)
{
    uint64_t gap_us = now_us > last_us ? now_us - last_us : 0;

    if (last_us == 0 || gap_us > timeout_us) {
        *self = (struct rhythm){.first_us = now_us, .window_us = now_us};
        return;
    }
    if (now_us > self->window_us + RHYTHM_WINDOW_US) {
        self->before_us = self->longest_us;
        self->longest_us = 0;
        self->window_us = now_us;
    }
    self->longest_us = larger(self->longest_us, gap_us);
}

uint64_t rhythm_silent_after(const struct rhythm *self, uint64_t last_us, uint64_t timeout_us)
{
    uint64_t longest_us = larger(self->longest_us, self->before_us);
    uint64_t after_us = larger(timeout_us / 2, longest_us + longest_us / 2);
    bool known = last_us > self->first_us && last_us - self->first_us >= timeout_us;

    return known && after_us < timeout_us ? after_us : timeout_us;
}
