/* Losses that an operator accepts: only where nothing else helps, and for what is named alone. */
#include "cluster_change.h"
#include "coordinator/plan/loss.h"
#include "node/pull/pull_plan.h"

#include <string.h>

static bool off[MOST_GROUPS];
static struct loss_answer answer;

static enum loss_verdict judge(uint32_t group)
{
    const struct loss_view view = {&nodes, alive, off};

    loss_judge(&document, &view, group, &answer);
    return answer.verdict;
}

static void accept(uint32_t group)
{
    cr_assert_eq(judge(group), LOSS_NEEDED, "verdict %d", answer.verdict);
    loss_give_up(&document, group, answer.gone);
    document_epoch_advance(&document);
}

static void silence(uint32_t node)
{
    alive[node - 1] = false;
}

static void setup(void)
{
    memset(off, 0, sizeof off);
}

TestSuite(loss, .init = setup, .fini = teardown);

Test(loss, it_is_not_needed_while_enough_is_left)
{
    make(3, 2, 3);
    cr_assert_eq(judge(0), LOSS_ENOUGH);
    cr_assert_eq(answer.left, 3);
    lose(2, NEW_LIFE);
    cr_assert_eq(judge(0), LOSS_ENOUGH);
    cr_assert_eq(answer.left, 2);
    cr_assert_eq(answer.needed, 2);
}

Test(loss, what_is_silent_may_come_back)
{
    make(3, 2, 3);
    lose(1, NEW_LIFE);
    silence(2);
    cr_assert_eq(judge(0), LOSS_SILENT, "two are left, and one is heard of");
    cr_assert_eq(answer.silent, 2);
    lose(3, NEW_LIFE);
    cr_assert_eq(judge(0), LOSS_SILENT);
    off[1] = true;
    cr_assert_eq(judge(0), LOSS_NEEDED);
    cr_assert_eq(answer.gone, 7);
    alive[1] = true;
    cr_assert_eq(judge(0), LOSS_NEEDED, "no word against what is heard of it");
    cr_assert_eq(answer.gone, 5);
}

Test(loss, a_word_given_before_counts_too)
{
    make(3, 2, 3);
    lose(1, NEW_LIFE);
    silence(2);
    nodes.nodes[1].confirmed_off = nodes.nodes[1].incarnation;
    cr_assert_eq(judge(0), LOSS_NEEDED);
    cr_assert_eq(answer.gone, 3);
    cr_assert(answer.loses);
}

Test(loss, what_is_left_is_copied_and_then_counts)
{
    make(3, 2, 3);
    lose(1, NEW_LIFE);
    lose(2, NEW_LIFE);
    cr_assert_eq(decide(), CHANGE_AWAIT);
    cr_assert_eq(decision.wait, CHANGE_WAIT_REPLICAS);
    accept(0);
    cr_assert_eq(document.content.groups[0].loss_epoch, document.epoch);
    cr_assert_eq(judge(0), LOSS_GIVEN);
    write_next();
    expect_slot(0, 0, SLOT_PAIR, old_life(1), NEW_LIFE + 1);
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
    expect_slot(0, 2, SLOT_SINGLE, old_life(3), 0);
    complete(0, 1, NEW_LIFE);
    expect_wait(CHANGE_WAIT_COPY, 0, 0);
    complete(0, 2, NEW_LIFE);
    write_next();
    expect_slot(0, 0, SLOT_MOVED, old_life(1), NEW_LIFE + 1);
    write_next();
    expect_slot(0, 0, SLOT_SINGLE, NEW_LIFE + 1, 0);
    expect_slot(0, 1, SLOT_SINGLE, NEW_LIFE + 2, 0);
    cr_assert_eq(decide(), CHANGE_NOTHING);
    cr_assert_eq(judge(0), LOSS_ENOUGH);
}

/* R = 1: every member has to fence, and one is silent for good; enough are left to copy from. */
Test(loss, a_word_that_is_not_kept_fences_nothing)
{
    make(3, 3, 3);
    silence(1);
    cr_assert_eq(judge(0), LOSS_SILENT);
    off[0] = true;
    cr_assert_eq(judge(0), LOSS_NEEDED, "its fence can't be had");
    cr_assert_eq(answer.gone, 1);
    cr_assert_eq(answer.needed, 3);
    cr_assert(!answer.loses);
    nodes.nodes[0].confirmed_off = nodes.nodes[0].incarnation;
    cr_assert_eq(judge(0), LOSS_ENOUGH, "it counts as fenced already");
}

/* W = N: a write is with all, so that one that is left suffices to copy from; but fences are had of
 * the lost ones only by an operator's word. */
Test(loss, fences_that_nobody_can_give_are_given_up_without_a_loss)
{
    make(3, 3, 3);
    lose(1, NEW_LIFE);
    accept(0);
    cr_assert_eq(answer.gone, 1);
    cr_assert(!answer.loses);
    write_next();
    fence(2);
    complete(0, 1, NEW_LIFE);
    expect_wait(CHANGE_WAIT_FENCES, 2, 3);
    fence(3);
    write_next();
    expect_slot(0, 0, SLOT_MOVED, old_life(1), NEW_LIFE + 1);
}

/* Groups 0 and 1 of a ring of four share nodes 2 and 3, which both lost their data. */
Test(loss, another_group_is_not_loosened)
{
    make(3, 2, 4);
    lose(2, NEW_LIFE);
    lose(3, NEW_LIFE);
    cr_assert_eq(judge(1), LOSS_NEEDED);
    accept(0);
    cr_assert_eq(judge(1), LOSS_NEEDED, "still");
    cr_assert_eq(document.content.groups[1].loss_epoch, 0);
    write_next();
    for (uint32_t group = 0; group < 4; group++) {
        bool pairs = group == 0 || group == 2 || group == 3;
        const struct slot *slots = document.content.groups[group].slots;
        bool any = slot_is_pair(&slots[0]) || slot_is_pair(&slots[1]) || slot_is_pair(&slots[2]);

        cr_assert_eq(any, pairs, "group %u", group);
    }
    expect_slot(1, 0, SLOT_SINGLE, old_life(2), 0);
}

Test(loss, of_a_word_alone_nothing_is_left_out_that_lives)
{
    struct member joins = {.node = 1, .incarnation = NEW_LIFE + 1};
    struct pull_plan pulls;

    make(5, 3, 5);
    lose(1, NEW_LIFE);
    lose(2, NEW_LIFE);
    write_next();
    pull_plan_make(&document, 0, &joins, &pulls);
    cr_assert_eq(pulls.needed, 3);
    lose(3, NEW_LIFE); /* In the middle of it. */
    expect_wait(CHANGE_WAIT_REPLICAS, 2, 3);
    accept(0);
    pull_plan_make(&document, 0, &joins, &pulls);
    cr_assert_eq(pulls.role, PULL_ROLE_JOINS);
    cr_assert_eq(pulls.needed, 2, "both that are left, not N - W + 1 of any");
    cr_assert_eq(pulls.nsources, 2);
    cr_assert_eq(pulls.sources[0].node, 4);
    cr_assert_eq(pulls.sources[1].node, 5);
}

Test(loss, nothing_is_needed_when_nothing_is_left)
{
    struct member joins = {.node = 1, .incarnation = NEW_LIFE + 1};
    struct pull_plan pulls;

    make(3, 2, 3);
    lose(1, NEW_LIFE);
    lose(2, NEW_LIFE);
    lose(3, NEW_LIFE);
    accept(0);
    write_next();
    pull_plan_make(&document, 0, &joins, &pulls);
    cr_assert_eq(pulls.role, PULL_ROLE_JOINS);
    cr_assert_eq(pulls.needed, 0);
    cr_assert_eq(pulls.nsources, 0);
}

Test(loss, a_life_that_was_given_up_never_counts_again)
{
    struct member joins = {.node = 1, .incarnation = NEW_LIFE + 1};
    struct pull_plan pulls;

    make(3, 2, 3);
    lose(1, NEW_LIFE);
    lose(3, NEW_LIFE);
    silence(2);
    off[1] = true;
    accept(0);
    alive[1] = true; /* It is back, with all its data. */
    cr_assert_eq(member_role(&document, 0, 2, old_life(2)), MEMBER_JOINING);
    write_next();
    expect_slot(0, 1, SLOT_SINGLE, old_life(2), 0);
    pull_plan_make(&document, 0, &joins, &pulls);
    cr_assert_eq(pulls.nsources, 0, "and nobody copies from it");
    complete(0, 1, NEW_LIFE);
    complete(0, 3, NEW_LIFE);
    write_next();
    write_next();
    cr_assert_eq(decide(), CHANGE_AWAIT);
    cr_assert_eq(decision.wait, CHANGE_WAIT_SUCCESSOR);
    cr_assert_eq(decision.who.node, 2);
    lose(2, NEW_LIFE);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
    cr_assert_eq(member_role(&document, 0, 1, NEW_LIFE + 1), MEMBER_FULL);
}

/* One that is vouched for leaves nothing to copy from: it is said, not waited for in silence. */
Test(loss, a_copy_that_can_never_be_complete_is_told)
{
    make(3, 2, 3);
    lose(1, NEW_LIFE);
    silence(2);
    nodes.nodes[1].confirmed_off = nodes.nodes[1].incarnation;
    write_next();
    fence(3);
    expect_wait(CHANGE_WAIT_REPLICAS, 1, 2);
}

/* Reads have moved to node 1's next life when others are lost, too: what it has is not. */
Test(loss, reads_that_have_moved_count_where_they_are)
{
    struct member joins = {.node = 2, .incarnation = NEW_LIFE + 2};
    struct pull_plan pulls;

    make(3, 2, 3);
    lose(1, NEW_LIFE);
    write_next();
    fence(2);
    fence(3);
    complete(0, 1, NEW_LIFE);
    write_next();
    lose(2, NEW_LIFE);
    cr_assert_eq(judge(0), LOSS_NEEDED, "one of two fences");
    cr_assert_eq(answer.gone, 3);
    cr_assert(!answer.loses);
    lose(3, NEW_LIFE);
    cr_assert_eq(judge(0), LOSS_NEEDED);
    cr_assert_eq(answer.gone, 7);
    cr_assert(answer.loses, "what was acknowledged by 2 and 3");
    accept(0);
    write_next();
    expect_slot(0, 0, SLOT_SINGLE, NEW_LIFE + 1, 0);
    write_next();
    expect_slot(0, 1, SLOT_PAIR, old_life(2), NEW_LIFE + 2);
    pull_plan_make(&document, 0, &joins, &pulls);
    cr_assert_eq(pulls.needed, 1);
    cr_assert_eq(pulls.nsources, 1);
    cr_assert_eq(pulls.sources[0].incarnation, NEW_LIFE + 1);
}
