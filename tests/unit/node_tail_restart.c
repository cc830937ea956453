/* A place of the boot before, of an older one, of another life: where may a link go on? */
#include "node/store/private.h"
#include "tests/unit/node_tail.h"

TestSuite(node_tail_restart, .init = open_tail, .fini = close_circle);

static void start(void)
{
    circle_start(circle, 1);
    circle->nodes[1].cut = circle->nodes[2].cut = false;
    circle_run(circle, 5 * SECOND);
    circle->nodes[1].cut = circle->nodes[2].cut = true;
}

/* In order: it says in its log that it ended. */
static void end_clean(void)
{
    circle_run(circle, SECOND);
    cr_assert_eq(node_finish(circle_node(circle, 1)), STATUS_OK);
    circle_stop(circle, 1);
}

static void expect_refused(struct frame frame, enum status status)
{
    const struct site_tail_reply *reply = ask_tail(&frame);

    cr_assert_eq(reply->status, status, "%s", status_code(reply->status));
    cr_assert_gt(strlen(reply->message), 0);
    cr_assert_eq(reply->boot, asked()->life.identity.boot);
}

static void expect_stale(struct frame frame)
{
    expect_refused(frame, STATUS_STALE);
}

Test(node_tail_restart, after_an_end_in_order_it_goes_on)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    add(0);
    end_clean();
    start();
    add(1);
    cr_assert_neq(frame.body.site_tail_request.boot, asked()->life.identity.boot);
    cr_assert_eq(ask_tail(&frame)->nrefusals, 0, "%s", tail_answer()->message);
    cr_assert_eq(tail_answer()->boot, asked()->life.identity.boot);
    cr_assert_eq(tail_answer()->nrecords, 2, "of both boots");
    cr_assert_eq(tail_answer()->records[0].number, 1);
    cr_assert_eq(tail_answer()->records[1].number, 2);
    frame.body.site_tail_request.from = tail_answer()->next;
    frame.body.site_tail_request.boot = tail_answer()->boot;
    add(2);
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
    cr_assert_eq(tail_answer()->records[0].number, 3);
}

/* It took over from others what its log may have lacked: nobody tells that. */
Test(node_tail_restart, after_a_kill_the_filter_is_to_be_compared)
{
    struct frame frame = tail_question(log_end());
    const struct site_tail_reply *reply;

    add(0);
    circle_stop(circle, 1);
    start();
    reply = ask_tail(&frame);
    cr_assert_eq(reply->status, STATUS_OK, "%s", reply->message);
    cr_assert_eq(reply->nrecords, 0);
    cr_assert_eq(reply->nrefusals, 1);
    cr_assert_eq(reply->refusals[0].status, STATUS_STALE);
    cr_assert(reply->refusals[0].compare);
    cr_assert_eq(reply->ndocuments, 0, "it is not behind");
    /* A place that was told before it had caught up, in this boot, will not do either. */
    frame.body.site_tail_request.boot = asked()->life.identity.boot;
    cr_assert_eq(ask_tail(&frame)->nrefusals, 1);
    frame = tail_question(log_end());
    add(1);
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
}

Test(node_tail_restart, beyond_the_end_of_the_boot_before_it_does_not_go_on)
{
    struct frame frame = tail_question(log_end());
    struct memory_disk *copy;
    uint64_t end;

    circle_run(circle, SECOND);
    copy = memory_disk_copy(circle->nodes[0].disk);
    end = storage_end(asked()->storage);
    add(0);
    frame.body.site_tail_request.from = log_end();
    put_back(1, copy);
    circle_run(circle, 5 * SECOND);
    for (uint32_t i = 1; storage_end(asked()->storage) <= frame.body.site_tail_request.from; i++) {
        add(i);
    }
    cr_assert_gt(frame.body.site_tail_request.from, end);
    expect_refused(frame, STATUS_CONFLICT);
}

/* However often it has started since: only an older copy does not remember its boots. */
Test(node_tail_restart, what_was_never_in_the_log_tells_an_older_copy)
{
    struct frame frames[3];
    struct frame unknown;

    for (int i = 0; i < 3; i++) {
        add((uint32_t)i);
        frames[i] = tail_question(log_end());
        end_clean();
        start();
        circle_run(circle, 2 * SECOND);
        cr_assert(asked()->life.identity.confirmed);
    }
    expect_stale(frames[0]);
    expect_stale(frames[1]);
    cr_assert_eq(ask_tail(&frames[2])->status, STATUS_OK);
    unknown = frames[0];
    unknown.body.site_tail_request.from += 4096;
    expect_refused(unknown, STATUS_CONFLICT);
    unknown = frames[0];
    unknown.body.site_tail_request.boot++;
    expect_refused(unknown, STATUS_CONFLICT);
}

/* Each start that coordinators do not hear of adds a boot to those that may be named. */
Test(node_tail_restart, of_several_boots_only_the_last_goes_on)
{
    struct frame frames[3];

    for (int i = 0; i < 3; i++) {
        frames[i] = tail_question(log_end());
        end_clean();
        circle->silent = i < 2;
        start();
    }
    cr_assert_eq(asked()->life.identity.nbefore, 3);
    expect_stale(frames[0]);
    expect_stale(frames[1]);
    cr_assert_eq(ask_tail(&frames[2])->status, STATUS_OK);
    cr_assert_eq(tail_answer()->nrefusals, 0);
}

Test(node_tail_restart, another_incarnation_has_nothing_to_go_on_from)
{
    struct frame frame = tail_question(log_end());

    add(0);
    circle_stop(circle, 1);
    memory_disk_destroy(&circle->nodes[0].disk);
    circle->nodes[0].disk = memory_disk_create();
    start();
    expect_stale(frame);
}

/* While it does not know whether it may go on itself. */
Test(node_tail_restart, a_node_that_is_not_confirmed_says_nothing)
{
    struct frame frame = tail_question(log_end());

    circle_stop(circle, 1);
    circle->silent = true;
    circle_start(circle, 1);
    circle_run(circle, 1000);
    cr_assert_eq(ask_tail(&frame)->status, STATUS_NOT_READY);
}

/* The place stays where it was while a node loses data under a link that waits. */
Test(node_tail_restart, a_new_incarnation_ends_a_wait_as_stale)
{
    struct frame frame = tail_question(log_end());

    frame.body.site_tail_request.wait_ms = 1000;
    send_tail(&frame, 0);
    circle_run(circle, 1000);
    node_begin_incarnation(circle_node(circle, 1), circle->now_us, AMNESIA_CORRUPT);
    cr_assert_eq(await_tail(2 * SECOND)->status, STATUS_STALE, "%s", tail_answer()->message);
}
