/* Which counts of lookups are still of the arrays as they are. */
#include "node/array/probe_tally.h"

#include <assert.h>
#include <stdbool.h>

static bool has_filled(const struct probe_window *window, const struct probed_arrays *arrays)
{
    return arrays->keys > window->keys + arrays->keys_capacity / PROBE_KEYS_SHARE;
}

void probe_tally_follow(struct probe_tally *self, uint64_t now_us,
                        const struct probed_arrays *arrays)
{
    const struct probe_window fresh = {.since_us = now_us, .keys = arrays->keys};

    assert(arrays->mark != 0);
    if (self->mark != arrays->mark || has_filled(&self->now, arrays)) {
        *self = (struct probe_tally){.mark = arrays->mark, .now = fresh, .before = fresh};
    } else if (now_us - self->now.since_us >= PROBE_WINDOW_US ||
               has_filled(&self->before, arrays)) {
        self->before = self->now;
        self->now = fresh;
    }
}

void probe_tally_add(struct probe_tally *self, struct probe_count count)
{
    assert(self->mark != 0 && count.hits <= count.probes);
    self->now.count.probes += count.probes;
    self->now.count.hits += count.hits;
}

struct probe_count probe_tally_sum(const struct probe_tally *self)
{
    return (struct probe_count){
        .probes = self->now.count.probes + self->before.count.probes,
        .hits = self->now.count.hits + self->before.count.hits,
    };
}
