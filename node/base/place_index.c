/* Each slot holds hash and place in one word. Removing closes the gap instead of marking it, so
 * searches stay short however often things come and go. */
#include "node/base/place_index.h"

#include "base/heap.h"

#include <assert.h>

enum { LEAST_SLOTS = 16 };

enum status place_index_init(struct place_index *self, size_t most)
{
    size_t nslots = LEAST_SLOTS;

    while (nslots < most + most / 2) { /* at most two thirds full */
        nslots *= 2;
    }
    *self = (struct place_index){.mask = nslots - 1};
    self->slots = heap_zalloc(nslots, sizeof *self->slots);
    return self->slots != NULL ? STATUS_OK : STATUS_NOMEM;
}

void place_index_fini(struct place_index *self)
{
    heap_free(self->slots);
    *self = (struct place_index){0};
}

static uint64_t slot_of(uint32_t hash, uint32_t place)
{
    return (uint64_t)hash << 32 | (place + 1);
}

void place_index_put(struct place_index *self, uint32_t hash, uint32_t place)
{
    size_t at = hash & self->mask;

    assert(place < UINT32_MAX);
    while (self->slots[at] != 0) {
        at = (at + 1) & self->mask;
    }
    self->slots[at] = slot_of(hash, place);
}

/* Those behind the gap that may fill it do, so that no search ends too early. */
static void close_gap(struct place_index *self, size_t gap)
{
    for (size_t at = (gap + 1) & self->mask; self->slots[at] != 0; at = (at + 1) & self->mask) {
        size_t home = (self->slots[at] >> 32) & self->mask;

        if (((at - home) & self->mask) >= ((at - gap) & self->mask)) {
            self->slots[gap] = self->slots[at];
            gap = at;
        }
    }
    self->slots[gap] = 0;
}

void place_index_remove(struct place_index *self, uint32_t hash, uint32_t place)
{
    size_t at = hash & self->mask;

    while (self->slots[at] != slot_of(hash, place)) {
        assert(self->slots[at] != 0);
        at = (at + 1) & self->mask;
    }
    close_gap(self, at);
}

bool place_index_next(const struct place_index *self, uint32_t hash, size_t *at, uint32_t *place)
{
    for (;; ++*at) {
        uint64_t slot = self->slots[(hash + *at) & self->mask];

        if (slot == 0) {
            return false;
        }
        if (slot >> 32 == hash) {
            *place = (uint32_t)slot - 1;
            ++*at;
            return true;
        }
    }
}
