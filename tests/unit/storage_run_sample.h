/* storage_run_sample.h - one run on a disk in memory whose reads fail when told, for the tests of
 * what writes and reads runs. Each test program has its own; setup() and teardown() go into its
 * suite.
 */
#ifndef ORBLOOM_TESTS_UNIT_STORAGE_RUN_SAMPLE_H
#define ORBLOOM_TESTS_UNIT_STORAGE_RUN_SAMPLE_H

#include "base/heap.h"
#include "log/run_format.h"
#include "tests/support/memory_disk.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <string.h>
#include <xxhash.h>

enum { MANY = 3 * RUN_BLOCK_KEYS + 17, CLUSTER = 77 };

static const struct record_run sample = {.number = 0x1f, .filter_id = 5, .slice = 9, .keyset = 3};

static struct memory_disk *memory;
static struct disk disk; /* the memory's, but that its reads fail once `reads_left` is 0 */
static int reads_left = -1;
static uint64_t numbers[MANY];

static inline enum status read_or_fail(void *context, uint32_t file, uint64_t offset, void *into,
                                       size_t size)
{
    if (reads_left == 0) {
        return STATUS_IO;
    }
    reads_left -= reads_left > 0;
    return memory_disk_seam(memory)->read(context, file, offset, into, size);
}

static inline void setup(void)
{
    memory = memory_disk_create();
    disk = *memory_disk_seam(memory);
    disk.read = read_or_fail;
    for (size_t i = 0; i < MANY; i++) {
        numbers[i] = 3 * i + 2;
    }
}

static inline void teardown(void)
{
    memory_disk_destroy(&memory);
}

/* Writes `count` fingerprints in calls of `step`. */
static inline enum status write_run(const uint64_t *fingerprints, size_t count, size_t step,
                                    struct record_run *run)
{
    struct run_writer *writer = NULL;
    enum status status = run_writer_create(&disk, CLUSTER, &sample, count, &writer);

    for (size_t i = 0; i < count && status == STATUS_OK; i += step) {
        size_t left = count - i;

        status = run_writer_add(writer, fingerprints + i, left < step ? left : step);
    }
    if (status == STATUS_OK) {
        status = run_writer_finish(writer, run);
    }
    run_writer_destroy(&writer);
    return status;
}

static inline struct record_run write_good(const uint64_t *fingerprints, size_t count)
{
    struct record_run run = {0};

    cr_assert_eq(write_run(fingerprints, count, 1000, &run), STATUS_OK);
    return run;
}

/* Everything from `from` on, into `into`. */
static inline enum status read_run(const struct record_run *run, uint64_t from, uint64_t *into,
                                   size_t *count)
{
    struct run_reader *reader = NULL;
    enum status status = run_reader_create(&disk, CLUSTER, run, &reader);
    size_t got = 1;

    *count = 0;
    if (status == STATUS_OK) {
        run_reader_seek(reader, from);
    }
    while (status == STATUS_OK && got > 0) {
        const uint64_t *stretch = NULL;

        status = run_reader_next(reader, &stretch, &got);
        if (status == STATUS_OK && got > 0) {
            memcpy(into + *count, stretch, got * sizeof *stretch);
            *count += got;
        }
    }
    run_reader_destroy(&reader);
    return status;
}

static inline void assert_holds(const struct record_run *run, const uint64_t *fingerprints,
                                size_t count)
{
    uint64_t *read = heap_alloc(MANY, sizeof *read);
    size_t nread = 0;

    cr_assert_eq(read_run(run, 0, read, &nread), STATUS_OK);
    cr_assert_eq(nread, count);
    cr_assert_arr_eq(read, fingerprints, count * sizeof *read);
    heap_free(read);
}

/* Its bytes as they are now. */
static inline struct span bytes_of(const struct record_run *run)
{
    char name[DISK_NAME_BYTES];

    run_name(run->number, name);
    return memory_disk_bytes(memory, name);
}

static inline void put_bytes(const struct record_run *run, const uint8_t *bytes, size_t size)
{
    char name[DISK_NAME_BYTES];

    run_name(run->number, name);
    memory_disk_put(memory, name, span_of(bytes, size));
}

/* A copy, with `more` zeros behind it, to be changed and put back. */
static inline uint8_t *copy_of(const struct record_run *run, size_t more)
{
    struct span bytes = bytes_of(run);
    uint8_t *copy = heap_zalloc(bytes.size + more, 1);

    memcpy(copy, bytes.data, bytes.size);
    return copy;
}

static inline void remove_run(const struct record_run *run)
{
    char name[DISK_NAME_BYTES];

    run_name(run->number, name);
    cr_assert_eq(disk.remove(disk.context, name), STATUS_OK);
}

static inline void count_name(void *argument, const char *name)
{
    (void)name;
    ++*(size_t *)argument;
}

static inline size_t count_files(void)
{
    size_t count = 0;

    cr_assert_eq(disk.list(disk.context, count_name, &count), STATUS_OK);
    return count;
}

#endif
