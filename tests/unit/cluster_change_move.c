/* Replicas that move to another node: by the plan, and only where it is sound. */
#include "cluster_change.h"

TestSuite(change_move, .fini = teardown);

static struct move_targets targets[MOST_GROUPS];
static struct move_plan proposal;

/* Node 4 is a spare; the plan wants it for a slot of group 0. */
static void propose(uint32_t index, uint32_t node)
{
    targets[0] = (struct move_targets){.wanted = (uint8_t)(1U << index)};
    targets[0].nodes[index] = node;
    proposal = (struct move_plan){.groups = targets, .ngroups = document.content.ngroups};
    plan = &proposal;
}

static void add_spares(uint32_t count)
{
    uint32_t held = nodes.count;

    nodes.nodes = heap_realloc(nodes.nodes, held + count, sizeof *nodes.nodes);
    cr_assert_not_null(nodes.nodes);
    for (uint32_t i = held; i < held + count; i++) {
        nodes.nodes[i] = (struct node_record){
            .id = i + 1, .incarnation = SAMPLE_INCARNATION + i + 1, .durable = true};
        alive[i] = true;
    }
    nodes.count += count;
}

Test(change_move, a_slot_moves_to_the_planned_node_and_needs_the_plan_no_more)
{
    make(3, 2, 3);
    add_spares(1);
    nodes.nodes[1].draining = true;
    propose(1, 4);
    write_next();
    plan = NULL;
    expect_slot(0, 1, SLOT_PAIR, old_life(2), old_life(4));
    cr_assert_eq(slot_of(0, 1)->incoming.node, 4);
    cr_assert_eq(change_fences_wanted(&document, &nodes, &evidence, 0), 7, "who leaves may fence");
    fence(1);
    fence(2);
    expect_wait(CHANGE_WAIT_COPY, 0, 0);
    cr_assert_eq(decision.who.node, 4);
    complete(0, 4, SAMPLE_INCARNATION);
    write_next();
    expect_slot(0, 1, SLOT_MOVED, old_life(2), old_life(4));
    expect_wait(CHANGE_WAIT_FENCES, 0, 2);
    fence(1);
    fence(3);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, old_life(4), 0);
    cr_assert_eq(slot_of(0, 1)->current.node, 4);
    cr_assert_eq(decide(), CHANGE_NOTHING);
}

/* Whatever a plan says: two slots of a group on one node would be one replica counted twice. */
Test(change_move, a_member_of_the_group_is_never_a_successor)
{
    make(3, 2, 3);
    propose(1, 3);
    cr_assert_eq(decide(), CHANGE_NOTHING);
    add_spares(1);
    slot_of(0, 0)->incoming = (struct member){.node = 4, .incarnation = old_life(4)};
    propose(1, 4);
    (void)decide();
    for (uint32_t i = 1; i < 3; i++) {
        cr_assert_eq(next[0].slots[i].incoming.node, 0);
    }
}

/* ... and what is copied to a life that was given up counts for nothing, so that its loss would be
 * noticed by nobody. */
Test(change_move, a_life_that_was_given_up_is_never_a_successor)
{
    make(3, 2, 3);
    add_spares(1);
    propose(1, 4);
    document.content.groups[0].lost[0] = (struct member){4, old_life(4)};
    document.content.groups[0].loss_epoch = document.epoch;
    cr_assert_eq(decide(), CHANGE_NOTHING);
    lose(4, NEW_LIFE);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 4);
}

Test(change_move, a_successor_that_is_to_leave_itself_gives_way)
{
    make(3, 2, 3);
    add_spares(2);
    nodes.nodes[1].draining = true;
    propose(1, 4);
    write_next();
    nodes.nodes[3].draining = true;
    propose(1, 5);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), old_life(5));
    nodes.nodes[4].replaced_by = 1;
    plan = NULL;
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, old_life(2), 0);
}

Test(change_move, a_successor_without_its_data_is_copied_into_anew)
{
    make(3, 2, 3);
    add_spares(1);
    propose(1, 4);
    write_next();
    plan = NULL;
    lose(4, NEW_LIFE);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 4);
    cr_assert_eq(slot_of(0, 1)->incoming.node, 4);
}

Test(change_move, what_lacks_a_successor_is_awaited)
{
    make(3, 2, 3);
    propose(1, 0);
    expect_wait(CHANGE_WAIT_MOVE, 0, 0);
    cr_assert_eq(decision.who.node, 2);
}

/* An operator's word stands for a fence, of that life, while nothing is heard of it. */
Test(change_move, a_confirmed_end_counts_as_a_fence)
{
    make(3, 3, 3);
    add_spares(1);
    propose(1, 4);
    write_next();
    plan = NULL;
    complete(0, 4, SAMPLE_INCARNATION);
    fence(1);
    fence(3);
    alive[1] = false;
    expect_wait(CHANGE_WAIT_FENCES, 2, 3);
    nodes.nodes[1].confirmed_off = NEW_LIFE + 2;
    expect_wait(CHANGE_WAIT_FENCES, 2, 3);
    nodes.nodes[1].confirmed_off = old_life(2);
    alive[1] = true;
    expect_wait(CHANGE_WAIT_FENCES, 2, 3);
    alive[1] = false;
    write_next();
    expect_slot(0, 1, SLOT_MOVED, old_life(2), old_life(4));
}
