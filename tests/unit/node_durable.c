/* When a node with a disk answers: an add once its record is as durable as its filter asks, a
 * check or a fence once that fence is synced; and nothing after the log has failed. */
#include "base/heap.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { COUNT = 100, ROUTER = 7 };

static struct node_stage stage;
static struct filter_document document;
static struct node_answer answers[STAGE_MAX_SUBREQUESTS];
static uint64_t keys[STAGE_MAX_KEYS];
static uint64_t correlation;

static void open_with(enum durability durability)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, durability, &document);
    sample_fingerprints(&document, 0, 1, STAGE_MAX_KEYS, keys);
    fake_forget(&stage.fake);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static void send(enum operation operation, uint32_t first, uint64_t number)
{
    struct subrequest subrequest = node_stage_subrequest(&document, operation, COUNT);

    subrequest.batch.number = operation == OPERATION_ADD ? number : 0;
    node_stage_send(&stage, &subrequest, 1, keys + first, number);
}

static size_t take(void)
{
    return node_stage_take(&stage, answers, &correlation);
}

/* ---- adds ---- */

Test(node_durable, an_add_is_answered_once_its_record_is_synced)
{
    uint64_t syncs;

    open_with(DURABILITY_SYNC);
    syncs = memory_disk_syncs(stage.disk);
    send(OPERATION_ADD, 0, 1);
    cr_assert_eq(take(), 0);
    node_stage_turn(&stage);
    cr_assert_eq(take(), 0);
    cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
    cr_assert_eq(memory_disk_syncs(stage.disk), syncs + 1);
    cr_assert_eq(take(), 0, "not before the actor hears of it");
    cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, stage.now_us));
    cr_assert_eq(take(), 1);
    cr_assert_eq(correlation, 1);
    cr_assert_eq(answers[0].subrequest.status, STATUS_OK);
    cr_assert_eq(node_stage_counter(&stage, "held_total"), 1);
    close_stage();
}

Test(node_durable, how_long_writes_of_the_log_take_is_counted)
{
    uint64_t writes;
    uint64_t took_us;

    open_with(DURABILITY_SYNC);
    node_stage_settle(&stage);
    writes = node_stage_counter(&stage, "log_writes_total");
    took_us = node_stage_counter(&stage, "log_write_us_total");
    send(OPERATION_ADD, 0, 1);
    node_stage_turn(&stage);
    cr_assert_eq(node_stage_counter(&stage, "log_writes_total"), writes, "not before it is done");
    cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
    stage.now_us += 7000;
    cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, stage.now_us));
    cr_assert_eq(node_stage_counter(&stage, "log_writes_total"), writes + 1);
    cr_assert_eq(node_stage_counter(&stage, "log_write_us_total"), took_us + 7000);
    close_stage();
}

/* All that seems to be there already waits as well: another add of it may not be durable yet. */
Test(node_durable, a_repeated_add_is_answered_once_its_own_record_is_synced)
{
    open_with(DURABILITY_SYNC);
    send(OPERATION_ADD, 0, 1);
    send(OPERATION_ADD, 0, 2);
    cr_assert_eq(take(), 0);
    cr_assert(node_stage_run(&stage, JOB_COMMIT)); /* The first one's. */
    cr_assert_eq(take(), 1);
    cr_assert_eq(correlation, 1);
    cr_assert_eq(take(), 0);
    node_stage_turn(&stage);
    cr_assert(node_stage_run(&stage, JOB_COMMIT));
    cr_assert_eq(take(), 1);
    cr_assert_eq(correlation, 2);
    close_stage();
}

/* A retry of one add is the same: its first execution may be under way to the disk, or lost. */
Test(node_durable, a_retried_add_is_answered_once_its_own_record_is_synced)
{
    struct subrequest subrequest;
    uint64_t end;

    open_with(DURABILITY_SYNC);
    send(OPERATION_ADD, 0, 1);
    end = node_stage_counter(&stage, "log_end");
    subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
    subrequest.attempt = 1;
    subrequest.batch.number = 2;
    node_stage_send(&stage, &subrequest, 1, keys, 2);
    fake_forget(&stage.fake);
    cr_assert_gt(node_stage_counter(&stage, "log_end"), end, "it was executed again");
    cr_assert(node_stage_run(&stage, JOB_COMMIT));
    cr_assert_eq(take(), 1);
    cr_assert_eq(take(), 0);
    node_stage_settle(&stage);
    cr_assert_eq(take(), 1);
    close_stage();
}

Test(node_durable, with_durability_os_an_add_is_answered_once_written)
{
    uint64_t syncs;

    open_with(DURABILITY_OS);
    syncs = memory_disk_syncs(stage.disk);
    send(OPERATION_ADD, 0, 1);
    cr_assert_eq(take(), 0);
    node_stage_turn(&stage);
    cr_assert(node_stage_run(&stage, JOB_COMMIT));
    cr_assert_eq(take(), 1);
    cr_assert_eq(answers[0].subrequest.status, STATUS_OK);
    cr_assert_eq(memory_disk_syncs(stage.disk), syncs);
    close_stage();
}

/* ... also after a start, and beside a filter that wants more. */
Test(node_durable, os_adds_are_not_synced_after_a_restart_either)
{
    uint64_t syncs;

    open_with(DURABILITY_OS);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    syncs = memory_disk_syncs(stage.disk);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    cr_assert_eq(memory_disk_syncs(stage.disk), syncs);
    close_stage();
}

Test(node_durable, a_sync_filter_beside_an_os_filter_is_synced)
{
    struct filter_document other;
    uint64_t syncs;

    open_with(DURABILITY_OS);
    node_stage_filter(&stage, 6, DURABILITY_SYNC, &other);
    syncs = memory_disk_syncs(stage.disk);
    cr_assert_eq(node_stage_add(&stage, &other, keys, COUNT), STATUS_OK);
    cr_assert_gt(memory_disk_syncs(stage.disk), syncs);
    document_fini(&other);
    close_stage();
}

/* The same filter, asked to be more careful by a newer revision. */
Test(node_durable, a_change_to_sync_takes_effect_at_once)
{
    uint64_t syncs;

    open_with(DURABILITY_OS);
    document.revision++;
    document.durability = DURABILITY_SYNC;
    node_stage_hand(&stage, &document);
    node_stage_settle(&stage);
    syncs = memory_disk_syncs(stage.disk);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    cr_assert_gt(memory_disk_syncs(stage.disk), syncs);
    close_stage();
}

Test(node_durable, every_key_is_logged_new_or_not)
{
    uint64_t end;

    open_with(DURABILITY_SYNC);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    end = node_stage_counter(&stage, "log_end");
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    cr_assert_geq(node_stage_counter(&stage, "log_end"), end + COUNT * 8);
    close_stage();
}

/* ---- checks ---- */

Test(node_durable, checks_do_not_wait_for_the_adds_of_the_same_message)
{
    struct subrequest subrequests[3];

    open_with(DURABILITY_SYNC);
    subrequests[0] = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
    subrequests[1] = node_stage_subrequest(&document, OPERATION_CHECK, COUNT);
    subrequests[2] = node_stage_subrequest(&document, OPERATION_ADD, COUNT);
    subrequests[2].batch.number = 2;
    node_stage_send(&stage, subrequests, 3, keys, 9);
    cr_assert_eq(take(), 1);
    cr_assert_eq(answers[0].subrequest.tag, 101);
    cr_assert_eq(correlation, 0, "the whole message is not answered yet");
    cr_assert_eq(take(), 0);
    node_stage_settle(&stage);
    cr_assert_eq(take(), 2);
    cr_assert_eq(answers[0].subrequest.tag, 100);
    cr_assert_eq(answers[1].subrequest.tag, 102);
    cr_assert_eq(correlation, 9);
    close_stage();
}

Test(node_durable, checks_do_not_wait_for_the_adds_of_an_earlier_message)
{
    open_with(DURABILITY_SYNC);
    send(OPERATION_ADD, 0, 1);
    send(OPERATION_CHECK, 0, 2);
    cr_assert_eq(take(), 1);
    cr_assert_eq(correlation, 2);
    node_stage_settle(&stage);
    cr_assert_eq(take(), 1);
    cr_assert_eq(correlation, 1);
    close_stage();
}

/* What is refused in a message with adds is answered as soon as checks are. */
Test(node_durable, answers_come_in_the_order_of_the_log)
{
    open_with(DURABILITY_SYNC);
    for (uint64_t i = 1; i <= 8; i++) {
        send(OPERATION_ADD, (uint32_t)i * COUNT, i);
    }
    node_stage_settle(&stage);
    for (uint64_t i = 1; i <= 8; i++) {
        cr_assert_eq(take(), 1);
        cr_assert_eq(correlation, i);
    }
    cr_assert_eq(take(), 0);
    close_stage();
}

/* ---- fences ---- */

static void raise_epoch(void)
{
    document_epoch_advance(&document);
    node_stage_hand(&stage, &document);
}

Test(node_durable, a_check_under_a_new_epoch_waits_for_the_fence)
{
    open_with(DURABILITY_OS);
    raise_epoch();
    send(OPERATION_CHECK, 0, 1);
    cr_assert_eq(take(), 0);
    cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
    cr_assert_eq(take(), 0);
    cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, stage.now_us));
    cr_assert_eq(take(), 1);
    cr_assert_eq(answers[0].subrequest.status, STATUS_OK);
    cr_assert_eq(answers[0].subrequest.epoch, document.epoch);
    close_stage();
}

static bool take_fence(struct fence_reply *reply)
{
    struct fake_sent sent;

    while (fake_take(&stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_FENCE_REPLY) {
            *reply = sent.frame.body.fence_reply;
            return true;
        }
    }
    return false;
}

static void ask_fence(void)
{
    struct frame frame = {.kind = FRAME_FENCE_REQUEST, .correlation = 3};

    frame.body.fence_request = (struct fence_request){
        .filter_id = document.id, .epoch = document.epoch, .epoch_hash = document.epoch_hash};
    fake_request(&stage.actor, stage.now_us, ROUTER, &frame);
}

Test(node_durable, a_fence_is_confirmed_once_synced)
{
    struct fence_reply reply;

    open_with(DURABILITY_OS);
    raise_epoch();
    ask_fence();
    cr_assert_not(take_fence(&reply));
    cr_assert(job_lanes_run(&stage.lanes, JOB_COMMIT));
    cr_assert_not(take_fence(&reply));
    cr_assert(job_lanes_finish(&stage.lanes, JOB_COMMIT, stage.now_us));
    cr_assert(take_fence(&reply));
    cr_assert_eq(reply.status, STATUS_OK);
    cr_assert_eq(reply.epoch, document.epoch);
    close_stage();
}

/* Whoever copies this node's log copies up to there: everything that was accepted under an older
 * epoch has to lie below, also what an earlier process accepted. */
Test(node_durable, a_fence_lies_above_all_that_was_accepted_before_it)
{
    struct fence_reply reply;
    uint64_t end;

    open_with(DURABILITY_SYNC);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
    end = node_stage_counter(&stage, "log_end");
    raise_epoch();
    node_stage_settle(&stage);
    ask_fence();
    cr_assert(take_fence(&reply));
    cr_assert_geq(reply.position, end);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    ask_fence();
    cr_assert(take_fence(&reply));
    cr_assert_eq(reply.status, STATUS_OK);
    cr_assert_geq(reply.position, end);
    close_stage();
}

/* ---- failures ---- */

static void fail_at(int64_t operations)
{
    struct fence_reply reply;

    open_with(DURABILITY_SYNC);
    memory_disk_fail_after(stage.disk, operations);
    send(OPERATION_ADD, 0, 1);
    cr_assert_not(node_failed(stage.node));
    node_stage_settle(&stage);
    cr_assert(node_failed(stage.node));
    cr_assert(stage.actor.over(stage.actor.self));
    cr_assert_eq(take(), 0);
    memory_disk_fail_after(stage.disk, MEMORY_DISK_NEVER);
    send(OPERATION_ADD, COUNT, 2);
    send(OPERATION_CHECK, 0, 3);
    raise_epoch();
    ask_fence();
    node_stage_turn(&stage);
    node_stage_run(&stage, JOB_COMMIT);
    while (take() != 0) {
        cr_assert_eq(answers[0].subrequest.status, STATUS_NOT_READY);
        cr_assert_neq(correlation, 1);
    }
    cr_assert(!take_fence(&reply) || reply.status != STATUS_OK);
    close_stage();
}

Test(node_durable, nothing_is_answered_after_a_write_that_failed)
{
    fail_at(0);
}

Test(node_durable, nothing_is_answered_after_a_sync_that_failed)
{
    fail_at(1);
}

Test(node_durable, a_clean_end_sends_what_it_makes_durable)
{
    open_with(DURABILITY_SYNC);
    send(OPERATION_ADD, 0, 1);
    job_lanes_stop(&stage.lanes);
    cr_assert_eq(node_finish(stage.node), STATUS_OK);
    cr_assert_eq(take(), 1);
    node_stage_end(&stage, STAGE_END_POWER);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0);
    cr_assert_eq(node_stage_absent(&stage, &document, keys + COUNT, COUNT), COUNT);
    close_stage();
}
