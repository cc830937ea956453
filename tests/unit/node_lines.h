/* node_lines.h - a circle of nodes with one filter without key log, and what each has of it. */
#ifndef ORBLOOM_TESTS_UNIT_NODE_LINES_H
#define ORBLOOM_TESTS_UNIT_NODE_LINES_H

#include "node/pull/pull_geometry.h"
#include "node/sync/exchange.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, MANY = 40, JOINER = 4 };

static uint64_t keys[MANY][BATCH];
static uint64_t array_lines = 1 << 11; /* of a shard */

/* Nodes 1 to 3 hold the filter, node 4 is to come. Nothing of the log is kept for others. The
 * document was not handed over. */
static inline void open_nodes(void)
{
    make_circle(4);
    circle->retain_mib = 0;
    restart_all();
    document.keylog = KEYLOG_OFF;
    document.generations[0].geometry.lines = array_lines;
    make_keys(keys[0], MANY, BATCH);
}

static inline void open_circle(void)
{
    open_nodes();
    circle_hand(circle, &document, 0);
}

static inline void cut(uint32_t id, bool is_cut)
{
    circle->nodes[id - 1].cut = is_cut;
}

static inline void add(uint32_t i, uint32_t id)
{
    cr_assert_eq(circle_add(circle, id, &document, i + 1, keys[i], BATCH), STATUS_OK);
}

/* Acknowledged by two of the three, by others each time; none tells another. */
static inline void add_apart(uint32_t count)
{
    for (uint32_t id = 1; id <= 3; id++) {
        cut(id, true);
    }
    for (uint32_t i = 0; i < count; i++) {
        add(i, i % 3 + 1);
        add(i, (i + 1) % 3 + 1);
    }
    for (uint32_t id = 1; id <= 3; id++) {
        cut(id, false);
    }
}

static inline struct slot *slot_of(uint32_t id)
{
    return &document.content.groups[0].slots[id - 1];
}

static inline void pair_with(uint32_t id)
{
    slot_of(id)->incoming = (struct member){
        .node = JOINER, .incarnation = circle_node(circle, JOINER)->life.incarnation};
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
}

static inline void hand_over(uint32_t id)
{
    slot_of(id)->current = slot_of(id)->incoming;
    slot_of(id)->incoming = (struct member){0};
    document_epoch_advance(&document);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
}

static inline bool is_complete(void)
{
    return group_of(JOINER)->complete == document.epoch;
}

static inline void expect_all(uint32_t id, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(circle_count(circle, id, &document, keys[i], BATCH), BATCH, "batch %u", i);
    }
}

#endif
