/* A window of numbers for each of a few series. A series that may have been forgotten counts as
 * met: a retry is then told MAYBE_NEW. */
#include "node/replay_window.h"

#include "base/bits.h"

#include <string.h>

static bool same_key(const struct replay_window_key *a, const struct replay_window_key *b)
{
    return a->producer_id == b->producer_id && a->filter_id == b->filter_id &&
           a->epoch == b->epoch && a->group == b->group;
}

static struct replay_window_series *find(struct replay_window *self,
                                         const struct replay_window_key *key)
{
    /* Places are taken in order and never given back. */
    for (unsigned i = 0; i < REPLAY_WINDOW_SERIES && self->series[i].used != 0; i++) {
        struct replay_window_series *series = &self->series[i];

        if (same_key(&series->key, key)) {
            return series;
        }
    }
    return NULL;
}

static struct replay_window_series *oldest(struct replay_window *self)
{
    struct replay_window_series *series = &self->series[0];

    for (unsigned i = 1; i < REPLAY_WINDOW_SERIES && series->used != 0; i++) {
        if (self->series[i].used < series->used) {
            series = &self->series[i];
        }
    }
    return series;
}

/* Slide the window up to `number`, forgetting what falls out of it. */
static void slide(struct replay_window_series *series, uint64_t number)
{
    uint64_t distance = number - series->highest;

    if (distance >= REPLAY_WINDOW_NUMBERS) {
        memset(series->met, 0, sizeof series->met);
    } else {
        for (uint64_t n = series->highest; n != number;) {
            n++; /* Counted like this, as the peer chooses the number: it may be the last one. */
            bits_clear(series->met, n % REPLAY_WINDOW_NUMBERS);
        }
    }
    series->highest = number;
}

bool replay_window_met(struct replay_window *self, const struct replay_window_key *key,
                       uint64_t number)
{
    struct replay_window_series *series = find(self, key);
    bool met;

    self->clock++;
    if (series == NULL) {
        series = oldest(self);
        self->forgot = self->forgot || series->used != 0;
        *series = (struct replay_window_series){.key = *key, .highest = number};
        series->used = self->clock;
        /* Of a series that may have been forgotten, any number may have been met. */
        memset(series->met, self->forgot ? 0xff : 0, sizeof series->met);
        bits_set(series->met, number % REPLAY_WINDOW_NUMBERS);
        return self->forgot;
    }
    series->used = self->clock;
    if (number > series->highest) {
        slide(series, number);
    } else if (series->highest - number >= REPLAY_WINDOW_NUMBERS) {
        return true;
    }
    met = bits_has(series->met, number % REPLAY_WINDOW_NUMBERS);
    bits_set(series->met, number % REPLAY_WINDOW_NUMBERS);
    return met;
}
