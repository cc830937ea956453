/* Copies of frames in a fair queue, which costs are the bytes of. */
#include "base/arrivals.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

enum {
    TURN_PARTS = 4,      /* of a turn's bytes, one for a user at a time */
    ARRIVAL_BYTES = 256, /* what a small one costs, too */
};

void arrivals_init(struct arrivals *self, uint64_t most_bytes, uint64_t turn_bytes)
{
    assert(turn_bytes >= TURN_PARTS);
    *self = (struct arrivals){.most_bytes = most_bytes, .turn_bytes = turn_bytes};
    fair_queue_init(&self->queue, turn_bytes / TURN_PARTS);
}

struct arrival *arrivals_take(struct arrivals *self)
{
    struct arrival *next = (struct arrival *)(void *)fair_queue_pop(&self->queue);

    if (next != NULL) {
        assert(self->bytes >= next->waits.cost);
        self->bytes -= next->waits.cost;
    }
    return next;
}

void arrivals_fini(struct arrivals *self)
{
    struct arrival *next;

    while (self->queue.count > 0 && (next = arrivals_take(self)) != NULL) {
        heap_free(next);
    }
    fair_queue_fini(&self->queue);
}

enum status arrivals_push(struct arrivals *self, uint32_t user, const struct peer *from,
                          uint64_t deadline_us, struct span bytes)
{
    uint64_t cost = bytes.size + ARRIVAL_BYTES;
    uint64_t waiting = fair_queue_waiting(&self->queue, user);
    uint64_t room = self->most_bytes - self->bytes;
    struct arrival *one;

    /* One alone always may, however large, where there is room for it. */
    if (cost > room || (waiting > 0 && waiting + cost > room)) {
        return STATUS_OVERLOADED;
    }
    one = heap_alloc(sizeof *one + bytes.size, 1);
    if (one == NULL) {
        return STATUS_NOMEM;
    }
    *one = (struct arrival){.from = *from, .deadline_us = deadline_us, .size = bytes.size};
    if (bytes.size > 0) {
        memcpy(one->bytes, bytes.data, bytes.size);
    }
    if (fair_queue_push(&self->queue, user, &one->waits, cost) != STATUS_OK) {
        heap_free(one);
        return STATUS_NOMEM;
    }
    self->bytes += cost;
    return STATUS_OK;
}

void arrivals_turn(struct arrivals *self)
{
    self->served = 0;
}

struct arrival *arrivals_pop(struct arrivals *self)
{
    struct arrival *next = self->served < self->turn_bytes ? arrivals_take(self) : NULL;

    if (next != NULL) {
        self->served += next->waits.cost;
    }
    return next;
}
