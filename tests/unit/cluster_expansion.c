/* What may be asked of a growing filter, and what becomes of its document. */
#include "coordinator/plan/expansion.h"
#include "filter/sizing.h"
#include "tests/support/expansion_cluster.h"

#include <criterion/criterion.h>

static struct expansion_cluster cluster;

static void setup(void)
{
    expansion_cluster_init(&cluster, 3);
}

static void teardown(void)
{
    expansion_cluster_fini(&cluster);
}

TestSuite(expansion, .init = setup, .fini = teardown);

static struct expansion_answer ask(uint64_t capacity, double rate)
{
    const struct expansion_wish wish = {.capacity = capacity, .rate = rate};

    return expansion_request(&cluster.view, &wish, 99);
}

static void expect(uint64_t capacity, double rate, enum expansion_verdict verdict)
{
    struct expansion_answer answer = ask(capacity, rate);

    cr_assert_eq(answer.verdict, verdict, "%llu at %g: %d", (unsigned long long)capacity, rate,
                 (int)answer.verdict);
}

Test(expansion, plans_a_generation_of_the_same_shards)
{
    struct expansion_answer answer = ask(40000, 0);
    const struct sizing_request request = {.capacity = 40000, .rate = 0.01};
    struct sizing_plan plan;

    cr_assert_eq(sizing_plan_generation(&request, 4, &plan), STATUS_OK);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BEGIN);
    cr_assert_eq(answer.next.geometry.lines, plan.lines);
    cr_assert_eq(answer.next.geometry.z, plan.z);
    cr_assert_eq(answer.next.geometry.shard_bits, 4);
    cr_assert_eq(answer.next.geometry.seed, 99);
    cr_assert_eq(answer.next.capacity, 40000);
    cr_assert_eq(answer.next.rate, 0.01, "left out: as it is");
    answer = ask(0, 0.001);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BEGIN);
    cr_assert_eq(answer.next.capacity, 10000, "left out: as it is");
    cr_assert_eq(answer.next.rate, 0.001);
}

Test(expansion, numbers_that_no_filter_can_have_are_refused)
{
    expect(SIZING_CAPACITY_MAX + 1, 0, EXPANSION_VERDICT_OUT_OF_RANGE);
    expect(UINT64_MAX, 0, EXPANSION_VERDICT_OUT_OF_RANGE);
    expect(20000, 0.6, EXPANSION_VERDICT_OUT_OF_RANGE);
    expect(20000, 1e-10, EXPANSION_VERDICT_OUT_OF_RANGE);
    expect(20000, -0.01, EXPANSION_VERDICT_OUT_OF_RANGE);
    expect(20000, __builtin_nan(""), EXPANSION_VERDICT_OUT_OF_RANGE);
    cluster.document.revision = UINT32_MAX;
    expect(20000, 0, EXPANSION_VERDICT_OUT_OF_RANGE);
}

Test(expansion, nothing_asked_is_nothing_done)
{
    expect(0, 0, EXPANSION_VERDICT_NOTHING);
    expect(10000, 0, EXPANSION_VERDICT_IS_SO);
    expect(10000, 0.01, EXPANSION_VERDICT_IS_SO);
    expect(0, 0.01, EXPANSION_VERDICT_IS_SO);
}

Test(expansion, only_an_active_filter_with_a_log_on_disk_grows)
{
    cluster.document.keylog = KEYLOG_OFF;
    expect(20000, 0, EXPANSION_VERDICT_NO_KEYLOG);
    cr_assert_not(expansion_possible(&cluster.document));
    cluster.document.keylog = KEYLOG_ON;
    cluster.document.durability = DURABILITY_MEMORY;
    expect(20000, 0, EXPANSION_VERDICT_IN_MEMORY);
    cr_assert_not(expansion_possible(&cluster.document));
    cluster.document.durability = DURABILITY_OS;
    cr_assert(expansion_possible(&cluster.document));
    cluster.document.content.state = FILTER_DROPPING;
    expect(20000, 0, EXPANSION_VERDICT_NOT_ACTIVE);
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_NOT_ACTIVE);
}

Test(expansion, max_capacity_is_the_end)
{
    expect(640000, 0, EXPANSION_VERDICT_BEGIN);
    expect(640001, 0, EXPANSION_VERDICT_ABOVE_MAX);
}

Test(expansion, who_is_full_waits_for_room_or_does_not)
{
    struct filter_document *document = &cluster.document;

    document->when_full = WHEN_FULL_REFUSE;
    cr_assert_not(expansion_makes_room(document));
    (void)expansion_cluster_begin(&cluster, 20000);
    cr_assert(expansion_makes_room(document), "on its way");
    document->generations[1].capacity = 5000;
    cr_assert_not(expansion_makes_room(document), "it shrinks");
    document->ngenerations = 1;
    document->when_full = WHEN_FULL_EXPAND;
    cr_assert(expansion_makes_room(document), "it will by itself");
    document->growth_held = true;
    cr_assert_not(expansion_makes_room(document), "an operator said no");
    document->growth_held = false;
    document->max_capacity = document->generations[0].capacity;
    cr_assert_not(expansion_makes_room(document), "it has grown as far as it may");
    document->max_capacity++;
    document->keylog = KEYLOG_OFF;
    cr_assert_not(expansion_makes_room(document), "it can't");
}

/* The fullest replica of each group speaks for it. */
Test(expansion, keys_are_the_most_of_each_group)
{
    bool known;

    cluster.reports[0].keys = 300;
    cluster.reports[1].keys = 350;
    cluster.reports[1].overflow_keys = 50;
    cr_assert_eq(expansion_keys(&cluster.view, &known), 350, "overflow is among them");
    cr_assert(known);
    cluster.view.nreports = 0;
    cr_assert_eq(expansion_keys(&cluster.view, &known), 0);
    cr_assert_not(known);
    expansion_cluster_fini(&cluster);
    expansion_cluster_init(&cluster, 5);
    cr_assert_eq(expansion_keys(&cluster.view, &known), 500, "five groups");
    cr_assert(known);
    cluster.reports[0].group = 77; /* of another shape: of no account */
    cluster.reports[0].keys = 9999;
    cr_assert_eq(expansion_keys(&cluster.view, &known), 500);
}

Test(expansion, what_it_holds_must_fit)
{
    struct expansion_answer answer;

    cluster.reports[2].keys = 5000;
    expect(5000, 0, EXPANSION_VERDICT_BEGIN);
    answer = ask(4999, 0);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BELOW_KEYS);
    cr_assert_eq(answer.keys, 5000);
    cluster.view.nreports = 0;
    expect(5000, 0, EXPANSION_VERDICT_KEYS_UNKNOWN);
    expect(20000, 0, EXPANSION_VERDICT_BEGIN);
}

/* What is reported unasked may be a load behind. */
Test(expansion, for_less_room_all_that_live_have_to_tell)
{
    struct expansion_answer answer;

    expansion_cluster_node(&cluster, 2)->told = false;
    answer = ask(5000, 0);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_KEYS_OLD);
    cr_assert_eq(answer.node, 2);
    expect(20000, 0, EXPANSION_VERDICT_BEGIN);
    expansion_cluster_node(&cluster, 2)->alive = false;
    expect(5000, 0, EXPANSION_VERDICT_BEGIN);
    for (size_t i = 0; i < cluster.view.nreports; i++) {
        cluster.reports[i].asked = false;
    }
    expect(5000, 0, EXPANSION_VERDICT_KEYS_UNKNOWN);
    cluster.reports[0].keys = 6000;
    expect(5000, 0, EXPANSION_VERDICT_BELOW_KEYS);
}

/* S max(new - old, 0) + new on top of what the node holds, to the byte. */
Test(expansion, memory_at_the_peak_must_suffice_on_every_node)
{
    struct expansion_answer answer = ask(400000, 0);
    uint64_t old = 64 * LINE_BYTES;
    uint64_t new = answer.next.geometry.lines *LINE_BYTES;
    uint64_t peak = 16 * (new - old) + new;
    struct expansion_node *node = expansion_cluster_node(&cluster, 2);

    cr_assert_gt(new, old);
    node->used_bytes = 1000000;
    node->limit_bytes = 1000000 + peak;
    expect(400000, 0, EXPANSION_VERDICT_BEGIN);
    node->limit_bytes--;
    expansion_cluster_node(&cluster, 3)->limit_bytes = peak - 7;
    answer = ask(400000, 0);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_NO_ROOM);
    cr_assert_eq(answer.node, 3, "who lacks most is named");
    cr_assert_eq(answer.missing_bytes, 7);
    cr_assert_eq(answer.needed_bytes, peak);
    expansion_cluster_node(&cluster, 3)->limit_bytes = UINT64_C(1) << 30;
    answer = ask(400000, 0);
    cr_assert_eq(answer.node, 2);
    cr_assert_eq(answer.missing_bytes, 1);
}

Test(expansion, a_shrinking_filter_needs_room_for_one_shard)
{
    struct expansion_answer answer = ask(400000, 0);
    uint64_t wanted;

    expansion_begin(&cluster.document, &answer);
    expansion_finish(&cluster.document);
    answer = ask(10000, 0);
    wanted = answer.next.geometry.lines * LINE_BYTES;
    cr_assert_lt(answer.next.geometry.lines,
                 document_generation(&cluster.document)->geometry.lines);
    expansion_cluster_node(&cluster, 1)->limit_bytes = wanted;
    expect(10000, 0, EXPANSION_VERDICT_BEGIN);
    expansion_cluster_node(&cluster, 1)->limit_bytes = wanted - 1;
    expect(10000, 0, EXPANSION_VERDICT_NO_ROOM);
}

/* Nodes that hold nothing of it need no room. */
Test(expansion, strangers_do_not_count)
{
    cluster.nodes[3] = cluster.nodes[2];
    cluster.nodes[3].id = 9;
    cluster.nodes[3].limit_bytes = 0;
    cluster.view.nnodes = 4;
    expect(40000, 0, EXPANSION_VERDICT_BEGIN);
}

Test(expansion, the_revision_rises_and_the_epoch_stays)
{
    uint64_t epoch = cluster.document.epoch;
    uint64_t revision = cluster.document.revision;
    uint32_t turns[] = {2};

    cluster.document.growth_held = true;
    cr_assert_eq(expansion_cluster_begin(&cluster, 40000), revision + 1);
    cr_assert_eq(cluster.document.revision, revision + 1);
    cr_assert_eq(cluster.document.capacity, 40000);
    cr_assert_eq(cluster.document.ngenerations, 2);
    cr_assert_eq(cluster.document.generations[0].rate, 0.01, "kept, for the way back");
    cr_assert_not(cluster.document.growth_held);
    expansion_give_turns(&cluster.document, turns, 1);
    cr_assert_eq(cluster.document.revision, revision + 2);
    cr_assert(document_has_turn(&cluster.document, 2));
    cr_assert_not(document_has_turn(&cluster.document, 1));
    expansion_finish(&cluster.document);
    cr_assert_eq(cluster.document.revision, revision + 3);
    cr_assert_eq(cluster.document.ngenerations, 1);
    cr_assert_eq(document_generation(&cluster.document)->capacity, 40000);
    cr_assert_eq(cluster.document.nturns, 0);
    cr_assert_eq(cluster.document.epoch, epoch);
}

Test(expansion, the_same_again_joins_and_another_is_refused)
{
    (void)expansion_cluster_begin(&cluster, 40000);
    expect(40000, 0, EXPANSION_VERDICT_JOINS);
    expect(40000, 0.01, EXPANSION_VERDICT_JOINS);
    expect(0, 0, EXPANSION_VERDICT_JOINS);
    expect(50000, 0, EXPANSION_VERDICT_OTHER_RUNS);
    expect(10000, 0, EXPANSION_VERDICT_OTHER_RUNS);
    expect(40000, 0.001, EXPANSION_VERDICT_OTHER_RUNS);
    expect(UINT64_MAX, 0, EXPANSION_VERDICT_OTHER_RUNS);
}

Test(expansion, the_way_back_restores_capacity_rate_and_geometry)
{
    struct generation first = cluster.document.generations[0];
    const struct generation *back;
    struct expansion_answer answer = ask(40000, 0.001);

    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_NOTHING);
    expansion_begin(&cluster.document, &answer);
    cr_assert_eq(cluster.document.rate, 0.001);
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_BEGIN);
    expansion_back(&cluster.document);
    back = document_generation(&cluster.document);
    cr_assert(expansion_goes_back(&cluster.document));
    cr_assert_eq(back->id, first.id);
    cr_assert_eq(back->geometry.seed, first.geometry.seed);
    cr_assert_eq(back->geometry.lines, first.geometry.lines);
    cr_assert_eq(cluster.document.capacity, 10000);
    cr_assert_eq(cluster.document.rate, 0.01);
    cr_assert(cluster.document.growth_held, "else it would begin at once anew");
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_JOINS, "twice is once");
    expect(0, 0, EXPANSION_VERDICT_JOINS);
    expect(40000, 0.01, EXPANSION_VERDICT_OTHER_RUNS);
    expansion_finish(&cluster.document);
    cr_assert_eq(cluster.document.capacity, 10000);
}

/* Replicas that took more keys before they heard of it keep what they have, and nothing else would
 * end that. */
Test(expansion, what_is_taken_back_may_be_asked_for_once_more)
{
    struct expansion_answer answer = ask(40000, 0.001);
    struct generation first = answer.next;

    expansion_begin(&cluster.document, &answer);
    expansion_back(&cluster.document);
    cluster.reports[1].keys = 40400; /* A little more than either is for. */
    answer = ask(40000, 0.001);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BEGIN);
    expansion_begin(&cluster.document, &answer);
    cr_assert_eq(cluster.document.ngenerations, 2);
    cr_assert_eq(document_generation(&cluster.document)->id, first.id);
    cr_assert_eq(document_generation(&cluster.document)->geometry.seed, first.geometry.seed);
    cr_assert_eq(cluster.document.capacity, 40000);
    cr_assert_not(expansion_goes_back(&cluster.document));
    cr_assert_not(cluster.document.growth_held);
}

/* Keys came between; the bigger arrays of before are better in any case. */
Test(expansion, the_way_back_to_more_is_always_open)
{
    (void)expansion_cluster_begin(&cluster, 5000);
    cluster.reports[1].keys = 10400;
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_BEGIN);
    cluster.view.nreports = 0;
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_BEGIN);
}

Test(expansion, no_way_back_once_it_holds_more)
{
    struct expansion_answer answer;

    (void)expansion_cluster_begin(&cluster, 40000);
    cluster.reports[1].keys = 10000;
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_BEGIN);
    cluster.reports[1].keys = 10001;
    answer = expansion_abort(&cluster.view);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BELOW_KEYS);
    cr_assert_eq(answer.keys, 10001);
    cr_assert_eq(answer.capacity, 10000);
    cluster.reports[1].keys = 9900;
    cluster.reports[1].overflow_keys = 3; /* One group is beyond what it was made for. */
    answer = expansion_abort(&cluster.view);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BELOW_KEYS);
    cr_assert_eq(answer.keys, 10003);
    cluster.view.nreports = 0;
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_KEYS_UNKNOWN);
}

/* What nodes may still have on their disks under an id is of that generation. */
Test(expansion, no_id_is_used_again_not_even_after_an_abort)
{
    uint32_t first = expansion_cluster_begin(&cluster, 40000);
    uint32_t second;

    expansion_back(&cluster.document);
    expansion_finish(&cluster.document);
    second = expansion_cluster_begin(&cluster, 50000);
    cr_assert_gt(second, first);
    expansion_back(&cluster.document);
    expansion_finish(&cluster.document);
    cr_assert_gt(expansion_cluster_begin(&cluster, 50000), second);
}

/* What is asked for is for the window, an array and its fill are of one slice. */
Test(expansion, of_a_window_a_generation_is_for_a_slice)
{
    const struct sizing_request request = {.capacity = 20000, .rate = 0.01 / 4};
    struct filter_document *document = &cluster.document;
    struct expansion_answer answer;
    struct sizing_plan plan;

    document->nslices = 3;
    document->window_us = 3000000;
    document->content.newest_slice = 5;
    document->capacity = 3 * document->generations[0].capacity;
    answer = ask(60000, 0);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BEGIN, "%d", (int)answer.verdict);
    cr_assert_eq(answer.next.capacity, 20000);
    cr_assert_eq(answer.next.rate, 0.01);
    cr_assert_eq(sizing_plan_generation(&request, 4, &plan), STATUS_OK);
    cr_assert_eq(answer.next.geometry.lines, plan.lines);
    expect(document->capacity, 0, EXPANSION_VERDICT_IS_SO);
    expansion_begin(document, &answer);
    cr_assert_eq(document->capacity, 60000);
    expect(60000, 0, EXPANSION_VERDICT_JOINS);
    expansion_back(document);
    cr_assert_eq(document->capacity, 30000);
}

Test(expansion, of_a_window_the_fullest_slice_decides)
{
    struct filter_document *document = &cluster.document;
    struct expansion_answer answer;

    document->nslices = 3;
    document->window_us = 3000000;
    document->capacity = 30000;
    cluster.reports[0].keys = 5001;
    answer = ask(15000, 0);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BELOW_KEYS, "%d", (int)answer.verdict);
    cr_assert_eq(expansion_goal(document, 9000, 2), 60000);
    cr_assert_eq(expansion_goal(document, 20000, 2), 120000,
                 "what the fullest slice holds, thrice");
    cr_assert(expansion_due(document, 8501, 0, 0));
    cr_assert_not(expansion_due(document, 8499, 0, 0));
}
