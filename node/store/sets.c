/* What belongs to a set; and a sorted list of sets with the stretch of the log in which each
 * occurs, so that reading one back skips the rest of the log. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/store/private.h"

#include <string.h>

bool storage_set_has(const struct storage_set *set, const struct record_run *run)
{
    return run->filter_id == set->filter_id && run->keyset == set->keyset &&
           run->slice == set->slice;
}

bool storage_set_gets(const struct storage_set *set, const struct record_batch *batch)
{
    if (MUTANT(OLD_KEYSET_REPLAYED)) {
        return batch->filter_id == set->filter_id;
    }
    for (uint32_t i = 0; i < batch->ntargets; i++) {
        if (batch->filter_id == set->filter_id && batch->targets[i].keyset == set->keyset &&
            batch->targets[i].slice == set->slice) {
            return true;
        }
    }
    return false;
}

/* ---- the list ---- */

static int compare(const struct storage_set *a, const struct storage_set *b)
{
    if (a->filter_id != b->filter_id) {
        return a->filter_id < b->filter_id ? -1 : 1;
    }
    if (a->keyset != b->keyset) {
        return a->keyset < b->keyset ? -1 : 1;
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

        if (compare(&self->items[middle].set, set) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct storage_sets *self, size_t place, const struct storage_set *set)
{
    return place < self->count && compare(&self->items[place].set, set) == 0;
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
    if (!heap_grow(&self->items, &self->capacity, self->count + 1, sizeof *self->items)) {
        return false;
    }
    memmove(self->items + place + 1, self->items + place,
            (self->count - place) * sizeof *self->items);
    self->items[place] = (struct storage_known){.set = *set};
    self->count++;
    return true;
}

bool storage_sets_add(struct storage_sets *self, const struct record_batch *batch)
{
    bool all = true;

    for (uint32_t i = 0; i < batch->ntargets; i++) {
        const struct storage_set set = {.filter_id = batch->filter_id,
                                        .slice = batch->targets[i].slice,
                                        .keyset = batch->targets[i].keyset};

        all = add(self, &set) && all;
    }
    return all;
}

static void note(struct storage_sets *self, const struct storage_set *set, uint64_t offset,
                 uint64_t end, uint64_t merged)
{
    size_t place = place_of(self, set);
    struct storage_known *known = is_at(self, place, set) ? &self->items[place] : NULL;

    if (known == NULL) {
        return;
    }
    if (known->end == 0 && self->forgotten > merged) {
        known->first = merged; /* It may have been here before. */
    } else if (known->end <= merged) {
        known->first = offset;
    }
    known->end = end;
}

void storage_sets_note(struct storage_sets *self, const struct record_batch *batch, uint64_t offset,
                       uint64_t merged)
{
    uint64_t end = offset + record_size(record_batch_size(batch));

    for (uint32_t i = 0; i < batch->ntargets; i++) {
        const struct storage_set set = {.filter_id = batch->filter_id,
                                        .slice = batch->targets[i].slice,
                                        .keyset = batch->targets[i].keyset};

        note(self, &set, offset, end, merged);
    }
}

void storage_sets_narrow(const struct storage_sets *self, const struct storage_set *set,
                         uint64_t *from, uint64_t *to)
{
    size_t place = place_of(self, set);
    bool known = is_at(self, place, set);
    uint64_t first = known ? self->items[place].first : 0;
    uint64_t end = known ? self->items[place].end : self->forgotten;

    if (MUTANT(CUT_NARROW)) {
        end = first;
    }
    *from = first > *from ? first : *from;
    *to = end < *to ? end : *to;
}

void storage_sets_keep(struct storage_sets *self, uint64_t log_end,
                       bool (*wanted)(void *context, const struct storage_set *set), void *context)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (wanted(context, &self->items[i].set)) {
            self->items[kept++] = self->items[i];
        }
    }
    if (kept < self->count) {
        self->forgotten = log_end;
    }
    self->count = kept;
}

void storage_sets_fini(struct storage_sets *self)
{
    heap_free(self->items);
    *self = (struct storage_sets){0};
}
