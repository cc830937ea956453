/* A ring of names of batches in order of the log; beyond its room the oldest are forgotten, and
 * are read from the log instead. */
#include "node/store/batch_ring.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "node/store/private.h"

enum { FIRST_ENTRIES = 256 };

void batch_ring_init(struct batch_ring *self, uint64_t from)
{
    self->ring = NULL;
    self->capacity = 0;
    self->first = 0;
    self->count = 0;
    self->from = from;
    self->most = STORAGE_RECENT_TOLD;
}

void batch_ring_fini(struct batch_ring *self)
{
    heap_free(self->ring);
    batch_ring_init(self, UINT64_MAX);
}

static struct batch_ring_batch *at(const struct batch_ring *self, size_t index)
{
    return &self->ring[(self->first + index) & (self->capacity - 1)];
}

/* Room for one more; false: no memory. */
static bool grow(struct batch_ring *self)
{
    size_t capacity = self->capacity > 0 ? self->capacity * 2 : FIRST_ENTRIES;
    struct batch_ring_batch *ring = heap_alloc(capacity, sizeof *ring);

    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < self->count; i++) {
        ring[i] = *at(self, i);
    }
    heap_free(self->ring);
    self->ring = ring;
    self->capacity = capacity;
    self->first = 0;
    return true;
}

/* All entries of a record go together: from the next one's offset on all is known. */
static void forget_oldest(struct batch_ring *self)
{
    uint64_t offset = at(self, 0)->offset;

    while (self->count > 0 && at(self, 0)->offset == offset) {
        self->first = (self->first + 1) & (self->capacity - 1);
        self->count--;
    }
    self->from = offset + 1;
}

void batch_ring_add(struct batch_ring *self, const struct record_batch *batch, uint64_t offset,
                    uint64_t end)
{
    for (uint32_t i = 0; i < batch->ntargets; i++) {
        if (self->count == STORAGE_RECENT_MOST) {
            forget_oldest(self);
        }
        if (self->count == self->capacity && !grow(self)) {
            /* No record may be known by some of its targets: all up to its end is forgotten. */
            batch_ring_fini(self);
            self->from = end;
            return;
        }
        *at(self, self->count++) = (struct batch_ring_batch){
            .offset = offset,
            .filter_id = batch->filter_id,
            .slice = batch->targets[i].slice,
            .epoch = batch->epoch,
            .producer_id = batch->batch_producer,
            .number = batch->batch_number,
            .keyset = batch->targets[i].keyset,
            .group = batch->group,
            .count = batch->count,
            .repaired = batch->repaired,
            .relayed = batch->relayed,
            .fed = batch->fed,
            .partial = batch->partial,
        };
    }
}

/* The first entry that is not below `offset`. */
static size_t place_of(const struct batch_ring *self, uint64_t offset)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (at(self, middle)->offset < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_of(const struct batch_ring_batch *batch, const struct storage_set *set)
{
    return batch->filter_id == set->filter_id && batch->keyset == set->keyset &&
           batch->slice == set->slice;
}

static struct record_batch named(const struct batch_ring_batch *batch)
{
    return (struct record_batch){
        .filter_id = batch->filter_id,
        .epoch = batch->epoch,
        .batch_producer = batch->producer_id,
        .batch_number = batch->number,
        .group = batch->group,
        .repaired = batch->repaired,
        .relayed = batch->relayed,
        .fed = batch->fed,
        .partial = batch->partial,
        .ntargets = 1,
        .targets = {{.slice = batch->slice, .keyset = batch->keyset}},
        .count = batch->count,
    };
}

bool batch_ring_tell(struct batch_ring *self, struct storage_read *read, uint64_t to)
{
    size_t count = 0;
    size_t index;

    if (read->from < self->from) {
        return false;
    }
    for (index = place_of(self, read->from); index < self->count; index++) {
        const struct batch_ring_batch *batch = at(self, index);
        bool begins = index == 0 || at(self, index - 1)->offset != batch->offset;

        if (batch->offset >= to || (begins && count >= self->most)) {
            break;
        }
        if (is_of(batch, &read->set)) {
            self->told[count] = named(batch);
            self->told_offsets[count++] = batch->offset;
        }
    }
    read->batches = self->told;
    read->offsets = self->told_offsets;
    read->nbatches = count;
    read->fingerprints = NULL;
    read->count = 0;
    read->end = index == self->count || at(self, index)->offset >= to;
    read->next = !read->end ? at(self, index)->offset : to > read->from ? to : read->from;
    return true;
}

bool batch_ring_filters(const struct batch_ring *self, uint64_t from, uint64_t to, uint64_t *ids,
                        size_t most, size_t *count, uint64_t *next)
{
    size_t index;

    if (from < self->from) {
        return false;
    }
    *count = 0;
    *next = to > from ? to : from;
    for (index = place_of(self, from); index < self->count; index++) {
        const struct batch_ring_batch *batch = at(self, index);

        if (batch->offset >= to) {
            break;
        }
        if (*count == most) { /* A record's targets have one filter. */
            *next = batch->offset;
            break;
        }
        if (batch->producer_id != 0 && batch->number != 0 &&
            (*count == 0 || ids[*count - 1] != batch->filter_id)) {
            ids[(*count)++] = batch->filter_id;
        }
    }
    return true;
}

static bool has_filter(const struct storage_own *own, uint64_t filter_id)
{
    size_t low = 0;
    size_t high = own->nfilters;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (own->filters[middle] < filter_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < own->nfilters && own->filters[low] == filter_id;
}

bool storage_own_has(const struct storage_own *own, uint64_t filter_id, bool repaired, bool relayed)
{
    return !repaired && (!relayed || MUTANT(TAIL_RELAYED)) && has_filter(own, filter_id);
}

bool batch_ring_own(const struct batch_ring *self, const struct storage_own *own, uint64_t from,
                    uint64_t to, uint64_t *next, bool *found)
{
    size_t index;
    size_t end;

    if (from < self->from) {
        return false;
    }
    *found = false;
    index = place_of(self, from);
    end = self->count - index > STORAGE_RECENT_LOOKED ? index + STORAGE_RECENT_LOOKED : self->count;
    for (; index < end && at(self, index)->offset < to; index++) {
        const struct batch_ring_batch *batch = at(self, index);

        if (storage_own_has(own, batch->filter_id, batch->repaired, batch->relayed)) {
            *found = true;
            break;
        }
    }
    *next = index < self->count && at(self, index)->offset < to ? at(self, index)->offset
            : to > from                                         ? to
                                                                : from;
    return true;
}
