/* A snapshot of an array on a disk in memory: its bytes, what is believed of it, what fails. */
#include "base/heap.h"
#include "log/snapshot_format.h"
#include "tests/support/memory_disk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { CLUSTER = 0xc105, NPAGES = 6, PAGE = SNAPSHOT_PAGE_BYTES };

static const uint32_t shards[3] = {0, 2, 3};
static const struct snapshot_group groups[2] = {{.group = 1, .keys = 10}, {.group = 4, .keys = 7}};
static const struct snapshot_shape shape = {
    .geometry = {.seed = 5, .lines = 128, .z = 1, .shard_bits = 2},
    .nshards = 3,
    .ngroups = 2,
    .shards = shards,
    .groups = groups,
};
static const struct record_snapshot id = {.number = 0x2b,
                                          .filter_id = 72,
                                          .slice = 73,
                                          .keyset = 74,
                                          .generation = 75,
                                          .from = 100,
                                          .end = 200};
static const char name[] = "snap-000000000000002b";

static struct memory_disk *memory;
static struct disk disk;
static int reads_left = -1;
static uint8_t pages[NPAGES * PAGE];

static enum status read_or_fail(void *context, uint32_t file, uint64_t offset, void *into,
                                size_t size)
{
    if (reads_left == 0) {
        return STATUS_IO;
    }
    reads_left -= reads_left > 0;
    return memory_disk_seam(memory)->read(context, file, offset, into, size);
}

static void setup(void)
{
    memory = memory_disk_create();
    disk = *memory_disk_seam(memory);
    disk.read = read_or_fail;
    for (size_t i = 0; i < sizeof pages; i++) {
        pages[i] = (uint8_t)(i * 7 + i / PAGE);
    }
}

static void teardown(void)
{
    memory_disk_destroy(&memory);
}

TestSuite(storage_snapshot, .init = setup, .fini = teardown);

static enum status write_it(void)
{
    struct snapshot_writer *writer = NULL;
    enum status status = snapshot_writer_create(&disk, CLUSTER, &id, &shape, &writer);

    for (size_t i = 0; i < NPAGES && status == STATUS_OK; i += 4) {
        status = snapshot_writer_add(writer, pages + i * PAGE, i == 0 ? 4 : 2);
    }
    if (status == STATUS_OK) {
        status = snapshot_writer_finish(writer, id.end, groups);
    }
    snapshot_writer_destroy(&writer);
    return status;
}

static enum status read_as(const struct record_snapshot *wanted, uint64_t cluster)
{
    static uint8_t read[4 * PAGE];
    struct snapshot_reader *reader = NULL;
    enum status status = snapshot_reader_create(&disk, cluster, wanted, &reader);
    size_t done = 0;
    size_t count = 1;

    while (status == STATUS_OK && count > 0) {
        status = snapshot_reader_next(reader, read, 4, &count);
        if (status == STATUS_OK) {
            cr_assert_arr_eq(read, pages + done * PAGE, count * PAGE);
            done += count;
        }
    }
    if (status == STATUS_OK) {
        cr_assert_eq(done, NPAGES);
    }
    snapshot_reader_destroy(&reader);
    return status;
}

static void count_name(void *argument, const char *file)
{
    (void)file;
    ++*(size_t *)argument;
}

static size_t count_files(void)
{
    size_t count = 0;

    cr_assert_eq(disk.list(disk.context, count_name, &count), STATUS_OK);
    return count;
}

Test(storage_snapshot, comes_back)
{
    struct snapshot_reader *reader = NULL;
    const struct snapshot_shape *read;

    cr_assert_eq(write_it(), STATUS_OK);
    cr_assert_eq(memory_disk_bytes(memory, name).size, snapshot_bytes(&shape));
    cr_assert_eq(read_as(&id, CLUSTER), STATUS_OK);
    cr_assert_eq(snapshot_reader_create(&disk, CLUSTER, &id, &reader), STATUS_OK);
    read = snapshot_reader_shape(reader);
    cr_assert_eq(read->geometry.seed, 5);
    cr_assert_eq(read->geometry.lines, 128);
    cr_assert_eq(read->geometry.z, 1);
    cr_assert_eq(read->geometry.shard_bits, 2);
    cr_assert_eq(read->nshards, 3);
    cr_assert_arr_eq(read->shards, shards, sizeof shards);
    cr_assert_eq(read->ngroups, 2);
    cr_assert_arr_eq(read->groups, groups, sizeof groups);
    snapshot_reader_destroy(&reader);
    cr_assert_eq(memory_disk_open_files(memory), 0);
}

/* Made from the layout in docs/storage.md, not by the code under test. */
Test(storage_snapshot, has_these_bytes_for_good)
{
    static const char header[] = "4f5242534e50000105c10000000000002a000000000000004800000000000000"
                                 "49000000000000004a0000004b00000001000000000000004000000000000000"
                                 "01000000020000004c000000000000004d000000000000000200000001000000"
                                 "8bcb4641c6536d580000000000000000000000000000000082b67946ac84d51b";
    static const char tables[] = "d8fc4d31a9d8d4408ef18750e3f432af01000000030000000500000000000000"
                                 "6300000000000000";
    const uint32_t two[2] = {1, 3};
    const struct snapshot_group one = {.group = 5, .keys = 99};
    const struct snapshot_shape golden = {
        .geometry = {.seed = 1, .lines = 64, .z = 1, .shard_bits = 2},
        .nshards = 2,
        .ngroups = 1,
        .shards = two,
        .groups = &one,
    };
    struct record_snapshot golden_id = id;
    struct snapshot_writer *writer = NULL;
    char hex[2 * SNAPSHOT_HEADER_BYTES + 1] = "";
    struct span bytes;

    golden_id.number = 0x2a;
    golden_id.from = 76;
    cr_assert_eq(snapshot_writer_create(&disk, CLUSTER, &golden_id, &golden, &writer), STATUS_OK);
    memset(pages, 1, PAGE);
    memset(pages + PAGE, 2, PAGE);
    cr_assert_eq(snapshot_writer_add(writer, pages, 2), STATUS_OK);
    cr_assert_eq(snapshot_writer_finish(writer, 77, &one), STATUS_OK);
    snapshot_writer_destroy(&writer);
    bytes = memory_disk_bytes(memory, "snap-000000000000002a");
    cr_assert_eq(bytes.size, 128 + 2 * PAGE + 40);
    for (size_t i = 0; i < SNAPSHOT_HEADER_BYTES; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes.data[i]);
    }
    cr_assert_str_eq(hex, header);
    cr_assert_arr_eq(bytes.data + 128, pages, (size_t)2 * PAGE);
    for (size_t i = 0; i < 40; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes.data[128 + 2 * PAGE + i]);
    }
    cr_assert_str_eq(hex, tables);
}

/* A shard of less than 64 lines is one page, of just so many bytes. */
Test(storage_snapshot, small_shards_take_their_size)
{
    enum { SMALL = 3 * 64 };
    static uint8_t read[4 * SMALL];
    struct snapshot_shape small = shape;
    struct snapshot_writer *writer = NULL;
    struct snapshot_reader *reader = NULL;
    size_t count = 0;

    small.geometry.lines = 3;
    cr_assert_eq(snapshot_npages(&small), 3);
    cr_assert_eq(snapshot_writer_create(&disk, CLUSTER, &id, &small, &writer), STATUS_OK);
    cr_assert_eq(snapshot_writer_add(writer, pages, 3), STATUS_OK);
    cr_assert_eq(snapshot_writer_finish(writer, id.end, groups), STATUS_OK);
    snapshot_writer_destroy(&writer);
    cr_assert_eq(memory_disk_bytes(memory, name).size, 128 + 3 * SMALL + 3 * 8 + 16 + 2 * 16);
    cr_assert_eq(snapshot_reader_create(&disk, CLUSTER, &id, &reader), STATUS_OK);
    cr_assert_eq(snapshot_reader_next(reader, read, 2, &count), STATUS_OK);
    cr_assert_eq(count, 2);
    cr_assert_eq(snapshot_reader_next(reader, read + (size_t)2 * SMALL, 2, &count), STATUS_OK);
    cr_assert_eq(count, 1);
    cr_assert_arr_eq(read, pages, (size_t)3 * SMALL);
    snapshot_reader_destroy(&reader);
}

Test(storage_snapshot, another_one_than_the_log_names_is_refused)
{
    struct record_snapshot other[] = {id, id, id, id, id, id, id};

    cr_assert_eq(write_it(), STATUS_OK);
    other[0].filter_id++;
    other[1].slice++;
    other[2].keyset++;
    other[3].generation++;
    other[4].from--; /* it begins above what is needed */
    other[5].end++;
    for (size_t i = 0; i < 6; i++) {
        cr_assert_eq(read_as(&other[i], CLUSTER), STATUS_MALFORMED, "%zu", i);
    }
    cr_assert_eq(read_as(&id, CLUSTER + 1), STATUS_MALFORMED);
    other[6].number++;
    cr_assert_eq(read_as(&other[6], CLUSTER), STATUS_NOT_FOUND);
    memory_disk_put(memory, "snap-000000000000002c", memory_disk_bytes(memory, name));
    cr_assert_eq(read_as(&other[6], CLUSTER), STATUS_MALFORMED, "a file under another's name");
    other[0] = id;
    other[0].from++;
    cr_assert_eq(read_as(&other[0], CLUSTER), STATUS_OK, "less of the log is needed by now");
}

/* A bit in each byte of header and tables, and in many of the pages. */
Test(storage_snapshot, any_changed_bit_is_seen)
{
    uint64_t size;

    cr_assert_eq(write_it(), STATUS_OK);
    size = memory_disk_bytes(memory, name).size;
    for (uint64_t at = 0; at < size; at++) {
        uint64_t bit = 8 * at + at % 8;
        bool page = at >= SNAPSHOT_HEADER_BYTES && at < snapshot_tables_offset(&shape);

        if (page && at % 61 != 0) {
            continue;
        }
        memory_disk_flip(memory, name, bit);
        cr_assert_eq(read_as(&id, CLUSTER), STATUS_MALFORMED, "byte %u", (unsigned)at);
        memory_disk_flip(memory, name, bit);
    }
    cr_assert_eq(read_as(&id, CLUSTER), STATUS_OK);
}

Test(storage_snapshot, a_cut_one_is_seen)
{
    static uint8_t copy[NPAGES * PAGE + 1024];
    struct span bytes;
    size_t size;

    cr_assert_eq(write_it(), STATUS_OK);
    bytes = memory_disk_bytes(memory, name);
    size = bytes.size;
    memcpy(copy, bytes.data, size);
    for (size_t cut = 0; cut < size; cut += cut < 200 || cut > size - 200 ? 1 : 509) {
        memory_disk_put(memory, name, span_of(copy, cut));
        cr_assert_eq(read_as(&id, CLUSTER), STATUS_MALFORMED, "cut at %zu", cut);
    }
}

Test(storage_snapshot, swapped_pages_are_seen)
{
    static uint8_t copy[NPAGES * PAGE + 1024];
    struct span bytes;

    cr_assert_eq(write_it(), STATUS_OK);
    bytes = memory_disk_bytes(memory, name);
    memcpy(copy, bytes.data, bytes.size);
    memcpy(copy + SNAPSHOT_HEADER_BYTES, bytes.data + SNAPSHOT_HEADER_BYTES + PAGE, PAGE);
    memcpy(copy + SNAPSHOT_HEADER_BYTES + PAGE, bytes.data + SNAPSHOT_HEADER_BYTES, PAGE);
    memory_disk_put(memory, name, span_of(copy, bytes.size));
    cr_assert_eq(read_as(&id, CLUSTER), STATUS_MALFORMED);
}

Test(storage_snapshot, a_newer_format_is_named)
{
    uint8_t header[SNAPSHOT_HEADER_BYTES];
    struct snapshot_shape read;
    uint64_t sum;

    snapshot_header_put(header, CLUSTER, &id, &shape, 1);
    cr_assert_eq(snapshot_header_get(header, CLUSTER, &id, &read, &sum), STATUS_OK);
    header[7]++;
    cr_assert_eq(snapshot_header_get(header, CLUSTER, &id, &read, &sum), STATUS_MALFORMED);
    {
        uint64_t checksum = XXH3_64bits(header, SNAPSHOT_HEADER_BYTES - 8);

        memcpy(header + SNAPSHOT_HEADER_BYTES - 8, &checksum, sizeof checksum);
    }
    cr_assert_eq(snapshot_header_get(header, CLUSTER, &id, &read, &sum), STATUS_VERSION);
}

Test(storage_snapshot, every_operation_of_writing_may_fail)
{
    size_t live = heap_live();
    enum status status = STATUS_IO;
    int n = 0;

    for (; status != STATUS_OK; n++) {
        cr_assert_lt(n, 50);
        memory_disk_fail_once(memory, n, STATUS_NO_SPACE);
        status = write_it();
        memory_disk_fail_after(memory, MEMORY_DISK_NEVER);
        cr_assert(status == STATUS_OK || status == STATUS_NO_SPACE);
        cr_assert_eq(count_files(), status == STATUS_OK, "operation %d", n);
        cr_assert_eq(memory_disk_open_files(memory), 0);
        cr_assert_eq(heap_live(), live);
    }
    cr_assert_gt(n, 7); /* create, 2 writes of pages, tables, header, sync, folder */
    cr_assert_eq(read_as(&id, CLUSTER), STATUS_OK);
}

Test(storage_snapshot, every_read_and_allocation_may_fail)
{
    size_t live = heap_live();
    enum status status = STATUS_IO;
    int n = 0;

    cr_assert_eq(write_it(), STATUS_OK);
    for (; status != STATUS_OK; n++) {
        cr_assert_lt(n, 20);
        reads_left = n;
        status = read_as(&id, CLUSTER);
        reads_left = -1;
        cr_assert(status == STATUS_OK || status == STATUS_MALFORMED);
        cr_assert_eq(memory_disk_open_files(memory), 0);
        cr_assert_eq(heap_live(), live);
    }
    cr_assert_gt(n, 4); /* header, tables, 2 of pages */
    status = STATUS_NOMEM;
    for (unsigned i = 0; status != STATUS_OK; i++) {
        cr_assert_lt(i, 20);
        heap_fault_after(i);
        status = read_as(&id, CLUSTER);
        heap_fault_clear();
        cr_assert(status == STATUS_OK || status == STATUS_NOMEM);
        cr_assert_eq(memory_disk_open_files(memory), 0);
        cr_assert_eq(heap_live(), live);
    }
}

/* ---- imprints ---- */

static enum status open_imprint(uint64_t number, uint64_t cluster, struct record_snapshot *read)
{
    struct snapshot_reader *reader = NULL;
    enum status status = imprint_reader_create(&disk, cluster, number, read, &reader);

    if (status == STATUS_OK) {
        cr_assert_eq(snapshot_reader_shape(reader)->life.incarnation, 11);
        cr_assert_eq(snapshot_reader_shape(reader)->life.boot, 12);
    }
    snapshot_reader_destroy(&reader);
    return status;
}

static void write_imprint(void)
{
    struct snapshot_shape imprint = shape;
    struct snapshot_writer *writer = NULL;

    imprint.life = (struct snapshot_life){.incarnation = 11, .boot = 12};
    cr_assert_eq(snapshot_writer_create(&disk, CLUSTER, &id, &imprint, &writer), STATUS_OK);
    cr_assert_eq(snapshot_writer_add(writer, pages, NPAGES), STATUS_OK);
    cr_assert_eq(snapshot_writer_finish(writer, id.end, groups), STATUS_OK);
    snapshot_writer_destroy(&writer);
}

Test(storage_snapshot, an_imprint_says_itself_what_it_is_of)
{
    struct record_snapshot read;
    char imprint[DISK_NAME_BYTES];
    uint64_t number;

    write_imprint();
    imprint_name(id.number, imprint);
    cr_assert(imprint_name_parse(imprint, &number));
    cr_assert_eq(number, id.number);
    cr_assert_not(snapshot_name_parse(imprint, &number));
    cr_assert_eq(open_imprint(id.number, CLUSTER, &read), STATUS_OK);
    cr_assert_eq(read.filter_id, id.filter_id);
    cr_assert_eq(read.slice, id.slice);
    cr_assert_eq(read.keyset, id.keyset);
    cr_assert_eq(read.generation, id.generation);
    cr_assert_eq(read.from, id.from);
    cr_assert_eq(read.end, id.end);
    cr_assert_eq(open_imprint(id.number, CLUSTER + 1, &read), STATUS_MALFORMED);
    cr_assert_eq(open_imprint(id.number + 1, CLUSTER, &read), STATUS_NOT_FOUND);
    cr_assert_eq(disk.rename(disk.context, imprint, "imprint-0000000000000777"), STATUS_OK);
    cr_assert_eq(open_imprint(0x777, CLUSTER, &read), STATUS_MALFORMED);
}

/* Neither is taken for the other, whatever it is called. */
Test(storage_snapshot, an_imprint_is_no_snapshot)
{
    struct record_snapshot read;
    char imprint[DISK_NAME_BYTES];

    write_imprint();
    imprint_name(id.number, imprint);
    cr_assert_eq(disk.rename(disk.context, imprint, name), STATUS_OK);
    cr_assert_eq(read_as(&id, CLUSTER), STATUS_MALFORMED);
    cr_assert_eq(disk.remove(disk.context, name), STATUS_OK);
    cr_assert_eq(write_it(), STATUS_OK);
    cr_assert_eq(disk.rename(disk.context, name, imprint), STATUS_OK);
    cr_assert_eq(open_imprint(id.number, CLUSTER, &read), STATUS_MALFORMED);
}
