/* The limit minus what clients are served, and always a share of it: looked at anew every 50 ms,
 * and spent like a token bucket. */
#include "node/array/expansion_throttle.h"

#include <assert.h>
#include <stdbool.h>

#define SECOND_US UINT64_C(1000000)
#define LOOK_US   UINT64_C(50000)
#define STALE_US  UINT64_C(1000000) /* an average over longer tells nothing of now */
#define TURN_US   UINT64_C(4000)
#define SAVED_US  UINT64_C(5000) /* what a timer of whole milliseconds comes late, and more */

static uint64_t rate_beside(uint64_t served_a_second, uint64_t limit)
{
    uint64_t floor = limit / EXPANSION_THROTTLE_FLOOR > 0 ? limit / EXPANSION_THROTTLE_FLOOR : 1;

    return served_a_second < limit - floor ? limit - served_a_second : floor;
}

/* What is served is not known at first: it may be much. */
static void look(struct expansion_throttle *self, uint64_t now_us, uint64_t served, uint64_t limit)
{
    uint64_t past_us = now_us - self->looked_us;
    bool known = self->rate > 0 && past_us <= STALE_US;

    self->rate = rate_beside(known ? (served - self->served) * SECOND_US / past_us : limit, limit);
    self->looked_us = now_us;
    self->served = served;
}

uint64_t expansion_throttle_ready_us(struct expansion_throttle *self, uint64_t now_us,
                                     uint64_t served, uint64_t limit)
{
    if (self->rate == 0 || now_us - self->looked_us >= LOOK_US) {
        look(self, now_us, served, limit);
    }
    return self->free_us > now_us ? self->free_us : now_us;
}

uint64_t expansion_throttle_most(const struct expansion_throttle *self)
{
    uint64_t keys = self->rate * TURN_US / SECOND_US;

    return keys > 0 ? keys : 1;
}

void expansion_throttle_take(struct expansion_throttle *self, uint64_t now_us, uint64_t keys)
{
    uint64_t floor_us = now_us > SAVED_US ? now_us - SAVED_US : 0;

    assert(self->rate > 0); /* Whoever takes has asked whether it may. */
    if (self->free_us < floor_us) {
        self->free_us = floor_us;
    }
    self->free_us += keys * SECOND_US / self->rate;
}
