/* Two contents of a file, as seen and as durable, and the writes between them. */
#include "tests/support/memory_file.h"

#include "tests/support/plain_memory.h"
#include "tests/support/random.h"

#include <assert.h>
#include <string.h>

/* ---- images ---- */

static void grow(struct memory_image *self, uint64_t size)
{
    size_t old = self->capacity;

    if (size <= self->size) {
        return;
    }
    self->bytes = plain_reserve(self->bytes, &self->capacity, size, 1);
    memset(self->bytes + old, 0, self->capacity - old);
    self->size = size;
}

static void put(struct memory_image *self, uint64_t offset, const uint8_t *bytes, size_t size)
{
    grow(self, offset + size);
    if (size > 0) {
        memcpy(self->bytes + offset, bytes, size);
    }
}

/* Bytes behind an image's end are zeros always, so that it may grow without a look. */
static void copy(struct memory_image *to, const struct memory_image *from)
{
    if (to->size > from->size) {
        memset(to->bytes + from->size, 0, to->size - from->size);
    }
    to->size = 0;
    put(to, 0, from->bytes, from->size);
}

/* ---- files ---- */

static void add_pending(struct memory_file *self, uint64_t offset, struct span bytes,
                        uint64_t grown)
{
    struct memory_write *write;

    self->pending = plain_reserve(self->pending, &self->capacity, self->npending + 1,
                                  sizeof *self->pending);
    write = &self->pending[self->npending++];
    *write = (struct memory_write){.offset = offset, .size = bytes.size, .grown = grown};
    if (bytes.size > 0) {
        write->bytes = plain_alloc(bytes.size, 1);
        memcpy(write->bytes, bytes.data, bytes.size);
    }
}

void memory_file_forget(struct memory_file *self)
{
    for (size_t i = 0; i < self->npending; i++) {
        free(self->pending[i].bytes);
    }
    self->npending = 0;
}

struct memory_file *memory_file_create(uint64_t size)
{
    struct memory_file *self = plain_alloc(1, sizeof *self);

    grow(&self->seen, size);
    add_pending(self, 0, span_of(NULL, 0), size);
    return self;
}

void memory_file_free(struct memory_file **file)
{
    struct memory_file *self = *file;

    *file = NULL;
    if (self == NULL) {
        return;
    }
    memory_file_forget(self);
    free(self->pending);
    free(self->seen.bytes);
    free(self->durable.bytes);
    if (self->reader != NULL) {
        self->reader->release(self->reader);
    }
    free(self);
}

struct memory_file *memory_file_copy(const struct memory_file *file)
{
    struct memory_file *self = plain_alloc(1, sizeof *self);

    copy(&self->seen, &file->seen);
    copy(&self->durable, &file->seen);
    self->flipped = file->flipped;
    self->settled = file->settled;
    self->synced = file->synced;
    return self;
}

static void tell_reader(struct memory_file *self, uint64_t from)
{
    if (self->reader != NULL) {
        self->reader->changed(self->reader, from);
    }
}

void memory_file_write(struct memory_file *self, uint64_t offset, struct span bytes)
{
    tell_reader(self, offset);
    put(&self->seen, offset, bytes.data, bytes.size);
    add_pending(self, offset, bytes, self->seen.size);
}

void memory_file_sync(struct memory_file *self)
{
    uint64_t lowest = UINT64_MAX;

    for (size_t i = 0; i < self->npending; i++) {
        const struct memory_write *write = &self->pending[i];

        grow(&self->durable, write->grown);
        put(&self->durable, write->offset, write->bytes, write->size);
        lowest = write->size > 0 && write->offset < lowest ? write->offset : lowest;
    }
    self->settled = lowest != UINT64_MAX ? lowest : self->settled;
    self->synced = self->synced || self->npending > 0;
    memory_file_forget(self);
}

/* ---- what power loss leaves ---- */

/* One sector's share of a write. */
static void keep_sector(struct memory_file *self, const struct memory_write *write, uint64_t sector)
{
    uint64_t from = sector * MEMORY_SECTOR_BYTES;
    uint64_t to = from + MEMORY_SECTOR_BYTES;
    uint64_t end = write->offset + write->size;

    from = from > write->offset ? from : write->offset;
    to = to < end ? to : end;
    put(&self->durable, from, write->bytes + (from - write->offset), to - from);
}

/* `lost` has a flag a sector: a sector that has missed one write shows no later one. */
static void keep_some(struct memory_file *self, const struct memory_write *write, uint64_t *random,
                      uint8_t *lost)
{
    static const uint32_t keeps[] = {0, 0, 300, 800, 1000, 1000};
    uint32_t permille = keeps[random_below(random, sizeof keeps / sizeof keeps[0])];
    uint64_t end = write->offset + write->size;

    if (random_chance(random, permille)) {
        grow(&self->durable, write->grown);
    }
    for (uint64_t at = write->offset / MEMORY_SECTOR_BYTES; at * MEMORY_SECTOR_BYTES < end; at++) {
        lost[at] |= !random_chance(random, permille);
        if (lost[at] == 0 && write->size > 0) {
            keep_sector(self, write, at);
        }
    }
}

static void keep_subset(struct memory_file *self, uint64_t *random)
{
    uint8_t *lost;

    if (self->npending == 0) {
        return;
    }
    lost = plain_alloc(self->seen.size / MEMORY_SECTOR_BYTES + 1, 1);
    for (size_t i = 0; i < self->npending; i++) {
        keep_some(self, &self->pending[i], random, lost);
    }
    memory_file_forget(self);
    free(lost);
}

void memory_file_fail_sync(struct memory_file *self, uint64_t *random)
{
    keep_subset(self, random);
    tell_reader(self, 0);
}

void memory_file_lose(struct memory_file *self, uint64_t *random)
{
    keep_subset(self, random);
    copy(&self->seen, &self->durable);
    tell_reader(self, 0);
}

void memory_file_flip(struct memory_file *self, uint64_t offset, unsigned bit)
{
    self->flipped = true;
    assert(offset < self->seen.size);
    self->seen.bytes[offset] ^= (uint8_t)(1U << bit);
    if (offset < self->durable.size) {
        self->durable.bytes[offset] ^= (uint8_t)(1U << bit);
    }
    tell_reader(self, 0);
}
