/* How large a wanted generation is made, and how many keys are taken, so that the rates of two
 * generations add up to no more than the bound. */
#include "coordinator/plan/expansion.h"
#include "filter/sizing.h"
#include "map/history/expansion_mix.h"
#include "tests/support/expansion_cluster.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

#define CAPACITY UINT64_C(10000000)

static struct expansion_cluster cluster;

static struct geometry geometry_for(uint64_t capacity, double rate)
{
    const struct sizing_request request = {.capacity = capacity, .rate = rate};
    struct sizing_plan plan;

    cr_assert_eq(sizing_plan_generation(&request, SAMPLE_SHARD_BITS, &plan), STATUS_OK);
    return (struct geometry){
        .seed = 5, .lines = plan.lines, .z = plan.z, .shard_bits = SAMPLE_SHARD_BITS};
}

static void resize(uint64_t capacity, double rate)
{
    struct filter_document *document = &cluster.document;

    document->capacity = capacity;
    document->max_capacity = 64 * capacity;
    document->rate = rate;
    document->generations[0].capacity = capacity;
    document->generations[0].geometry = geometry_for(capacity, rate);
}

static void setup(void)
{
    expansion_cluster_init(&cluster, 3);
    for (uint32_t id = 1; id <= 3; id++) {
        expansion_cluster_node(&cluster, id)->limit_bytes = UINT64_C(1) << 40;
    }
    resize(CAPACITY, 0.01);
}

static void teardown(void)
{
    expansion_cluster_fini(&cluster);
}

TestSuite(expansion_mix, .init = setup, .fini = teardown);

static void hold(uint64_t keys)
{
    for (size_t i = 0; i < cluster.view.nreports; i++) {
        cluster.reports[i].keys = keys;
    }
}

static uint64_t begin(uint64_t capacity, double rate)
{
    const struct expansion_wish wish = {.capacity = capacity, .rate = rate};
    struct expansion_answer answer = expansion_request(&cluster.view, &wish, 99);

    cr_assert_eq(answer.verdict, EXPANSION_VERDICT_BEGIN, "%d", (int)answer.verdict);
    expansion_begin(&cluster.document, &answer);
    return answer.next.geometry.lines;
}

static double sum_at(uint64_t keys)
{
    const struct filter_document *document = &cluster.document;
    double sum = 0;

    for (uint32_t i = 0; i < document->ngenerations; i++) {
        const struct generation *generation = &document->generations[i];
        uint64_t held = keys < generation->capacity ? keys : generation->capacity;

        sum += sizing_rate(held, generation->geometry.lines << SAMPLE_SHARD_BITS,
                           generation->geometry.z);
    }
    return sum;
}

/* ---- how large ---- */

Test(expansion_mix, a_full_filter_grows_to_arrays_with_room_for_the_sum)
{
    uint64_t asked = geometry_for(CAPACITY * 11 / 10, 0.01).lines;
    uint64_t lines;

    hold(CAPACITY);
    lines = begin(CAPACITY * 11 / 10, 0);
    cr_assert_gt(lines, asked * 3 / 2);
    cr_assert_lt(lines, asked * 2);
    cr_assert_geq(expansion_mix_keys(&cluster.document), CAPACITY, "no add is refused for it");
    cr_assert_leq(sum_at(CAPACITY), 0.0095);
}

Test(expansion_mix, one_that_has_room_left_takes_no_more_memory_for_it)
{
    uint64_t most;

    hold(CAPACITY / 2);
    cr_assert_eq(begin(CAPACITY * 11 / 10, 0), geometry_for(CAPACITY * 11 / 10, 0.01).lines);
    most = expansion_mix_keys(&cluster.document);
    cr_assert_lt(most, CAPACITY);
    cr_assert_gt(most, CAPACITY * 9 / 10, "and is taken so far meanwhile");
    cr_assert_leq(sum_at(most), 0.0095);
    cr_assert_gt(sum_at(most + CAPACITY / 1000), 0.0094, "not less than there may be");
}

Test(expansion_mix, twice_as_much_is_as_large_as_asked)
{
    hold(CAPACITY);
    cr_assert_eq(begin(2 * CAPACITY, 0), geometry_for(2 * CAPACITY, 0.01).lines);
    cr_assert_gt(expansion_mix_keys(&cluster.document), CAPACITY * 11 / 10);
}

Test(expansion_mix, what_is_not_known_counts_as_full)
{
    cluster.view.nreports = 0;
    cr_assert_gt(begin(CAPACITY * 11 / 10, 0), geometry_for(CAPACITY * 11 / 10, 0.01).lines);
}

/* More than it is for: the old array alone takes the whole bound. */
Test(expansion_mix, an_overfull_one_grows_too)
{
    hold(2 * CAPACITY);
    (void)begin(3 * CAPACITY, 0);
    cluster.document.generations[0].geometry.lines /= 2;
    expansion_finish(&cluster.document);
    cluster.document.generations[0].geometry.lines /= 2;
    hold(3 * CAPACITY);
    (void)begin(4 * CAPACITY, 0);
    cr_assert_lt(expansion_mix_keys(&cluster.document), 3 * CAPACITY,
                 "and takes no more meanwhile");
}

Test(expansion_mix, a_lower_rate_is_had_in_the_end_and_the_higher_one_until_then)
{
    uint64_t lines;

    hold(CAPACITY);
    lines = begin(0, 0.005);
    cr_assert_gt(lines, geometry_for(CAPACITY, 0.005).lines);
    cr_assert_leq(sum_at(CAPACITY), 0.0095);
    cr_assert_geq(expansion_mix_keys(&cluster.document), CAPACITY);
}

Test(expansion_mix, going_back_is_bounded_alike)
{
    uint64_t most;

    hold(CAPACITY / 2);
    (void)begin(CAPACITY * 11 / 10, 0);
    most = expansion_mix_keys(&cluster.document);
    expansion_back(&cluster.document);
    cr_assert_eq(expansion_mix_keys(&cluster.document), most);
    expansion_finish(&cluster.document);
    cr_assert_eq(expansion_mix_keys(&cluster.document), EXPANSION_MIX_ANY);
}

Test(expansion_mix, of_a_window_a_slice_has_its_share)
{
    cluster.document.nslices = 3;
    cluster.document.window_us = 3000000;
    cluster.document.content.newest_slice = 5;
    resize(CAPACITY, 0.01 / 4);
    cluster.document.rate = 0.01;
    cluster.document.capacity = 3 * CAPACITY;
    hold(CAPACITY);
    (void)begin(4 * CAPACITY, 0);
    cr_assert_geq(expansion_mix_keys(&cluster.document), CAPACITY);
    cr_assert_leq(sum_at(CAPACITY), 0.0095 / 4);
}

/* ---- where nothing adds up ---- */

Test(expansion_mix, one_absent_reply_suffices_where_r_is_1)
{
    cluster.document.content.rule = (struct quorum_rule){.replicas = 2, .write = 2, .read = 1};
    hold(CAPACITY);
    cr_assert_eq(begin(CAPACITY * 11 / 10, 0), geometry_for(CAPACITY * 11 / 10, 0.01).lines);
    cr_assert_eq(expansion_mix_keys(&cluster.document), EXPANSION_MIX_ANY);
}

Test(expansion_mix, one_generation_or_a_chain_of_them_is_not_bounded)
{
    cr_assert_eq(expansion_mix_keys(&cluster.document), EXPANSION_MIX_ANY);
    hold(CAPACITY / 2);
    (void)begin(CAPACITY * 11 / 10, 0);
    cluster.document.content.nchain = 1;
    cluster.document.content.chain[0] = 1;
    cr_assert_eq(expansion_mix_keys(&cluster.document), EXPANSION_MIX_ANY);
}

/* ---- how many keys ---- */

Test(expansion_mix, as_many_as_the_sum_allows_and_no_more)
{
    static const double rates[] = {0.1, 0.01, 0.001, 1e-6};

    for (unsigned i = 0; i < 4; i++) {
        for (uint64_t factor = 1; factor <= 8; factor++) {
            struct generation from = {.id = 1, .capacity = CAPACITY, .rate = rates[i]};
            struct generation to = {.id = 2, .capacity = CAPACITY * factor, .rate = rates[i]};
            uint64_t most;

            from.geometry = geometry_for(from.capacity, rates[i]);
            to.geometry = geometry_for(to.capacity, rates[i]);
            most = expansion_mix_capacity(&cluster.document, &from, &to);
            cr_assert_leq(most, to.capacity);
            cr_assert_gt(most, from.capacity * 8 / 10);
            cr_assert_leq(
                sizing_rate(most < CAPACITY ? most : CAPACITY,
                            from.geometry.lines << SAMPLE_SHARD_BITS, from.geometry.z) +
                    sizing_rate(most, to.geometry.lines << SAMPLE_SHARD_BITS, to.geometry.z),
                0.95 * rates[i]);
            cr_assert(factor < 4 || most > from.capacity, "four times as large: a valve opens");
        }
    }
}
