/* Appending and group commit: what is told to be written or synced is, in the order in which a
 * crash can be understood. */
#include "tests/unit/storage_log_writer.h"

#include <string.h>

TestSuite(log_writer, .init = setup);

Test(log_writer, a_group_is_written_and_synced)
{
    log_stage_begin(&stage, 0, 1, true);
    cr_assert(log_writer_idle(stage.writer));
    add(1, SMALL);
    cr_assert_eq(log_writer_end(stage.writer), record_bytes(SMALL));
    cr_assert_eq(log_writer_synced(stage.writer), 0);
    cr_assert_not(log_writer_idle(stage.writer));
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_written(stage.writer), record_bytes(SMALL));
    cr_assert_eq(log_writer_synced(stage.writer), record_bytes(SMALL));
    cr_assert(log_writer_idle(stage.writer));
    cr_assert_eq(stage.moved, 1);
    close_stage();
}

Test(log_writer, offsets_begin_where_it_was_told)
{
    struct log_survey survey;

    log_stage_begin(&stage, 8000, 5, true);
    cr_assert_eq(log_writer_end(stage.writer), 8000);
    add(1, SMALL);
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_segment(stage.writer), 5);
    survey = log_stage_survey(&stage);
    cr_assert_eq(survey.state, LOG_OK);
    cr_assert_eq(survey.count, 1);
    cr_assert_eq(survey.extents[0].number, 5);
    cr_assert_eq(survey.extents[0].first, 8000);
    cr_assert_eq(survey.extents[0].end, 8000 + record_bytes(SMALL));
    cr_assert_eq(survey.next_number, 6);
    log_survey_fini(&survey);
    close_stage();
}

Test(log_writer, a_turn_with_nothing_to_do_does_nothing)
{
    log_stage_begin(&stage, 0, 1, true);
    log_writer_turn(stage.writer);
    cr_assert_eq(stage.lanes.submitted, 0);
    add(1, SMALL);
    log_stage_commit(&stage);
    stage.lanes.submitted = 0;
    stage.state = 0;
    log_writer_turn(stage.writer);
    log_writer_turn(stage.writer);
    job_lanes_drain(&stage.lanes, 0);
    cr_assert_eq(stage.moved, 1);
    close_stage();
}

/* While one group is written the next one gathers; both are one write and one sync. */
Test(log_writer, groups_follow_one_another)
{
    uint64_t operations;

    stage.segment_bytes = 16 << 20;
    log_stage_begin(&stage, 0, 1, true);
    add(1, SMALL);
    log_stage_commit(&stage);
    operations = memory_disk_operations(stage.disk);
    add(2, SMALL);
    log_writer_turn(stage.writer);
    cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
    for (uint64_t number = 3; number < 23; number++) {
        add(number, SMALL);
        log_writer_turn(stage.writer);
    }
    cr_assert_not(job_lanes_run(&stage.lanes, JOB_COMMIT), "groups are serial");
    cr_assert_eq(log_writer_synced(stage.writer), record_bytes(SMALL));
    cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, 0));
    cr_assert_eq(log_writer_synced(stage.writer), 2 * record_bytes(SMALL));
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), 22 * record_bytes(SMALL));
    cr_assert_eq(memory_disk_operations(stage.disk) - operations, 2 * 2, "two groups");
    close_stage();
}

static struct record_header header_at(const char *name, uint64_t place)
{
    struct span bytes = memory_disk_bytes(stage.disk, name);
    struct record_header header = {0};

    cr_assert_gt(bytes.size, place);
    cr_assert_eq(record_open(span_of(bytes.data + place, bytes.size - place), &header), STATUS_OK);
    return header;
}

/* What is synced when a group is handed over, and nothing else, is stamped as durable. */
Test(log_writer, durable_tells_what_was_synced)
{
    uint64_t size = record_bytes(SMALL);

    log_stage_begin(&stage, 0, 1, true);
    for (uint64_t number = 0; number < 3; number++) {
        add(2 * number, SMALL);
        add(2 * number + 1, SMALL);
        log_stage_commit(&stage);
    }
    for (uint64_t i = 0; i < 6; i++) {
        struct record_header header = header_at("log-0000000000000001", 64 + i * size);

        cr_assert_eq(header.offset, i * size);
        cr_assert_eq(header.boot, stage.boot);
        cr_assert_eq(header.durable, i / 2 * 2 * size);
    }
    close_stage();
}

Test(log_writer, without_sync_groups_are_written_only)
{
    log_stage_begin(&stage, 0, 1, false);
    for (uint64_t number = 0; number < 3; number++) {
        add(number, SMALL);
        log_stage_commit(&stage);
    }
    cr_assert_eq(memory_disk_syncs(stage.disk), 2, "of two files as they were made");
    cr_assert_eq(log_writer_written(stage.writer), 3 * record_bytes(SMALL));
    cr_assert_eq(log_writer_synced(stage.writer), 0);
    cr_assert_eq(header_at("log-0000000000000001", 64 + 2 * record_bytes(SMALL)).durable, 0);
    log_writer_want_sync(stage.writer);
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), 3 * record_bytes(SMALL));
    add(3, SMALL);
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), 3 * record_bytes(SMALL), "it was wanted once");
    cr_assert_eq(memory_disk_syncs(stage.disk), 3);
    log_writer_set_sync(stage.writer, true);
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), 4 * record_bytes(SMALL));
    close_stage();
}

Test(log_writer, a_sync_wanted_during_a_group_comes_with_the_next)
{
    log_stage_begin(&stage, 0, 1, false);
    add(1, SMALL);
    log_writer_turn(stage.writer);
    add(2, SMALL);
    log_writer_want_sync(stage.writer);
    job_lanes_drain(&stage.lanes, 0);
    cr_assert_eq(log_writer_synced(stage.writer), 0);
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), 2 * record_bytes(SMALL));
    close_stage();
}

/* Until the present segment is full. */
static uint64_t fill(uint64_t number)
{
    uint64_t segment = log_writer_segment(stage.writer);

    while (log_writer_segment(stage.writer) == segment) {
        add(number++, KIB_BATCH);
        log_stage_commit(&stage);
    }
    return number;
}

Test(log_writer, a_full_segment_is_followed_by_one_with_a_checkpoint)
{
    struct log_survey survey;

    stage.state = 3;
    log_stage_begin(&stage, 0, 1, true);
    add(0, KIB_BATCH);
    cr_assert_eq(stage.checkpoints, 1);
    cr_assert_eq(stage.begun, 0);
    (void)fill(1);
    cr_assert_eq(stage.checkpoints, 2);
    cr_assert_eq(stage.checkpoint_status, STATUS_OK);
    survey = log_stage_survey(&stage);
    cr_assert_eq(survey.state, LOG_OK);
    cr_assert_eq(survey.count, 2);
    cr_assert_eq(survey.extents[0].end, stage.begun);
    cr_assert_eq(survey.extents[1].first, stage.begun);
    cr_assert_eq(survey.extents[1].end, log_writer_synced(stage.writer));
    cr_assert_leq(survey.extents[0].end, STAGE_SEGMENT_BYTES);
    cr_assert_eq(header_at("log-0000000000000002", 64).type, RECORD_FENCE);
    cr_assert_eq(header_at("log-0000000000000002", 64).durable, stage.begun);
    log_survey_fini(&survey);
    close_stage();
}

/* Nothing of a new segment is written before the old one is synced, also without `sync`. */
Test(log_writer, a_segment_is_synced_before_the_next_begins)
{
    log_stage_begin(&stage, 0, 1, false);
    (void)fill(0);
    cr_assert_eq(memory_disk_syncs(stage.disk), 4, "and of three files as they were made");
    cr_assert_eq(log_writer_synced(stage.writer), stage.begun);
    cr_assert_gt(log_writer_written(stage.writer), stage.begun);
    close_stage();
}

/* The file is there before it is needed; until then there is one only. */
Test(log_writer, the_next_segment_is_made_ahead)
{
    stage.segment_bytes = 16 << 20;
    log_stage_begin(&stage, 0, 1, true);
    add(0, SMALL);
    log_stage_commit(&stage);
    cr_assert_eq(memory_disk_bytes(stage.disk, "log-0000000000000002").size, 0);
    for (uint64_t number = 1; number <= 8; number++) {
        add(number, 1 << 17);
        log_stage_commit(&stage);
    }
    log_stage_commit(&stage);
    cr_assert_eq(memory_disk_bytes(stage.disk, "log-0000000000000002").size, 16 << 20);
    cr_assert_eq(log_writer_segment(stage.writer), 1);
    close_stage();
}

Test(log_writer, while_the_next_segment_is_made_appending_is_refused)
{
    uint64_t number = 0;
    uint64_t end = 0;

    log_stage_begin(&stage, 0, 1, true);
    while (log_writer_room(stage.writer, record_bytes(KIB_BATCH) - 40) == STATUS_OK) {
        add(number++, KIB_BATCH);
        log_writer_turn(stage.writer);
        (void)job_lanes_run(&stage.lanes, JOB_COMMIT);
        (void)job_lanes_finish(&stage.lanes, JOB_COMMIT, 0);
    }
    cr_assert_gt(number, 50);
    cr_assert_eq(log_stage_add(&stage, number, KIB_BATCH, &end), STATUS_OVERLOADED);
    cr_assert_eq(end, 0, "an output was touched");
    job_lanes_drain(&stage.lanes, 0);
    cr_assert_eq(log_writer_room(stage.writer, record_bytes(KIB_BATCH) - 40), STATUS_OK);
    add(number, KIB_BATCH);
    cr_assert_eq(log_writer_segment(stage.writer), 2);
    close_stage();
}

/* Two segments may end up in one group, a third may not. */
Test(log_writer, a_gathering_begins_one_segment_at_most)
{
    uint64_t number = 0;
    uint64_t end;
    struct log_survey survey;

    log_stage_begin(&stage, 0, 1, true);
    add(number++, KIB_BATCH);
    log_stage_commit(&stage);
    log_stage_commit(&stage);
    while (log_stage_add(&stage, number, KIB_BATCH, &end) == STATUS_OK) {
        number++;
    }
    cr_assert_eq(log_stage_add(&stage, number, KIB_BATCH, &end), STATUS_OVERLOADED);
    cr_assert_eq(log_writer_segment(stage.writer), 2);
    log_stage_commit(&stage);
    log_stage_commit(&stage);
    add(number, KIB_BATCH);
    log_stage_commit(&stage);
    survey = log_stage_survey(&stage);
    cr_assert_eq(survey.state, LOG_OK);
    cr_assert_eq(survey.count, 3);
    cr_assert_eq(survey.extents[2].end, (number + 1) * record_bytes(KIB_BATCH));
    log_survey_fini(&survey);
    close_stage();
}

/* Each operation of the disk fails once: said once, and nothing is written afterwards. */
Test(log_writer, a_failure_of_the_disk_is_final)
{
    for (int64_t n = 0; n < 12; n++) {
        uint64_t operations;
        uint64_t synced;
        uint64_t end;

        memory_disk_destroy(&stage.disk);
        log_stage_init(&stage);
        log_stage_begin(&stage, 0, 1, true);
        memory_disk_fail_once(stage.disk, n, STATUS_IO);
        for (uint64_t number = 0; number < 20 && stage.failed == 0; number++) {
            cr_assert_eq(log_stage_add(&stage, number, KIB_BATCH, &end), STATUS_OK);
            log_stage_commit(&stage);
        }
        cr_assert_eq(stage.failed, 1, "operation %d", (int)n);
        cr_assert_eq(stage.failure, STATUS_IO);
        operations = memory_disk_operations(stage.disk);
        synced = log_writer_synced(stage.writer);
        cr_assert_eq(log_stage_add(&stage, 99, SMALL, &end), STATUS_IO);
        cr_assert_eq(log_writer_room(stage.writer, 8), STATUS_IO);
        log_writer_want_sync(stage.writer);
        log_stage_commit(&stage);
        log_stage_commit(&stage);
        job_lanes_stop(&stage.lanes);
        cr_assert_eq(log_writer_finish(stage.writer), STATUS_IO);
        cr_assert_eq(memory_disk_operations(stage.disk), operations, "operation %d", (int)n);
        cr_assert_eq(log_writer_synced(stage.writer), synced);
        cr_assert_eq(stage.failed, 1);
        log_stage_end(&stage);
    }
    close_stage();
}

/* Its background job stays where it is. */
static void commit_alone(void)
{
    log_writer_turn(stage.writer);
    log_writer_turn(stage.writer);
    cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
    cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, 0));
}

/* A segment that can't be made fails the writer while a group is under way: what that group did
 * is not told any more. */
Test(log_writer, after_a_failure_nothing_moves)
{
    log_stage_begin(&stage, 0, 1, true);
    add(0, KIB_BATCH);
    commit_alone();
    add(1, KIB_BATCH);
    memory_disk_fail_once(stage.disk, 0, STATUS_IO);
    log_writer_turn(stage.writer);
    cr_assert(job_lanes_run(&stage.lanes, JOB_BACKGROUND));
    cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
    cr_assert(job_lanes_finish(&stage.lanes, JOB_BACKGROUND, 0));
    cr_assert_eq(stage.failed, 1);
    cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, 0));
    cr_assert_eq(log_writer_synced(stage.writer), record_bytes(KIB_BATCH));
    cr_assert_eq(stage.moved, 1);
    close_stage();
}

/* Stopped at any step of a group, finish() does what is left. */
Test(log_writer, finishing_writes_what_is_left)
{
    for (int steps = 0; steps < 4; steps++) {
        struct log_survey survey;

        memory_disk_destroy(&stage.disk);
        log_stage_init(&stage);
        log_stage_begin(&stage, 0, 1, false);
        add(0, KIB_BATCH);
        commit_alone();
        add(1, KIB_BATCH);
        if (steps > 0) {
            log_writer_turn(stage.writer);
        }
        if (steps > 1) {
            cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
        }
        add(2, KIB_BATCH);
        if (steps > 2) {
            cr_assert(job_lanes_run(&stage.lanes, JOB_BACKGROUND));
        }
        job_lanes_stop(&stage.lanes);
        cr_assert_eq(log_writer_finish(stage.writer), STATUS_OK);
        cr_assert(log_writer_idle(stage.writer));
        cr_assert_eq(log_writer_synced(stage.writer), 3 * record_bytes(KIB_BATCH));
        cr_assert_eq(memory_disk_bytes(stage.disk, "log-0000000000000002").size, 0,
                     "what was made ahead is left behind");
        survey = log_stage_survey(&stage);
        cr_assert_eq(survey.state, LOG_OK);
        cr_assert_eq(survey.extents[0].end, 3 * record_bytes(KIB_BATCH));
        cr_assert_eq(survey.torn_bytes, 0);
        log_survey_fini(&survey);
        log_stage_end(&stage);
    }
    close_stage();
}

Test(log_writer, finishing_may_fail)
{
    log_stage_begin(&stage, 0, 1, true);
    add(0, KIB_BATCH);
    memory_disk_fail_after(stage.disk, 2);
    job_lanes_stop(&stage.lanes);
    cr_assert_eq(log_writer_finish(stage.writer), STATUS_IO);
    cr_assert_eq(stage.failed, 0);
    memory_disk_fail_after(stage.disk, MEMORY_DISK_NEVER);
    cr_assert_eq(log_writer_finish(stage.writer), STATUS_IO);
    close_stage();
}

/* Padding is zero whatever the memory held before. */
Test(log_writer, padding_is_zero)
{
    uint64_t end;
    enum status status;
    uint8_t *body;

    log_stage_begin(&stage, 0, 1, true);
    for (int i = 0; i < 3; i++) {
        body = log_writer_append(stage.writer, RECORD_DOCUMENT, 0, 9, true, &end, &status);
        cr_assert_not_null(body);
        cr_assert_eq((uintptr_t)body % 8, 0);
        memset(body, 0xff, 9);
        for (int k = 9; k < 16; k++) {
            cr_assert_eq(body[k], 0);
        }
        log_stage_commit(&stage);
    }
    close_stage();
}

Test(log_writer, a_failed_allocation_changes_nothing)
{
    enum status status = STATUS_NOMEM;
    uint64_t end = 1;

    log_stage_begin(&stage, 0, 1, true);
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        cr_assert_lt(n, 10);
        heap_fault_after(n);
        status = log_stage_add(&stage, 1, 1 << 12, &end);
        heap_fault_clear();
        cr_assert_eq(log_writer_end(stage.writer) > 0, status == STATUS_OK);
        cr_assert_eq(end > 1, status == STATUS_OK);
    }
    cr_assert_eq(status, STATUS_OK);
    log_stage_commit(&stage);
    cr_assert_eq(log_writer_synced(stage.writer), end);
    close_stage();
}
