/* Writes the pages of a snapshot as they are copied, synced bit by bit; the header that makes it
 * one comes last. */
#include "base/heap.h"
#include "log/snapshot_format.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

/* A sync of much at once would hold up the log's own, so a snapshot is synced as it grows. */
enum { SYNC_BYTES = 8 << 20 };

struct snapshot_writer {
    struct disk *disk;
    uint64_t cluster;
    struct record_snapshot id;
    struct snapshot_shape shape; /* without its lists: they are in the tables */
    char name[DISK_NAME_BYTES];
    uint32_t file;
    bool open;
    bool finished;
    enum status status; /* of the first failure: nothing is written after it */
    uint64_t npages;    /* written */
    uint64_t unsynced;
    uint8_t *tables;
};

static void put_groups(struct snapshot_writer *self, const struct snapshot_group *groups)
{
    if (self->shape.ngroups > 0) {
        memcpy(self->tables + snapshot_groups_at(&self->shape), groups,
               self->shape.ngroups * sizeof *groups);
    }
}

static enum status make_tables(struct snapshot_writer *self, const struct snapshot_shape *shape)
{
    self->tables = heap_zalloc(snapshot_tables_bytes(shape), 1);
    if (self->tables == NULL) {
        return STATUS_NOMEM;
    }
    if (shape->nshards > 0) {
        memcpy(self->tables + snapshot_shards_at(shape), shape->shards,
               shape->nshards * sizeof *shape->shards);
    }
    return STATUS_OK;
}

enum status snapshot_writer_create(struct disk *disk, uint64_t cluster,
                                   const struct record_snapshot *id,
                                   const struct snapshot_shape *shape, struct snapshot_writer **out)
{
    struct snapshot_writer *self = heap_zalloc(1, sizeof *self);
    enum status status;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->disk = disk;
    self->cluster = cluster;
    self->id = *id;
    self->shape = *shape;
    snapshot_name(id->number, self->name);
    status = make_tables(self, shape);
    if (status == STATUS_OK) {
        status = disk->create(disk->context, self->name, snapshot_bytes(shape), &self->file);
    }
    self->open = status == STATUS_OK;
    self->finished = !self->open; /* a file of that name that was there is another's */
    if (status != STATUS_OK) {
        snapshot_writer_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

static enum status write_at(struct snapshot_writer *self, uint64_t offset, const void *data,
                            size_t size)
{
    return self->disk->write(self->disk->context, self->file, offset, span_of(data, size));
}

static enum status write_pages(struct snapshot_writer *self, const uint8_t *pages, size_t npages)
{
    size_t page_bytes = snapshot_page_bytes(self->shape.geometry.lines);
    enum status status = write_at(self, SNAPSHOT_HEADER_BYTES + self->npages * page_bytes, pages,
                                  npages * page_bytes);

    for (size_t i = 0; i < npages; i++) {
        uint64_t sum = XXH3_64bits(pages + i * page_bytes, page_bytes);

        memcpy(self->tables + (self->npages + i) * sizeof sum, &sum, sizeof sum);
    }
    self->npages += npages;
    self->unsynced += npages * page_bytes;
    if (status == STATUS_OK && self->unsynced >= SYNC_BYTES) {
        self->unsynced = 0;
        status = self->disk->sync(self->disk->context, self->file);
    }
    return status;
}

enum status snapshot_writer_add(struct snapshot_writer *self, const uint8_t *pages, size_t npages)
{
    assert(self->open && npages <= snapshot_npages(&self->shape) - self->npages);
    if (self->status == STATUS_OK && npages > 0) {
        self->status = write_pages(self, pages, npages);
    }
    return self->status;
}

static enum status write_rest(struct snapshot_writer *self)
{
    uint8_t header[SNAPSHOT_HEADER_BYTES];
    size_t size = snapshot_tables_bytes(&self->shape);
    enum status status = write_at(self, snapshot_tables_offset(&self->shape), self->tables, size);

    if (status != STATUS_OK) {
        return status;
    }
    snapshot_header_put(header, self->cluster, &self->id, &self->shape,
                        XXH3_64bits(self->tables, size));
    status = write_at(self, 0, header, sizeof header);
    return status == STATUS_OK ? self->disk->sync(self->disk->context, self->file) : status;
}

static void close_file(struct snapshot_writer *self)
{
    if (self->open) {
        self->disk->close(self->disk->context, self->file);
        self->open = false;
    }
}

enum status snapshot_writer_finish(struct snapshot_writer *self, uint64_t end,
                                   const struct snapshot_group *groups)
{
    assert(self->open && self->npages == snapshot_npages(&self->shape));
    self->id.end = end;
    put_groups(self, groups);
    if (self->status == STATUS_OK) {
        self->status = write_rest(self);
    }
    if (self->status != STATUS_OK) {
        return self->status;
    }
    close_file(self);
    self->status = self->disk->sync_folder(self->disk->context);
    self->finished = self->status == STATUS_OK;
    return self->status;
}

void snapshot_writer_destroy(struct snapshot_writer **writer)
{
    struct snapshot_writer *self = *writer;

    if (self == NULL) {
        return;
    }
    close_file(self);
    if (!self->finished) {
        /* Where even that fails it stays, named by no record. */
        (void)self->disk->remove(self->disk->context, self->name);
    }
    heap_free(self->tables);
    heap_free(self);
    *writer = NULL;
}
