/* A view is what it was, whatever is merged and removed before it is read: its runs and its part of
 * the log are pinned, and go once it is closed. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/view.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { BATCH = 1000, BEFORE = 37, AFTER = 53 /* some runs, then enough to merge them */ };

static struct node_stage stage;
static struct filter_document document;
static uint64_t keys[BEFORE + AFTER][BATCH];
static struct storage_view *view;
static enum status status;
static bool finished;

static void stepped(void *context, uint64_t now_us, enum status how, bool end, uint64_t bytes)
{
    (void)context;
    (void)now_us;
    (void)bytes;
    status = how;
    finished = end || how != STATUS_OK;
}

static void open_stage(void)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    sample_fingerprints(&document, 0, 1, (BEFORE + AFTER) * BATCH, keys[0]);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static void add(unsigned from, unsigned end)
{
    for (unsigned i = from; i < end; i++) {
        cr_assert_eq(node_stage_add(&stage, &document, keys[i], BATCH), STATUS_OK);
    }
    node_stage_settle_long(&stage);
}

static void open_view(void)
{
    const struct storage_view_config config = {
        .set = {.filter_id = document.id, .keyset = 1},
        .end = UINT64_MAX,
        .shard_bits = document.content.shard_bits,
        .group_of_shard = document.content.group_of_shard,
        .stepped = stepped,
    };

    cr_assert_eq(storage_view_open(stage.node->storage, &config, &view), STATUS_OK);
}

static enum status step_on(void)
{
    finished = false;
    while (!finished) {
        storage_view_step(view);
        node_stage_settle(&stage);
    }
    return status;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *one = a;
    const uint64_t *other = b;

    return (*one > *other) - (*one < *other);
}

/* The keys that were there when it was opened, all of them and no other. */
static void expect_what_was_there(void)
{
    static const uint64_t all = 0;
    const uint64_t *found;
    size_t count;
    uint64_t next;

    cr_assert_eq(storage_view_survey(view), STATUS_OK);
    cr_assert_eq(step_on(), STATUS_OK, "%s", status_code(status));
    cr_assert_eq(storage_view_collect(view, 0, &all, 1, 0, (size_t)(BEFORE + AFTER) * BATCH),
                 STATUS_OK);
    cr_assert_eq(step_on(), STATUS_OK, "%s", status_code(status));
    found = storage_view_keys(view, &count);
    cr_assert_not(storage_view_more(view, &next));
    qsort(keys[0], (size_t)BEFORE * BATCH, sizeof keys[0][0], ascending);
    cr_assert_eq(count, (size_t)BEFORE * BATCH);
    cr_assert_arr_eq(found, keys[0], count * sizeof *found);
}

Test(node_view, what_it_reads_is_kept_until_it_is_closed)
{
    uint64_t incarnation;
    unsigned segments;
    unsigned runs;

    open_stage();
    add(0, BEFORE);
    runs = storage_usage(stage.node->storage).nruns;
    cr_assert_gt(runs, 1);
    incarnation = stage.node->life.incarnation;
    open_view();
    add(BEFORE, BEFORE + AFTER);
    cr_assert_geq(node_stage_files(&stage, "run-"), storage_usage(stage.node->storage).nruns + runs,
                  "they were merged, and are still there");
    segments = node_stage_files(&stage, "log-");
    expect_what_was_there();
    storage_view_close(&view);
    node_stage_settle_long(&stage);
    cr_assert_eq(node_stage_files(&stage, "run-"), storage_usage(stage.node->storage).nruns);
    cr_assert_lt(node_stage_files(&stage, "log-"), segments);
    cr_assert_eq(stage.node->life.incarnation, incarnation, "nothing was taken for damage");
    close_stage();
}

Test(node_view, one_that_is_open_at_the_end_goes_with_its_storage)
{
    open_stage();
    add(0, BEFORE);
    open_view();
    cr_assert_eq(storage_view_survey(view), STATUS_OK);
    storage_view_step(view);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    close_stage();
}
