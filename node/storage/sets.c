#include "base/heap.h"
#include "node/storage/private.h"

#include <string.h>

static int compare(const struct storage_set *a, const struct storage_set *b)
{
    if (a->filter_id != b->filter_id) {
        return a->filter_id < b->filter_id ? -1 : 1;
    }
    if (a->lineage != b->lineage) {
        return a->lineage < b->lineage ? -1 : 1;
    }
    return (a->slice > b->slice) - (a->slice < b->slice);
}

/* The first place whose set is not below `set`. */
static size_t place_of(const struct storage_sets *self, const struct storage_set *set)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&self->items[middle], set) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct storage_sets *self, size_t place, const struct storage_set *set)
{
    return place < self->count && compare(&self->items[place], set) == 0;
}

bool storage_sets_have(const struct storage_sets *self, const struct storage_set *set)
{
    return is_at(self, place_of(self, set), set);
}

static bool add(struct storage_sets *self, const struct storage_set *set)
{
    size_t place = place_of(self, set);

    if (is_at(self, place, set)) {
        return true;
    }
    if (self->count == self->capacity) {
        size_t capacity = self->capacity * 2 + 16;
        struct storage_set *grown = heap_realloc(self->items, capacity, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        self->items = grown;
        self->capacity = capacity;
    }
    memmove(self->items + place + 1, self->items + place,
            (self->count - place) * sizeof *self->items);
    self->items[place] = *set;
    self->count++;
    return true;
}

bool storage_sets_add(struct storage_sets *self, const struct record_batch *batch)
{
    bool all = true;

    for (uint32_t i = 0; i < batch->ntargets; i++) {
        const struct storage_set set = {.filter_id = batch->filter_id,
                                        .slice = batch->targets[i].slice,
                                        .lineage = batch->targets[i].lineage};

        all = add(self, &set) && all;
    }
    return all;
}

void storage_sets_keep(struct storage_sets *self,
                       bool (*wanted)(void *context, const struct storage_set *set), void *context)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (wanted(context, &self->items[i])) {
            self->items[kept++] = self->items[i];
        }
    }
    self->count = kept;
}

void storage_sets_fini(struct storage_sets *self)
{
    heap_free(self->items);
    *self = (struct storage_sets){0};
}
