/* Reads a sorted run block by block, from any fingerprint on, and believes no block before its
 * checksum and order were looked at. */
#include "base/heap.h"
#include "log/read_again.h"
#include "log/run_format.h"

#include <xxhash.h>

struct run_reader {
    struct disk *disk;
    uint32_t file;
    uint64_t count;
    uint64_t nblocks;
    uint64_t next; /* block to be read next */
    uint64_t from; /* in that block, what is below is left out */
    struct run_block *index;
    uint64_t block[RUN_BLOCK_KEYS];
};

static enum status read_at(struct run_reader *self, uint64_t offset, void *into, size_t size)
{
    return read_again(self->disk, self->file, offset, into, size);
}

static enum status read_header(struct run_reader *self, uint64_t cluster,
                               const struct record_run *run)
{
    uint8_t header[RUN_HEADER_BYTES];
    enum status status = read_at(self, 0, header, sizeof header);

    return status == STATUS_OK ? run_header_check(header, cluster, run) : status;
}

static enum status read_index(struct run_reader *self)
{
    size_t size = self->nblocks * sizeof *self->index;
    uint64_t offset = run_index_offset(self->count);
    enum status status = read_at(self, offset, self->index, size + sizeof(uint64_t));

    if (status != STATUS_OK) {
        return status;
    }
    if (self->index[self->nblocks].first != XXH3_64bits(self->index, size)) {
        return STATUS_MALFORMED;
    }
    for (uint64_t i = 1; i < self->nblocks; i++) {
        if (self->index[i].first <= self->index[i - 1].first) {
            return STATUS_MALFORMED;
        }
    }
    return STATUS_OK;
}

/* `size`: of the file, as the disk says. More than the run has is room that was not needed. */
static enum status read_start(struct run_reader *self, uint64_t size, uint64_t cluster,
                              const struct record_run *run)
{
    enum status status;

    if (run->count == 0 || run->count > size / sizeof(uint64_t) || size < run_bytes(run->count)) {
        return STATUS_MALFORMED;
    }
    status = read_header(self, cluster, run);
    if (status != STATUS_OK) {
        return status;
    }
    self->count = run->count;
    self->nblocks = run_nblocks(run->count);
    self->index = heap_alloc(self->nblocks + 1, sizeof *self->index);
    return self->index != NULL ? read_index(self) : STATUS_NOMEM;
}

enum status run_reader_create(struct disk *disk, uint64_t cluster, const struct record_run *run,
                              struct run_reader **out)
{
    struct run_reader *self = heap_zalloc(1, sizeof *self);
    char name[DISK_NAME_BYTES];
    uint64_t size = 0;
    enum status status;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->disk = disk;
    run_name(run->number, name);
    status = disk->open(disk->context, name, &self->file, &size);
    if (status != STATUS_OK) {
        heap_free(self);
        return status;
    }
    status = read_start(self, size, cluster, run);
    if (status != STATUS_OK) {
        run_reader_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

void run_reader_destroy(struct run_reader **reader)
{
    struct run_reader *self = *reader;

    if (self == NULL) {
        return;
    }
    self->disk->close(self->disk->context, self->file);
    heap_free(self->index);
    heap_free(self);
    *reader = NULL;
}

void run_reader_seek(struct run_reader *self, uint64_t from)
{
    uint64_t low = 0; /* begins at or below `from`, if any does */
    uint64_t high = self->nblocks;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (self->index[middle].first <= from) {
            low = middle;
        } else {
            high = middle;
        }
    }
    self->next = low;
    self->from = from;
}

static size_t block_size(const struct run_reader *self, uint64_t number)
{
    uint64_t left = self->count - number * RUN_BLOCK_KEYS;

    return left < RUN_BLOCK_KEYS ? (size_t)left : RUN_BLOCK_KEYS;
}

/* Is it what was written? That it ascends follows from its checksum, unless who wrote it was
 * wrong: whoever merges relies on it, so it is looked at. */
static bool block_good(const struct run_reader *self, uint64_t number, size_t count)
{
    const uint64_t *block = self->block;
    bool descends = false;

    for (size_t i = 1; i < count; i++) {
        descends |= block[i] <= block[i - 1];
    }
    if (number + 1 < self->nblocks) {
        descends |= self->index[number + 1].first <= block[count - 1];
    }
    return !descends && block[0] == self->index[number].first &&
           XXH3_64bits(block, count * sizeof *block) == self->index[number].checksum;
}

static size_t below(const uint64_t *block, size_t count, uint64_t from)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;

        if (block[middle] < from) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}

enum status run_reader_next(struct run_reader *self, const uint64_t **fingerprints, size_t *count)
{
    size_t skip = 0;
    size_t size = 0;

    while (skip == size && self->next < self->nblocks) {
        uint64_t offset = run_index_offset(self->next * RUN_BLOCK_KEYS);
        enum status status;

        size = block_size(self, self->next);
        status = read_at(self, offset, self->block, size * sizeof *self->block);
        if (status != STATUS_OK) {
            return status;
        }
        if (!block_good(self, self->next, size)) {
            return STATUS_MALFORMED;
        }
        skip = below(self->block, size, self->from);
        self->next++;
    }
    *fingerprints = self->block + skip;
    *count = size - skip;
    return STATUS_OK;
}
