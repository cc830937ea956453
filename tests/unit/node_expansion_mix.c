/* A replica takes only so many keys that its rate and that of one in another generation stay within
 * the bound together: before it begins, when it is done and others may not be, and no longer. */
#include "base/heap.h"
#include "map/history/expansion_mix.h"
#include "tests/support/expansion_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { BATCH = 1000, CAPACITY = 400000, POOL = 1000000 };

static struct expansion_stage expansion;
static uint64_t keys[POOL];
static uint32_t asked;
static bool waits; /* what did not fit may later */

static void open_stage(void)
{
    expansion_stage_init_planned(&expansion, CAPACITY, 0.01);
    sample_fingerprints(&expansion.document, 0, 1, POOL, keys);
    asked = 0;
}

static void close_stage(void)
{
    expansion_stage_fini(&expansion);
    cr_assert_eq(heap_live(), 0);
}

/* Until some are refused, or it has so many. Returns how many it has. */
static uint64_t add_up_to(uint64_t most)
{
    static struct node_answer answer;
    const struct replica_group *group = &expansion_stage_set(&expansion)->groups[0];
    bool full = false;

    while (!full && group->keys < most) {
        struct subrequest subrequest = node_stage_subrequest(&expansion.document, OPERATION_ADD,
                                                             BATCH);

        cr_assert_leq(asked + BATCH, POOL);
        subrequest.batch.number = ++expansion.stage.batches;
        subrequest.op.sequence = expansion.stage.batches;
        cr_assert(node_stage_ask_disk(&expansion.stage, &subrequest, keys + asked, &answer));
        cr_assert_eq(answer.subrequest.status, STATUS_OK);
        full = answer.subrequest.at_capacity;
        waits = answer.subrequest.makes_room;
        asked += BATCH;
    }
    return group->keys;
}

static uint64_t add_until_full(void)
{
    return add_up_to(UINT64_MAX);
}

static void only(uint32_t kept)
{
    expansion.document.generations[0] = expansion.document.generations[kept];
    expansion.document.ngenerations = 1;
    expansion_stage_hand(&expansion);
}

static void settle(void)
{
    while (expansion_stage_step(&expansion)) {
    }
}

Test(node_expansion_mix, who_waits_for_a_turn_takes_what_the_sum_allows)
{
    uint64_t most;

    open_stage();
    expansion_stage_want_planned(&expansion, 2, CAPACITY * 11 / 10, false);
    settle();
    most = expansion_mix_keys(&expansion.document);
    cr_assert_lt(most, CAPACITY);
    cr_assert_eq(add_until_full(), most);
    cr_assert_null(expansion_stage_set(&expansion)->expansion);
    only(0);
    cr_assert_eq(add_until_full(), CAPACITY, "nothing is mixed any more");
    close_stage();
}

Test(node_expansion_mix, who_is_done_waits_for_the_others)
{
    uint64_t most;

    open_stage();
    (void)add_up_to(CAPACITY * 9 / 10);
    expansion_stage_want_planned(&expansion, 2, 2 * CAPACITY, true);
    settle();
    cr_assert_eq(expansion_stage_report(&expansion).generation, 2);
    most = expansion_mix_keys(&expansion.document);
    cr_assert(most > CAPACITY && most < 2 * CAPACITY);
    cr_assert_eq(add_until_full(), most);
    cr_assert(waits, "that it is full is over soon");
    expansion_stage_restart(&expansion, STAGE_END_KILL);
    (void)add_until_full();
    /* Keys that the old array had by chance count once they are read back. */
    cr_assert_leq(expansion_stage_set(&expansion)->groups[0].keys, most * 101 / 100);
    only(1);
    cr_assert_eq(add_until_full(), 2 * CAPACITY);
    cr_assert_not(waits, "it stays full");
    close_stage();
}

/* Shards in two layers: those that are served from the new one, too. */
Test(node_expansion_mix, who_is_on_the_way_takes_no_more_either)
{
    uint64_t most;

    open_stage();
    (void)add_up_to(CAPACITY * 9 / 10);
    expansion_stage_want_planned(&expansion, 2, 2 * CAPACITY, true);
    most = expansion_mix_keys(&expansion.document);
    while (expansion_stage_set(&expansion)->expansion == NULL ||
           expansion_stage_set(&expansion)->expansion->ngrown < EXPANSION_STAGE_SHARDS - 1) {
        cr_assert(expansion_stage_step(&expansion));
    }
    expansion.stage.node->config.growth_rate = 1;
    expansion.stage.node->expansion.throttle.free_us = UINT64_MAX / 2;
    for (uint32_t i = 0; i < CAPACITY / BATCH; i++) {
        (void)add_until_full();
    }
    cr_assert_leq(expansion_stage_set(&expansion)->groups[0].keys, most);
    expansion.stage.node->config.growth_rate = 0;
    expansion.stage.node->expansion.resume_us = 0;
    expansion.stage.node->expansion.throttle.free_us = 0;
    close_stage();
}

Test(node_expansion_mix, where_r_is_1_nothing_waits)
{
    open_stage();
    expansion.document.content.rule = (struct quorum_rule){.replicas = 3, .write = 3, .read = 1};
    document_epoch_advance(&expansion.document);
    expansion_stage_want_planned(&expansion, 2, CAPACITY * 11 / 10, false);
    settle();
    cr_assert_geq(add_until_full(), CAPACITY, "and beyond, by the valve");
    close_stage();
}

/* What a question may cost: arrays beyond the sample are not gone through, and each add counts. */
Test(node_expansion_mix, keys_of_large_arrays_are_told_by_count)
{
    const struct document_entry *entry;
    struct replica_report report = {0};
    uint64_t held;

    open_stage();
    held = add_up_to(BATCH);
    entry = document_cache_find(&expansion.stage.node->documents, expansion.document.id);
    arrays_report(expansion_stage_set(&expansion), &entry->document, 0, 64, &report);
    cr_assert_eq(report.bits_seen, 0);
    cr_assert_eq(report.keys, held);
    arrays_report(expansion_stage_set(&expansion), &entry->document, 0, 1 << 20, &report);
    cr_assert_gt(report.bits_seen, 0, "small ones are");
    close_stage();
}
