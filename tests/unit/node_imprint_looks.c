/* How often is it looked whether an imprint is due: that goes through all runs, on the thread that
 * answers requests. */
#include "base/heap.h"
#include "node/private.h"
#include "node/store/private.h"
#include "tests/support/imprint_stage.h"

#include <criterion/criterion.h>

enum { MANY_RUNS = 100000, STEP_US = 20000, SECOND_US = 1000000 };

static unsigned looks;
static bool ready;

/* Of each look at the filter's runs that goes as far as its arrays. */
static bool count_image(void *context, const struct storage_set *set, struct storage_image *image)
{
    looks += set->filter_id == imprint_document.id;
    return ready && node_image(context, set, image);
}

static unsigned looks_in(uint64_t us)
{
    looks = 0;
    for (uint64_t passed = 0; passed < us; passed += STEP_US) {
        imprint_stage.now_us += STEP_US;
        (void)imprint_stage.actor.work(imprint_stage.actor.self, imprint_stage.now_us);
    }
    return looks;
}

static struct storage *open_counted(void)
{
    struct storage *storage;

    imprint_open_stage(1);
    imprint_add_runs();
    storage = imprint_stage.node->storage;
    storage->config.image = count_image;
    return storage;
}

/* Its arrays are not ready, and may be soon. */
Test(node_imprint_looks, what_may_be_due_soon_is_looked_at_some_times_a_second)
{
    unsigned count;

    ready = false;
    open_counted();
    count = looks_in(10 * SECOND_US);
    cr_assert(count >= 30 && count <= 60, "%u", count);
    imprint_close_stage();
}

Test(node_imprint_looks, where_there_are_many_runs_it_is_looked_less_often)
{
    struct storage *storage;
    unsigned count;

    ready = false;
    storage = open_counted();
    cr_assert(heap_grow(&storage->runs, &storage->runs_capacity, MANY_RUNS, sizeof *storage->runs));
    while (storage->nruns < MANY_RUNS) { /* Of filters that are not known here. */
        storage->runs[storage->nruns] = (struct record_run){
            .number = UINT32_MAX + storage->nruns, .filter_id = 1000 + storage->nruns, .count = 1};
        storage->nruns++;
    }
    count = looks_in(10 * SECOND_US);
    cr_assert(count >= 5 && count <= 10, "%u", count);
    imprint_close_stage();
}

/* None is due, and no run comes: but the arrays may be others some time. */
Test(node_imprint_looks, at_rest_it_is_hardly_looked_at_all)
{
    struct storage *storage;
    unsigned count;

    ready = true;
    storage = open_counted();
    imprint_add_until_one();
    storage->config.imprint_bytes = UINT64_MAX; /* No other one. */
    node_stage_settle_long(&imprint_stage);
    storage->config.imprint_bytes = 1;
    storage->imprints.rest_us = UINT64_MAX; /* For little none is taken. */
    storage->imprints.looked = true;
    count = looks_in(100 * SECOND_US);
    cr_assert(count >= 2 && count <= 8, "%u", count);
    imprint_close_stage();
}
