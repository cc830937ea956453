/* Runs that are written, read, and not believed when they were changed. */
#include "tests/unit/storage_run_sample.h"

TestSuite(run, .init = setup, .fini = teardown);

Test(run, a_name_tells_its_number_and_no_other_text_is_one)
{
    char name[DISK_NAME_BYTES];
    uint64_t number = 0;

    run_name(UINT64_C(0xfedcba9876543210), name);
    cr_assert_str_eq(name, "run-fedcba9876543210");
    cr_assert(run_name_parse(name, &number));
    cr_assert_eq(number, UINT64_C(0xfedcba9876543210));
    cr_assert_not(run_name_parse("run-fedcba987654321", &number));
    cr_assert_not(run_name_parse("run-fedcba98765432100", &number));
    cr_assert_not(run_name_parse("run-FEDCBA9876543210", &number));
    cr_assert_not(run_name_parse("run-fedcba987654321g", &number));
    cr_assert_not(run_name_parse("log-fedcba9876543210", &number));
    cr_assert_not(run_name_parse("", &number));
}

Test(run, what_was_written_is_read_whatever_its_size)
{
    const size_t counts[] = {
        1, 2, RUN_BLOCK_KEYS - 1, RUN_BLOCK_KEYS, RUN_BLOCK_KEYS + 1, 2 * RUN_BLOCK_KEYS, MANY};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct record_run run = write_good(numbers, counts[i]);

        cr_assert_eq(run.count, counts[i]);
        cr_assert_eq(run.number, sample.number);
        cr_assert_eq(bytes_of(&run).size, run_bytes(counts[i]));
        assert_holds(&run, numbers, counts[i]);
        cr_assert_eq(memory_disk_open_files(memory), 0);
        remove_run(&run);
    }
}

Test(run, the_lowest_and_the_highest_number_are_fingerprints_too)
{
    const uint64_t ends[] = {0, UINT64_MAX};
    struct record_run run = write_good(ends, 2);

    assert_holds(&run, ends, 2);
}

Test(run, a_finished_run_survives_a_crash)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        uint64_t random = seed;
        struct record_run run = write_good(numbers, MANY);

        memory_disk_crash(memory, &random);
        assert_holds(&run, numbers, MANY);
        remove_run(&run);
    }
}

/* So that the last sync is of little, and holds up nobody. */
Test(run, a_long_run_is_synced_as_it_grows)
{
    enum { BLOCKS = 300, SYNCED_BLOCKS = 128 /* 8 MiB */ };
    struct run_writer *writer = NULL;
    uint64_t *block = heap_alloc(RUN_BLOCK_KEYS, sizeof *block);
    struct record_run run = {0};
    uint64_t value = 0;

    cr_assert_eq(run_writer_create(&disk, CLUSTER, &sample, 0, &writer), STATUS_OK);
    for (size_t i = 0; i < BLOCKS; i++) {
        for (size_t k = 0; k < RUN_BLOCK_KEYS; k++) {
            block[k] = value++;
        }
        cr_assert_eq(run_writer_add(writer, block, RUN_BLOCK_KEYS), STATUS_OK);
        cr_assert_eq(memory_disk_syncs(memory), (i + 1) / SYNCED_BLOCKS);
    }
    cr_assert_eq(run_writer_finish(writer, &run), STATUS_OK);
    cr_assert_eq(run.count, BLOCKS * RUN_BLOCK_KEYS);
    run_writer_destroy(&writer);
    heap_free(block);
}

/* In one call, in different ones, and where a block ends. */
Test(run, repeats_are_written_once)
{
    uint64_t *twice = heap_alloc(2 * MANY, sizeof *twice);
    const size_t steps[] = {1, 2, 3, RUN_BLOCK_KEYS, 2 * MANY};

    for (size_t i = 0; i < MANY; i++) {
        twice[2 * i] = twice[2 * i + 1] = numbers[i];
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct record_run run = {0};

        cr_assert_eq(write_run(twice, 2 * MANY, steps[i], &run), STATUS_OK);
        cr_assert_eq(run.count, MANY);
        assert_holds(&run, numbers, MANY);
        remove_run(&run);
    }
    heap_free(twice);
}

Test(run, more_than_expected_may_come)
{
    struct run_writer *writer = NULL;
    struct record_run run = {0};

    cr_assert_eq(run_writer_create(&disk, CLUSTER, &sample, 0, &writer), STATUS_OK);
    cr_assert_eq(run_writer_add(writer, numbers, MANY), STATUS_OK);
    cr_assert_eq(run_writer_finish(writer, &run), STATUS_OK);
    run_writer_destroy(&writer);
    cr_assert_eq(bytes_of(&run).size, run_bytes(MANY));
    assert_holds(&run, numbers, MANY);
}

Test(run, nothing_makes_no_file)
{
    struct record_run run = {.count = 1};

    cr_assert_eq(write_run(numbers, 0, 1, &run), STATUS_OK);
    cr_assert_eq(run.count, 0);
    cr_assert_eq(count_files(), 0);
}

Test(run, a_writer_that_did_not_finish_leaves_no_file)
{
    struct run_writer *writer = NULL;

    cr_assert_eq(run_writer_create(&disk, CLUSTER, &sample, 10, &writer), STATUS_OK);
    cr_assert_eq(run_writer_add(writer, numbers, 10), STATUS_OK);
    run_writer_destroy(&writer);
    cr_assert_null(writer);
    cr_assert_eq(count_files(), 0);
}

Test(run, a_file_of_that_number_is_left_alone)
{
    struct record_run run = write_good(numbers, 10);
    struct run_writer *writer = NULL;

    cr_assert_eq(run_writer_create(&disk, CLUSTER, &sample, 5, &writer), STATUS_EXISTS);
    cr_assert_null(writer);
    assert_holds(&run, numbers, 10);
}

Test(run, seeking_finds_the_first_that_is_not_below)
{
    struct record_run run = write_good(numbers, MANY);
    const size_t places[] = {
        0, 1, RUN_BLOCK_KEYS - 1, RUN_BLOCK_KEYS, RUN_BLOCK_KEYS + 1, MANY - 2, MANY - 1};
    uint64_t *read = heap_alloc(MANY, sizeof *read);
    size_t nread = 0;

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        for (uint64_t below = 0; below < 3; below++) { /* numbers are 3 apart */
            cr_assert_eq(read_run(&run, numbers[places[i]] - below, read, &nread), STATUS_OK);
            cr_assert_eq(nread, MANY - places[i], "from %zu - %lu", places[i], below);
            cr_assert_arr_eq(read, numbers + places[i], nread * sizeof *read);
        }
    }
    cr_assert_eq(read_run(&run, numbers[MANY - 1] + 1, read, &nread), STATUS_OK);
    cr_assert_eq(nread, 0);
    heap_free(read);
}

Test(run, a_reader_may_seek_back_and_forth)
{
    struct record_run run = write_good(numbers, MANY);
    struct run_reader *reader = NULL;
    const size_t places[] = {MANY - 1, 0, RUN_BLOCK_KEYS, 5, RUN_BLOCK_KEYS - 1};

    cr_assert_eq(run_reader_create(&disk, CLUSTER, &run, &reader), STATUS_OK);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const uint64_t *stretch = NULL;
        size_t count = 0;

        run_reader_seek(reader, numbers[places[i]]);
        cr_assert_eq(run_reader_next(reader, &stretch, &count), STATUS_OK);
        cr_assert_gt(count, 0);
        cr_assert_eq(stretch[0], numbers[places[i]]);
    }
    run_reader_destroy(&reader);
}

/* The format does not change by accident. Its checksums are libxxhash's. */
Test(run, the_bytes_of_a_run_are_these)
{
    const uint64_t three[] = {1, UINT64_C(0x0102030405060708), UINT64_MAX};
    static const uint8_t golden[] = {
        'O',  'R',  'B',  'R',  'U',  'N',  0,    1,    /* format 1 */
        77,   0,    0,    0,    0,    0,    0,    0,    /* cluster */
        0x1f, 0,    0,    0,    0,    0,    0,    0,    /* number */
        5,    0,    0,    0,    0,    0,    0,    0,    /* filter id */
        9,    0,    0,    0,    0,    0,    0,    0,    /* slice */
        3,    0,    0,    0,    0,    0,    0,    0,    /* keyset */
        3,    0,    0,    0,    0,    0,    0,    0,    /* count */
        0x2a, 0x5c, 0xd0, 0x85, 0x0b, 0x01, 0xde, 0x98, /* of the header */
        1,    0,    0,    0,    0,    0,    0,    0,    /* fingerprints */
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 1,    0,    0,    0,    0,    0,    0,    0, /* block: its first */
        0x8f, 0x50, 0x89, 0x26, 0x4c, 0x25, 0xcb, 0x40,                      /* of the block */
        0xee, 0x13, 0x4c, 0xd2, 0x34, 0x20, 0x63, 0x80,                      /* of the index */
    };
    struct record_run run = write_good(three, 3);

    cr_assert_eq(bytes_of(&run).size, sizeof golden);
    cr_assert_arr_eq(bytes_of(&run).data, golden, sizeof golden);
}

static bool readable(const struct record_run *run)
{
    uint64_t read[64];
    size_t nread = 0;

    return read_run(run, 0, read, &nread) == STATUS_OK;
}

Test(run, no_cut_run_is_believed)
{
    struct record_run run = write_good(numbers, 20);
    size_t size = bytes_of(&run).size;
    uint8_t *whole = copy_of(&run, 0);
    uint8_t *torn = heap_zalloc(size, 1);

    for (size_t kept = 0; kept < size; kept++) {
        put_bytes(&run, whole, kept);
        cr_assert_not(readable(&run), "cut to %zu bytes", kept);
        memcpy(torn, whole, kept);
        put_bytes(&run, torn, size);
        cr_assert_eq(readable(&run), memcmp(torn, whole, size) == 0, "zeros from %zu on", kept);
    }
    cr_assert_eq(memory_disk_open_files(memory), 0);
    heap_free(whole);
    heap_free(torn);
}

Test(run, no_flipped_bit_is_believed)
{
    struct record_run run = write_good(numbers, 20);
    size_t size = bytes_of(&run).size;
    char name[DISK_NAME_BYTES];

    run_name(run.number, name);
    for (uint64_t bit = 0; bit < size * 8; bit++) {
        memory_disk_flip(memory, name, bit);
        cr_assert_not(readable(&run), "bit %lu", bit);
        memory_disk_flip(memory, name, bit);
    }
    cr_assert(readable(&run));
}

Test(run, room_that_was_not_needed_does_no_harm)
{
    struct record_run run = write_good(numbers, 20);
    uint8_t *copy = copy_of(&run, 1000);

    put_bytes(&run, copy, run_bytes(20) + 1000);
    assert_holds(&run, numbers, 20);
    heap_free(copy);
}

Test(run, only_the_run_that_was_asked_for_is_opened)
{
    struct record_run run = write_good(numbers, 20);
    struct record_run others[5] = {run, run, run, run, run};
    struct run_reader *reader = NULL;

    others[0].filter_id++;
    others[1].slice++;
    others[2].keyset++;
    others[3].count--;
    others[4].count = UINT64_MAX;
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(run_reader_create(&disk, CLUSTER, &others[i], &reader), STATUS_MALFORMED,
                     "%zu", i);
    }
    cr_assert_eq(run_reader_create(&disk, CLUSTER + 1, &run, &reader), STATUS_MALFORMED);
    run.number++;
    cr_assert_eq(run_reader_create(&disk, CLUSTER, &run, &reader), STATUS_NOT_FOUND);
    cr_assert_null(reader);
}

Test(run, a_run_under_another_number_is_refused)
{
    struct record_run run = write_good(numbers, 20);
    struct run_reader *reader = NULL;
    uint8_t *copy = copy_of(&run, 0);

    run.number++;
    put_bytes(&run, copy, run_bytes(20));
    heap_free(copy);
    cr_assert_eq(run_reader_create(&disk, CLUSTER, &run, &reader), STATUS_MALFORMED);
}

Test(run, another_version_is_said_to_be_one)
{
    struct record_run run = write_good(numbers, 20);
    struct run_reader *reader = NULL;
    uint8_t *header = copy_of(&run, 0);
    uint64_t checksum;

    header[7]++;
    put_bytes(&run, header, run_bytes(20));
    cr_assert_eq(run_reader_create(&disk, CLUSTER, &run, &reader), STATUS_MALFORMED);
    checksum = XXH3_64bits(header, RUN_HEADER_BYTES - 8);
    memcpy(header + RUN_HEADER_BYTES - 8, &checksum, sizeof checksum);
    put_bytes(&run, header, run_bytes(20));
    heap_free(header);
    cr_assert_eq(run_reader_create(&disk, CLUSTER, &run, &reader), STATUS_VERSION);
}

/* Put right all checksums of a run whose fingerprints were changed. */
static void seal(uint8_t *file, uint64_t count)
{
    uint8_t *at = file + run_index_offset(count);
    size_t index_size = run_nblocks(count) * sizeof(struct run_block);
    uint64_t checksum;

    for (uint64_t first = 0; first < count; first += RUN_BLOCK_KEYS) {
        uint64_t n = count - first < RUN_BLOCK_KEYS ? count - first : RUN_BLOCK_KEYS;
        const uint8_t *block = file + run_index_offset(first);
        struct run_block entry = {.checksum = XXH3_64bits(block, n * sizeof(uint64_t))};

        memcpy(&entry.first, block, sizeof entry.first);
        memcpy(at + first / RUN_BLOCK_KEYS * sizeof entry, &entry, sizeof entry);
    }
    checksum = XXH3_64bits(at, index_size);
    memcpy(at + index_size, &checksum, sizeof checksum);
}

static void put_number(uint8_t *file, uint64_t index, uint64_t value)
{
    memcpy(file + run_index_offset(index), &value, sizeof value);
}

/* Whoever wrote it was wrong: what merges must not meet it. */
Test(run, fingerprints_that_do_not_ascend_are_refused_though_the_checksums_match)
{
    const struct {
        uint64_t index;
        uint64_t value;
    } faults[] = {
        {5, numbers[4]},                                   /* a repeat */
        {5, numbers[4] - 1},                               /* a descent */
        {RUN_BLOCK_KEYS - 1, numbers[RUN_BLOCK_KEYS]},     /* a repeat in the next block */
        {RUN_BLOCK_KEYS - 1, numbers[RUN_BLOCK_KEYS] + 1}, /* it overlaps the next block */
        {RUN_BLOCK_KEYS, 0},                               /* blocks that do not ascend */
        {MANY - 1, 0},
    };
    struct record_run run = write_good(numbers, MANY);
    uint8_t *file = copy_of(&run, 0);
    uint64_t *read = heap_alloc(MANY, sizeof *read);
    size_t nread = 0;

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        put_number(file, faults[i].index, faults[i].value);
        seal(file, MANY);
        put_bytes(&run, file, run_bytes(MANY));
        cr_assert_eq(read_run(&run, 0, read, &nread), STATUS_MALFORMED, "fault %zu", i);
        put_number(file, faults[i].index, numbers[faults[i].index]);
    }
    seal(file, MANY);
    put_bytes(&run, file, run_bytes(MANY));
    cr_assert_eq(read_run(&run, 0, read, &nread), STATUS_OK);
    heap_free(file);
    heap_free(read);
}

/* ---- up to where its batches go ---- */

static uint64_t through_of(const struct record_run *run)
{
    struct run_reader *reader = NULL;
    uint64_t through;

    cr_assert_eq(run_reader_create(&disk, CLUSTER, run, &reader), STATUS_OK);
    through = run_reader_through(reader);
    run_reader_destroy(&reader);
    return through;
}

static struct record_run write_through(uint64_t through, uint64_t expected)
{
    struct record_run run = sample;
    struct run_writer *writer = NULL;

    run.through = through;
    cr_assert_eq(run_writer_create(&disk, CLUSTER, &run, expected, &writer), STATUS_OK);
    cr_assert_eq(run_writer_add(writer, numbers, MANY), STATUS_OK);
    cr_assert_eq(run_writer_finish(writer, &run), STATUS_OK);
    run_writer_destroy(&writer);
    cr_assert_eq(run.through, through);
    return run;
}

Test(run, it_says_below_which_offset_of_the_log_its_batches_are)
{
    static const uint64_t expected[] = {0, MANY, 2 * MANY};

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct record_run run = write_through(123456, expected[i]);

        cr_assert_eq(through_of(&run), 123456);
        cr_assert(run_is_below(&run, 123456));
        cr_assert_not(run_is_below(&run, 123455));
        assert_holds(&run, numbers, MANY);
        remove_run(&run);
    }
}

Test(run, one_that_does_not_say_so_is_below_nothing)
{
    struct record_run run = write_good(numbers, MANY);

    cr_assert_eq(through_of(&run), 0);
    cr_assert_not(run_is_below(&run, UINT64_MAX));
}

/* As an older release leaves it, or a flipped bit: no damage of the run. */
Test(run, what_it_says_may_be_missing_or_changed)
{
    struct record_run run = write_through(123456, 0);
    size_t size = bytes_of(&run).size;
    uint8_t *copy = copy_of(&run, 0);

    cr_assert_eq(size, run_bytes(MANY) + 16);
    put_bytes(&run, copy, size - 1);
    cr_assert_eq(through_of(&run), 0);
    for (size_t at = size - 16; at < size; at++) {
        copy[at] ^= 1;
        put_bytes(&run, copy, size);
        cr_assert_eq(through_of(&run), 0);
        assert_holds(&run, numbers, MANY);
        copy[at] ^= 1;
    }
    heap_free(copy);
}

Test(run, it_may_be_told_later)
{
    for (uint64_t through = 1; through < 3; through++) {
        struct record_run run = write_through(through - 1, 2 * MANY); /* and room behind it */

        run.through = 1000;
        cr_assert_eq(run_write_through(&disk, CLUSTER, &run), STATUS_OK);
        cr_assert_eq(through_of(&run), 1000);
        assert_holds(&run, numbers, MANY);
        remove_run(&run);
    }
    cr_assert_eq(run_write_through(&disk, CLUSTER, &sample), STATUS_NOT_FOUND);
}
