/* Writes a sorted run block by block; its index and header come last, so that a run that was cut
 * short is none. */
#include "base/heap.h"
#include "log/run_format.h"

#include <assert.h>
#include <xxhash.h>

/* A sync of much at once would hold up the log's own, so a run is synced as it grows. */
enum { SYNC_BLOCKS = (8 << 20) / RUN_BLOCK_BYTES };

struct run_writer {
    struct disk *disk;
    uint64_t cluster;
    struct record_run run; /* its count: of whole blocks written */
    char name[DISK_NAME_BYTES];
    uint32_t file;
    bool open;
    bool finished;
    enum status status; /* of the first failure: nothing is written after it */
    uint64_t nblocks;
    uint64_t capacity; /* of the index, beside room for its checksum */
    struct run_block *index;
    size_t used; /* fingerprints in `block` */
    uint64_t last;
    uint64_t block[RUN_BLOCK_KEYS];
};

static enum status grow_index(struct run_writer *self, uint64_t capacity)
{
    struct run_block *index = heap_realloc(self->index, capacity + 1, sizeof *index);

    if (index == NULL) {
        return STATUS_NOMEM;
    }
    self->index = index;
    self->capacity = capacity;
    return STATUS_OK;
}

enum status run_writer_create(struct disk *disk, uint64_t cluster, const struct record_run *run,
                              uint64_t expected, struct run_writer **out)
{
    struct run_writer *self = heap_zalloc(1, sizeof *self);
    enum status status;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->disk = disk;
    self->cluster = cluster;
    self->run = *run;
    self->run.count = 0;
    run_name(run->number, self->name);
    status = grow_index(self, run_nblocks(expected) + 1);
    if (status == STATUS_OK) {
        status = disk->create(disk->context, self->name, run_bytes(expected), &self->file);
    }
    self->open = status == STATUS_OK;
    self->finished = !self->open; /* a file of that name that was there is another's */
    if (status != STATUS_OK) {
        run_writer_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

static enum status write_at(struct run_writer *self, uint64_t offset, const void *data, size_t size)
{
    return self->disk->write(self->disk->context, self->file, offset, span_of(data, size));
}

static enum status write_block(struct run_writer *self)
{
    size_t size = self->used * sizeof *self->block;
    enum status status = STATUS_OK;

    if (self->nblocks == self->capacity) {
        status = grow_index(self, self->capacity * 2);
    }
    if (status == STATUS_OK) {
        status = write_at(self, run_index_offset(self->run.count), self->block, size);
    }
    if (status != STATUS_OK) {
        return status;
    }
    self->index[self->nblocks++] = (struct run_block){.first = self->block[0],
                                                      .checksum = XXH3_64bits(self->block, size)};
    self->run.count += self->used;
    self->used = 0;
    return self->nblocks % SYNC_BLOCKS == 0 ? self->disk->sync(self->disk->context, self->file)
                                            : STATUS_OK;
}

/* As many as fit for sure. */
static size_t take(struct run_writer *self, const uint64_t *fingerprints, size_t count)
{
    size_t room = RUN_BLOCK_KEYS - self->used;
    size_t taken = count < room ? count : room;
    uint64_t *block = self->block;
    uint64_t last = self->last;
    size_t used = self->used;
    bool descends = false;

    for (size_t i = 0; i < taken; i++) {
        block[used] = fingerprints[i];
        used += fingerprints[i] != last;
        descends |= fingerprints[i] < last;
        last = fingerprints[i];
    }
    assert(!descends);
    self->last = last;
    self->used = used;
    return taken;
}

enum status run_writer_add(struct run_writer *self, const uint64_t *fingerprints, size_t count)
{
    assert(self->open);
    if (count > 0 && self->run.count == 0 && self->used == 0 && self->status == STATUS_OK) {
        self->block[self->used++] = self->last = fingerprints[0];
    }
    while (count > 0 && self->status == STATUS_OK) {
        size_t taken = take(self, fingerprints, count);

        fingerprints += taken;
        count -= taken;
        if (self->used == RUN_BLOCK_KEYS) {
            self->status = write_block(self);
        }
    }
    return self->status;
}

static enum status write_rest(struct run_writer *self)
{
    uint8_t header[RUN_HEADER_BYTES];
    size_t index_size = self->nblocks * sizeof *self->index;
    enum status status;

    self->index[self->nblocks].first = XXH3_64bits(self->index, index_size);
    status = write_at(self, run_index_offset(self->run.count), self->index,
                      index_size + sizeof(uint64_t));
    if (status != STATUS_OK) {
        return status;
    }
    run_header_put(header, self->cluster, &self->run);
    status = write_at(self, 0, header, sizeof header);
    return status == STATUS_OK ? self->disk->sync(self->disk->context, self->file) : status;
}

static void close_file(struct run_writer *self)
{
    if (self->open) {
        self->disk->close(self->disk->context, self->file);
        self->open = false;
    }
}

enum status run_writer_finish(struct run_writer *self, struct record_run *run)
{
    assert(self->open);
    if (self->status == STATUS_OK && self->used > 0) {
        self->status = write_block(self);
    }
    if (self->status == STATUS_OK && self->run.count > 0) {
        self->status = write_rest(self);
    }
    if (self->status != STATUS_OK) {
        return self->status;
    }
    close_file(self);
    self->status = self->run.count > 0 ? self->disk->sync_folder(self->disk->context)
                                       : self->disk->remove(self->disk->context, self->name);
    self->finished = self->status == STATUS_OK;
    if (self->finished) {
        *run = self->run;
    }
    return self->status;
}

void run_writer_destroy(struct run_writer **writer)
{
    struct run_writer *self = *writer;

    if (self == NULL) {
        return;
    }
    close_file(self);
    if (!self->finished) {
        /* Where even that fails it stays, named by no manifest. */
        (void)self->disk->remove(self->disk->context, self->name);
    }
    heap_free(self->index);
    heap_free(self);
    *writer = NULL;
}
