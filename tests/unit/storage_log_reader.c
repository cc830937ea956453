/* Reading stretches of a log. */
#include "base/heap.h"
#include "log/log_reader.h"
#include "tests/support/log_stage.h"
#include "tests/unit/storage_log_by_hand.h"

#include <criterion/criterion.h>

TestSuite(log_reader, .init = setup, .fini = teardown);

static const struct log_extent three[] = {
    {.number = 1, .first = 0, .end = 3 * FENCE_BYTES},
    {.number = 2, .first = 3 * FENCE_BYTES, .end = 6 * FENCE_BYTES},
    {.number = 3, .first = 6 * FENCE_BYTES, .end = 9 * FENCE_BYTES}};

static struct log_reader *open_three(uint64_t from, uint64_t to)
{
    struct log_reader *reader = NULL;

    cr_assert_eq(log_reader_create(memory_disk_seam(disk), three, 3, from, to, &reader), STATUS_OK);
    return reader;
}

Test(log_reader, any_stretch_is_read)
{
    keep_three(0);
    for (uint64_t from = 0; from <= 9; from++) {
        for (uint64_t to = from; to <= 9; to++) {
            struct log_reader *reader = open_three(from * FENCE_BYTES, to * FENCE_BYTES);
            struct record_header header;
            struct span record;

            for (uint64_t at = from; at < to; at++) {
                cr_assert_eq(log_reader_offset(reader), at * FENCE_BYTES);
                cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_OK);
                cr_assert_eq(header.offset, at * FENCE_BYTES);
                cr_assert_eq(record.size, FENCE_BYTES);
            }
            cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_NOT_FOUND);
            cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_NOT_FOUND);
            cr_assert_eq(log_reader_offset(reader), to * FENCE_BYTES);
            log_reader_destroy(&reader);
        }
    }
    cr_assert_eq(memory_disk_open_files(disk), 0);
}

static enum status read_to_the_end(uint64_t from)
{
    struct log_reader *reader = open_three(from, 9 * FENCE_BYTES);
    struct record_header header;
    struct span record;
    enum status status;

    do {
        status = log_reader_next(reader, &header, &record);
    } while (status == STATUS_OK);
    cr_assert_eq(log_reader_next(reader, &header, &record), status, "it does not go on");
    log_reader_destroy(&reader);
    return status;
}

Test(log_reader, what_should_be_there_and_is_not_is_malformed)
{
    keep_three(0);
    cr_assert_eq(read_to_the_end(0), STATUS_NOT_FOUND);
    cr_assert_eq(read_to_the_end(8), STATUS_MALFORMED, "no record begins there");
    memory_disk_flip(disk, "log-0000000000000002", 8 * 200);
    cr_assert_eq(read_to_the_end(0), STATUS_MALFORMED);
    cr_assert_eq(read_to_the_end(6 * FENCE_BYTES), STATUS_NOT_FOUND);
    keep_three(2);
    cr_assert_eq(read_to_the_end(0), STATUS_MALFORMED);
    keep_three(0);
    begin(3, 5 * FENCE_BYTES);
    keep(3);
    cr_assert_eq(read_to_the_end(0), STATUS_MALFORMED, "another segment than the survey's");
    cr_assert_eq(memory_disk_seam(disk)->remove(disk, "log-0000000000000003"), STATUS_OK);
    cr_assert_eq(read_to_the_end(0), STATUS_MALFORMED);
}

/* A stretch that ends within a record is not of this log. */
Test(log_reader, a_record_across_the_end_is_malformed)
{
    struct log_reader *reader;
    struct record_header header;
    struct span record;

    keep_three(0);
    reader = open_three(0, FENCE_BYTES + 8);
    cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_OK);
    cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_MALFORMED);
    log_reader_destroy(&reader);
}

Test(log_reader, extents_with_a_hole_are_malformed)
{
    static const struct log_extent holed[] = {
        {.number = 1, .first = 0, .end = 3 * FENCE_BYTES},
        {.number = 3, .first = 6 * FENCE_BYTES, .end = 9 * FENCE_BYTES}};
    struct log_reader *reader = NULL;
    struct record_header header;
    struct span record;

    keep_three(0);
    cr_assert_eq(log_reader_create(memory_disk_seam(disk), holed, 2, 2 * FENCE_BYTES, 9, &reader),
                 STATUS_OK);
    log_reader_destroy(&reader);
    cr_assert_eq(log_reader_create(memory_disk_seam(disk), holed, 2, 3 * FENCE_BYTES,
                                   9 * FENCE_BYTES, &reader),
                 STATUS_OK);
    cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_MALFORMED);
    log_reader_destroy(&reader);
}

/* Records longer than what is read at once, and many in one read. */
Test(log_reader, records_of_all_sizes_are_read)
{
    static const uint32_t counts[] = {1, 500000, 3, 40000, 32768, 7, 524000, 2};
    static struct log_stage stage;
    struct log_survey survey;
    struct log_reader *reader = NULL;
    struct record_header header;
    struct span record;
    uint64_t end;

    log_stage_init(&stage);
    stage.segment_bytes = 16 << 20;
    log_stage_begin(&stage, 0, 1, true);
    for (uint64_t i = 0; i < 8; i++) {
        cr_assert_eq(log_stage_add(&stage, i, counts[i], &end), STATUS_OK);
    }
    log_stage_commit(&stage);
    survey = log_stage_survey(&stage);
    cr_assert_eq(survey.extents[0].end, end);
    cr_assert_eq(log_reader_create(memory_disk_seam(stage.disk), survey.extents, survey.count, 0,
                                   end, &reader),
                 STATUS_OK);
    for (uint64_t i = 0; i < 8; i++) {
        cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_OK);
        cr_assert(log_stage_is_batch(record, i, counts[i]));
    }
    cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_NOT_FOUND);
    log_reader_destroy(&reader);
    log_survey_fini(&survey);
    log_stage_fini(&stage);
}

Test(log_reader, a_failed_allocation_leaves_nothing_behind)
{
    enum status status = STATUS_NOMEM;
    size_t live = heap_live();

    keep_three(0);
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        struct log_reader *reader = NULL;
        struct record_header header;
        struct span record;

        cr_assert_lt(n, 20);
        heap_fault_after(n);
        status = log_reader_create(memory_disk_seam(disk), three, 3, 0, 64, &reader);
        if (status == STATUS_OK) {
            status = log_reader_next(reader, &header, &record);
        }
        heap_fault_clear();
        log_reader_destroy(&reader);
        cr_assert_eq(heap_live(), live);
    }
    cr_assert_eq(status, STATUS_OK);
}
