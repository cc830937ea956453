/* Who starts again asks the others: they may remember more, and stand in for the store. */
#include "node/sync/exchange.h"
#include "tests/support/sample_cluster.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 500 };

static uint64_t keys[BATCH];
static uint64_t incarnation;

static void setup(void)
{
    make_circle(3);
    sample_fingerprints(&document, 0, 1, BATCH, keys);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    incarnation = circle_node(circle, 1)->life.incarnation;
}

TestSuite(node_meet, .init = setup, .fini = close_circle);

static void add(uint64_t batch, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id <= last; id++) {
        cr_assert_eq(circle_add(circle, id, &document, batch, keys, BATCH), STATUS_OK);
    }
}

static void restart(uint32_t id)
{
    circle_stop(circle, id);
    circle_start(circle, id);
}

static bool same_life(void)
{
    return circle_node(circle, 1)->life.incarnation == incarnation;
}

Test(node_meet, a_start_that_lacks_nothing_goes_on)
{
    add(1, 1, 3);
    circle_run(circle, 5 * SECOND);
    for (int i = 0; i < 3; i++) {
        restart(1);
        circle_run(circle, 3 * SECOND);
        cr_assert(same_life());
        cr_assert_eq(circle_count(circle, 1, &document, keys, BATCH), BATCH);
    }
    for (uint32_t i = 0; i < circle_node(circle, 1)->exchange->nmeetings; i++) {
        cr_assert(circle_node(circle, 1)->exchange->meetings[i].fits);
    }
    cr_assert_eq(circle_node(circle, 1)->exchange->nmeetings, 2);
}

/* The coordinators have forgotten how far it was; a peer has not. */
Test(node_meet, who_is_remembered_to_have_had_more_is_another_incarnation)
{
    struct memory_disk *copy = memory_disk_copy(circle->nodes[0].disk);

    add(1, 1, 1);
    circle_run(circle, 10 * SECOND);
    put_back(1, copy);
    circle_run(circle, SECOND);
    cr_assert_not(same_life());
    cr_assert(circle_node(circle, 1)->life.confirmed);
}

/* ... and though it has been started again since: its cursors tell. */
Test(node_meet, cursors_remember_too)
{
    struct memory_disk *copy = memory_disk_copy(circle->nodes[0].disk);

    add(1, 1, 1);
    circle_run(circle, 10 * SECOND);
    circle_stop(circle, 1);
    restart(2);
    restart(3);
    circle_run(circle, SECOND / 100);
    put_back(1, copy);
    circle_run(circle, SECOND);
    cr_assert_not(same_life());
}

/* Nobody was there to be asked: it counts after a while, and gives up when it is told. */
Test(node_meet, who_answers_late_is_believed_too)
{
    struct memory_disk *copy = memory_disk_copy(circle->nodes[0].disk);

    add(1, 1, 1);
    circle_run(circle, 10 * SECOND);
    circle->nodes[1].cut = true;
    circle->nodes[2].cut = true;
    put_back(1, copy);
    circle_run(circle, 5 * SECOND);
    cr_assert(same_life());
    circle->nodes[1].cut = false;
    circle_run(circle, 20 * SECOND);
    cr_assert_not(same_life());
}

Test(node_meet, without_coordinators_all_others_confirm_a_start)
{
    add(1, 1, 3);
    circle->silent = true;
    restart(1);
    circle_run(circle, SECOND);
    cr_assert_not(circle_node(circle, 1)->life.confirmed, "a coordinator may answer yet");
    circle_run(circle, 3 * SECOND);
    cr_assert(circle_node(circle, 1)->life.confirmed);
    cr_assert(same_life());
    cr_assert_eq(circle_count(circle, 1, &document, keys, BATCH), BATCH);
}

Test(node_meet, one_that_is_silent_confirms_nothing)
{
    circle->silent = true;
    circle->nodes[2].cut = true;
    restart(1);
    circle_run(circle, 30 * SECOND);
    cr_assert_not(circle_node(circle, 1)->life.confirmed);
    circle->nodes[2].cut = false;
    circle_run(circle, 30 * SECOND);
    cr_assert(circle_node(circle, 1)->life.confirmed);
}

Test(node_meet, all_at_once_confirm_each_other)
{
    add(1, 1, 3);
    circle->silent = true;
    for (uint32_t id = 1; id <= 3; id++) {
        restart(id);
    }
    circle_run(circle, 10 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        cr_assert_eq(circle_count(circle, id, &document, keys, BATCH), BATCH, "node %u", id);
    }
}

/* Confirmed, killed, and so again: then the store is told, and knows none of those between. */
Test(node_meet, the_store_is_told_later)
{
    circle->silent = true;
    for (int i = 0; i < 3; i++) {
        restart(1);
        circle_run(circle, 10 * SECOND);
        cr_assert(circle_node(circle, 1)->life.confirmed);
    }
    circle->silent = false;
    circle_run(circle, 10 * SECOND);
    cr_assert(same_life());
    cr_assert_not(node_failed(circle_node(circle, 1)));
    cr_assert(circle_node(circle, 1)->life.identity.confirmed);
    cr_assert_eq(circle->records[0].boot, circle_node(circle, 1)->life.identity.boot);
    restart(1);
    circle_run(circle, 5 * SECOND);
    cr_assert(same_life());
}

/* The first was confirmed; who comes later with a copy of the same folder is not, though those who
 * confirmed have been started again. */
Test(node_meet, a_second_copy_is_not_confirmed)
{
    struct memory_disk *copy = memory_disk_copy(circle->nodes[0].disk);

    circle->silent = true;
    restart(1);
    circle_run(circle, 10 * SECOND);
    cr_assert(circle_node(circle, 1)->life.confirmed);
    circle_stop(circle, 1);
    restart(2);
    restart(3);
    circle_run(circle, 10 * SECOND);
    put_back(1, copy);
    circle_run(circle, 30 * SECOND);
    cr_assert_not(same_life());
    cr_assert_not(circle_node(circle, 1)->life.confirmed, "a new life takes a coordinator");
}

static bool no_peer_record(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    return !(decoded->kind == FRAME_BOOT_REPLY && frame->from == 2);
}

/* Of two that ask while only some answer, none is confirmed by all. */
Test(node_meet, a_yes_that_is_not_heard_is_kept_all_the_same)
{
    struct memory_disk *copy = memory_disk_copy(circle->nodes[0].disk);

    circle->silent = true;
    circle->spy = no_peer_record;
    restart(1);
    circle_run(circle, 10 * SECOND);
    cr_assert_not(circle_node(circle, 1)->life.confirmed);
    circle->spy = NULL;
    put_back(1, copy);
    circle_run(circle, 30 * SECOND);
    cr_assert_not(circle_node(circle, 1)->life.confirmed);
}

static bool frozen_reply;

static bool watch_confirmed(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    frozen_reply = frozen_reply || (decoded->kind == FRAME_BOOT_REPLY && frame->from == 2 &&
                                    decoded->body.boot_reply.confirmed);
    return true;
}

/* What is not durable is not said: also to who asks a second time. */
Test(node_meet, a_yes_is_durable_first)
{
    circle->silent = true;
    circle->spy = watch_confirmed;
    circle->nodes[1].frozen = true;
    restart(1);
    circle_run(circle, 20 * SECOND);
    cr_assert_not(frozen_reply);
    cr_assert_not(circle_node(circle, 1)->life.confirmed);
    circle->nodes[1].frozen = false;
    circle_run(circle, 20 * SECOND);
    cr_assert(circle_node(circle, 1)->life.confirmed);
}

static bool bend(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    if (decoded->kind == FRAME_BOOT_REPLY) {
        frame->bytes[frame->size - 1] ^= 1; /* The MAC comes last. */
    }
    return true;
}

Test(node_meet, forged_answers_are_ignored)
{
    circle->silent = true;
    circle->spy = bend;
    restart(1);
    circle_run(circle, 20 * SECOND);
    cr_assert_not(circle_node(circle, 1)->life.confirmed);
    cr_assert_gt(circle_counter(circle, 1, NODE_pull_mismatches_total), 0);
}
