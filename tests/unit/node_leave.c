/* A node that gives up a slot group goes on with the others as if nothing had happened; what it
 * had of that group comes back from its log when it gets the group again. */
#include "tests/support/sample_cluster.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 500, NODES = 5, FILTER = 5, LEAVER = 2, TAKER = 5, LEFT = 0, KEPT = 1 };

static uint64_t keys[2][BATCH];

/* Groups of four nodes in a ring: node 2 is in groups 0, 1 and 3; node 5 in none. */
static void open_circle(void)
{
    make_circle_of(NODES, 4);
    circle_hand(circle, &document, 0);
    for (uint32_t group = 0; group < 2; group++) {
        sample_fingerprints(&document, group, group + 1, BATCH, keys[group]);
    }
}

static void add_all(uint32_t group, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id <= to; id++) {
        cr_assert_eq(circle_add(circle, id, &document, group + 1, keys[group], BATCH), STATUS_OK);
    }
}

static int count(uint32_t id, uint32_t group)
{
    return circle_count(circle, id, &document, keys[group], BATCH);
}

static uint64_t memory_of(uint32_t id)
{
    return circle_counter(circle, id, NODE_memory_used_bytes);
}

static struct slot *slot_of(uint32_t group, uint32_t node)
{
    int index = document_slot_of(&document, group, node, 0);

    cr_assert_geq(index, 0);
    return &document.content.groups[group].slots[index];
}

static void hand_over(uint32_t group, uint32_t from, uint32_t to)
{
    slot_of(group, from)->current = (struct member){
        .node = to, .incarnation = circle_node(circle, to)->life.incarnation};
    document_epoch_advance(&document);
}

Test(node_leave, the_other_groups_are_served_without_a_pause)
{
    uint64_t before;

    open_circle();
    add_all(LEFT, 1, 3);
    add_all(KEPT, 2, 4);
    before = memory_of(LEAVER);
    hand_over(LEFT, LEAVER, TAKER);
    circle_hand(circle, &document, LEAVER);
    cr_assert_eq(count(LEAVER, KEPT), BATCH, "at once: nothing is read from the log");
    cr_assert_eq(count(LEAVER, LEFT), -1);
    cr_assert_eq(circle_counter(circle, LEAVER, NODE_replayed_keys_total), 0);
    cr_assert_eq(memory_of(LEAVER), before * 2 / 3, "a third of its groups is gone");
    close_circle();
}

Test(node_leave, a_group_that_comes_back_is_filled_from_the_log)
{
    open_circle();
    add_all(LEFT, 1, 3);
    add_all(KEPT, 2, 4);
    hand_over(LEFT, LEAVER, TAKER);
    circle_hand(circle, &document, 0);
    circle_run(circle, 1000000);
    hand_over(LEFT, TAKER, LEAVER);
    circle_hand(circle, &document, LEAVER);
    circle_run(circle, 1000000);
    cr_assert_eq(count(LEAVER, LEFT), BATCH);
    cr_assert_eq(count(LEAVER, KEPT), BATCH);
    close_circle();
}

Test(node_leave, a_restart_finds_the_groups_that_are_left)
{
    open_circle();
    add_all(LEFT, 1, 3);
    add_all(KEPT, 2, 4);
    hand_over(LEFT, LEAVER, TAKER);
    circle_hand(circle, &document, 0);
    circle_run(circle, 1000000);
    circle_stop(circle, LEAVER);
    circle_start(circle, LEAVER);
    circle_run(circle, 3000000);
    cr_assert_eq(count(LEAVER, KEPT), BATCH);
    cr_assert_eq(count(LEAVER, LEFT), -1);
    close_circle();
}

Test(node_leave, the_last_group_takes_everything_along)
{
    static const uint32_t groups[] = {0, 1, 3};

    open_circle();
    add_all(KEPT, 2, 4);
    for (uint32_t i = 0; i < 3; i++) {
        hand_over(groups[i], LEAVER, TAKER);
        circle_hand(circle, &document, LEAVER);
    }
    cr_assert_eq(memory_of(LEAVER), 0);
    cr_assert_eq(count(LEAVER, KEPT), -1);
    close_circle();
}

/* ---- a group more ---- */

enum { GAINED = 2, GIVER = 4 };

/* Nothing is read back from a log that can't be written. */
static void freeze(bool frozen)
{
    circle->nodes[LEAVER - 1].frozen = frozen;
    circle_run(circle, 1000);
}

Test(node_leave, a_group_more_does_not_stop_the_others)
{
    uint64_t more[BATCH];
    uint64_t before;

    open_circle();
    add_all(KEPT, 2, 4);
    before = memory_of(LEAVER);
    freeze(true);
    hand_over(GAINED, GIVER, LEAVER);
    circle_hand(circle, &document, LEAVER);
    cr_assert_eq(arrays_state(set_of(LEAVER), GAINED), REPLICA_BUILDING);
    cr_assert_eq(arrays_state(set_of(LEAVER), KEPT), REPLICA_FULL, "at once");
    cr_assert_eq(memory_of(LEAVER), before * 4 / 3);
    freeze(false);
    sample_fingerprints(&document, KEPT, 77, BATCH, more);
    cr_assert_eq(circle_add(circle, LEAVER, &document, 9, more, BATCH), STATUS_OK);
    circle_run(circle, 1000000);
    cr_assert_eq(arrays_state(set_of(LEAVER), GAINED), REPLICA_FULL);
    cr_assert_eq(count(LEAVER, KEPT), BATCH);
    cr_assert_eq(circle_count(circle, LEAVER, &document, more, BATCH), BATCH);
    close_circle();
}

/* The log is read back for what is new alone: what serves has it, and counts on by itself. */
static void come_back(enum keylog keylog)
{
    uint64_t keys_before;

    open_circle();
    document.keylog = keylog;
    document.revision++;
    circle_hand(circle, &document, 0);
    add_all(LEFT, 1, 3);
    add_all(KEPT, 2, 4);
    keys_before = set_of(LEAVER)->groups[LEFT].keys;
    freeze(true);
    hand_over(LEFT, LEAVER, TAKER);
    circle_hand(circle, &document, LEAVER);
    hand_over(LEFT, TAKER, LEAVER);
    circle_hand(circle, &document, LEAVER);
    cr_assert_eq(arrays_state(set_of(LEAVER), KEPT), REPLICA_FULL);
    cr_assert_eq(arrays_state(set_of(LEAVER), LEFT), REPLICA_BUILDING);
    freeze(false);
    circle_run(circle, 1000000);
    cr_assert_eq(count(LEAVER, LEFT), BATCH);
    cr_assert_eq(count(LEAVER, KEPT), BATCH);
    cr_assert_eq(set_of(LEAVER)->groups[LEFT].keys, keys_before);
    cr_assert_eq(set_of(LEAVER)->groups[KEPT].keys, keys_before, "counted once");
    close_circle();
}

Test(node_leave, a_group_comes_back_beside_others)
{
    come_back(KEYLOG_ON);
}

Test(node_leave, a_group_comes_back_beside_others_without_key_log)
{
    come_back(KEYLOG_OFF);
}

/* Two come back, one after the other, before the first has been read back. */
Test(node_leave, a_second_group_begins_the_first_one_anew)
{
    enum { THIRD = 3 };

    open_circle();
    add_all(LEFT, 1, 3);
    freeze(true);
    hand_over(LEFT, LEAVER, TAKER);
    hand_over(THIRD, LEAVER, TAKER);
    circle_hand(circle, &document, LEAVER);
    hand_over(LEFT, TAKER, LEAVER);
    circle_hand(circle, &document, LEAVER);
    hand_over(THIRD, TAKER, LEAVER);
    circle_hand(circle, &document, LEAVER);
    cr_assert_eq(arrays_state(set_of(LEAVER), KEPT), REPLICA_FULL);
    cr_assert_eq(arrays_state(set_of(LEAVER), LEFT), REPLICA_BUILDING);
    freeze(false);
    circle_run(circle, 1000000);
    cr_assert_eq(arrays_state(set_of(LEAVER), THIRD), REPLICA_FULL);
    cr_assert_eq(count(LEAVER, LEFT), BATCH);
    cr_assert_eq(set_of(LEAVER)->groups[LEFT].keys, set_of(3)->groups[LEFT].keys,
                 "the same as where it never left");
    close_circle();
}

/* Without room for it the others go on, and it is tried again. */
Test(node_leave, no_room_for_a_group_more)
{
    struct node *node;

    open_circle();
    add_all(KEPT, 2, 4);
    node = circle_node(circle, LEAVER);
    node->config.memory_limit_bytes = node->memory_used_bytes;
    hand_over(GAINED, GIVER, LEAVER);
    circle_hand(circle, &document, LEAVER);
    circle_run(circle, 1000000);
    cr_assert_eq(arrays_state(set_of(LEAVER), GAINED), REPLICA_NONE);
    cr_assert_eq(count(LEAVER, KEPT), BATCH);
    node->config.memory_limit_bytes *= 2;
    circle_run(circle, 3000000);
    cr_assert_eq(arrays_state(set_of(LEAVER), GAINED), REPLICA_FULL);
    cr_assert_eq(count(LEAVER, KEPT), BATCH);
    close_circle();
}
