/* A replica that joins holds the union of the logs of N - W + 1 FULL ones before it says that it is
 * complete: whatever was acknowledged before is then in its own log, durably.
 */
#include "node/sync/exchange.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, MANY = 500, JOINER = 4 };

static uint64_t keys[MANY][BATCH];

/* Nodes 1 to 3 hold the filter, node 4 is to come. */
static void open_circle(void)
{
    make_circle(4);
    circle_hand(circle, &document, 0);
    make_keys(keys[0], MANY, BATCH);
}

static void add(uint32_t i, uint32_t id)
{
    cr_assert_eq(circle_add(circle, id, &document, i + 1, keys[i], BATCH), STATUS_OK);
}

/* Acknowledged by two of the three, by others each time. */
static void add_some(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        add(i, i % 3 + 1);
        add(i, (i + 1) % 3 + 1);
    }
}

static struct slot *slot_of(uint32_t id)
{
    return &document.content.groups[0].slots[id - 1];
}

/* Stage v2: the slot of a node becomes a pair with node 4. */
static void pair_with(uint32_t id)
{
    slot_of(id)->incoming = (struct member){
        .node = JOINER, .incarnation = circle_node(circle, JOINER)->life.incarnation};
    document_epoch_advance(&document);
}

static bool is_complete(void)
{
    return group_of(JOINER)->complete == document.epoch;
}

static void expect_complete(uint32_t count)
{
    cr_assert(is_complete());
    cr_assert_eq(group_of(JOINER)->copied, 1);
    /* All at once, as each look reads the whole log and all runs. */
    cr_assert_eq(circle_logged(circle, JOINER, &document, keys[0], count * BATCH), count * BATCH);
}

/* Stage v4: node 4 alone in the slot. */
static void hand_over(uint32_t id)
{
    slot_of(id)->current = slot_of(id)->incoming;
    slot_of(id)->incoming = (struct member){0};
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
}

static uint64_t joined(enum node_counter counter)
{
    return circle_counter(circle, JOINER, counter);
}

/* Its next life begins with an empty disk, and holds the document. */
static void lose_data(uint32_t id)
{
    struct circle_node *one = &circle->nodes[id - 1];

    circle_stop(circle, id);
    memory_disk_destroy(&one->disk);
    one->disk = memory_disk_create();
    circle_start(circle, id);
    circle_run(circle, SECOND);
    circle_hand(circle, &document, id);
}

Test(node_join, the_union_of_enough_logs_is_taken_over)
{
    open_circle();
    circle->nodes[0].cut = circle->nodes[1].cut = circle->nodes[2].cut = true; /* No gossip. */
    add_some(30);
    circle->nodes[0].cut = circle->nodes[1].cut = circle->nodes[2].cut = false;
    pair_with(1);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    expect_complete(30);
    cr_assert_geq(joined(NODE_sync_keys_total), 30 * BATCH);
    hand_over(1);
    circle_run(circle, SECOND);
    for (uint32_t i = 0; i < 30; i++) {
        cr_assert_eq(circle_count(circle, JOINER, &document, keys[i], BATCH), BATCH);
    }
    close_circle();
}

/* Most of it has left the log for runs. */
Test(node_join, runs_and_log_are_read)
{
    open_circle();
    add_some(MANY);
    circle_run(circle, SECOND);
    pair_with(2);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    cr_assert_gt(circle->requests[PULL_RUNS], 2);
    cr_assert_gt(circle->requests[PULL_LOG], 0);
    expect_complete(MANY);
    close_circle();
}

Test(node_join, one_source_is_not_enough)
{
    open_circle();
    circle->nodes[2].cut = true;
    add(0, 1);
    add(0, 3);
    circle->nodes[0].cut = true;
    pair_with(1);
    circle_hand(circle, &document, 0);
    circle_run(circle, 20 * SECOND);
    cr_assert_not(is_complete());
    cr_assert_lt(group_of(JOINER)->copied, 1);
    circle->nodes[2].cut = false;
    circle_run(circle, 20 * SECOND);
    expect_complete(1);
    close_circle();
}

/* The leaving replica counts as a source where another one can't be reached. */
Test(node_join, any_source_will_do)
{
    open_circle();
    add_some(6);
    circle_stop(circle, 2);
    pair_with(1);
    circle_hand(circle, &document, 0);
    circle_run(circle, 20 * SECOND);
    expect_complete(6);
    close_circle();
}

/* Node 3 has lost its data: its present life is JOINING, and holds nothing. */
Test(node_join, a_replica_that_joins_is_no_source)
{
    open_circle();
    lose_data(3);
    add(0, 1);
    circle->nodes[0].cut = true;
    pair_with(1);
    circle_hand(circle, &document, 0);
    circle_run(circle, 20 * SECOND);
    cr_assert_not(is_complete(), "2 alone is not enough, 3 does not count");
    cr_assert_gt(circle_counter(circle, 3, NODE_pulls_refused_total), 0);
    close_circle();
}

/* The number of a batch says nothing about what is in it: anybody may have sent node 3 other keys
 * under the same numbers before. */
Test(node_join, what_came_under_the_same_numbers_is_taken_over_all_the_same)
{
    open_circle();
    add_some(3);
    lose_data(3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(circle_add(circle, 3, &document, i + 1, keys[MANY - 1 - i], BATCH), STATUS_OK);
    }
    slot_of(3)->incoming = (struct member){.node = 3,
                                           .incarnation = circle_node(circle, 3)->life.incarnation};
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    cr_assert_eq(group_of(3)->complete, document.epoch);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(circle_logged(circle, 3, &document, keys[i], BATCH), BATCH, "batch %u", i + 1);
    }
    close_circle();
}

/* Even if it answered: what it says of itself is looked at. */
static bool admit_joining(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    if (decoded->kind == FRAME_PULL_REPLY && frame->from == 3) {
        decoded->body.pull_reply.state = REPLICA_JOINING;
        replace_frame(frame, decoded);
    }
    return true;
}

Test(node_join, answers_of_joining_replicas_are_not_merged)
{
    open_circle();
    add_some(3);
    circle->nodes[0].cut = true;
    circle->spy = admit_joining;
    pair_with(1);
    circle_hand(circle, &document, 0);
    circle_run(circle, 20 * SECOND);
    cr_assert_not(is_complete());
    circle->spy = NULL;
    circle_run(circle, 20 * SECOND);
    expect_complete(3);
    close_circle();
}

/* An answer about another keyset, intact: not merged. */
static bool tell_other_keyset(struct circle *self, struct circle_frame *frame,
                              struct frame *decoded)
{
    (void)self;
    if (decoded->kind == FRAME_PULL_REPLY) {
        decoded->body.pull_reply.scope.keyset++;
        replace_frame(frame, decoded);
    }
    return true;
}

Test(node_join, answers_about_something_else_are_not_merged)
{
    open_circle();
    add_some(3);
    circle->spy = tell_other_keyset;
    pair_with(1);
    circle_hand(circle, &document, 0);
    circle_run(circle, 20 * SECOND);
    cr_assert_not(is_complete());
    cr_assert_eq(joined(NODE_sync_keys_total), 0);
    cr_assert_gt(joined(NODE_pull_mismatches_total), 0);
    close_circle();
}

/* A source that does not hold the document is given it, fences, and only then answers. */
Test(node_join, a_source_that_is_behind_is_told)
{
    open_circle();
    add_some(6);
    pair_with(1);
    circle_hand(circle, &document, JOINER);
    circle_run(circle, 20 * SECOND);
    expect_complete(6);
    cr_assert_eq(circle_add(circle, 2, &document, 99, keys[0], BATCH), STATUS_OK,
                 "node 2 is at the new epoch");
    close_circle();
}

/* The first source's pages arrive, then the power goes: it is not taken for complete. */
Test(node_join, a_restart_in_the_middle_loses_nothing)
{
    open_circle();
    add_some(MANY);
    circle_run(circle, SECOND);
    pair_with(2);
    circle->spy = let_through_some;
    circle_hand(circle, &document, 0);
    for (unsigned passing = 0; passing < 12; passing++) {
        replies_left = passing;
        circle_run(circle, SECOND);
        cr_assert_eq(is_complete(), circle_node(circle, JOINER)->exchange->cursors.count >= 2);
        circle_stop(circle, JOINER);
        circle_start(circle, JOINER);
        circle_run(circle, SECOND / 10);
    }
    circle->spy = NULL;
    circle_run(circle, 20 * SECOND);
    expect_complete(MANY);
    close_circle();
}

Test(node_join, complete_sources_are_not_asked_again)
{
    uint64_t before;

    open_circle();
    add_some(10);
    pair_with(1);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    expect_complete(10);
    before = circle->requests[PULL_RUNS];
    circle_stop(circle, JOINER);
    circle_start(circle, JOINER);
    circle_run(circle, 5 * SECOND);
    cr_assert(is_complete());
    cr_assert_eq(circle->requests[PULL_RUNS], before);
    close_circle();
}

/* In the meantime the old member may have been alone, and acknowledged without node 4. */
Test(node_join, another_epoch_begins_anew)
{
    uint64_t before;

    open_circle();
    add_some(3);
    pair_with(1);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    expect_complete(3);
    before = circle->requests[PULL_RUNS];
    slot_of(1)->incoming = (struct member){0};
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    add(7, 1);
    add(7, 2);
    pair_with(1);
    circle_hand(circle, &document, JOINER);
    cr_assert_not(is_complete());
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    cr_assert(is_complete());
    cr_assert_gt(circle->requests[PULL_RUNS], before);
    cr_assert_eq(circle_logged(circle, JOINER, &document, keys[7], BATCH), BATCH);
    close_circle();
}

/* What routers bring while it joins is in its log as well, once. */
Test(node_join, adds_go_on_meanwhile)
{
    open_circle();
    add_some(3);
    pair_with(1);
    circle_hand(circle, &document, 0);
    for (uint32_t i = 10; i < 20; i++) {
        for (uint32_t id = 1; id <= JOINER; id++) {
            add(i, id);
        }
    }
    circle_run(circle, 5 * SECOND);
    expect_complete(3);
    for (uint32_t i = 10; i < 20; i++) {
        cr_assert_eq(circle_logged(circle, JOINER, &document, keys[i], BATCH), BATCH);
    }
    close_circle();
}
