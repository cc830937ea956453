/* Replacing replicas: each stage takes its evidence, and nothing less. */
#include "base/heap.h"
#include "cluster/change.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MOST_GROUPS = 8, NEW_LIFE = 5000, THIRD_LIFE = 6000 };

static struct filter_document document;
static struct node_list nodes;
static struct evidence evidence;
static struct slot_group next[MOST_GROUPS];
static struct change_decision decision;
static bool alive[MOST_GROUPS];
static const struct move_plan *plan; /* NULL: no node is to leave */

static void make(uint32_t replicas, uint32_t write, uint32_t nnodes)
{
    const struct quorum_rule rule = {
        .replicas = replicas, .write = write, .read = replicas - write + 1};

    sample_document(7, "urls", &rule, nnodes, &document);
    document.durability = DURABILITY_SYNC;
    nodes = (struct node_list){.revision = 1, .count = nnodes};
    nodes.nodes = heap_zalloc(nnodes, sizeof *nodes.nodes);
    cr_assert_not_null(nodes.nodes);
    for (uint32_t i = 0; i < nnodes; i++) {
        nodes.nodes[i].id = i + 1;
        nodes.nodes[i].incarnation = SAMPLE_INCARNATION + i + 1;
        nodes.nodes[i].durable = true;
        alive[i] = true;
    }
}

static void teardown(void)
{
    evidence_fini(&evidence);
    document_fini(&document);
    node_list_fini(&nodes);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(change, .fini = teardown);

static void lose(uint32_t node, uint64_t life)
{
    nodes.nodes[node - 1].incarnation = life + node;
}

/* What is gathered so far belongs to the document; else it is gone. */
static void gather(void)
{
    if (!evidence_fits(&evidence, &document)) {
        cr_assert_eq(evidence_open(&evidence, &document), STATUS_OK);
    }
}

static void fence(uint32_t node)
{
    gather();
    cr_assert(evidence_fence(&evidence, &document, node, SAMPLE_INCARNATION + node));
}

static void complete(uint32_t group, uint32_t node, uint64_t life)
{
    gather();
    cr_assert(evidence_complete(&evidence, &document, group, node, life + node));
}

static enum change_action decide(void)
{
    gather();
    change_decide(&document, &nodes, &evidence, alive, plan, next, &decision);
    return decision.action;
}

/* Decide, write, and void the evidence as a new epoch does. */
static void write_next(void)
{
    cr_assert_eq(decide(), CHANGE_WRITE, "wait %d in group %u: %u of %u", decision.wait,
                 decision.group, decision.have, decision.needed);
    for (uint32_t group = 0; group < document.content.ngroups; group++) {
        document.content.groups[group] = next[group];
    }
    document_epoch_advance(&document);
}

static void expect_wait(enum change_wait wait, uint32_t have, uint32_t needed)
{
    cr_assert_eq(decide(), CHANGE_AWAIT);
    cr_assert_eq(decision.wait, wait, "wait %d", decision.wait);
    cr_assert_eq(decision.have, have, "have %u", decision.have);
    cr_assert_eq(decision.needed, needed, "needed %u", decision.needed);
}

static struct slot *slot_of(uint32_t group, uint32_t index)
{
    return &document.content.groups[group].slots[index];
}

static void expect_slot(uint32_t group, uint32_t index, enum slot_stage stage, uint64_t current,
                        uint64_t incoming)
{
    const struct slot *slot = slot_of(group, index);

    cr_assert_eq(slot_stage(slot), stage, "group %u slot %u: stage %d", group, index,
                 slot_stage(slot));
    cr_assert_eq(slot->current.incarnation, current);
    cr_assert_eq(slot->incoming.incarnation, incoming);
}

static uint64_t old_life(uint32_t node)
{
    return SAMPLE_INCARNATION + (uint64_t)node;
}

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

/* ---- the table of legal moves ---- */

static const struct member a = {1, 11};
static const struct member d = {1, 12};
static const struct member e = {1, 13};

static struct slot slot(const struct member *current, const struct member *incoming, bool reads)
{
    return (struct slot){.current = *current,
                         .incoming = incoming != NULL ? *incoming : (struct member){0},
                         .reads_incoming = reads};
}

/* What an edit takes: 'f' fences, 'c' a copy too, '-' nothing, 'X' it is none. */
static char taken(struct slot from, struct slot to)
{
    const struct change_move *move = change_move_of(&from, &to);

    return move == NULL ? 'X' : move->takes_copy ? 'c' : move->takes_fences ? 'f' : '-';
}

Test(change, the_table_has_each_legal_move)
{
    size_t count;

    cr_assert_eq(taken(slot(&a, NULL, false), slot(&a, &d, false)), '-');
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, &e, false)), '-');
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, NULL, false)), '-');
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, &d, true)), 'c');
    cr_assert_eq(taken(slot(&a, &d, true), slot(&d, NULL, false)), 'f');
    (void)change_moves(&count);
    cr_assert_eq(count, 5);
}

Test(change, the_table_refuses_every_short_cut)
{
    cr_assert_eq(taken(slot(&a, NULL, false), slot(&d, NULL, false)), 'X', "v1 to v4");
    cr_assert_eq(taken(slot(&a, NULL, false), slot(&a, &d, true)), 'X', "v1 to v3");
    cr_assert_eq(taken(slot(&a, &d, false), slot(&d, NULL, false)), 'X', "v2 to v4");
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, &e, true)), 'X', "another one is read");
    cr_assert_eq(taken(slot(&a, &d, false), slot(&e, &d, false)), 'X', "another old one");
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, &d, false)), 'X', "nothing at all");
    cr_assert_eq(taken(slot(&a, &d, true), slot(&a, NULL, false)), 'X', "back without fences");
    cr_assert_eq(taken(slot(&a, &d, true), slot(&a, &d, false)), 'X', "back without fences");
    cr_assert_eq(taken(slot(&a, &d, true), slot(&a, &e, true)), 'X', "another one is read");
    cr_assert_eq(taken(slot(&a, &d, true), slot(&e, NULL, false)), 'X', "a third one");
    cr_assert_eq(taken(slot(&a, NULL, false), slot(&a, NULL, false)), 'X', "nothing at all");
}

/* ---- to another node ---- */

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

Test(change, a_slot_moves_to_the_planned_node_and_needs_the_plan_no_more)
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
Test(change, a_member_of_the_group_is_never_a_successor)
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

Test(change, a_successor_that_is_to_leave_itself_gives_way)
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

Test(change, a_successor_without_its_data_is_copied_into_anew)
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

Test(change, what_lacks_a_successor_is_awaited)
{
    make(3, 2, 3);
    propose(1, 0);
    expect_wait(CHANGE_WAIT_MOVE, 0, 0);
    cr_assert_eq(decision.who.node, 2);
}

/* An operator's word stands for a fence, of that life, while nothing is heard of it. */
Test(change, a_confirmed_end_counts_as_a_fence)
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
