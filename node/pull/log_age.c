/* A few marks (time, end of the log), spaced by the delay, tell up to where the log is older
 * than that. */
#include "node/pull/log_age.h"

#include <string.h>

void log_age_init(struct log_age *self, uint64_t end)
{
    *self = (struct log_age){.settled = end};
}

static void drop_old(struct log_age *self, uint64_t now_us, uint64_t delay_us)
{
    uint32_t old = 0;

    while (old < self->count && now_us - self->marks[old].at_us >= delay_us) {
        self->settled = self->marks[old++].end;
    }
    self->count -= old;
    memmove(self->marks, self->marks + old, self->count * sizeof self->marks[0]);
}

void log_age_note(struct log_age *self, uint64_t now_us, uint64_t end, uint64_t delay_us)
{
    /* So about half of the marks are younger than the delay at any time, and one is always free. */
    uint64_t spacing = delay_us / (LOG_AGE_MARKS / 2);
    const struct log_age_mark *last = self->count > 0 ? &self->marks[self->count - 1] : NULL;

    if (last != NULL && (last->end == end || now_us - last->at_us < spacing)) {
        return;
    }
    drop_old(self, now_us, delay_us);
    if (self->count < LOG_AGE_MARKS && end != self->settled) {
        self->marks[self->count++] = (struct log_age_mark){now_us, end};
    }
}

uint64_t log_age_settled(struct log_age *self, uint64_t now_us, uint64_t delay_us)
{
    drop_old(self, now_us, delay_us);
    return self->settled;
}
