/* Appending where there is no room: what has none is refused, and nothing else is. */
#include "tests/unit/storage_log_writer.h"

#include <string.h>

TestSuite(log_writer_refusals, .init = setup);

static void fill_up(uint64_t *number, enum status expected)
{
    uint64_t end;
    enum status status;

    while ((status = log_stage_add(&stage, *number, KIB_BATCH, &end)) == STATUS_OK) {
        (*number)++;
        log_stage_commit(&stage);
        cr_assert_lt(*number, 1000);
    }
    cr_assert_eq(status, expected);
}

Test(log_writer_refusals, without_room_for_a_segment_adds_are_refused_until_there_is_some)
{
    uint64_t number = 0;
    uint64_t end;
    int turns = 0;

    memory_disk_limit(stage.disk, STAGE_SEGMENT_BYTES + 100);
    log_stage_begin(&stage, 0, 1, true);
    fill_up(&number, STATUS_NO_SPACE);
    cr_assert_leq(log_writer_end(stage.writer), STAGE_SEGMENT_BYTES / 8 * 7 - 64, "the reserve");
    cr_assert_eq(log_writer_room(stage.writer, 8), STATUS_OK, "a small one fits still");
    cr_assert_eq(log_stage_fence(&stage, 1, &end), STATUS_OK, "the reserve is for fences");
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), end, "what was accepted is committed");
    while (log_stage_fence(&stage, 2, &end) == STATUS_OK) {
        log_stage_commit(&stage);
    }
    cr_assert_gt(end, STAGE_SEGMENT_BYTES - 200, "the reserve was not used");
    cr_assert_eq(log_stage_fence(&stage, 2, &end), STATUS_NO_SPACE);
    memory_disk_limit(stage.disk, 2 * STAGE_SEGMENT_BYTES);
    while (log_stage_add(&stage, number, KIB_BATCH, &end) == STATUS_NO_SPACE) {
        log_stage_commit(&stage);
        cr_assert_lt(turns++, 4096);
    }
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), end);
    cr_assert_eq(stage.failed, 0);
    close_stage();
}

/* With files kept for what is urgent, that goes on in one and then the other. The owner drops the
 * former: here its file is the spare at once. */
Test(log_writer_refusals, what_is_urgent_goes_on_without_end)
{
    const struct disk *seam = memory_disk_seam(stage.disk);
    uint64_t number = 0;
    uint64_t end = 0;
    uint64_t dropped = 1;
    char name[DISK_NAME_BYTES];

    stage.kept = LOG_MAX_KEPT;
    stage.state = 3;
    memory_disk_limit(stage.disk, 3 * STAGE_SEGMENT_BYTES);
    log_stage_begin(&stage, 0, 1, true);
    add(number++, SMALL);
    log_stage_commit(&stage);
    for (uint32_t made = 0; made < LOG_MAX_KEPT; made++) {
        cr_assert_eq(log_stage_add(&stage, number, SMALL, &end), STATUS_OVERLOADED);
        log_stage_commit(&stage);
    }
    fill_up(&number, STATUS_NO_SPACE);
    cr_assert_eq(log_writer_segment(stage.writer), 1);
    while (log_writer_segment(stage.writer) < 40) {
        uint64_t segment = log_writer_segment(stage.writer);

        cr_assert_eq(log_stage_fence(&stage, 1, &end), STATUS_OK, "segment %u", (unsigned)segment);
        log_stage_commit(&stage);
        cr_assert_neq(log_stage_add(&stage, number, KIB_BATCH, &(uint64_t){0}), STATUS_OK,
                      "an add in segment %u", (unsigned)segment);
        if (segment > dropped + 1 && !log_writer_has_spare(stage.writer)) {
            segment_name(++dropped, name);
            cr_assert_geq(log_writer_bare(stage.writer), end - stage.begun);
            cr_assert_eq(seam->rename(seam->context, name, "spare"), STATUS_OK);
            log_writer_give_spare(stage.writer);
        }
    }
    memory_disk_limit(stage.disk, 2 * STAGE_SEGMENT_BYTES);
    for (int turns = 0; log_stage_add(&stage, number, SMALL, &end) != STATUS_OK; turns++) {
        cr_assert_lt(turns, 4096);
        log_stage_commit(&stage);
    }
    cr_assert_eq(log_writer_bare(stage.writer), 0, "adds again");
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), end);
    cr_assert_eq(stage.failed, 0);
    close_stage();
}

/* Asking again costs less and less: one job in a thousand turns in the end. */
Test(log_writer_refusals, a_lack_of_room_is_not_asked_about_in_every_turn)
{
    uint64_t number = 0;
    uint64_t before;

    memory_disk_limit(stage.disk, STAGE_SEGMENT_BYTES);
    log_stage_begin(&stage, 0, 1, true);
    fill_up(&number, STATUS_NO_SPACE);
    before = stage.lanes.submitted;
    for (int i = 0; i < 10000; i++) {
        log_stage_commit(&stage);
    }
    cr_assert_gt(stage.lanes.submitted, before + 8);
    cr_assert_lt(stage.lanes.submitted, before + 40);
    close_stage();
}

Test(log_writer_refusals, without_room_for_its_first_segment_it_fails)
{
    memory_disk_limit(stage.disk, STAGE_SEGMENT_BYTES - 1);
    log_stage_begin(&stage, 0, 1, true);
    add(1, SMALL);
    log_stage_commit(&stage);
    cr_assert_eq(stage.failed, 1);
    cr_assert_eq(stage.failure, STATUS_NO_SPACE);
    close_stage();
}

Test(log_writer_refusals, too_much_gathered_is_refused)
{
    uint64_t end;
    uint64_t number = 0;
    enum status status;

    stage.segment_bytes = 64 << 20;
    log_stage_begin(&stage, 0, 1, true);
    while ((status = log_stage_add(&stage, number, 1 << 16, &end)) == STATUS_OK) {
        number++;
    }
    cr_assert_eq(status, STATUS_OVERLOADED);
    cr_assert_eq(log_writer_room(stage.writer, 8), STATUS_OVERLOADED);
    cr_assert_eq(number, 32, "half a MiB each");
    cr_assert_eq(log_stage_fence(&stage, 1, &end), STATUS_OK, "fences are urgent");
    log_writer_turn(stage.writer);
    cr_assert_eq(log_writer_room(stage.writer, 8), STATUS_OK, "another group gathers");
    job_lanes_drain(&stage.lanes, 0);
    cr_assert_eq(log_writer_synced(stage.writer), end);
    close_stage();
}

static void add_document(size_t size)
{
    enum status status = STATUS_OK;
    uint64_t end;

    cr_assert_not_null(
        log_writer_append(stage.writer, RECORD_DOCUMENT, 0, size, true, &end, &status), "%s",
        status_code(status));
}

/* The disk hangs, all that may gather has gathered, and what is urgent begins a segment. */
Test(log_writer_refusals, a_checkpoint_is_whole_however_much_has_gathered)
{
    enum { HALF_MIB = 1 << 16, MIB = 1 << 20 };
    uint64_t end;

    stage.segment_bytes = 40 * MIB;
    stage.cursors = 3;
    log_stage_begin(&stage, 0, 1, true);
    for (uint64_t number = 0; number < 45; number++) {
        add(number, HALF_MIB);
        log_stage_commit(&stage);
    }
    while (log_stage_add(&stage, 45, HALF_MIB, &end) == STATUS_OK) {
    }
    cr_assert_eq(log_writer_room(stage.writer, 8), STATUS_OVERLOADED);
    cr_assert_eq(log_writer_segment(stage.writer), 1);
    add_document(MIB);
    add_document(MIB);
    cr_assert_eq(log_writer_segment(stage.writer), 2);
    cr_assert_eq(stage.checkpoint_status, STATUS_OK, "%s", status_code(stage.checkpoint_status));
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), log_writer_end(stage.writer));
    close_stage();
}

Test(log_writer_refusals, what_fits_no_segment_is_too_large)
{
    uint64_t end;
    enum status status;

    stage.state = 100;
    log_stage_begin(&stage, 0, 1, true);
    add(0, SMALL);
    log_stage_commit(&stage);
    cr_assert_eq(log_stage_add(&stage, 1, 8000, &end), STATUS_TOO_LARGE);
    cr_assert_eq(log_writer_room(stage.writer, 64000), STATUS_TOO_LARGE);
    cr_assert_null(
        log_writer_append(stage.writer, RECORD_DOCUMENT, 0, RECORD_MAX_BYTES, true, &end, &status));
    cr_assert_eq(status, STATUS_TOO_LARGE);
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_segment(stage.writer), 1, "no segment is used up");
    close_stage();
}

/* A state that does not fit a segment is said, and the writer goes on. */
Test(log_writer_refusals, a_checkpoint_that_is_too_large_is_refused_in_part)
{
    stage.state = 2000;
    log_stage_begin(&stage, 0, 1, true);
    cr_assert_neq(log_stage_fence(&stage, 0, &(uint64_t){0}), STATUS_OK);
    cr_assert_eq(stage.checkpoint_status, STATUS_NO_SPACE);
    cr_assert_eq(stage.checkpoints, 1);
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), log_writer_end(stage.writer));
    close_stage();
}
