/* Sorted runs: their names, sizes and headers; written block by block, the index and the header
 * last, so that a run that was cut short is none; read block by block from any fingerprint on. */
#include "log/run.h"

#include "base/heap.h"
#include "log/file_name.h"
#include "log/read_again.h"
#include "log/run_format.h"

#include <assert.h>
#include <endian.h>
#include <string.h>
#include <xxhash.h>

/* Numbers are copied as they are in memory. */
_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "runs are little-endian");
_Static_assert(sizeof(struct run_block) == 16, "an entry of the index has no padding");

enum { CHECKED_BYTES = RUN_HEADER_BYTES - 8, MAGIC_BYTES = 8 };

static const uint8_t magic[MAGIC_BYTES] = {'O', 'R', 'B', 'R', 'U', 'N', 0, RUN_VERSION};
static const char prefix[] = "run-";

void run_name(uint64_t number, char name[DISK_NAME_BYTES])
{
    file_name_put(prefix, number, name);
}

bool run_name_parse(const char *name, uint64_t *number)
{
    return file_name_parse(prefix, name, number);
}

uint64_t run_nblocks(uint64_t count)
{
    return count / RUN_BLOCK_KEYS + (count % RUN_BLOCK_KEYS != 0);
}

uint64_t run_index_offset(uint64_t count)
{
    return RUN_HEADER_BYTES + count * sizeof(uint64_t);
}

uint64_t run_bytes(uint64_t count)
{
    return run_index_offset(count) + run_nblocks(count) * sizeof(struct run_block) +
           sizeof(uint64_t);
}

void run_header_put(uint8_t bytes[RUN_HEADER_BYTES], uint64_t cluster, const struct record_run *run)
{
    const uint64_t fields[] = {cluster,    run->number, run->filter_id,
                               run->slice, run->keyset, run->count};
    uint64_t checksum;

    memcpy(bytes, magic, MAGIC_BYTES);
    memcpy(bytes + MAGIC_BYTES, fields, sizeof fields);
    checksum = XXH3_64bits(bytes, CHECKED_BYTES);
    memcpy(bytes + CHECKED_BYTES, &checksum, sizeof checksum);
}

/* The checksum first: a changed bit must not be taken for another version. */
enum status run_header_check(const uint8_t bytes[RUN_HEADER_BYTES], uint64_t cluster,
                             const struct record_run *run)
{
    uint8_t expected[RUN_HEADER_BYTES];
    uint64_t checksum;

    memcpy(&checksum, bytes + CHECKED_BYTES, sizeof checksum);
    if (checksum != XXH3_64bits(bytes, CHECKED_BYTES) ||
        memcmp(bytes, magic, MAGIC_BYTES - 1) != 0) {
        return STATUS_MALFORMED;
    }
    if (bytes[MAGIC_BYTES - 1] != RUN_VERSION) {
        return STATUS_VERSION;
    }
    run_header_put(expected, cluster, run);
    return memcmp(bytes, expected, RUN_HEADER_BYTES) == 0 ? STATUS_OK : STATUS_MALFORMED;
}

/* What follows the index: up to where the log's batches may be in the run. */
struct trailer {
    uint64_t through;
    uint64_t checksum;
};

_Static_assert(sizeof(struct trailer) == 16, "as run.h says");

static uint64_t trailer_sum(uint64_t cluster, const struct record_run *run, uint64_t through)
{
    const uint64_t fields[] = {cluster, run->number, run->count, through};

    return XXH3_64bits(fields, sizeof fields);
}

/* Writes a sorted run block by block; its index and header come last, so that a run that was cut
 * short is none. */

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
    struct run_block *index;
    size_t index_room; /* for the blocks, and one more for the checksum of all */
    size_t used;       /* fingerprints in `block` */
    uint64_t last;
    uint64_t block[RUN_BLOCK_KEYS];
};

static enum status make_room(struct run_writer *self, size_t nblocks)
{
    return heap_grow(&self->index, &self->index_room, nblocks + 1, sizeof *self->index)
               ? STATUS_OK
               : STATUS_NOMEM;
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
    status = make_room(self, run_nblocks(expected) + 1);
    if (status == STATUS_OK) {
        status = disk->create(
            disk->context, self->name,
            run_bytes(expected) + (run->through != 0 ? sizeof(struct trailer) : 0), &self->file);
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
    enum status status = make_room(self, self->nblocks + 1);

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

static enum status write_trailer(struct disk *disk, uint32_t file, uint64_t cluster,
                                 const struct record_run *run)
{
    const struct trailer trailer = {.through = run->through,
                                    .checksum = trailer_sum(cluster, run, run->through)};

    return disk->write(disk->context, file, run_bytes(run->count),
                       span_of(&trailer, sizeof trailer));
}

enum status run_write_through(struct disk *disk, uint64_t cluster, const struct record_run *run)
{
    char name[DISK_NAME_BYTES];
    uint32_t file;
    uint64_t size;
    enum status status;

    run_name(run->number, name);
    status = disk->open(disk->context, name, &file, &size);
    if (status == STATUS_OK) {
        status = write_trailer(disk, file, cluster, run);
        disk->close(disk->context, file);
    }
    return status;
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
    status = self->run.through != 0
                 ? write_trailer(self->disk, self->file, self->cluster, &self->run)
                 : STATUS_OK;
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

/* Reads a sorted run block by block, from any fingerprint on, and believes no block before its
 * checksum and order were looked at. */

struct run_reader {
    struct disk *disk;
    uint32_t file;
    uint64_t count;
    uint64_t nblocks;
    uint64_t next; /* block to be read next */
    uint64_t from; /* in that block, what is below is left out */
    uint64_t through;
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

/* What can't be read of it is not known, no more. */
static uint64_t read_trailer(struct run_reader *self, uint64_t size, uint64_t cluster,
                             const struct record_run *run)
{
    uint64_t at = run_bytes(run->count);
    struct trailer trailer;
    bool there = size - at >= sizeof trailer &&
                 self->disk->read(self->disk->context, self->file, at, &trailer, sizeof trailer) ==
                     STATUS_OK;

    return there && trailer.checksum == trailer_sum(cluster, run, trailer.through) ? trailer.through
                                                                                   : 0;
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
    status = self->index != NULL ? read_index(self) : STATUS_NOMEM;
    if (status == STATUS_OK) {
        self->through = read_trailer(self, size, cluster, run);
    }
    return status;
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

uint64_t run_reader_through(const struct run_reader *self)
{
    return self->through;
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
