/* Judging a log whose files were used before: what is left in them is no part of it. */
#include "tests/unit/storage_log_judge.h"

TestSuite(log_survey_again, .init = setup, .fini = teardown);

/* Segments 5 and 6; the next file was segment 4 before, full of records that were durable. */
static void keep_two_and_a_used_one(void)
{
    begin(4, 0);
    put_many(2, 0);
    put_many(4, 2 * FENCE_BYTES);
    memset(image, 0, SEGMENT_HEADER_BYTES);
    keep(7);
    begin(5, 6 * FENCE_BYTES);
    put_many(3, first);
    keep(5);
    begin(6, 9 * FENCE_BYTES);
    put_many(3, first);
    keep(6);
}

Test(log_survey_again, what_a_file_was_before_is_no_loss)
{
    keep_two_and_a_used_one();
    expect_ok(2, 12 * FENCE_BYTES, 6);
}

/* Its header gone, what is its own still tells of that; what it was before does not hide it. */
Test(log_survey_again, a_used_files_lost_header_is_a_loss)
{
    keep_two_and_a_used_one();
    begin(7, 12 * FENCE_BYTES);
    put_many(1, first);
    put_many(1, first + FENCE_BYTES);
    memset(image, 0, SEGMENT_HEADER_BYTES);
    first = 0; /* From here on as segment 4 had them. */
    put_many(4, 0);
    keep(7);
    expect_corrupt("log-0000000000000007", 0, 6);
}

Test(log_survey_again, a_used_file_ends_where_its_own_records_end)
{
    struct log_survey survey;

    keep_two_and_a_used_one();
    begin(7, 12 * FENCE_BYTES);
    put_many(2, first);
    first = 0;
    put_many(4, 2 * FENCE_BYTES);
    keep(7);
    expect_ok(3, 14 * FENCE_BYTES, 8);
    survey = look();
    cr_assert_eq(survey.torn_bytes, 0);
    log_survey_fini(&survey);
}

/* The oldest segment is never one that is yet to be written. */
Test(log_survey_again, what_is_before_the_log_is_not_made_ahead)
{
    keep_two_and_a_used_one();
    begin(4, 0);
    put_many(2, 0);
    put_many(4, 2 * FENCE_BYTES);
    memset(image, 0, SEGMENT_HEADER_BYTES);
    keep(4);
    expect_corrupt("log-0000000000000004", 0, 6);
}
