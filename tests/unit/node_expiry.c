/* A node counts a filter's expiry from the first question that finds it in the document, on its own
 * clock; from what the document says was counted before, and no other one's. */
#include "base/heap.h"
#include "tests/support/keyset_stage.h"

#include <criterion/criterion.h>

static struct keyset_stage stage;

static void open_stage(void)
{
    keyset_stage_init(&stage);
}

static void close_stage(void)
{
    keyset_stage_fini(&stage);
    cr_assert_eq(heap_live(), 0);
}

static void set(uint64_t number, uint64_t counted_us)
{
    stage.document.revision++;
    stage.document.expiry = (struct expiry){.number = number != 0 ? number
                                                                  : stage.document.revision,
                                            .after_us = 1000000,
                                            .counted_us = counted_us};
    keyset_stage_hand(&stage);
}

static void expect_count(uint64_t expiry, uint64_t counted_us)
{
    struct frame frame = {.kind = FRAME_FENCE_REQUEST, .correlation = 3};
    struct fake_sent sent = {0};

    frame.body.fence_request = (struct fence_request){
        .filter_id = stage.document.id,
        .epoch = stage.document.epoch,
        .epoch_hash = stage.document.epoch_hash,
    };
    fake_forget(&stage.stage.fake);
    fake_request(&stage.stage.actor, stage.stage.now_us, 5, &frame);
    while (fake_take(&stage.stage.fake, &sent) && sent.frame.kind != FRAME_FENCE_REPLY) {
    }
    cr_assert_eq(sent.frame.kind, FRAME_FENCE_REPLY);
    cr_assert_eq(sent.frame.body.fence_reply.status, STATUS_OK);
    cr_assert_eq(sent.frame.body.fence_reply.expiry, expiry);
    cr_assert_eq(sent.frame.body.fence_reply.expiry_us, counted_us);
}

Test(node_expiry, it_is_counted_from_the_first_question_on)
{
    uint64_t first;

    open_stage();
    expect_count(0, 0);
    set(0, 0);
    first = stage.document.expiry.number;
    stage.stage.now_us += 10;
    expect_count(first, 0);
    stage.stage.now_us += 700;
    expect_count(first, 700);
    set(first, 300);
    expect_count(first, 700);
    stage.stage.now_us += 5;
    expect_count(first, 705);
    close_stage();
}

Test(node_expiry, another_one_is_counted_anew)
{
    uint64_t first;

    open_stage();
    set(0, 0);
    first = stage.document.expiry.number;
    expect_count(first, 0);
    stage.stage.now_us += 700;
    set(0, 0);
    expect_count(first + 1, 0);
    stage.stage.now_us += 7;
    stage.document.revision++;
    stage.document.expiry = (struct expiry){0};
    keyset_stage_hand(&stage);
    expect_count(0, 0);
    close_stage();
}

/* Nobody knows for how long it was down: what its document says is sure. */
Test(node_expiry, a_restart_goes_on_with_what_the_document_says)
{
    uint64_t first;

    open_stage();
    set(0, 0);
    first = stage.document.expiry.number;
    expect_count(first, 0);
    stage.stage.now_us += 5000;
    set(first, 4000);
    expect_count(first, 5000);
    keyset_stage_restart(&stage, STAGE_END_KILL);
    expect_count(first, 4000);
    stage.stage.now_us += 50;
    expect_count(first, 4050);
    close_stage();
}
