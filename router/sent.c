/* A table of places, linked in the order of sending. A number is the place, from 1 on, and above it
 * a count of all that were ever sent, so that whoever has the place next has another number. */
#include "router/sent.h"

#include "base/heap.h"

#include <assert.h>

enum { ROUND_BITS = 32 };

struct sent_place {
    struct sent_message message;
    uint32_t round; /* 0: it is free */
    uint32_t older;
    uint32_t newer; /* of a free one: the next free one */
};

void sent_fini(struct sent *self)
{
    heap_free(self->places);
    *self = (struct sent){.round = self->round};
}

bool sent_reserve(struct sent *self)
{
    return self->free != 0 ||
           (self->used < UINT32_MAX &&
            heap_grow(&self->places, &self->capacity, self->used + 1, sizeof *self->places));
}

static struct sent_place *at(const struct sent *self, uint32_t place)
{
    assert(place != 0 && place <= self->used);
    return &self->places[place - 1];
}

static uint32_t free_place(struct sent *self)
{
    uint32_t place = self->free;

    if (place != 0) {
        self->free = at(self, place)->newer;
        return place;
    }
    assert(self->used < self->capacity); /* It was reserved. */
    return (uint32_t)++self->used;
}

uint64_t sent_add(struct sent *self, const struct sent_message *message)
{
    uint32_t place = free_place(self);

    self->round = self->round < UINT32_MAX ? self->round + 1 : 1;
    *at(self, place) = (struct sent_place){
        .message = *message,
        .round = self->round,
        .older = self->newest,
    };
    *(self->newest != 0 ? &at(self, self->newest)->newer : &self->oldest) = place;
    self->newest = place;
    return (uint64_t)self->round << ROUND_BITS | place;
}

static void take(struct sent *self, uint32_t place, struct sent_message *out)
{
    struct sent_place *one = at(self, place);

    assert(one->round != 0);
    *out = one->message;
    *(one->older != 0 ? &at(self, one->older)->newer : &self->oldest) = one->newer;
    *(one->newer != 0 ? &at(self, one->newer)->older : &self->newest) = one->older;
    one->round = 0;
    one->newer = self->free;
    self->free = place;
}

bool sent_take(struct sent *self, uint64_t number, struct sent_message *out)
{
    uint32_t place = (uint32_t)number;
    uint32_t round = (uint32_t)(number >> ROUND_BITS);

    /* It comes from outside. */
    if (round == 0 || place == 0 || place > self->used || at(self, place)->round != round) {
        return false;
    }
    take(self, place, out);
    return true;
}

bool sent_take_old(struct sent *self, uint64_t before_us, struct sent_message *out)
{
    if (self->oldest == 0 || at(self, self->oldest)->message.sent_us >= before_us) {
        return false;
    }
    take(self, self->oldest, out);
    return true;
}
