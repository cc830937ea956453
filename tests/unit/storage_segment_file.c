/* A segment's file that is used again: whatever a crash interrupts, the log is what it was. */
#include "log/log_reader.h"
#include "log/segment_file.h"
#include "tests/unit/storage_log_by_hand.h"

#include <criterion/criterion.h>

TestSuite(segment_file, .init = setup, .fini = teardown);

enum { CRASHES = 64, RECORDS = 20 /* in a segment */ };

static const struct disk *seam(void)
{
    return memory_disk_seam(disk);
}

/* Segments 1 to 3, larger than what is made zero of one; nobody needs the first. */
static void keep_log(void)
{
    for (uint64_t number = 1; number <= 3; number++) {
        begin(number, (number - 1) * RECORDS * FENCE_BYTES);
        put_many(RECORDS / 2, first);
        put_many(RECORDS / 2, first + RECORDS / 2 * FENCE_BYTES);
        keep(number);
    }
    cr_assert_eq(seam()->sync_folder(seam()->context), STATUS_OK);
}

static bool there(const char *name)
{
    uint32_t file;
    uint64_t size;
    bool found = seam()->open(seam()->context, name, &file, &size) == STATUS_OK;

    if (found) {
        seam()->close(seam()->context, file);
    }
    return found;
}

static void expect_log(uint64_t most_extents)
{
    struct log_survey survey;

    cr_assert_eq(log_survey_make(memory_disk_seam(disk), SAMPLE_CLUSTER, NULL, NULL, &survey),
                 STATUS_OK);
    cr_assert_eq(survey.state, LOG_OK, "%s: %s", survey.bad_name, survey.reason);
    cr_assert(survey.count >= 2 && survey.count <= most_extents);
    cr_assert_eq(survey.extents[survey.count - 1].end, 3 * RECORDS * FENCE_BYTES);
    cr_assert_eq(survey.torn_bytes, 0);
    log_survey_fini(&survey);
}

Test(segment_file, a_dropped_segment_becomes_the_next)
{
    static const uint8_t zeros[SEGMENT_HEADER_BYTES];
    uint32_t file;

    keep_log();
    cr_assert_eq(segment_file_drop(seam(), 1, true), STATUS_OK);
    cr_assert_not(there("log-0000000000000001"));
    expect_log(2);
    cr_assert_eq(segment_file_make(seam(), 4, IMAGE_BYTES, true, &file), STATUS_OK);
    cr_assert_not(there(SEGMENT_SPARE));
    cr_assert_eq(memory_disk_bytes(disk, "log-0000000000000004").size, IMAGE_BYTES);
    cr_assert_arr_eq(memory_disk_bytes(disk, "log-0000000000000004").data, zeros, sizeof zeros);
    expect_log(2);
    cr_assert_eq(seam()->write(seam()->context, file, 0, span_of(image, 64)), STATUS_OK);
    seam()->close(seam()->context, file);
}

Test(segment_file, a_segment_is_made_new_where_there_is_no_fitting_spare)
{
    uint32_t file;

    keep_log();
    cr_assert_eq(segment_file_make(seam(), 4, IMAGE_BYTES, true, &file), STATUS_OK);
    seam()->close(seam()->context, file);
    cr_assert_eq(segment_file_drop(seam(), 1, true), STATUS_OK);
    cr_assert_eq(segment_file_make(seam(), 5, 2 * IMAGE_BYTES, true, &file), STATUS_OK);
    seam()->close(seam()->context, file);
    cr_assert_eq(memory_disk_bytes(disk, "log-0000000000000005").size, 2 * IMAGE_BYTES);
    cr_assert(there(SEGMENT_SPARE));
    cr_assert_eq(segment_file_remove_spare(seam()), STATUS_OK);
    cr_assert_not(there(SEGMENT_SPARE));
    cr_assert_eq(segment_file_remove_spare(seam()), STATUS_OK, "none is there");
}

Test(segment_file, dropping_without_a_use_removes)
{
    keep_log();
    cr_assert_eq(segment_file_drop(seam(), 1, false), STATUS_OK);
    cr_assert_not(there(SEGMENT_SPARE));
    expect_log(2);
    cr_assert_eq(segment_file_drop(seam(), 1, true), STATUS_OK, "it is gone");
}

/* At every operation, by kill -9 and by power loss. */
Test(segment_file, a_crash_at_any_operation_leaves_the_log)
{
    uint64_t random = 1;

    for (int64_t operations = 0; operations < 8; operations++) {
        for (int i = 0; i < CRASHES; i++) {
            uint32_t file;
            enum status status;

            teardown();
            setup();
            keep_log();
            memory_disk_fail_after(disk, operations);
            status = segment_file_drop(seam(), 1, true);
            if (status == STATUS_OK) {
                status = segment_file_make(seam(), 4, IMAGE_BYTES, true, &file);
            }
            if (i == 0) {
                memory_disk_kill(disk);
            } else {
                memory_disk_crash(disk, &random);
            }
            expect_log(3);
            cr_assert(status != STATUS_OK || there("log-0000000000000004"));
        }
    }
}
