/* Two places where it was seen, half an hour apart at least; the older one goes when the newer one
 * is old enough. */
#include "coordinator/web/pace.h"

#include <assert.h>

void pace_note(struct pace *self, uint64_t now_us, uint64_t keys)
{
    assert(now_us > 0 && now_us >= self->half_us);
    if (self->first_us == 0 || keys < self->last_keys) {
        *self = (struct pace){.first_us = now_us};
    }
    if (now_us - self->first_us <= PACE_LEAST_US) {
        self->from_us = self->half_us = now_us;
        self->from_keys = self->half_keys = keys;
    } else if (now_us - self->half_us >= PACE_HALF_US) {
        self->from_us = self->half_us;
        self->from_keys = self->half_keys;
        self->half_us = now_us;
        self->half_keys = keys;
    }
    self->grown_us = keys > self->last_keys ? now_us : self->grown_us;
    self->last_keys = keys;
}

double pace_keys_per_s(const struct pace *self, uint64_t now_us, uint64_t keys)
{
    uint64_t for_us = now_us - self->from_us;

    if (self->first_us == 0 || for_us < PACE_LEAST_US || keys <= self->from_keys ||
        (keys <= self->last_keys && now_us - self->grown_us > PACE_QUIET_US)) {
        return 0;
    }
    return (double)(keys - self->from_keys) * 1e6 / (double)for_us;
}

uint64_t pace_full_in_s(const struct pace *self, uint64_t now_us, uint64_t keys, uint64_t capacity)
{
    double keys_per_s = pace_keys_per_s(self, now_us, keys);
    double left_s;

    if (keys_per_s <= 0 || keys >= capacity) {
        return PACE_UNKNOWN;
    }
    left_s = (double)(capacity - keys) / keys_per_s;
    return left_s <= (double)PACE_MOST_S ? (uint64_t)left_s : PACE_UNKNOWN;
}
