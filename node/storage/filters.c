#include "base/heap.h"
#include "node/storage/private.h"

#include <string.h>

/* The first place whose id is not below `id`. */
static size_t place_of(const struct storage_filters *self, uint64_t id)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool storage_filters_have(const struct storage_filters *self, uint64_t id)
{
    size_t place = place_of(self, id);

    return place < self->count && self->ids[place] == id;
}

bool storage_filters_add(struct storage_filters *self, uint64_t id)
{
    size_t place = place_of(self, id);

    if (place < self->count && self->ids[place] == id) {
        return true;
    }
    if (self->count == self->capacity) {
        size_t capacity = self->capacity * 2 + 16;
        uint64_t *grown = heap_realloc(self->ids, capacity, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        self->ids = grown;
        self->capacity = capacity;
    }
    memmove(self->ids + place + 1, self->ids + place, (self->count - place) * sizeof *self->ids);
    self->ids[place] = id;
    self->count++;
    return true;
}

void storage_filters_fini(struct storage_filters *self)
{
    heap_free(self->ids);
    *self = (struct storage_filters){0};
}
