/* Growing by a chain of generations: what may be asked, the rates, the edits, and what a document
 * may say of it. */
#include "coordinator/plan/expansion.h"
#include "filter/sizing.h"
#include "tests/support/chain_document.h"
#include "tests/support/expansion_cluster.h"

#include <criterion/criterion.h>

static struct expansion_cluster cluster;

static void setup(void)
{
    expansion_cluster_init(&cluster, 3);
    chain_document_start(&cluster.document, 64, 10000);
    cluster.document.max_capacity = 100000000;
}

static void teardown(void)
{
    expansion_cluster_fini(&cluster);
}

TestSuite(expansion_chain, .init = setup, .fini = teardown);

static struct expansion_answer ask(uint64_t capacity, double rate)
{
    const struct expansion_wish wish = {.capacity = capacity, .rate = rate};

    return expansion_request(&cluster.view, &wish, 99);
}

static void expect(uint64_t capacity, double rate, enum expansion_verdict verdict)
{
    cr_assert_eq(ask(capacity, rate).verdict, verdict, "%llu at %g: %d",
                 (unsigned long long)capacity, rate, (int)ask(capacity, rate).verdict);
}

static void expect_valid(bool valid, const char *what)
{
    const char *reason = NULL;
    enum status status = document_validate(&cluster.document, &reason);

    cr_assert_eq(status == STATUS_OK, valid, "%s: %s", what, reason != NULL ? reason : "fine");
}

static void hold(uint64_t keys, uint64_t newest)
{
    for (size_t i = 0; i < cluster.view.nreports; i++) {
        cluster.reports[i].keys = keys;
        cluster.reports[i].newest_keys = newest;
    }
}

static void grow(uint64_t capacity)
{
    (void)expansion_cluster_begin(&cluster, capacity);
    expansion_finish(&cluster.document);
}

static double rates(void)
{
    double sum = 0;

    for (uint32_t i = 0; i < cluster.document.ngenerations; i++) {
        sum += cluster.document.generations[i].rate;
    }
    return sum;
}

/* ---- growing ---- */

Test(expansion_chain, each_generation_has_half_of_the_rate_that_is_left)
{
    uint64_t capacity = 10000;

    for (uint32_t n = 1; n < DOCUMENT_MAX_GENERATIONS; n++) {
        capacity *= 2;
        hold(capacity / 2, capacity / 4);
        grow(capacity);
        cr_assert_float_eq(cluster.document.generations[n].rate, 0.01 / (2 << n), 1e-12);
        cr_assert_lt(rates(), 0.01);
        expect_valid(true, "a chain that has grown");
    }
    cr_assert_eq(cluster.document.content.nchain, DOCUMENT_MAX_GENERATIONS);
    expect(2 * capacity, 0, EXPANSION_VERDICT_CHAIN_LONG);
    cr_assert_not(expansion_makes_room(&cluster.document));
}

Test(expansion_chain, the_next_one_is_for_what_the_others_do_not_have)
{
    struct expansion_answer answer;
    struct sizing_request request = {.capacity = 40000 - 8500, .rate = 0.0025};
    struct sizing_plan plan;

    hold(8500, 8500);
    answer = ask(40000, 0);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BEGIN);
    cr_assert_eq(answer.next.capacity, 40000 - 8500);
    cr_assert_eq(sizing_plan_generation(&request, 4, &plan), STATUS_OK);
    cr_assert_eq(answer.next.geometry.lines, plan.lines);
    cr_assert_eq(answer.next.geometry.seed, 99);
    cr_assert_eq(answer.next.id, cluster.document.revision + 1);
}

/* First it is listed, and nobody reads it; then it is of the epoch. */
Test(expansion_chain, the_epoch_is_edited_when_it_joins)
{
    uint64_t epoch = cluster.document.epoch;
    uint64_t revision = cluster.document.revision;
    uint32_t id = expansion_cluster_begin(&cluster, 40000);

    cr_assert_eq(cluster.document.epoch, epoch);
    cr_assert_eq(cluster.document.revision, revision + 1);
    cr_assert_eq(cluster.document.content.nchain, 1);
    cr_assert_eq(cluster.document.capacity, 40000);
    cr_assert_eq(cluster.document.rate, 0.01);
    cr_assert(expansion_running(&cluster.document));
    cr_assert_not(expansion_goes_back(&cluster.document));
    cr_assert(expansion_makes_room(&cluster.document));
    expect_valid(true, "one that is listed");
    cr_assert_not(expansion_done(&cluster.view));
    for (uint32_t node = 1; node <= 3; node++) {
        expansion_cluster_serve(&cluster, node, id);
    }
    cr_assert(expansion_done(&cluster.view));
    expansion_finish(&cluster.document);
    cr_assert_eq(cluster.document.epoch, epoch + 1);
    cr_assert_eq(cluster.document.content.nchain, 2);
    cr_assert_eq(cluster.document.content.chain[1], id);
    cr_assert_eq(cluster.document.ngenerations, 2, "all of them stay");
    cr_assert_not(expansion_running(&cluster.document));
    expect_valid(true, "a chain of two");
}

Test(expansion_chain, what_cannot_be_is_refused)
{
    expect(0, 0, EXPANSION_VERDICT_NOTHING);
    expect(10000, 0, EXPANSION_VERDICT_IS_SO);
    expect(10000, 0.01, EXPANSION_VERDICT_IS_SO);
    expect(0, 0.01, EXPANSION_VERDICT_IS_SO);
    expect(9999, 0, EXPANSION_VERDICT_CHAIN_SHRINKS);
    expect(0, 0.001, EXPANSION_VERDICT_CHAIN_RATE);
    expect(20000, 0.02, EXPANSION_VERDICT_CHAIN_RATE);
    expect(100000001, 0, EXPANSION_VERDICT_ABOVE_MAX);
    expect(SIZING_CAPACITY_MAX + 1, 0, EXPANSION_VERDICT_OUT_OF_RANGE);
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_NOTHING);
    hold(30000, 30000);
    expect(20000, 0, EXPANSION_VERDICT_BELOW_KEYS);
    hold(5000, 5000);
    cluster.document.content.groups[0].slots[0].incoming = (struct member){9, 9};
    expect(20000, 0, EXPANSION_VERDICT_REPLICAS);
    cluster.document.content.groups[0].slots[0].incoming = (struct member){0};
    (void)expansion_cluster_begin(&cluster, 20000);
    expect(20000, 0, EXPANSION_VERDICT_JOINS);
    expect(0, 0, EXPANSION_VERDICT_JOINS);
    expect(40000, 0, EXPANSION_VERDICT_OTHER_RUNS);
    cr_assert_eq(expansion_abort(&cluster.view).verdict, EXPANSION_VERDICT_CHAIN_BACK);
    cluster.document.content.state = FILTER_DROPPING;
    expect(40000, 0, EXPANSION_VERDICT_NOT_ACTIVE);
}

Test(expansion_chain, who_has_not_reported_may_hold_any_number)
{
    cluster.view.nreports = 0;
    expect(20000, 0, EXPANSION_VERDICT_KEYS_UNKNOWN);
}

/* All arrays stay: the new ones come on top. */
Test(expansion_chain, every_node_must_have_room_for_one_more)
{
    struct expansion_answer answer = ask(1000000, 0);
    uint64_t bytes = answer.next.geometry.lines * LINE_BYTES * document_nshards(&cluster.document);

    expansion_cluster_node(&cluster, 2)->limit_bytes = bytes + 1000;
    expansion_cluster_node(&cluster, 2)->used_bytes = 1000;
    expect(1000000, 0, EXPANSION_VERDICT_BEGIN);
    expansion_cluster_node(&cluster, 2)->used_bytes = 1001;
    answer = ask(1000000, 0);
    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_NO_ROOM);
    cr_assert_eq(answer.node, 2);
    cr_assert_eq(answer.missing_bytes, 1);
}

Test(expansion_chain, it_is_due_by_what_its_last_generation_has)
{
    hold(8500, 8500);
    cr_assert_eq(expansion_pressing_keys(&cluster.view), 8500);
    cr_assert(expansion_due(&cluster.document, 8500, 0, 4));
    grow(20000);
    hold(9000, 500);
    cr_assert_eq(expansion_pressing_keys(&cluster.view), 500);
    cr_assert_not(expansion_due(&cluster.document, 500, 0, 4));
    cr_assert(expansion_due(&cluster.document, 9800, 0, 4), "of 11,500");
    cr_assert_eq(expansion_goal(&cluster.document, 18300, 2), 40000);
    hold(9000, 9800);
    for (uint32_t id = 1; id <= 3; id++) {
        expansion_cluster_node(&cluster, id)->current = false;
    }
    cr_assert_eq(expansion_pressing_keys(&cluster.view), 0, "they told of the one before");
}

Test(expansion_chain, a_rate_that_can_not_be_halved_ends_it)
{
    cluster.document.rate = 3 * SIZING_RATE_MIN;
    cluster.document.generations[0].rate = 1.5 * SIZING_RATE_MIN;
    expect(20000, 0, EXPANSION_VERDICT_CHAIN_LONG);
    cr_assert_not(expansion_makes_room(&cluster.document));
}

/* ---- documents ---- */

Test(expansion_chain, documents_that_can_not_be_are_malformed)
{
    struct filter_document *document = &cluster.document;

    grow(20000);
    grow(40000);
    expect_valid(true, "as it is");
    document->generations[2].rate += 0.00126;
    expect_valid(false, "rates above the filter's, together");
    document->generations[2].rate = 0;
    expect_valid(false, "no rate of its own");
    document->generations[2].rate = 0.00125;
    document->content.chain[1] = 99;
    expect_valid(false, "a generation that is not there");
    document->content.chain[1] = document->generations[1].id;
    document->content.nchain = 1;
    expect_valid(false, "two that nobody reads");
    document->content.nchain = 2;
    expect_valid(true, "one that is to come");
    document->content.nchain = 4;
    expect_valid(false, "more than there are");
    document->content.nchain = 0;
    expect_valid(false, "several without key log, and no chain");
    document->content.nchain = 3;
    document->keylog = KEYLOG_ON;
    expect_valid(false, "with a log to build from");
    document->durability = DURABILITY_MEMORY;
    expect_valid(true, "in memory");
}

Test(expansion_chain, memory_is_that_of_all_generations)
{
    uint64_t lines = cluster.document.generations[0].geometry.lines;

    grow(20000);
    lines += cluster.document.generations[1].geometry.lines;
    cr_assert_eq(document_shard_bytes(&cluster.document), lines * LINE_BYTES);
    (void)expansion_cluster_begin(&cluster, 40000);
    lines += cluster.document.generations[2].geometry.lines;
    cr_assert_eq(document_shard_bytes(&cluster.document), lines * LINE_BYTES, "one to come, too");
}
