/* Of a window adds go into the newest slice, checks read all that are kept, and what no document
 * names any more has expired. A key that is added again is kept from then on. */
#include "base/heap.h"
#include "tests/support/keyset_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { BATCH = 1000, SLICES = 2, NPARTS = 8 };

static struct keyset_stage window;
static struct node_answer answer;
static uint64_t keys[NPARTS][BATCH];

static void open_stage(void)
{
    keyset_stage_init(&window);
    window.document.window_us = 1000000;
    window.document.nslices = SLICES;
    window.document.content.newest_slice = 1;
    document_epoch_advance(&window.document);
    keyset_stage_hand(&window);
    for (uint32_t part = 0; part < NPARTS; part++) {
        sample_fingerprints(&window.document, 0, part + 1, BATCH, keys[part]);
    }
}

static void close_stage(void)
{
    keyset_stage_fini(&window);
    cr_assert_eq(heap_live(), 0);
}

static void rotate(void)
{
    window.document.content.newest_slice++;
    document_epoch_advance(&window.document);
    keyset_stage_hand(&window);
}

/* Returns how many of them it said had been there. */
static uint32_t add(uint32_t part)
{
    struct subrequest subrequest = node_stage_subrequest(&window.document, OPERATION_ADD, BATCH);
    uint32_t present = 0;

    subrequest.op.sequence = subrequest.batch.number = ++window.stage.batches;
    cr_assert(node_stage_ask_disk(&window.stage, &subrequest, keys[part], &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    for (uint32_t i = 0; i < BATCH; i++) {
        present += (answer.present[i / 64] >> (i % 64) & 1) != 0;
    }
    return present;
}

static void expect(uint32_t part, bool held)
{
    uint32_t absent = node_stage_absent(&window.stage, &window.document, keys[part], BATCH);

    if (held) {
        cr_assert_eq(absent, 0, "part %u", part);
    } else {
        cr_assert_gt(absent, BATCH / 2, "part %u", part);
    }
}

static uint32_t nsets(void)
{
    uint32_t count = 0;

    for (const struct arrays *set = keyset_stage_hosted(&window)->set; set != NULL;
         set = set->next) {
        count++;
    }
    return count;
}

Test(node_slices, keys_are_kept_for_one_slice_more_than_the_window_has)
{
    open_stage();
    for (uint32_t slice = 1; slice <= 6; slice++) {
        (void)add(slice);
        for (uint32_t part = 1; part <= slice; part++) {
            expect(part, part + SLICES >= slice);
        }
        cr_assert_eq(nsets(), 1 + (slice < SLICES + 1 ? slice : SLICES + 1), "and the one to come");
        rotate();
    }
    close_stage();
}

Test(node_slices, a_key_that_is_added_again_is_kept_from_then_on)
{
    open_stage();
    cr_assert_lt(add(1), BATCH / 2);
    rotate();
    rotate();
    cr_assert_eq(add(1), BATCH, "it is in an older slice");
    rotate();
    expect(1, true);
    rotate();
    expect(1, true);
    keyset_stage_restart(&window, STAGE_END_KILL);
    expect(1, true);
    rotate();
    expect(1, false);
    close_stage();
}

Test(node_slices, what_has_expired_does_not_come_back_from_the_log)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_POWER};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        open_stage();
        (void)add(1);
        rotate();
        (void)add(2);
        keyset_stage_restart(&window, ends[i]);
        expect(1, true);
        rotate();
        rotate();
        (void)add(4);
        keyset_stage_restart(&window, ends[i]);
        expect(1, false);
        expect(2, true);
        expect(4, true);
        node_stage_settle_long(&window.stage);
        keyset_stage_restart(&window, ends[i]);
        expect(1, false);
        expect(2, true);
        expect(4, true);
        close_stage();
    }
}

/* Its arrays stood ready: neither checks nor adds wait. */
Test(node_slices, a_rotation_leaves_no_gap)
{
    struct subrequest subrequest;

    open_stage();
    (void)add(1);
    window.document.content.newest_slice++;
    document_epoch_advance(&window.document);
    node_stage_hand(&window.stage, &window.document);
    subrequest = node_stage_subrequest(&window.document, OPERATION_ADD, BATCH);
    subrequest.op.sequence = subrequest.batch.number = ++window.stage.batches;
    node_stage_send(&window.stage, &subrequest, 1, keys[2], 5);
    node_stage_settle(&window.stage);
    expect(1, true);
    expect(2, true);
    close_stage();
}

/* A node that was away for long: several slices at once. Checks need not wait for arrays of slices
 * that are empty. */
Test(node_slices, several_slices_at_once)
{
    struct subrequest subrequest;

    open_stage();
    (void)add(1);
    window.document.content.newest_slice += 2;
    document_epoch_advance(&window.document);
    node_stage_hand(&window.stage, &window.document);
    node_stage_turn(&window.stage);
    while (node_stage_run(&window.stage, JOB_COMMIT)) {
        node_stage_turn(&window.stage);
    }
    subrequest = node_stage_subrequest(&window.document, OPERATION_CHECK, BATCH);
    node_stage_ask(&window.stage, &subrequest, 1, keys[1], &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    cr_assert_eq(answer.subrequest.state, REPLICA_FULL);
    node_stage_settle(&window.stage);
    expect(1, true);
    (void)add(3);
    window.document.content.newest_slice += 7;
    document_epoch_advance(&window.document);
    keyset_stage_hand(&window);
    expect(1, false);
    expect(3, false);
    close_stage();
}

Test(node_slices, memory_and_runs_of_what_has_expired_are_given_back)
{
    uint64_t memory;

    open_stage();
    for (uint32_t i = 0; i < SLICES + 1; i++) {
        rotate();
    }
    memory = window.stage.node->memory_used_bytes;
    for (uint32_t i = 0; i < 30; i++) {
        (void)add(i % NPARTS);
        rotate();
        node_stage_settle_long(&window.stage);
        cr_assert_eq(window.stage.node->memory_used_bytes, memory);
    }
    node_stage_settle_long(&window.stage);
    cr_assert_leq(node_stage_counter(&window.stage, "run_keys"), (SLICES + 1) * BATCH);
    close_stage();
}

/* ---- counting ---- */

static struct fence_reply asked_to_count(uint64_t slice)
{
    struct frame frame = {.kind = FRAME_FENCE_REQUEST, .correlation = 3};
    struct fake_sent sent = {0};

    frame.body.fence_request = (struct fence_request){
        .filter_id = window.document.id,
        .epoch = window.document.epoch,
        .epoch_hash = window.document.epoch_hash,
        .slice = slice,
    };
    fake_forget(&window.stage.fake);
    fake_request(&window.stage.actor, window.stage.now_us, 5, &frame);
    while (fake_take(&window.stage.fake, &sent) && sent.frame.kind != FRAME_FENCE_REPLY) {
    }
    cr_assert_eq(sent.frame.kind, FRAME_FENCE_REPLY);
    cr_assert_eq(sent.frame.body.fence_reply.status, STATUS_OK);
    return sent.frame.body.fence_reply;
}

static void expect_count(uint64_t asked, uint64_t slice, uint64_t counted_us)
{
    struct fence_reply reply = asked_to_count(asked);

    cr_assert_eq(reply.slice, slice);
    cr_assert_eq(reply.counted_us, counted_us);
}

Test(node_slices, the_newest_slice_is_counted_from_when_it_is_asked_to_be)
{
    open_stage();
    expect_count(0, 0, 0);
    expect_count(2, 0, 0);
    expect_count(1, 1, 0);
    window.stage.now_us += 700;
    expect_count(0, 1, 700);
    window.stage.now_us += 300;
    expect_count(1, 1, 1000);
    rotate();
    expect_count(0, 0, 0);
    expect_count(1, 0, 0);
    expect_count(2, 2, 0);
    window.stage.now_us += 50;
    expect_count(2, 2, 50);
    close_stage();
}

/* Nobody knows for how long it was down, and its clock may be another machine's by now. */
Test(node_slices, a_restart_counts_anew)
{
    open_stage();
    expect_count(1, 1, 0);
    window.stage.now_us += 5000;
    keyset_stage_restart(&window, STAGE_END_KILL);
    expect_count(0, 0, 0);
    expect_count(1, 1, 0);
    close_stage();
}
