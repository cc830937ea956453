/* Reads a snapshot back page by page: first its header and tables, which must make sense
 * together before any page is believed. */
#include "base/heap.h"
#include "log/read_again.h"
#include "log/snapshot_format.h"

#include <string.h>
#include <xxhash.h>

struct snapshot_reader {
    struct disk *disk;
    uint32_t file;
    struct snapshot_shape shape;
    uint64_t *tables; /* by words, so that the lists in it are aligned */
    uint64_t next;
};

static enum status read_at(struct snapshot_reader *self, uint64_t offset, void *into, size_t size)
{
    return read_again(self->disk, self->file, offset, into, size);
}

/* Ascending, and none that the geometry has not. */
static bool shards_good(const struct snapshot_shape *shape)
{
    bool good = true;

    for (uint32_t i = 0; i < shape->nshards; i++) {
        good = good && (uint64_t)shape->shards[i] >> shape->geometry.shard_bits == 0 &&
               (i == 0 || shape->shards[i - 1] < shape->shards[i]);
    }
    return good;
}

static enum status read_tables(struct snapshot_reader *self, uint64_t sum)
{
    struct snapshot_shape *shape = &self->shape;
    size_t size = snapshot_tables_bytes(shape);
    enum status status;

    self->tables = heap_alloc(size / sizeof *self->tables + 1, sizeof *self->tables);
    if (self->tables == NULL) {
        return STATUS_NOMEM;
    }
    status = read_at(self, snapshot_tables_offset(shape), self->tables, size);
    if (status != STATUS_OK) {
        return status;
    }
    if (XXH3_64bits(self->tables, size) != sum) {
        return STATUS_MALFORMED;
    }
    shape->shards = (const void *)((const uint8_t *)self->tables + snapshot_shards_at(shape));
    shape->groups = (const void *)((const uint8_t *)self->tables + snapshot_groups_at(shape));
    return shards_good(shape) ? STATUS_OK : STATUS_MALFORMED;
}

static bool fits(const struct snapshot_shape *shape, uint64_t size)
{
    uint64_t lines = shape->geometry.lines;

    return (shape->nshards == 0 ||
            snapshot_shard_pages(lines) <= size / snapshot_page_bytes(lines) / shape->nshards) &&
           snapshot_bytes(shape) <= size;
}

static enum status read_start(struct snapshot_reader *self, uint64_t size, uint64_t cluster,
                              const struct record_snapshot *id)
{
    uint8_t header[SNAPSHOT_HEADER_BYTES];
    uint64_t sum = 0;
    enum status status = size < sizeof header ? STATUS_MALFORMED
                                              : read_at(self, 0, header, sizeof header);

    if (status == STATUS_OK) {
        status = snapshot_header_get(header, cluster, id, &self->shape, &sum);
    }
    if (status == STATUS_OK) {
        status = fits(&self->shape, size) ? read_tables(self, sum) : STATUS_MALFORMED;
    }
    return status;
}

enum status snapshot_reader_create(struct disk *disk, uint64_t cluster,
                                   const struct record_snapshot *id, struct snapshot_reader **out)
{
    struct snapshot_reader *self = heap_zalloc(1, sizeof *self);
    char name[DISK_NAME_BYTES];
    uint64_t size = 0;
    enum status status;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->disk = disk;
    snapshot_name(id->number, name);
    status = disk->open(disk->context, name, &self->file, &size);
    if (status != STATUS_OK) {
        heap_free(self);
        return status;
    }
    status = read_start(self, size, cluster, id);
    if (status != STATUS_OK) {
        snapshot_reader_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

void snapshot_reader_destroy(struct snapshot_reader **reader)
{
    struct snapshot_reader *self = *reader;

    if (self == NULL) {
        return;
    }
    self->disk->close(self->disk->context, self->file);
    heap_free(self->tables);
    heap_free(self);
    *reader = NULL;
}

const struct snapshot_shape *snapshot_reader_shape(const struct snapshot_reader *self)
{
    return &self->shape;
}

enum status snapshot_reader_next(struct snapshot_reader *self, uint8_t *pages, size_t room,
                                 size_t *npages)
{
    size_t page_bytes = snapshot_page_bytes(self->shape.geometry.lines);
    uint64_t left = snapshot_npages(&self->shape) - self->next;
    size_t count = left < room ? (size_t)left : room;
    enum status status = STATUS_OK;

    if (count > 0) {
        status = read_at(self, SNAPSHOT_HEADER_BYTES + self->next * page_bytes, pages,
                         count * page_bytes);
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        uint64_t sum = XXH3_64bits(pages + i * page_bytes, page_bytes);

        status = sum == self->tables[self->next + i] ? STATUS_OK : STATUS_MALFORMED;
    }
    if (status == STATUS_OK) {
        self->next += count;
        *npages = count;
    }
    return status;
}
