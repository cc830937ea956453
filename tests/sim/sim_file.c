#include "tests/sim/sim_file.h"

#include "base/heap.h"
#include "tests/sim/sim_memory.h"

#include <assert.h>

/* ---- images ---- */

static void grow(struct sim_image *self, uint64_t size)
{
    size_t old = self->capacity;

    if (size <= self->size) {
        return;
    }
    self->bytes = sim_memory_reserve(self->bytes, &self->capacity, size, 1);
    memset(self->bytes + old, 0, self->capacity - old);
    self->size = size;
}

static void put(struct sim_image *self, uint64_t offset, const uint8_t *bytes, size_t size)
{
    grow(self, offset + size);
    if (size > 0) {
        memcpy(self->bytes + offset, bytes, size);
    }
}

/* Bytes behind an image's end are zeros always, so that it may grow without a look. */
static void copy(struct sim_image *to, const struct sim_image *from)
{
    if (to->size > from->size) {
        memset(to->bytes + from->size, 0, to->size - from->size);
    }
    to->size = 0;
    put(to, 0, from->bytes, from->size);
}

/* ---- files ---- */

static void add_pending(struct sim_file *self, uint64_t offset, struct span bytes, uint64_t grown)
{
    struct sim_write *write;

    self->pending = sim_memory_reserve(self->pending, &self->capacity, self->npending + 1,
                                       sizeof *self->pending);
    write = &self->pending[self->npending++];
    *write = (struct sim_write){.offset = offset, .size = bytes.size, .grown = grown};
    if (bytes.size > 0) {
        write->bytes = sim_memory_alloc(bytes.size, 1);
        memcpy(write->bytes, bytes.data, bytes.size);
    }
}

static void forget_pending(struct sim_file *self)
{
    for (size_t i = 0; i < self->npending; i++) {
        heap_free(self->pending[i].bytes);
    }
    self->npending = 0;
}

struct sim_file *sim_file_create(uint64_t size)
{
    struct sim_file *self = sim_memory_alloc(1, sizeof *self);

    grow(&self->seen, size);
    add_pending(self, 0, span_of(NULL, 0), size);
    return self;
}

void sim_file_free(struct sim_file **file)
{
    struct sim_file *self = *file;

    *file = NULL;
    if (self == NULL) {
        return;
    }
    forget_pending(self);
    heap_free(self->pending);
    heap_free(self->seen.bytes);
    heap_free(self->durable.bytes);
    sim_keys_fini(&self->keys);
    heap_free(self);
}

struct sim_file *sim_file_copy(const struct sim_file *file)
{
    struct sim_file *self = sim_memory_alloc(1, sizeof *self);

    copy(&self->seen, &file->seen);
    copy(&self->durable, &file->seen);
    self->flipped = file->flipped;
    self->settled = file->settled;
    self->synced = file->synced;
    return self;
}

static void forget_keys(struct sim_file *self)
{
    sim_keys_fini(&self->keys);
    self->read_to = 0;
}

void sim_file_write(struct sim_file *self, uint64_t offset, struct span bytes)
{
    if (offset < self->read_to) { /* It becomes another segment. */
        forget_keys(self);
    }
    put(&self->seen, offset, bytes.data, bytes.size);
    add_pending(self, offset, bytes, self->seen.size);
}

void sim_file_sync(struct sim_file *self)
{
    uint64_t lowest = UINT64_MAX;

    for (size_t i = 0; i < self->npending; i++) {
        const struct sim_write *write = &self->pending[i];

        grow(&self->durable, write->grown);
        put(&self->durable, write->offset, write->bytes, write->size);
        lowest = write->size > 0 && write->offset < lowest ? write->offset : lowest;
    }
    self->settled = lowest != UINT64_MAX ? lowest : self->settled;
    self->synced = self->synced || self->npending > 0;
    forget_pending(self);
}

/* ---- what power loss leaves ---- */

/* One sector's share of a write. */
static void keep_sector(struct sim_file *self, const struct sim_write *write, uint64_t sector)
{
    uint64_t from = sector * SIM_SECTOR_BYTES;
    uint64_t to = from + SIM_SECTOR_BYTES;
    uint64_t end = write->offset + write->size;

    from = from > write->offset ? from : write->offset;
    to = to < end ? to : end;
    put(&self->durable, from, write->bytes + (from - write->offset), to - from);
}

/* `lost` has a flag a sector: a sector that has missed one write shows no later one. */
static void keep_some(struct sim_file *self, const struct sim_write *write,
                      struct sim_random *random, uint8_t *lost)
{
    static const uint32_t keeps[] = {0, 0, 300, 800, 1000, 1000};
    uint32_t permille = keeps[sim_random_below(random, sizeof keeps / sizeof keeps[0])];
    uint64_t end = write->offset + write->size;

    if (sim_random_chance(random, permille)) {
        grow(&self->durable, write->grown);
    }
    for (uint64_t at = write->offset / SIM_SECTOR_BYTES; at * SIM_SECTOR_BYTES < end; at++) {
        lost[at] |= !sim_random_chance(random, permille);
        if (lost[at] == 0 && write->size > 0) {
            keep_sector(self, write, at);
        }
    }
}

static void keep_subset(struct sim_file *self, struct sim_random *random)
{
    uint8_t *lost;

    if (self->npending == 0) {
        return;
    }
    lost = sim_memory_alloc(self->seen.size / SIM_SECTOR_BYTES + 1, 1);
    for (size_t i = 0; i < self->npending; i++) {
        keep_some(self, &self->pending[i], random, lost);
    }
    forget_pending(self);
    heap_free(lost);
}

void sim_file_fail_sync(struct sim_file *self, struct sim_random *random)
{
    keep_subset(self, random);
    forget_keys(self);
}

void sim_file_lose(struct sim_file *self, struct sim_random *random)
{
    keep_subset(self, random);
    copy(&self->seen, &self->durable);
    forget_keys(self);
}

void sim_file_flip(struct sim_file *self, uint64_t offset, unsigned bit)
{
    self->flipped = true;
    assert(self->npending == 0 && offset < self->seen.size && offset < self->durable.size);
    self->seen.bytes[offset] ^= (uint8_t)(1U << bit);
    self->durable.bytes[offset] ^= (uint8_t)(1U << bit);
    forget_keys(self);
}
