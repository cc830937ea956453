/* node_growth.h - a filter of some ten thousand keys that grows; shared by node_growth*.c only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_NODE_GROWTH_H
#define ORBLOOM_TESTS_UNIT_NODE_GROWTH_H

#include "base/heap.h"
#include "tests/support/growth_stage.h"

#include <criterion/criterion.h>

enum { BATCH = 1000, POOL = 70000, MANY = 40000, BIGGER = 512 };

static struct growth_stage growth;
static uint64_t keys[POOL];
static uint32_t added;

static inline void open_stage(void)
{
    growth_stage_init(&growth);
    node_stage_fingerprints(&growth.document, 0, 1, POOL, keys);
    added = 0;
}

static inline void close_stage(void)
{
    growth_stage_fini(&growth);
    cr_assert_eq(heap_live(), 0);
}

static inline void add(uint32_t count)
{
    for (uint32_t end = added + count; added < end; added += BATCH) {
        cr_assert_eq(node_stage_add(&growth.stage, &growth.document, keys + added, BATCH),
                     STATUS_OK);
    }
}

/* Sent, and neither written nor answered yet. */
static inline void send_adds(uint32_t count)
{
    for (uint32_t end = added + count; added < end; added += BATCH) {
        struct segment segment = node_stage_segment(&growth.document, OPERATION_ADD, BATCH);

        segment.batch.number = ++growth.stage.batches;
        segment.op.sequence = growth.stage.batches;
        node_stage_send(&growth.stage, &segment, 1, keys + added, 1);
    }
}

static inline void expect_all(void)
{
    cr_assert_eq(growth_stage_lacks(&growth, keys, added), 0);
}

/* Step by step, looking at all keys, until nothing is left to do. */
static inline unsigned settle_and_look(void)
{
    unsigned steps = 0;

    while (growth_stage_step(&growth)) {
        if (steps++ % 8 == 0) {
            expect_all();
        }
    }
    expect_all();
    return steps;
}

static inline void expect_served_from(uint32_t id)
{
    const struct replica_set *set = growth_stage_set(&growth);

    cr_assert_null(set->growth);
    cr_assert_eq(set->nlayers, 1);
    cr_assert_eq(replica_set_base(set)->generation.id, id);
    cr_assert_eq(growth_stage_report(&growth).generation, id);
}

#endif
