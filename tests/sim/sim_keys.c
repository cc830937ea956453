/* A hash set of numbers with open addressing; it only grows. */
#include "tests/sim/sim_keys.h"

#include "base/heap.h"
#include "tests/sim/sim_memory.h"

#include <assert.h>

enum { FIRST_PLACES = 64 };

void sim_keys_fini(struct sim_keys *self)
{
    heap_free(self->places);
    *self = (struct sim_keys){0};
}

/* Where the key is, or would be. */
static size_t place_of(const struct sim_keys *self, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (self->nplaces - 1);

    while (self->places[at] != 0 && self->places[at] != key) {
        at = (at + 1) & (self->nplaces - 1);
    }
    return at;
}

static void grow(struct sim_keys *self)
{
    struct sim_keys grown = {.nplaces = self->nplaces > 0 ? 2 * self->nplaces : FIRST_PLACES,
                             .count = self->count};

    grown.places = sim_memory_alloc(grown.nplaces, sizeof *grown.places);
    for (size_t i = 0; i < self->nplaces; i++) {
        if (self->places[i] != 0) {
            grown.places[place_of(&grown, self->places[i])] = self->places[i];
        }
    }
    heap_free(self->places);
    *self = grown;
}

void sim_keys_add(struct sim_keys *self, uint64_t key)
{
    size_t at;

    assert(key != 0);
    if (2 * self->count >= self->nplaces) {
        grow(self);
    }
    at = place_of(self, key);
    self->count += self->places[at] == 0;
    self->places[at] = key;
}

bool sim_keys_has(const struct sim_keys *self, uint64_t key)
{
    return self->nplaces > 0 && self->places[place_of(self, key)] != 0;
}
