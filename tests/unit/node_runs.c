/* Runs of several filters come mixed, segment by segment: those of a set lie side by side all the
 * same, so that who looks which are to be merged, or covered by an imprint, sees them together. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { COUNT = 1000, BATCHES = 8, POOL = COUNT * BATCHES, FILTERS = 3 };

static struct node_stage stage;
static struct filter_document documents[FILTERS];
static uint64_t keys[POOL];

static bool is_of_one_set(const struct record_run *a, const struct record_run *b)
{
    return a->filter_id == b->filter_id && a->keyset == b->keyset && a->slice == b->slice;
}

static void expect_side_by_side(void)
{
    const struct storage *storage = stage.node->storage;

    for (size_t i = 0; i < storage->nruns; i++) {
        size_t end = storage_runs_end(storage->runs, storage->nruns, i);

        for (size_t k = end; k < storage->nruns; k++) {
            cr_assert_not(is_of_one_set(&storage->runs[i], &storage->runs[k]), "%zu and %zu", i, k);
        }
    }
}

/* The newest filter's runs are not the last ones. */
static void open_filters(void)
{
    static const uint64_t ids[FILTERS] = {6, 9, 5};

    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    for (size_t i = 0; i < FILTERS; i++) {
        node_stage_filter(&stage, ids[i], DURABILITY_SYNC, &documents[i]);
    }
    sample_fingerprints(&documents[0], 0, 1, POOL, keys);
}

static void add(unsigned filter, unsigned batch)
{
    cr_assert_eq(node_stage_add(&stage, &documents[filter], keys + batch % BATCHES * COUNT, COUNT),
                 STATUS_OK);
    node_stage_settle(&stage);
}

/* A segment has runs of one filter, of two, or of all. */
static void add_mixed(void)
{
    for (unsigned batch = 0; batch < 40; batch++) {
        add(0, batch);
        add(1, batch);
        if (batch % 3 == 0) {
            add(2, batch);
        }
        expect_side_by_side();
    }
    node_stage_settle_long(&stage);
    expect_side_by_side();
}

Test(node_runs, those_of_a_set_lie_side_by_side_and_are_merged)
{
    open_filters();
    add_mixed();
    cr_assert_geq(stage.node->storage->nruns, FILTERS);
    cr_assert_lt(stage.node->storage->nruns, 30, "they are merged");
    for (int again = 0; again < 2; again++) {
        node_stage_end(&stage, STAGE_END_KILL);
        cr_assert_eq(node_stage_open(&stage), 0);
        expect_side_by_side();
        add_mixed();
    }
    for (size_t i = 0; i < FILTERS; i++) {
        cr_assert_eq(node_stage_absent(&stage, &documents[i], keys, POOL), 0);
        document_fini(&documents[i]);
    }
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}
