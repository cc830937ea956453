/* Snapshots: their names, tables, sizes and headers; pages written as they are copied, synced bit
 * by bit, the header that makes it one last; read back page by page. */
#include "log/snapshot.h"

#include "base/heap.h"
#include "log/file_name.h"
#include "log/read_again.h"
#include "log/snapshot_format.h"

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

enum { MAGIC_BYTES = 8, PAGE_LINES = 64, LINE_BYTES = 64, MAX_SHARD_BITS = 32 };

static const uint8_t magic[MAGIC_BYTES] = {'O', 'R', 'B', 'S', 'N', 'P', 0, SNAPSHOT_VERSION};
static const char prefix[] = "snap-";
static const char imprint_prefix[] = "imprint-";

/* Without padding of the compiler's: copied as it is. */
struct header {
    uint8_t magic[MAGIC_BYTES];
    uint64_t cluster;
    uint64_t number;
    uint64_t filter_id;
    uint64_t slice;
    uint32_t keyset;
    uint32_t generation;
    uint64_t seed;
    uint64_t lines;
    uint32_t z;
    uint32_t shard_bits;
    uint64_t from;
    uint64_t end;
    uint32_t nshards;
    uint32_t ngroups;
    uint64_t tables_sum;
    struct snapshot_life life;
    uint64_t checksum;
};

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "snapshots are little-endian");
_Static_assert(sizeof(struct header) == SNAPSHOT_HEADER_BYTES, "as snapshot.h says");
_Static_assert(offsetof(struct header, seed) == 48 && offsetof(struct header, from) == 72 &&
                   offsetof(struct header, tables_sum) == 96,
               "as snapshot.h says");
_Static_assert(sizeof(struct snapshot_group) == 16, "as snapshot.h says");

void snapshot_name(uint64_t number, char name[DISK_NAME_BYTES])
{
    file_name_put(prefix, number, name);
}

bool snapshot_name_parse(const char *name, uint64_t *number)
{
    return file_name_parse(prefix, name, number);
}

void imprint_name(uint64_t number, char name[DISK_NAME_BYTES])
{
    file_name_put(imprint_prefix, number, name);
}

bool imprint_name_parse(const char *name, uint64_t *number)
{
    return file_name_parse(imprint_prefix, name, number);
}

uint64_t snapshot_shard_pages(uint64_t lines)
{
    return lines > PAGE_LINES ? lines / PAGE_LINES : 1;
}

size_t snapshot_page_bytes(uint64_t lines)
{
    return (size_t)(lines < PAGE_LINES ? lines : PAGE_LINES) * LINE_BYTES;
}

uint64_t snapshot_npages(const struct snapshot_shape *shape)
{
    return snapshot_shard_pages(shape->geometry.lines) * shape->nshards;
}

uint64_t snapshot_pages_bytes(const struct snapshot_shape *shape)
{
    return shape->geometry.lines * LINE_BYTES * shape->nshards;
}

uint64_t snapshot_tables_offset(const struct snapshot_shape *shape)
{
    return SNAPSHOT_HEADER_BYTES + snapshot_pages_bytes(shape);
}

uint64_t snapshot_shards_at(const struct snapshot_shape *shape)
{
    return snapshot_npages(shape) * sizeof(uint64_t);
}

uint64_t snapshot_groups_at(const struct snapshot_shape *shape)
{
    uint64_t shards = (uint64_t)shape->nshards * sizeof(uint32_t);

    return snapshot_shards_at(shape) + ((shards + 7) & ~UINT64_C(7));
}

uint64_t snapshot_tables_bytes(const struct snapshot_shape *shape)
{
    return snapshot_groups_at(shape) + (uint64_t)shape->ngroups * sizeof(struct snapshot_group);
}

uint64_t snapshot_bytes(const struct snapshot_shape *shape)
{
    return snapshot_tables_offset(shape) + snapshot_tables_bytes(shape);
}

static uint64_t checksum(const void *header)
{
    return XXH3_64bits(header, offsetof(struct header, checksum));
}

void snapshot_header_put(uint8_t bytes[SNAPSHOT_HEADER_BYTES], uint64_t cluster,
                         const struct record_snapshot *id, const struct snapshot_shape *shape,
                         uint64_t tables_sum)
{
    struct header header = {
        .cluster = cluster,
        .number = id->number,
        .filter_id = id->filter_id,
        .slice = id->slice,
        .keyset = id->keyset,
        .generation = id->generation,
        .seed = shape->geometry.seed,
        .lines = shape->geometry.lines,
        .z = shape->geometry.z,
        .shard_bits = shape->geometry.shard_bits,
        .from = id->from,
        .end = id->end,
        .nshards = shape->nshards,
        .ngroups = shape->ngroups,
        .tables_sum = tables_sum,
        .life = shape->life,
    };

    memcpy(header.magic, magic, MAGIC_BYTES);
    header.checksum = checksum(&header);
    memcpy(bytes, &header, sizeof header);
}

/* The log may say that less of it is needed than when the snapshot was begun. */
static bool is_named(const struct header *header, uint64_t cluster,
                     const struct record_snapshot *id)
{
    return header->cluster == cluster && header->number == id->number &&
           header->filter_id == id->filter_id && header->slice == id->slice &&
           header->keyset == id->keyset && header->generation == id->generation &&
           header->from <= id->from && header->end == id->end && header->life.incarnation == 0 &&
           header->life.boot == 0;
}

static bool makes_sense(const struct header *header)
{
    return (header->lines < PAGE_LINES ? header->lines > 0 && header->z == 1
                                       : header->lines % PAGE_LINES == 0) &&
           header->lines < UINT64_C(1) << 48 && header->shard_bits <= MAX_SHARD_BITS &&
           (header->z == 1 || header->z == 2) && header->nshards <= SNAPSHOT_MAX_SHARDS &&
           header->ngroups <= SNAPSHOT_MAX_SHARDS;
}

/* The checksum first: a changed bit must not be taken for another version. */
static enum status open_header(const uint8_t bytes[SNAPSHOT_HEADER_BYTES], struct header *header)
{
    memcpy(header, bytes, sizeof *header);
    if (header->checksum != checksum(header) ||
        memcmp(header->magic, magic, MAGIC_BYTES - 1) != 0) {
        return STATUS_MALFORMED;
    }
    return header->magic[MAGIC_BYTES - 1] == SNAPSHOT_VERSION ? STATUS_OK : STATUS_VERSION;
}

static struct snapshot_shape shape_of(const struct header *header)
{
    return (struct snapshot_shape){
        .geometry = {.seed = header->seed,
                     .lines = header->lines,
                     .z = header->z,
                     .shard_bits = header->shard_bits},
        .nshards = header->nshards,
        .ngroups = header->ngroups,
        .life = header->life,
    };
}

enum status snapshot_header_get(const uint8_t bytes[SNAPSHOT_HEADER_BYTES], uint64_t cluster,
                                const struct record_snapshot *id, struct snapshot_shape *shape,
                                uint64_t *tables_sum)
{
    struct header header;
    enum status status = open_header(bytes, &header);

    if (status != STATUS_OK) {
        return status;
    }
    if (!is_named(&header, cluster, id) || !makes_sense(&header)) {
        return STATUS_MALFORMED;
    }
    *shape = shape_of(&header);
    *tables_sum = header.tables_sum;
    return STATUS_OK;
}

enum status imprint_header_get(const uint8_t bytes[SNAPSHOT_HEADER_BYTES], uint64_t cluster,
                               uint64_t number, struct record_snapshot *id,
                               struct snapshot_shape *shape, uint64_t *tables_sum)
{
    struct header header;
    enum status status = open_header(bytes, &header);

    if (status != STATUS_OK) {
        return status;
    }
    if (header.cluster != cluster || header.number != number || header.life.incarnation == 0 ||
        header.from > header.end || !makes_sense(&header)) {
        return STATUS_MALFORMED;
    }
    *id = (struct record_snapshot){.number = header.number,
                                   .filter_id = header.filter_id,
                                   .slice = header.slice,
                                   .keyset = header.keyset,
                                   .generation = header.generation,
                                   .from = header.from,
                                   .end = header.end};
    *shape = shape_of(&header);
    *tables_sum = header.tables_sum;
    return STATUS_OK;
}

/* Writes the pages of a snapshot as they are copied, synced bit by bit; the header that makes it
 * one comes last. */

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
    (shape->life.incarnation != 0 ? imprint_name : snapshot_name)(id->number, self->name);
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

/* Reads a snapshot back page by page: first its header and tables, which must make sense
 * together before any page is believed. */

struct snapshot_reader {
    struct disk *disk;
    uint32_t file;
    struct snapshot_shape shape;
    uint64_t *tables; /* by words, so that the lists in it are aligned */
    uint64_t next;
    uint64_t ahead; /* the disk was told of pages below this offset of the file */
};

/* So that the disk goes on while pages are looked at. */
enum { AHEAD_BYTES = 32 << 20 };

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

/* `imprint`: what it is, is not known, only its number: put into *imprint. */
static enum status read_start(struct snapshot_reader *self, uint64_t size, uint64_t cluster,
                              const struct record_snapshot *id, struct record_snapshot *imprint)
{
    uint8_t header[SNAPSHOT_HEADER_BYTES];
    uint64_t sum = 0;
    enum status status = size < sizeof header ? STATUS_MALFORMED
                                              : read_at(self, 0, header, sizeof header);

    if (status == STATUS_OK) {
        status = imprint != NULL
                     ? imprint_header_get(header, cluster, id->number, imprint, &self->shape, &sum)
                     : snapshot_header_get(header, cluster, id, &self->shape, &sum);
    }
    if (status == STATUS_OK) {
        status = fits(&self->shape, size) ? read_tables(self, sum) : STATUS_MALFORMED;
    }
    return status;
}

static enum status open_reader(struct disk *disk, uint64_t cluster,
                               const struct record_snapshot *id, struct record_snapshot *imprint,
                               struct snapshot_reader **out)
{
    struct snapshot_reader *self = heap_zalloc(1, sizeof *self);
    char name[DISK_NAME_BYTES];
    uint64_t size = 0;
    enum status status;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->disk = disk;
    (imprint != NULL ? imprint_name : snapshot_name)(id->number, name);
    status = disk->open(disk->context, name, &self->file, &size);
    if (status != STATUS_OK) {
        heap_free(self);
        return status;
    }
    status = read_start(self, size, cluster, id, imprint);
    if (status != STATUS_OK) {
        snapshot_reader_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

enum status snapshot_reader_create(struct disk *disk, uint64_t cluster,
                                   const struct record_snapshot *id, struct snapshot_reader **out)
{
    return open_reader(disk, cluster, id, NULL, out);
}

enum status imprint_reader_create(struct disk *disk, uint64_t cluster, uint64_t number,
                                  struct record_snapshot *id, struct snapshot_reader **out)
{
    const struct record_snapshot wanted = {.number = number};

    return open_reader(disk, cluster, &wanted, id, out);
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

void snapshot_reader_ahead(struct snapshot_reader *self, uint64_t bytes)
{
    uint64_t at = SNAPSHOT_HEADER_BYTES +
                  self->next * snapshot_page_bytes(self->shape.geometry.lines);
    uint64_t end = snapshot_tables_offset(&self->shape);

    end = bytes < end - at ? at + bytes : end;
    at = at > self->ahead ? at : self->ahead;
    if (self->disk->ahead != NULL && end > at) {
        self->disk->ahead(self->disk->context, self->file, at, end - at);
        self->ahead = end;
    }
}

enum status snapshot_reader_next(struct snapshot_reader *self, uint8_t *pages, size_t room,
                                 size_t *npages)
{
    size_t page_bytes = snapshot_page_bytes(self->shape.geometry.lines);
    uint64_t left = snapshot_npages(&self->shape) - self->next;
    size_t count = left < room ? (size_t)left : room;
    enum status status = STATUS_OK;

    snapshot_reader_ahead(self, AHEAD_BYTES);
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
