/* The rate that a node measures is that of its arrays as checks are answered from them. */
#include "filter/sizing.h"
#include "filter/wilson.h"
#include "node/array/probe.h"
#include "tests/unit/node_expansion.h"

enum { CAPACITY = 50000, BIGGER_CAPACITY = 200000, LOOKUPS = 200000 };

static struct hosted_filter *hosted_of(struct node *node, uint64_t id)
{
    return document_cache_find(&node->documents, id)->attachment;
}

/* So many lookups, and what the node tells of them. */
static struct probe_count measure(struct node_stage *stage, const struct filter_document *document,
                                  uint32_t lookups)
{
    struct hosted_filter *hosted = hosted_of(stage->node, document->id);
    uint64_t random = 4242;

    for (uint32_t i = 0; i < lookups; i += PROBE_KEYS) {
        cr_assert_eq(probe_filter(hosted, document, stage->now_us, PROBE_KEYS, &random).probes,
                     PROBE_KEYS);
    }
    return probe_found(hosted, document, stage->now_us, 0);
}

static void expect_rate(struct probe_count found, double rate)
{
    struct wilson interval = wilson_interval(found.hits, found.probes, WILSON_TWO_SIDED_999);

    cr_expect_geq(found.probes, LOOKUPS);
    cr_expect(interval.low <= rate && rate <= interval.high, "%.6f to %.6f, expected %.6f",
              interval.low, interval.high, rate);
}

static double expected(const struct filter_document *document, uint64_t count)
{
    const struct geometry *geometry = &document->generations[0].geometry;

    return sizing_rate(count, geometry->lines << geometry->shard_bits, geometry->z);
}

/* ---- one filter ---- */

static void fill_and_measure(double rate)
{
    static const uint32_t percents[] = {50, 90, 100};

    expansion_stage_init_planned(&expansion, CAPACITY, rate);
    sample_fingerprints(&expansion.document, 0, 1, POOL, keys);
    added = 0;
    for (unsigned i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        add(CAPACITY / 100 * percents[i] - added);
        expect_rate(measure(&expansion.stage, &expansion.document, LOOKUPS),
                    expected(&expansion.document, added));
    }
    close_stage();
}

Test(node_probe, measures_what_keys_and_lines_let_expect)
{
    fill_and_measure(0.01);
}

Test(node_probe, also_where_a_key_has_two_lines)
{
    fill_and_measure(0.0005);
}

Test(node_probe, an_empty_filter_is_never_wrong)
{
    open_stage();
    cr_expect_eq(measure(&expansion.stage, &expansion.document, 1000).hits, 0);
    close_stage();
}

Test(node_probe, after_growth_it_begins_anew)
{
    struct probe_count before;
    struct probe_count after;

    expansion_stage_init_planned(&expansion, CAPACITY, 0.01);
    sample_fingerprints(&expansion.document, 0, 1, POOL, keys);
    added = 0;
    add(CAPACITY);
    before = measure(&expansion.stage, &expansion.document, LOOKUPS);
    cr_expect_gt(before.hits, 1000);
    expansion_stage_want_planned(&expansion, 2, BIGGER_CAPACITY, true);
    (void)settle_and_look();
    after = probe_found(hosted_of(expansion.stage.node, expansion.document.id), &expansion.document,
                        expansion.stage.now_us, 0);
    cr_expect_eq(after.probes, 0);
    after = measure(&expansion.stage, &expansion.document, LOOKUPS);
    cr_expect_lt(after.hits, before.hits / 10);
    close_stage();
}

/* While arrays of two sizes serve, each shard that takes over makes another rate. */
Test(node_probe, counts_are_of_the_shards_as_they_serve)
{
    struct hosted_filter *hosted;
    unsigned restarts = 0;

    open_stage();
    add(20000);
    hosted = hosted_of(expansion.stage.node, expansion.document.id);
    expansion_stage_want(&expansion, 2, BIGGER, 400000, true);
    for (uint64_t grown = 0; expansion_stage_step(&expansion);) {
        struct replica_report report = expansion_stage_report(&expansion);

        if (report.shards_grown != grown) {
            grown = report.shards_grown;
            restarts++;
            cr_assert_eq(probe_found(hosted, &expansion.document, expansion.stage.now_us, 0).probes,
                         0);
        }
        (void)measure(&expansion.stage, &expansion.document, PROBE_KEYS);
    }
    cr_expect_gt(restarts, 4);
    close_stage();
}

/* ---- several ---- */

Test(node_probe, filters_are_told_apart)
{
    struct filter_document other;

    open_stage();
    add(40000);
    node_stage_filter(&expansion.stage, 6, DURABILITY_SYNC, &other);
    expect_rate(measure(&expansion.stage, &expansion.document, LOOKUPS),
                expected(&expansion.document, added));
    cr_expect_eq(measure(&expansion.stage, &other, LOOKUPS).hits, 0);
    cr_expect_gt(probe_found(hosted_of(expansion.stage.node, 5), &expansion.document,
                             expansion.stage.now_us, 0)
                     .hits,
                 0);
    document_fini(&other);
    close_stage();
}

static void rotate(void)
{
    expansion.document.content.newest_slice++;
    document_epoch_advance(&expansion.document);
    node_stage_hand(&expansion.stage, &expansion.document);
    node_stage_settle(&expansion.stage);
}

/* Of a window in any slice that checks read; and no longer than they do. */
Test(node_probe, looks_into_all_that_checks_read)
{
    double rate;

    open_stage();
    expansion.document.window_us = 1000000;
    expansion.document.nslices = 2;
    rotate();
    add(MANY);
    rate = expected(&expansion.document, MANY);
    cr_assert_gt(rate, 0.001, "%f", rate);
    for (uint32_t rotations = 0; rotations <= expansion.document.nslices; rotations++) {
        expect_rate(measure(&expansion.stage, &expansion.document, LOOKUPS), rate);
        rotate();
    }
    cr_expect_eq(measure(&expansion.stage, &expansion.document, LOOKUPS).hits, 0);
    close_stage();
}
