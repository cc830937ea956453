/* node_expansion.h - a filter of some ten thousand keys that grows; shared by node_expansion*.c
 * only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_NODE_EXPANSION_H
#define ORBLOOM_TESTS_UNIT_NODE_EXPANSION_H

#include "base/heap.h"
#include "tests/support/expansion_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { BATCH = 1000, POOL = 70000, MANY = 40000, BIGGER = 512 };

static struct expansion_stage expansion;
static uint64_t keys[POOL];
static uint32_t added;

static inline void open_stage(void)
{
    expansion_stage_init(&expansion);
    sample_fingerprints(&expansion.document, 0, 1, POOL, keys);
    added = 0;
}

static inline void close_stage(void)
{
    expansion_stage_fini(&expansion);
    cr_assert_eq(heap_live(), 0);
}

static inline void add(uint32_t count)
{
    for (uint32_t end = added + count; added < end; added += BATCH) {
        cr_assert_eq(node_stage_add(&expansion.stage, &expansion.document, keys + added, BATCH),
                     STATUS_OK);
    }
}

/* Sent, and neither written nor answered yet. */
static inline void send_adds(uint32_t count)
{
    for (uint32_t end = added + count; added < end; added += BATCH) {
        struct subrequest subrequest = node_stage_subrequest(&expansion.document, OPERATION_ADD,
                                                             BATCH);

        subrequest.batch.number = ++expansion.stage.batches;
        subrequest.op.sequence = expansion.stage.batches;
        node_stage_send(&expansion.stage, &subrequest, 1, keys + added, 1);
    }
}

static inline void expect_all(void)
{
    cr_assert_eq(expansion_stage_lacks(&expansion, keys, added), 0);
}

/* Step by step, looking at all keys, until nothing is left to do. */
static inline unsigned settle_and_look(void)
{
    unsigned steps = 0;

    while (expansion_stage_step(&expansion)) {
        if (steps++ % 8 == 0) {
            expect_all();
        }
    }
    expect_all();
    return steps;
}

static inline void expect_served_from(uint32_t id)
{
    const struct arrays *set = expansion_stage_set(&expansion);

    cr_assert_null(set->expansion);
    cr_assert_eq(set->nlayers, 1);
    cr_assert_eq(arrays_base(set)->generation.id, id);
    cr_assert_eq(expansion_stage_report(&expansion).generation, id);
}

#endif
