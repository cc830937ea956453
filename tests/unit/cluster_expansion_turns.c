/* Who builds, one after the other, and when all have. */
#include "coordinator/plan/expansion.h"
#include "tests/support/expansion_cluster.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct expansion_cluster cluster;
static uint32_t wanted;

static void open_cluster(uint32_t nnodes)
{
    expansion_cluster_init(&cluster, nnodes);
    wanted = expansion_cluster_begin(&cluster, 40000);
}

static void close_cluster(void)
{
    expansion_cluster_fini(&cluster);
}

/* The turns now, written into the document; "" or "1 3". */
static void expect(uint32_t max_hosts, bool hold, const char *expected)
{
    uint32_t turns[DOCUMENT_MAX_TURNS];
    uint32_t nturns = expansion_turns(&cluster.view, max_hosts, hold, turns);
    char text[256] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < nturns; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i > 0 ? " " : "",
                                 turns[i]);
    }
    cr_assert_str_eq(text, expected);
    expansion_give_turns(&cluster.document, turns, nturns);
    cr_assert(expansion_turns_same(&cluster.document, turns, nturns));
}

Test(expansion_turns, one_after_the_other)
{
    open_cluster(3);
    expect(1, false, "1");
    expect(1, false, "1");
    expansion_cluster_serve(&cluster, 1, wanted);
    expect(1, false, "2");
    cr_assert_not(expansion_done(&cluster.view));
    expansion_cluster_serve(&cluster, 2, wanted);
    expect(1, false, "3");
    expansion_cluster_serve(&cluster, 3, wanted);
    expect(1, false, "");
    cr_assert(expansion_done(&cluster.view));
    close_cluster();
}

/* Many hosts are allowed: those that hold one shard still wait for each other. */
Test(expansion_turns, never_two_replicas_of_a_shard)
{
    open_cluster(3);
    expect(64, false, "1");
    close_cluster();
    open_cluster(8); /* group g on g + 1, g + 2, g + 3 */
    expect(64, false, "1 4");
    expansion_cluster_serve(&cluster, 4, wanted);
    expect(64, false, "1 5");
    close_cluster();
}

Test(expansion_turns, hosts_are_bounded_and_nodes_of_one_go_together)
{
    open_cluster(8);
    expect(1, false, "1");
    close_cluster();
    open_cluster(8);
    expansion_cluster_node(&cluster, 5)->host = expansion_cluster_node(&cluster, 1)->host;
    expect(1, false, "1 5");
    close_cluster();
}

Test(expansion_turns, the_dead_are_skipped_and_lose_their_turn)
{
    open_cluster(3);
    expansion_cluster_node(&cluster, 1)->alive = false;
    expansion_cluster_node(&cluster, 1)->current = false;
    expect(1, false, "2");
    expansion_cluster_node(&cluster, 2)->alive = false;
    expect(1, false, "3");
    expansion_cluster_node(&cluster, 1)->alive = true;
    expansion_cluster_node(&cluster, 1)->current = true;
    expect(1, false, "3");
    expansion_cluster_serve(&cluster, 3, wanted);
    expect(1, false, "1");
    close_cluster();
}

Test(expansion_turns, who_is_full_comes_first)
{
    open_cluster(3);
    cluster.reports[2].overflow_keys = 1;
    expect(1, false, "3");
    close_cluster();
}

/* What is under way goes on; nobody new begins. */
Test(expansion_turns, held_while_replicas_are_replaced)
{
    open_cluster(3);
    expect(1, true, "");
    expect(1, false, "1");
    expect(1, true, "1");
    expansion_cluster_serve(&cluster, 1, wanted);
    expect(1, true, "");
    close_cluster();
}

/* A report of the time before this change says nothing about it. */
Test(expansion_turns, only_what_is_said_now_counts)
{
    open_cluster(3);
    for (uint32_t id = 1; id <= 3; id++) {
        expansion_cluster_serve(&cluster, id, wanted);
    }
    expansion_cluster_node(&cluster, 2)->current = false;
    cr_assert_not(expansion_done(&cluster.view));
    expect(1, false, "");
    expansion_cluster_node(&cluster, 2)->current = true;
    cr_assert(expansion_done(&cluster.view));
    close_cluster();
}

/* A turn is kept until its holder says that it is done. */
Test(expansion_turns, kept_while_its_holder_has_not_spoken)
{
    open_cluster(3);
    expect(1, false, "1");
    expansion_cluster_node(&cluster, 1)->current = false;
    expansion_cluster_serve(&cluster, 1, wanted);
    expect(1, false, "1");
    close_cluster();
}

Test(expansion_turns, the_dead_do_not_hold_up_the_end)
{
    open_cluster(3);
    expansion_cluster_serve(&cluster, 1, wanted);
    expansion_cluster_serve(&cluster, 2, wanted);
    cr_assert_not(expansion_done(&cluster.view));
    expansion_cluster_node(&cluster, 3)->alive = false;
    cr_assert(expansion_done(&cluster.view));
    expansion_cluster_node(&cluster, 1)->alive = false;
    expansion_cluster_node(&cluster, 2)->alive = false;
    cr_assert_not(expansion_done(&cluster.view), "nobody is left to say so");
    close_cluster();
}

/* Another life of a member's node holds nothing that the slot names. */
Test(expansion_turns, another_life_is_no_member)
{
    open_cluster(3);
    expansion_cluster_node(&cluster, 1)->incarnation = 5;
    expect(1, false, "2");
    expansion_cluster_serve(&cluster, 2, wanted);
    expansion_cluster_serve(&cluster, 3, wanted);
    cr_assert(expansion_done(&cluster.view));
    close_cluster();
}

Test(expansion_turns, both_halves_of_a_pair_must_have_grown)
{
    struct slot *slot;

    open_cluster(3);
    for (uint32_t id = 1; id <= 3; id++) {
        expansion_cluster_serve(&cluster, id, wanted);
    }
    slot = &cluster.document.content.groups[0].slots[0];
    slot->incoming = (struct member){.node = 4, .incarnation = SAMPLE_INCARNATION + 4};
    cluster.nodes[3] = cluster.nodes[2];
    cluster.nodes[3].id = 4;
    cluster.nodes[3].incarnation = SAMPLE_INCARNATION + 4;
    cluster.view.nnodes = 4;
    cr_assert_not(expansion_done(&cluster.view));
    expect(1, false, "4");
    cluster.reports[cluster.view.nreports++] = (struct expansion_report){
        .node = 4, .generation = wanted, .shards_grown = 16};
    cr_assert(expansion_done(&cluster.view));
    close_cluster();
}

/* Taken back, a replica may name the wanted generation and still serve shards of the other. */
Test(expansion_turns, not_done_before_all_shards_are_back)
{
    open_cluster(3);
    expansion_back(&cluster.document);
    for (uint32_t id = 1; id <= 3; id++) {
        expansion_cluster_serve(&cluster, id, 1);
    }
    cr_assert(expansion_done(&cluster.view));
    cluster.reports[1].shards_grown = 15;
    cr_assert_not(expansion_done(&cluster.view));
    expect(1, false, "2");
    close_cluster();
}

Test(expansion_turns, one_that_hears_of_few_lets_others_act)
{
    open_cluster(3);
    cr_assert(expansion_sees_most(&cluster.view));
    expansion_cluster_node(&cluster, 1)->alive = false;
    cr_assert(expansion_sees_most(&cluster.view));
    expansion_cluster_node(&cluster, 2)->alive = false;
    cr_assert_not(expansion_sees_most(&cluster.view));
    close_cluster();
}

Test(expansion_turns, progress_counts_shards_of_replicas)
{
    struct expansion_progress progress;

    open_cluster(3);
    cluster.reports[0].shards_grown = 5;
    cluster.reports[0].expanding = true;
    cluster.reports[0].overflow_keys = 77;
    cluster.reports[2].shards_grown = 16; /* of the former one, before it heard of this */
    expansion_cluster_serve(&cluster, 2, wanted);
    progress = expansion_progress(&cluster.view);
    cr_assert_eq(progress.grown, 21);
    cr_assert_eq(progress.shards, 48);
    cr_assert_eq(progress.overflow, 77);
    close_cluster();
}
