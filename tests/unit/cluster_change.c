/* Replacing replicas: each stage takes its evidence, and nothing less. */
#include "cluster_change.h"

TestSuite(change, .fini = teardown);

Test(change, nothing_to_do_while_every_node_lives_on)
{
    make(3, 2, 3);
    cr_assert_eq(decide(), CHANGE_NOTHING);
    cr_assert_eq(decision.slots, 0);
    cr_assert_eq(change_fences_wanted(&document, &nodes, &evidence, 0), 0);
}

/* v1 to v4, with each piece of evidence missing in turn. */
Test(change, the_stages_of_a_replacement)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
    expect_slot(0, 0, SLOT_SINGLE, old_life(1), 0);

    expect_wait(CHANGE_WAIT_FENCES, 0, 2);
    cr_assert_eq(decision.step, CHANGE_COPYING);
    cr_assert_eq(decision.slots, 1);
    cr_assert_eq(change_fences_wanted(&document, &nodes, &evidence, 0), 5, "slots 0 and 2");
    fence(1);
    expect_wait(CHANGE_WAIT_FENCES, 1, 2);
    cr_assert_eq(change_fences_wanted(&document, &nodes, &evidence, 0), 4);
    complete(0, 2, NEW_LIFE);
    expect_wait(CHANGE_WAIT_FENCES, 1, 2);
    fence(3);
    write_next();
    expect_slot(0, 1, SLOT_MOVED, old_life(2), NEW_LIFE + 2);

    expect_wait(CHANGE_WAIT_FENCES, 0, 2);
    cr_assert_eq(decision.step, CHANGE_HANDING_OVER);
    fence(1);
    expect_wait(CHANGE_WAIT_FENCES, 1, 2);
    fence(3);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, NEW_LIFE + 2, 0);
    cr_assert_eq(decide(), CHANGE_NOTHING);
    cr_assert_eq(document.epoch, 4);
}

Test(change, fences_alone_do_not_hand_over)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    fence(1);
    fence(3);
    expect_wait(CHANGE_WAIT_COPY, 0, 0);
    cr_assert_eq(decision.who.node, 2);
    cr_assert_eq(decision.who.incarnation, NEW_LIFE + 2);
    cr_assert_eq(change_fences_wanted(&document, &nodes, &evidence, 0), 0, "there are enough");
}

/* Only the old read set ends the old readers: the newcomer's own fence proves nothing. */
Test(change, the_newcomers_fence_does_not_count)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    for (int stage = 0; stage < 2; stage++) {
        write_next();
        fence(1);
        cr_assert(evidence_fence(&evidence, &document, 2, NEW_LIFE + 2));
        complete(0, 2, NEW_LIFE);
        expect_wait(CHANGE_WAIT_FENCES, 1, 2);
        fence(3);
    }
}

/* A member that was only cut off is as good as any other of the old read set. */
Test(change, the_old_members_fence_counts)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    fence(2);
    fence(3);
    complete(0, 2, NEW_LIFE);
    write_next();
    fence(2);
    expect_wait(CHANGE_WAIT_FENCES, 1, 2);
    fence(1);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, NEW_LIFE + 2, 0);
}

Test(change, larger_quorums_take_their_own_number_of_fences)
{
    make(5, 4, 5); /* R = 2, F = 4 */
    lose(5, NEW_LIFE);
    write_next();
    complete(0, 5, NEW_LIFE);
    fence(1);
    fence(2);
    fence(3);
    expect_wait(CHANGE_WAIT_FENCES, 3, 4);
    fence(4);
    write_next();
    expect_slot(0, 4, SLOT_MOVED, old_life(5), NEW_LIFE + 5);
}

Test(change, two_slots_of_a_group_move_together)
{
    make(5, 3, 5); /* F = 3 */
    lose(1, NEW_LIFE);
    lose(2, NEW_LIFE);
    write_next();
    cr_assert_eq(document.epoch, 2, "one epoch");
    complete(0, 1, NEW_LIFE);
    fence(3);
    fence(4);
    fence(5);
    expect_wait(CHANGE_WAIT_COPY, 0, 0);
    cr_assert_eq(decision.who.node, 2);
    complete(0, 2, NEW_LIFE);
    write_next();
    expect_slot(0, 0, SLOT_MOVED, old_life(1), NEW_LIFE + 1);
    expect_slot(0, 1, SLOT_MOVED, old_life(2), NEW_LIFE + 2);
}

/* Two of three are lost: nobody can vouch for what was acknowledged. */
Test(change, too_few_members_begin_nothing_and_count_nothing)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    lose(3, NEW_LIFE);
    expect_wait(CHANGE_WAIT_REPLICAS, 1, 2);
    cr_assert_eq(decision.step, CHANGE_TO_BEGIN);
    cr_assert_eq(decision.slots, 0);
    cr_assert_eq(change_fences_wanted(&document, &nodes, &evidence, 0), 0);
}

Test(change, a_member_lost_under_way_leaves_the_pair_where_it_is)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    complete(0, 2, NEW_LIFE);
    lose(3, NEW_LIFE);
    expect_wait(CHANGE_WAIT_REPLICAS, 1, 2);
    fence(3); /* Its former life had fenced before it ended: that is worth as much as ever. */
    expect_wait(CHANGE_WAIT_FENCES, 1, 2);
    fence(1);
    write_next();
    expect_slot(0, 1, SLOT_MOVED, old_life(2), NEW_LIFE + 2);
    expect_slot(0, 2, SLOT_SINGLE, old_life(3), 0);
}

Test(change, a_newcomer_that_dies_while_copying_is_replaced)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    fence(1);
    fence(3);
    complete(0, 2, NEW_LIFE);
    lose(2, THIRD_LIFE);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), THIRD_LIFE + 2);
    expect_wait(CHANGE_WAIT_FENCES, 0, 2);
    fence(1);
    fence(3);
    expect_wait(CHANGE_WAIT_COPY, 0, 0);
    cr_assert_eq(decision.who.incarnation, THIRD_LIFE + 2);
}

Test(change, a_newcomer_that_dies_when_it_is_read_is_replaced_after_the_end)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    fence(1);
    fence(3);
    complete(0, 2, NEW_LIFE);
    write_next();
    lose(2, THIRD_LIFE);
    expect_wait(CHANGE_WAIT_FENCES, 0, 2);
    fence(1);
    fence(3);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, NEW_LIFE + 2, 0);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, NEW_LIFE + 2, THIRD_LIFE + 2);
}

/* The former life was registered again: nothing has been read from the newcomer. */
Test(change, the_way_back_is_open_while_copying)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    lose(2, SAMPLE_INCARNATION);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, old_life(2), 0);
    cr_assert_eq(decide(), CHANGE_NOTHING);
}

Test(change, nodes_without_a_disk_are_not_copied_into)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    nodes.nodes[1].durable = false;
    expect_wait(CHANGE_WAIT_DISK, 0, 0);
    cr_assert_eq(decision.who.node, 2);
    nodes.nodes[1].durable = true;
    document.durability = DURABILITY_MEMORY;
    expect_wait(CHANGE_WAIT_DISK, 0, 0);
    document.durability = DURABILITY_OS;
    cr_assert_eq(decide(), CHANGE_WRITE);
}

Test(change, a_newcomer_that_lost_its_disk_gives_its_place_back)
{
    make(3, 2, 3);
    lose(2, NEW_LIFE);
    write_next();
    lose(2, THIRD_LIFE);
    nodes.nodes[1].durable = false;
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, old_life(2), 0);
    expect_wait(CHANGE_WAIT_DISK, 0, 0);
}

/* Groups of four nodes in a ring: node 2 is in groups 0, 1 and 3. */
Test(change, all_groups_of_a_node_change_in_one_epoch)
{
    make(3, 2, 4);
    lose(2, NEW_LIFE);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
    expect_slot(1, 0, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
    expect_slot(3, 2, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
    fence(1);
    fence(3);
    fence(4);
    complete(0, 2, NEW_LIFE);
    complete(1, 2, NEW_LIFE);
    expect_wait(CHANGE_WAIT_COPY, 0, 0);
    cr_assert_eq(decision.group, 3, "one epoch for all that can go on");
    cr_assert_eq(decision.slots, 3);
    complete(3, 2, NEW_LIFE);
    write_next();
    fence(1);
    fence(3);
    fence(4);
    write_next();
    cr_assert_eq(document.epoch, 4);
    cr_assert_eq(decide(), CHANGE_NOTHING);
}

/* Nodes 2 and 3 are lost: groups 0 and 1 have one member left, the others go on without them. */
Test(change, a_group_that_cannot_go_on_does_not_hold_up_others)
{
    make(3, 2, 4);
    lose(2, NEW_LIFE);
    lose(3, NEW_LIFE);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, old_life(2), 0);
    expect_slot(2, 0, SLOT_PAIR, old_life(3), NEW_LIFE + 3);
    expect_slot(3, 2, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
    for (int stage = 0; stage < 2; stage++) {
        fence(1);
        fence(4);
        if (stage == 0) {
            complete(2, 3, NEW_LIFE);
            complete(3, 2, NEW_LIFE);
        }
        write_next();
    }
    expect_slot(2, 0, SLOT_SINGLE, NEW_LIFE + 3, 0);
    expect_slot(3, 2, SLOT_SINGLE, NEW_LIFE + 2, 0);
    expect_wait(CHANGE_WAIT_REPLICAS, 1, 2);
    cr_assert_eq(decision.group, 0);
}

/* Whoever is silent may stay so for long. */
Test(change, silent_nodes_do_not_hold_up_groups_without_them)
{
    make(3, 2, 4);
    lose(2, NEW_LIFE);
    write_next();
    fence(1);
    fence(4);
    complete(3, 2, NEW_LIFE); /* nodes 4, 1, 2; the others want node 3 */
    expect_wait(CHANGE_WAIT_FENCES, 1, 2);
    alive[2] = false;
    write_next();
    expect_slot(3, 2, SLOT_MOVED, old_life(2), NEW_LIFE + 2);
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
}

/* A change of its own begins when the one under way has ended. */
Test(change, a_slot_lost_later_waits_for_the_change_under_way)
{
    make(5, 3, 5);
    lose(1, NEW_LIFE);
    write_next();
    lose(2, NEW_LIFE);
    expect_wait(CHANGE_WAIT_FENCES, 0, 3);
    for (int stage = 0; stage < 2; stage++) {
        fence(3);
        fence(4);
        fence(5);
        if (stage == 0) {
            complete(0, 1, NEW_LIFE);
        }
        write_next();
    }
    expect_slot(0, 0, SLOT_SINGLE, NEW_LIFE + 1, 0);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
}

/* Another node takes the place, as moves will do it: the same stages. */
Test(change, a_pair_of_two_nodes_goes_the_same_way)
{
    make(3, 2, 3);
    nodes.count = 3;
    slot_of(0, 1)->incoming = (struct member){9, 9009};
    nodes.nodes[0].id = 9; /* node 1 is gone from the list */
    nodes.nodes[0].incarnation = 9009;
    document.epoch = 2;
    document.revision = 2;
    fence(2);
    fence(3);
    gather();
    cr_assert(evidence_complete(&evidence, &document, 0, 9, 9009));
    write_next();
    expect_slot(0, 1, SLOT_MOVED, old_life(2), 9009);
    fence(2);
    fence(3);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, 9009, 0);
    cr_assert_eq(slot_of(0, 1)->current.node, 9);
}
