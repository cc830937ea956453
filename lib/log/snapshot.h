/* snapshot.h - copies of bit arrays on disk: what a filter without key log has instead of runs.
 *
 * A snapshot holds the pages of all shards of one filter, keyset and slice that a node
 * has, of one generation. Together with the log from `from` on it is the array: bits are only
 * gained, so pages may be copied while adds go on. "snap-<16 hex digits of its number>":
 *
 *    0  8    "ORBSNP\0" and the format's version, 1
 *    8  u64  cluster, u64 number, u64 filter id, u64 slice, u32 keyset, u32 generation
 *   48  u64  seed, u64 lines, u32 z, u32 shard bits: the geometry; see filter/lines.h
 *   72  u64  from     batches below this offset of the log are in the pages
 *   80  u64  end      batches from there on are in none of them, nor in the count of keys
 *   88  u32  shards, u32 slot groups
 *   96  u64  checksum of what follows the pages
 *  104  u64  incarnation, u64 boot: of who took an imprint, below; 0 in a snapshot
 *  120  u64  checksum  XXH3-64, seed 0, of bytes 0 to 120
 *  128  pages of 4,096 bytes: shard by shard, as the list of shards has them; of a shard of less
 *       than 64 lines all that it has is one page
 *       for each page u64 XXH3-64 of its bytes
 *       shards of u32, ascending, and zeros up to a multiple of 8
 *       slot groups of 16 bytes: u32 group, u32 0, u64 keys that were new when they were added
 *
 * A snapshot is written once, synced, and only then named by a record of the log; a file that none
 * names is a leftover, to be removed before its number is used.
 *
 * An imprint, "imprint-<16 hex digits>", is the same of a filter with key log, whose truth is in
 * runs and the log: no record names it, and it says by itself whose life it is of. One that is lost
 * only makes a start take longer.
 *
 * Errors:  STATUS_IO, STATUS_NOMEM, STATUS_NO_SPACE, STATUS_EXISTS, STATUS_NOT_FOUND,
 *          STATUS_VERSION; STATUS_MALFORMED: a file that was cut or changed, or another snapshot
 *          than expected.
 * Threads: none; one at a time.
 */
#ifndef ORBLOOM_LOG_SNAPSHOT_H
#define ORBLOOM_LOG_SNAPSHOT_H

#include "base/disk.h"
#include "log/record.h"

#include <stdbool.h>

enum { SNAPSHOT_PAGE_BYTES = 4096, SNAPSHOT_HEADER_BYTES = 128, SNAPSHOT_VERSION = 1 };

struct snapshot_geometry {
    uint64_t seed;
    uint64_t lines; /* a shard: 1 to 63, or a multiple of 64 */
    uint32_t z;
    uint32_t shard_bits;
};

static inline bool snapshot_geometry_equal(const struct snapshot_geometry *one,
                                           const struct snapshot_geometry *other)
{
    return one->seed == other->seed && one->lines == other->lines && one->z == other->z &&
           one->shard_bits == other->shard_bits;
}

/* As it is in the file. */
struct snapshot_group {
    uint32_t group;
    uint32_t zero;
    uint64_t keys;
};

/* Of an imprint: who took it. Zeros: it is a snapshot. */
struct snapshot_life {
    uint64_t incarnation;
    uint64_t boot;
};

struct snapshot_shape {
    struct snapshot_geometry geometry;
    uint32_t nshards;
    uint32_t ngroups;
    const uint32_t *shards; /* ascending */
    const struct snapshot_group *groups;
    struct snapshot_life life;
};

void snapshot_name(uint64_t number, char name[DISK_NAME_BYTES]);
bool snapshot_name_parse(const char *name, uint64_t *number);
void imprint_name(uint64_t number, char name[DISK_NAME_BYTES]);
bool imprint_name_parse(const char *name, uint64_t *number);

/* Pages of so many lines a shard has, and the size of each; of all shards. */
uint64_t snapshot_shard_pages(uint64_t lines);
size_t snapshot_page_bytes(uint64_t lines);
uint64_t snapshot_npages(const struct snapshot_shape *shape);
uint64_t snapshot_pages_bytes(const struct snapshot_shape *shape);

/* Bytes of the file. */
uint64_t snapshot_bytes(const struct snapshot_shape *shape);

/* ---- writing ---- */

struct snapshot_writer;

/* All of the file's room is reserved. `id` without its end; shape's arrays are copied, groups'
 * keys come later. */
MUST_USE enum status snapshot_writer_create(struct disk *disk, uint64_t cluster,
                                            const struct record_snapshot *id,
                                            const struct snapshot_shape *shape,
                                            struct snapshot_writer **out);

/* The next pages, in order. After an error every call repeats it. */
MUST_USE enum status snapshot_writer_add(struct snapshot_writer *self, const uint8_t *pages,
                                         size_t npages);

/* All pages are there. Tables, header, sync, sync of the folder. `groups`: as many as in the shape,
 * in its order. */
MUST_USE enum status snapshot_writer_finish(struct snapshot_writer *self, uint64_t end,
                                            const struct snapshot_group *groups);

/* Unless finished the file is removed. */
void snapshot_writer_destroy(struct snapshot_writer **writer);

/* ---- reading ---- */

struct snapshot_reader;

/* Opens it and checks header and tables: it is the very one that `id` names. */
MUST_USE enum status snapshot_reader_create(struct disk *disk, uint64_t cluster,
                                            const struct record_snapshot *id,
                                            struct snapshot_reader **out);
void snapshot_reader_destroy(struct snapshot_reader **reader);

/* The imprint of that number: *id is what it says of itself. */
MUST_USE enum status imprint_reader_create(struct disk *disk, uint64_t cluster, uint64_t number,
                                           struct record_snapshot *id,
                                           struct snapshot_reader **out);

/* Borrowed from the reader. */
const struct snapshot_shape *snapshot_reader_shape(const struct snapshot_reader *self);

/* So many bytes of pages from the next one on will be asked for soon. Some are read ahead anyway.
 */
void snapshot_reader_ahead(struct snapshot_reader *self, uint64_t bytes);

/* The next pages, checked, at most `room`; *npages 0 at the end. */
MUST_USE enum status snapshot_reader_next(struct snapshot_reader *self, uint8_t *pages, size_t room,
                                          size_t *npages);

#endif
