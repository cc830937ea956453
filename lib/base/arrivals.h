/* arrivals.h - requests that have come and wait for their turn, by user: see fair_queue.h.
 *
 * Only a part of what waits is served in one turn of a loop, so that whoever comes meanwhile does
 * not wait for all of it.
 *
 * Bounds:  bytes that wait, of all users together; whoever has something waiting may have no more
 *          than is free with it. So N that send all they can leave about 1/(N + 1) to others.
 * Errors:  arrivals_push: STATUS_OVERLOADED, STATUS_NOMEM; then nothing was kept.
 * Owner:   what is kept is a copy; arrivals_pop()'s caller frees it.
 * Threads: none.
 */
#ifndef ORBLOOM_BASE_ARRIVALS_H
#define ORBLOOM_BASE_ARRIVALS_H

#include "base/actor.h"
#include "base/fair_queue.h"

struct arrival {
    struct fair_entry waits; /* first: an entry is its arrival */
    struct peer from;
    uint64_t deadline_us; /* it is not wanted any more then */
    size_t size;
    uint8_t bytes[];
};

struct arrivals {
    struct fair_queue queue;
    uint64_t bytes;
    uint64_t most_bytes;
    uint64_t turn_bytes; /* of requests that are served in one turn; the last one may pass it */
    uint64_t served;     /* bytes, in this turn */
};

void arrivals_init(struct arrivals *self, uint64_t most_bytes, uint64_t turn_bytes);
void arrivals_fini(struct arrivals *self);

/* Also what is late waits for its turn: whoever takes it looks at its deadline. */
MUST_USE enum status arrivals_push(struct arrivals *self, uint32_t user, const struct peer *from,
                                   uint64_t deadline_us, struct span bytes);

/* A turn of the loop begins. */
void arrivals_turn(struct arrivals *self);

/* Who is served next in this turn; NULL: nobody waits, or the turn is over. heap_free() it. */
struct arrival *arrivals_pop(struct arrivals *self);

/* ... out of turn, to make room for another one; NULL: nobody waits. */
struct arrival *arrivals_take(struct arrivals *self);

static inline bool arrivals_wait(const struct arrivals *self)
{
    return self->queue.count > 0;
}

#endif
