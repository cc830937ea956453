/* Names, tables, sizes and headers of snapshots: one place for what is written by
 * snapshot_writer.c and read by snapshot_reader.c. */
#include "log/snapshot_format.h"

#include "log/file_name.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

enum { MAGIC_BYTES = 8, PAGE_LINES = 64, LINE_BYTES = 64, MAX_SHARD_BITS = 32 };

static const uint8_t magic[MAGIC_BYTES] = {'O', 'R', 'B', 'S', 'N', 'P', 0, SNAPSHOT_VERSION};
static const char prefix[] = "snap-";

/* Without padding of the compiler's: copied as it is. */
struct header {
    uint8_t magic[MAGIC_BYTES];
    uint64_t cluster;
    uint64_t number;
    uint64_t filter_id;
    uint64_t slice;
    uint32_t lineage;
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
    uint64_t zero[2];
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
        .lineage = id->lineage,
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
           header->lineage == id->lineage && header->generation == id->generation &&
           header->from <= id->from && header->end == id->end;
}

static bool makes_sense(const struct header *header)
{
    return (header->lines < PAGE_LINES ? header->lines > 0 && header->z == 1
                                       : header->lines % PAGE_LINES == 0) &&
           header->lines < UINT64_C(1) << 48 && header->shard_bits <= MAX_SHARD_BITS &&
           (header->z == 1 || header->z == 2) && header->nshards <= SNAPSHOT_MAX_SHARDS &&
           header->ngroups <= SNAPSHOT_MAX_SHARDS && header->zero[0] == 0 && header->zero[1] == 0;
}

/* The checksum first: a changed bit must not be taken for another version. */
enum status snapshot_header_get(const uint8_t bytes[SNAPSHOT_HEADER_BYTES], uint64_t cluster,
                                const struct record_snapshot *id, struct snapshot_shape *shape,
                                uint64_t *tables_sum)
{
    struct header header;

    memcpy(&header, bytes, sizeof header);
    if (header.checksum != checksum(&header) || memcmp(header.magic, magic, MAGIC_BYTES - 1) != 0) {
        return STATUS_MALFORMED;
    }
    if (header.magic[MAGIC_BYTES - 1] != SNAPSHOT_VERSION) {
        return STATUS_VERSION;
    }
    if (!is_named(&header, cluster, id) || !makes_sense(&header)) {
        return STATUS_MALFORMED;
    }
    *shape = (struct snapshot_shape){
        .geometry = {.seed = header.seed,
                     .lines = header.lines,
                     .z = header.z,
                     .shard_bits = header.shard_bits},
        .nshards = header.nshards,
        .ngroups = header.ngroups,
    };
    *tables_sum = header.tables_sum;
    return STATUS_OK;
}
