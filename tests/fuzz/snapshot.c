/* snapshot SEED COUNT: COUNT snapshots and imprints made from SEED, each bent in some way, through
 * snapshot_reader, as either.
 *
 * An input is a byte, 1: checksums are put right before it is tried; then the file.
 *
 * An input passes when reading ends with a status that is documented, or gives all pages of the
 * shape, as they are in the file, and shards that ascend. Prints "N passed, N failed".
 */
#include "log/snapshot_format.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/memory_disk.h"
#include "tests/support/random.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CLUSTER = 9, NUMBER = 5, MOST_SHARDS = 3, MOST_BENDS = 4, ROOM = 2 };

/* Where the header has what the tables are measured by; see log/snapshot.h. */
enum { AT_LINES = 56, AT_SHARDS = 88, AT_TABLES_SUM = 96, AT_SUM = SNAPSHOT_HEADER_BYTES - 8 };

static const struct record_snapshot id = {.number = NUMBER,
                                          .filter_id = 1,
                                          .slice = 2,
                                          .keyset = 3,
                                          .generation = 4,
                                          .from = 8,
                                          .end = 16};

/* ---- inputs ---- */

static struct memory_disk *write_one(uint64_t *random, bool imprint)
{
    static const uint32_t shards[MOST_SHARDS] = {0, 2, 3};
    static const struct snapshot_group groups[2] = {{.group = 1, .keys = 10}, {.group = 4}};
    const struct snapshot_shape shape = {
        .geometry = {.seed = 5,
                     .lines = random_below(random, 3) == 0 ? 1 + random_below(random, 63)
                                                           : 64 * (1 + random_below(random, 2)),
                     .z = 1,
                     .shard_bits = 2},
        .nshards = (uint32_t)random_below(random, MOST_SHARDS + 1),
        .ngroups = (uint32_t)random_below(random, 3),
        .shards = shards,
        .groups = groups,
        .life = {.incarnation = imprint, .boot = imprint ? random_below(random, 3) : 0},
    };
    static uint8_t page[SNAPSHOT_PAGE_BYTES];
    struct memory_disk *memory = memory_disk_create();
    struct snapshot_writer *writer = NULL;
    enum status status = snapshot_writer_create(memory_disk_seam(memory), CLUSTER, &id, &shape,
                                                &writer);

    for (uint64_t i = 0; i < snapshot_npages(&shape) && status == STATUS_OK; i++) {
        memset(page, (int)random_below(random, 256), sizeof page);
        status = snapshot_writer_add(writer, page, 1);
    }
    if (status != STATUS_OK || snapshot_writer_finish(writer, id.end, groups) != STATUS_OK) {
        abort();
    }
    snapshot_writer_destroy(&writer);
    return memory;
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    uint64_t random = seed;
    bool imprint = random_below(&random, 2) == 1;
    struct memory_disk *memory = write_one(&random, imprint);
    char name[DISK_NAME_BYTES];
    struct span written;
    uint8_t *bytes;
    size_t size;
    uint8_t sealed;

    (void)context;
    (imprint ? imprint_name : snapshot_name)(NUMBER, name);
    written = memory_disk_bytes(memory, name);
    bytes = fuzz_copy(written);
    size = written.size;
    for (uint64_t n = random_below(&random, MOST_BENDS); n > 0; n--) {
        fuzz_bend(&random, bytes, &size);
    }
    sealed = (uint8_t)random_below(&random, 2);
    fuzz_put(input, &sealed, sizeof sealed);
    fuzz_put(input, bytes, size);
    free(bytes);
    memory_disk_destroy(&memory);
}

/* ---- trying them ---- */

static void put_sum(uint8_t *at, const uint8_t *bytes, uint64_t size)
{
    uint64_t sum = XXH3_64bits(bytes, size);

    memcpy(at, &sum, sizeof sum);
}

/* As if it had been written so: of pages, tables and header, as far as they are in the file. */
static void seal(uint8_t *file, uint64_t size)
{
    struct snapshot_shape shape = {0};
    uint64_t tables;

    if (size < SNAPSHOT_HEADER_BYTES) {
        return;
    }
    memcpy(&shape.geometry.lines, file + AT_LINES, sizeof shape.geometry.lines);
    memcpy(&shape.nshards, file + AT_SHARDS, sizeof shape.nshards);
    memcpy(&shape.ngroups, file + AT_SHARDS + 4, sizeof shape.ngroups);
    if (shape.geometry.lines <= size && shape.nshards <= SNAPSHOT_MAX_SHARDS &&
        snapshot_bytes(&shape) <= size) {
        size_t page_bytes = snapshot_page_bytes(shape.geometry.lines);

        tables = snapshot_tables_offset(&shape);
        for (uint64_t i = 0; i < snapshot_npages(&shape); i++) {
            put_sum(file + tables + 8 * i, file + SNAPSHOT_HEADER_BYTES + i * page_bytes,
                    page_bytes);
        }
        put_sum(file + AT_TABLES_SUM, file + tables, snapshot_tables_bytes(&shape));
    }
    put_sum(file + AT_SUM, file, AT_SUM);
}

static bool documented(enum status status)
{
    return status == STATUS_MALFORMED || status == STATUS_VERSION;
}

static bool shards_ascend(const struct snapshot_shape *shape)
{
    for (uint32_t i = 1; i < shape->nshards; i++) {
        if (shape->shards[i] <= shape->shards[i - 1]) {
            return false;
        }
    }
    return true;
}

static bool read_all(struct snapshot_reader *reader, struct span file)
{
    const struct snapshot_shape *shape = snapshot_reader_shape(reader);
    const size_t page_bytes = snapshot_page_bytes(shape->geometry.lines);
    uint8_t pages[ROOM * SNAPSHOT_PAGE_BYTES];
    size_t at = SNAPSHOT_HEADER_BYTES;
    uint64_t total = 0;
    size_t count = 0;
    enum status status = STATUS_OK;

    do {
        status = snapshot_reader_next(reader, pages, ROOM, &count);
        if (status != STATUS_OK) {
            return documented(status);
        }
        if (count > ROOM || count * page_bytes > file.size - at ||
            memcmp(pages, file.data + at, count * page_bytes) != 0) {
            return false;
        }
        at += count * page_bytes;
        total += count;
    } while (count > 0);
    return total == snapshot_npages(shape) && shards_ascend(shape);
}

static bool try_as(bool imprint, struct span file)
{
    struct memory_disk *memory = memory_disk_create();
    struct snapshot_reader *reader = NULL;
    struct record_snapshot found;
    char name[DISK_NAME_BYTES];
    enum status status;
    bool pass;

    (imprint ? imprint_name : snapshot_name)(NUMBER, name);
    memory_disk_put(memory, name, file);
    status = imprint
                 ? imprint_reader_create(memory_disk_seam(memory), CLUSTER, NUMBER, &found, &reader)
                 : snapshot_reader_create(memory_disk_seam(memory), CLUSTER, &id, &reader);
    pass = status == STATUS_OK ? read_all(reader, file) : documented(status);
    snapshot_reader_destroy(&reader);
    pass = pass && memory_disk_open_files(memory) == 0;
    memory_disk_destroy(&memory);
    return pass;
}

static bool try_input(void *context, struct span input)
{
    uint8_t sealed;
    uint8_t *copy;
    bool pass;

    (void)context;
    fuzz_take(&input, &sealed, sizeof sealed);
    copy = fuzz_copy(input);
    if ((sealed & 1) != 0) {
        seal(copy, input.size);
    }
    pass = try_as(false, span_of(copy, input.size)) && try_as(true, span_of(copy, input.size));
    free(copy);
    return pass;
}

int main(int argc, char **argv)
{
    const struct fuzz_target target = {.name = "snapshot", .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
