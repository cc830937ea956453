/* Whom does a replica take over from, at each stage of a change? */
#include "node/pull/pull_plan.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct filter_document document;
static struct pull_plan plan;

static void setup(void)
{
    sample_document(5, "urls", &rule, 3, &document);
}

static void teardown(void)
{
    document_fini(&document);
}

TestSuite(pull_plan, .init = setup, .fini = teardown);

static struct member life(uint32_t node)
{
    return (struct member){.node = node, .incarnation = SAMPLE_INCARNATION + node};
}

static enum pull_role plan_of(uint32_t node, uint64_t incarnation)
{
    const struct member self = {.node = node, .incarnation = incarnation};

    pull_plan_make(&document, 0, &self, &plan);
    return plan.role;
}

static enum pull_role plan_for(uint32_t node)
{
    return plan_of(node, SAMPLE_INCARNATION + node);
}

static void expect(uint32_t count, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t nodes[] = {a, b, c};

    cr_assert_eq(plan.nsources, count);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(plan.sources[i].node, nodes[i]);
        cr_assert_eq(plan.sources[i].incarnation, SAMPLE_INCARNATION + nodes[i]);
    }
}

static struct slot *slot_of(uint32_t node)
{
    return &document.content.groups[0].slots[node - 1];
}

Test(pull_plan, replicas_follow_each_other)
{
    cr_assert_eq(plan_for(2), PULL_ROLE_HOLDS);
    expect(2, 1, 3, 0);
    cr_assert_eq(plan_for(4), PULL_ROLE_NONE);
    cr_assert_eq(plan_of(2, 77), PULL_ROLE_NONE, "another life holds nothing");
}

Test(pull_plan, who_joins_asks_all_readers_the_leaving_one_last)
{
    slot_of(2)->incoming = life(4);
    cr_assert_eq(plan_for(4), PULL_ROLE_JOINS);
    expect(3, 1, 3, 2);
    cr_assert_eq(plan_for(2), PULL_ROLE_HOLDS);
    expect(2, 1, 3, 0);
    cr_assert_eq(plan_for(1), PULL_ROLE_HOLDS);
    expect(2, 2, 3, 0); /* Never the one that joins. */
}

Test(pull_plan, a_node_that_lost_its_data_does_not_ask_itself)
{
    slot_of(2)->incoming = (struct member){.node = 2, .incarnation = 77};
    cr_assert_eq(plan_of(2, 77), PULL_ROLE_JOINS);
    expect(2, 1, 3, 0);
}

Test(pull_plan, once_reads_have_moved_it_holds)
{
    slot_of(2)->incoming = life(4);
    slot_of(2)->reads_incoming = true;
    cr_assert_eq(plan_for(4), PULL_ROLE_HOLDS);
    expect(2, 1, 3, 0);
    cr_assert_eq(plan_for(2), PULL_ROLE_HOLDS, "it leaves, and keeps up until then");
    cr_assert_eq(plan_for(1), PULL_ROLE_HOLDS);
    expect(2, 4, 3, 0); /* The reader. */
}

Test(pull_plan, several_may_join_at_once)
{
    slot_of(2)->incoming = (struct member){.node = 2, .incarnation = 77};
    slot_of(3)->incoming = (struct member){.node = 3, .incarnation = 78};
    cr_assert_eq(plan_of(2, 77), PULL_ROLE_JOINS);
    expect(2, 1, 3, 0); /* 3 by its former life: what it is now is no reader. */
}
