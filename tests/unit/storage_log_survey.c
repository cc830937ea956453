/* Judging a log, case by case, on folders made by hand. */
#include "tests/unit/storage_log_judge.h"

TestSuite(log_survey, .init = setup, .fini = teardown);

/* ---- no log, or not ours ---- */

Test(log_survey, an_empty_folder_is_empty)
{
    struct log_survey survey;

    memory_disk_put(disk, "run-0000000000000001", span_text("x"));
    memory_disk_put(disk, "log-1", span_text("x"));
    survey = look();
    cr_assert_eq(survey.state, LOG_EMPTY);
    cr_assert_eq(survey.count, 0);
    cr_assert_eq(survey.next_number, 1);
    log_survey_fini(&survey);
}

Test(log_survey, a_segment_that_was_never_used_is_none)
{
    struct log_survey survey;

    memset(image, 0, sizeof image);
    keep(3);
    memory_disk_put(disk, "log-0000000000000004", span_of("", 0));
    survey = look();
    cr_assert_eq(survey.state, LOG_EMPTY);
    cr_assert_eq(survey.next_number, 5);
    log_survey_fini(&survey);
}

Test(log_survey, another_clusters_folder_is_foreign)
{
    struct log_survey survey;

    begin(1, 0);
    put_many(2, 0);
    keep(1);
    begin_version(2, SAMPLE_CLUSTER + 1, here());
    keep(2);
    survey = look();
    cr_assert_eq(survey.state, LOG_FOREIGN);
    cr_assert_str_eq(survey.bad_name, "log-0000000000000002");
    cr_assert_eq(seen, 0);
    log_survey_fini(&survey);
}

Test(log_survey, a_newer_format_is_not_read)
{
    struct log_survey survey;

    begin(1, 0);
    sample_begin(image + used, RECORD_CLEAN, 0, 0);
    image[used + 12] = RECORD_LAST + 1;
    record_seal(image + used, boot, 0);
    keep(1);
    survey = look();
    cr_assert_eq(survey.state, LOG_VERSION);
    log_survey_fini(&survey);
}

/* A whole record of some type in which one byte says what no version knew: a newer orbloom's, and
 * not damage. */
static void expect_newer(enum record_type type, size_t at)
{
    struct log_survey survey;
    size_t place;

    begin(1, 0);
    put_many(2, 0);
    place = used;
    (void)sample_record(image + used, type, here(), boot, 0);
    image[used + at] = 0x80;
    record_seal(image + used, boot, 0);
    keep(1);
    survey = look();
    cr_assert_eq(survey.state, LOG_VERSION, "type %d", type);
    cr_assert_eq(survey.bad_at, place);
    cr_assert_eq(seen, 2, "type %d: it was visited", type);
    log_survey_fini(&survey);
}

Test(log_survey, a_flag_of_a_newer_format_is_no_damage)
{
    enum { AT_FLAGS = 14 };

    expect_newer(RECORD_BATCH, RECORD_HEADER_BYTES + 44);
    expect_newer(RECORD_IDENTITY, RECORD_HEADER_BYTES + 28);
    expect_newer(RECORD_SITE_CURSOR, RECORD_HEADER_BYTES + 80 + 36);
    expect_newer(RECORD_FENCE, AT_FLAGS);
    expect_newer(RECORD_BATCH, AT_FLAGS);
}

static enum status refuse(void *context, const struct record_header *header, struct span record)
{
    (void)context;
    (void)header;
    (void)record;
    return STATUS_VERSION;
}

Test(log_survey, a_visitor_may_end_it)
{
    struct log_survey survey = {.count = 99};
    size_t live = heap_live();

    begin(1, 0);
    put_many(2, 0);
    keep(1);
    cr_assert_eq(log_survey_make(memory_disk_seam(disk), SAMPLE_CLUSTER, refuse, NULL, &survey),
                 STATUS_VERSION);
    cr_assert_eq(survey.count, 99, "an output was touched");
    cr_assert_eq(heap_live(), live);
    cr_assert_eq(memory_disk_open_files(disk), 0);
}

/* ---- a torn end ---- */

Test(log_survey, records_up_to_zeros_are_the_log)
{
    begin(1, 640);
    put_many(5, 640);
    keep(1);
    expect_ok(1, 640 + 5 * FENCE_BYTES, 5);
}

Test(log_survey, a_log_without_records_is_one)
{
    begin(4, 640);
    keep(4);
    expect_ok(1, 640, 0);
}

Test(log_survey, a_segment_may_be_full_to_its_last_byte)
{
    begin(1, 0);
    while (used < sizeof image) {
        (void)put(0);
    }
    cr_assert_eq(used, sizeof image);
    keep(1);
    expect_ok(1, sizeof image - SEGMENT_HEADER_BYTES, (sizeof image - 64) / FENCE_BYTES);
}

/* Written in one group: the first of them did not reach the disk, the others did. */
Test(log_survey, records_behind_a_hole_that_was_never_durable_are_torn)
{
    size_t hole;
    struct log_survey survey;

    begin(1, 0);
    put_many(3, 0);
    hole = put(3 * FENCE_BYTES);
    put_many(4, 3 * FENCE_BYTES);
    memset(image + hole, 0, FENCE_BYTES);
    keep(1);
    expect_ok(1, 3 * FENCE_BYTES, 3);
    survey = look();
    cr_assert_eq(survey.torn_bytes, 5 * FENCE_BYTES);
    log_survey_fini(&survey);
}

Test(log_survey, half_a_record_is_torn)
{
    size_t last;

    begin(1, 0);
    put_many(3, 0);
    last = put(3 * FENCE_BYTES);
    memset(image + last + 48, 0xee, 16);
    keep(1);
    expect_ok(1, 3 * FENCE_BYTES, 3);
}

/* What an older file left on the disk is good in itself but says another place or boot. */
Test(log_survey, stale_records_are_no_part_of_the_log)
{
    begin(1, 0);
    put_many(3, 0);
    used += FENCE_BYTES; /* so that what follows says durable places above this one */
    boot = BOOT - 1;
    put_many(5, 4 * FENCE_BYTES);
    boot = BOOT;
    used += 8;
    first -= 8;
    put_many(5, 4 * FENCE_BYTES);
    keep(1);
    expect_ok(1, 3 * FENCE_BYTES, 3);
}

Test(log_survey, a_stale_record_at_the_end_is_not_read_as_the_next)
{
    begin(1, 0);
    put_many(3, 0);
    boot = BOOT - 1;
    put_many(1, 0);
    keep(1);
    expect_ok(1, 3 * FENCE_BYTES, 3);
    boot = BOOT;
    begin(1, 0);
    put_many(3, 0);
    first += 8;
    put_many(1, 0);
    keep(1);
    expect_ok(1, 3 * FENCE_BYTES, 3);
}

Test(log_survey, a_cut_file_is_torn)
{
    begin(1, 0);
    put_many(3, 0);
    memory_disk_put(disk, "log-0000000000000001", span_of(image, used - 8));
    expect_ok(1, 2 * FENCE_BYTES, 2);
}

/* A segment that was begun in the crash has no header yet, and what came later is not there. */
Test(log_survey, a_torn_beginning_is_not_part_of_the_log)
{
    struct log_survey survey;

    begin(1, 0);
    put_many(3, 0);
    keep(1);
    begin(2, 3 * FENCE_BYTES);
    put_many(4, 3 * FENCE_BYTES);
    memset(image, 0, SEGMENT_HEADER_BYTES);
    keep(2);
    memset(image, 0, sizeof image);
    keep(3);
    expect_ok(1, 3 * FENCE_BYTES, 3);
    survey = look();
    cr_assert_eq(survey.next_number, 4);
    cr_assert_eq(survey.torn_bytes, 4 * FENCE_BYTES);
    log_survey_fini(&survey);
}

/* ---- boots after one another ---- */

Test(log_survey, a_new_boot_hides_what_was_torn)
{
    size_t hole;

    begin(1, 0);
    put_many(3, 0);
    hole = put(3 * FENCE_BYTES);
    put_many(4, 3 * FENCE_BYTES);
    memset(image + hole, 0, FENCE_BYTES);
    keep(1);
    boot++;
    begin(2, 3 * FENCE_BYTES);
    put_many(10, 3 * FENCE_BYTES);
    keep(2);
    expect_ok(2, 13 * FENCE_BYTES, 13);
}

/* Files that were made ahead, or torn as they began, may stay between those of the log. */
Test(log_survey, unused_segments_between_do_no_harm)
{
    begin(1, 0);
    put_many(3, 0);
    keep(1);
    memset(image, 0, sizeof image);
    keep(2);
    begin(3, 3 * FENCE_BYTES);
    put_many(2, 3 * FENCE_BYTES);
    image[0] ^= 1;
    keep(3);
    boot++;
    begin(7, 3 * FENCE_BYTES);
    put_many(2, 3 * FENCE_BYTES);
    keep(7);
    expect_ok(2, 5 * FENCE_BYTES, 5);
}

/* A boot that was over before it had a record. */
Test(log_survey, an_empty_segment_between_does_no_harm)
{
    begin(1, 0);
    put_many(3, 0);
    keep(1);
    boot++;
    begin(2, 3 * FENCE_BYTES);
    keep(2);
    boot++;
    begin(3, 3 * FENCE_BYTES);
    put_many(2, 3 * FENCE_BYTES);
    keep(3);
    expect_ok(2, 5 * FENCE_BYTES, 5);
}

Test(log_survey, older_segments_may_be_gone)
{
    begin(8, 6400);
    put_many(3, 6400);
    keep(8);
    begin(9, 6400 + 3 * FENCE_BYTES);
    put_many(1, here());
    keep(9);
    expect_ok(2, 6400 + 4 * FENCE_BYTES, 4);
}

/* ---- loss ---- */

Test(log_survey, a_bad_record_below_a_later_durable_one_is_a_loss)
{
    for (size_t bad = 0; bad < 3; bad++) {
        begin(1, 0);
        put_many(3, 0);
        put_many(1, 3 * FENCE_BYTES);
        image[SEGMENT_HEADER_BYTES + bad * FENCE_BYTES + 50] ^= 0x10;
        keep(1);
        expect_corrupt("log-0000000000000001", SEGMENT_HEADER_BYTES + bad * FENCE_BYTES, bad);
    }
    begin(1, 0);
    put_many(3, 0);
    put_many(1, 3 * FENCE_BYTES);
    image[SEGMENT_HEADER_BYTES + 3 * FENCE_BYTES + 50] ^= 0x10;
    keep(1);
    expect_ok(1, 3 * FENCE_BYTES, 3);
}

/* The size of the bad record is lost as well: the later one is found by searching. */
Test(log_survey, the_evidence_may_be_far_behind)
{
    begin(1, 0);
    put_many(3, 0);
    memset(image + SEGMENT_HEADER_BYTES + FENCE_BYTES, 0xff, FENCE_BYTES);
    used += 40000;
    put_many(1, 3 * FENCE_BYTES);
    keep(1);
    expect_corrupt("log-0000000000000001", SEGMENT_HEADER_BYTES + FENCE_BYTES, 1);
}

Test(log_survey, a_bad_record_in_a_segment_before_the_last_is_a_loss)
{
    begin(1, 0);
    put_many(3, 0);
    image[SEGMENT_HEADER_BYTES + 2 * FENCE_BYTES] ^= 1;
    keep(1);
    begin(2, 3 * FENCE_BYTES);
    keep(2);
    expect_corrupt("log-0000000000000001", SEGMENT_HEADER_BYTES + 2 * FENCE_BYTES, 2);
}

Test(log_survey, a_missing_segment_in_the_middle_is_a_loss)
{
    begin(1, 0);
    put_many(3, 0);
    keep(1);
    begin(3, 5 * FENCE_BYTES);
    keep(3);
    expect_corrupt("log-0000000000000001", SEGMENT_HEADER_BYTES + 3 * FENCE_BYTES, 3);
}

Test(log_survey, a_lost_header_is_a_loss_wherever_it_was)
{
    keep_three(0);
    expect_ok(3, 9 * FENCE_BYTES, 9);
    keep_three(2);
    expect_corrupt("log-0000000000000001", SEGMENT_HEADER_BYTES + 3 * FENCE_BYTES, 3);
    keep_three(3);
    expect_corrupt("log-0000000000000003", 0, 6);
    keep_three(1);
    expect_corrupt("log-0000000000000001", 0, 6);
}

Test(log_survey, the_only_segments_header_may_be_lost)
{
    begin(1, 0);
    put_many(2, 0);
    put_many(1, 2 * FENCE_BYTES);
    image[8] ^= 1;
    keep(1);
    expect_corrupt("log-0000000000000001", 0, 0);
}

/* A record of the next segment shows that the one before was complete, with or without header. */
Test(log_survey, a_torn_beginning_shows_what_was_durable_before)
{
    begin(1, 0);
    put_many(3, 0);
    image[SEGMENT_HEADER_BYTES + 2 * FENCE_BYTES] ^= 1;
    keep(1);
    begin(2, 3 * FENCE_BYTES);
    put_many(1, 3 * FENCE_BYTES);
    memset(image, 0, SEGMENT_HEADER_BYTES);
    keep(2);
    expect_corrupt("log-0000000000000002", 0, 2);
}

Test(log_survey, a_segment_under_another_name_is_no_segment)
{
    begin(1, 0);
    put_many(3, 0);
    keep(1);
    begin(1, 0);
    put_many(3, 0);
    put_many(1, 3 * FENCE_BYTES);
    keep(2);
    expect_corrupt("log-0000000000000002", 0, 3);
}

/* After a loss a new incarnation goes on where reading ended: it counts from there. */
Test(log_survey, what_was_lost_is_cut_off_by_a_new_boot)
{
    keep_three(0);
    memory_disk_flip(disk, "log-0000000000000001", 8 * (SEGMENT_HEADER_BYTES + FENCE_BYTES));
    expect_corrupt("log-0000000000000001", SEGMENT_HEADER_BYTES + FENCE_BYTES, 1);
    boot++;
    begin(4, FENCE_BYTES);
    put_many(5, FENCE_BYTES);
    keep(4);
    expect_ok(2, 6 * FENCE_BYTES, 6);
}

/* A folder that is full of what looks like headers is gone through in linear time: reading each to
 * its end would be billions of bytes. */
Test(log_survey, headers_that_lie_cost_little)
{
    uint64_t bytes;
    struct log_survey survey;

    begin(1, 0);
    while (used + RECORD_HEADER_BYTES <= sizeof image) {
        const struct record_header header = {
            .size = (uint32_t)((sizeof image - used) / 8 * 8), .type = 1, .offset = here()};

        if (header.size < RECORD_HEADER_BYTES) {
            break;
        }
        record_begin(image + used, &header);
        memcpy(image + used + 16, &boot, sizeof boot);
        used += RECORD_HEADER_BYTES;
    }
    keep(1);
    survey = look();
    cr_assert_eq(survey.state, LOG_CORRUPT);
    log_survey_fini(&survey);
    bytes = memory_disk_reads(disk);
    cr_assert_lt(bytes, 8 * sizeof image);
}

/* ---- what a killed process left ---- */

/* `synced` of the records are durable, then more are written, and the process is killed. */
static uint64_t write_and_die(struct log_stage *stage, bool synced)
{
    uint64_t end;

    log_stage_begin(stage, 0, 1, false);
    if (synced) {
        cr_assert_eq(log_stage_add(stage, 1, 500, &end), STATUS_OK);
        log_writer_want_sync(stage->writer);
        log_stage_commit(stage);
    }
    cr_assert_eq(log_stage_add(stage, 1, 1000, &end), STATUS_OK);
    log_stage_commit(stage);
    log_stage_end(stage);
    return end;
}

static void expect_end(struct log_stage *stage, uint64_t end)
{
    struct log_survey survey = log_stage_survey(stage);

    cr_assert_eq(survey.state, LOG_OK);
    cr_assert_eq(survey.extents[0].end, end);
    log_survey_fini(&survey);
}

/* Written but not synced, then read: from then on it is relied upon, so power must not take it;
 * not even where a sync has failed, after which others succeed without what that one lost. */
Test(log_survey, makes_durable_what_it_has_read)
{
    static struct log_stage stage;

    log_stage_init(&stage);
    for (uint64_t seed = 1; seed <= 80; seed++) {
        uint64_t random = seed;
        uint64_t end = write_and_die(&stage, seed % 4 < 2);

        if (seed % 2 == 0) {
            memory_disk_lose_unsynced(stage.disk);
        }
        memory_disk_kill(stage.disk);
        expect_end(&stage, end);
        memory_disk_crash(stage.disk, &random);
        expect_end(&stage, end);
        memory_disk_destroy(&stage.disk);
        stage.disk = memory_disk_create();
    }
    log_stage_fini(&stage);
}

Test(log_survey, what_it_cannot_sync_it_does_not_judge)
{
    struct log_survey survey;

    begin(1, 0);
    keep(1);
    for (int64_t n = 0; n < 2; n++) {
        memory_disk_fail_once(disk, n, STATUS_IO);
        cr_assert_eq(log_survey_make(memory_disk_seam(disk), SAMPLE_CLUSTER, NULL, NULL, &survey),
                     STATUS_IO);
    }
    cr_assert_eq(memory_disk_open_files(disk), 0);
}

Test(log_survey, a_failed_allocation_leaves_nothing_behind)
{
    enum status status = STATUS_NOMEM;
    size_t live = heap_live();
    struct log_survey survey;

    keep_three(0);
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        cr_assert_lt(n, 20);
        heap_fault_after(n);
        status = log_survey_make(memory_disk_seam(disk), SAMPLE_CLUSTER, NULL, NULL, &survey);
        heap_fault_clear();
        if (status == STATUS_NOMEM) {
            cr_assert_eq(heap_live(), live);
            cr_assert_eq(memory_disk_open_files(disk), 0);
        }
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_eq(survey.count, 3);
    log_survey_fini(&survey);
}

/* A header that was made up, with a good checksum: whoever goes on from there must not overflow. */
Test(log_survey, a_header_with_an_impossible_offset_is_none)
{
    static const uint64_t firsts[] = {1, 4, UINT64_MAX - 7, UINT64_C(1) << 63};

    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        struct log_survey survey;

        begin(1, firsts[i]);
        keep(1);
        survey = look();
        cr_assert_eq(survey.count, 0, "offset %llx", (unsigned long long)firsts[i]);
        cr_assert_eq(survey.state, LOG_EMPTY);
        log_survey_fini(&survey);
    }
}
