/* What routers did not bring to a replica comes from the others: all of it, once, and cheaply. */
#include "node/sync/exchange.h"
#include "tests/support/sample_cluster.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 1000, NBATCHES = 40 };

static uint64_t keys[NBATCHES][BATCH];

static void open_circle_of(uint64_t capacity)
{
    make_circle(3);
    document.capacity = document.generations[0].capacity = capacity;
    circle_hand(circle, &document, 0);
    make_keys(keys[0], NBATCHES, BATCH);
}

static void open_circle(void)
{
    open_circle_of(1000000);
}

/* Batch i + 1 to the nodes of a bit set. */
static void add(uint32_t i, unsigned nodes)
{
    add_to(nodes, i + 1, keys[i], BATCH);
}

static uint64_t missed(uint32_t id)
{
    return circle_counter(circle, id, NODE_gossip_keys_missed_total);
}

static void expect_all(uint32_t id)
{
    for (uint32_t i = 0; i < NBATCHES; i++) {
        cr_assert_eq(circle_logged(circle, id, &document, keys[i], BATCH), BATCH,
                     "node %u, batch %u", id, i + 1);
        cr_assert_eq(circle_count(circle, id, &document, keys[i], BATCH), BATCH);
    }
}

/* Node 3 has missed what filled the others, and takes adds that they refuse: such keys are
 * acknowledged nowhere, and must not take anybody past the rate asked for. */
Test(node_delta, nobody_is_taken_past_its_capacity)
{
    const uint32_t half = NBATCHES / 2;

    open_circle_of((uint64_t)half * BATCH);
    circle->nodes[2].cut = true;
    for (uint32_t i = 0; i < half; i++) {
        add(i, N1 | N2);
    }
    for (uint32_t i = half; i < half + 5; i++) {
        add(i, N1 | N2 | N3);
    }
    circle->nodes[2].cut = false;
    circle_run(circle, 20 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        cr_assert_leq(group_of(id)->keys, group_of(id)->keys_capacity, "node %u", id);
    }
    cr_assert_gt(missed(3), (half - 6) * BATCH, "it takes what it has room for");
    close_circle();
}

Test(node_delta, nothing_is_fetched_that_routers_brought)
{
    uint64_t before;

    open_circle();
    circle_run(circle, 20 * SECOND);
    before = circle->bytes;
    for (uint32_t i = 0; i < NBATCHES; i++) {
        add(i, N1 | N2 | N3);
        circle_run(circle, SECOND / 20);
    }
    circle_run(circle, 5 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        cr_assert_eq(missed(id), 0);
    }
    cr_assert_eq(circle->requests[PULL_BODIES], 0);
    /* All six ways together, questions and answers, in idle times too. */
    cr_assert_lt(circle->bytes - before, (uint64_t)NBATCHES * BATCH, "%llu bytes",
                 (unsigned long long)(circle->bytes - before));
    close_circle();
}

Test(node_delta, a_replica_that_was_cut_off_gets_what_it_missed)
{
    uint64_t before;
    uint64_t each;

    open_circle();
    circle_run(circle, 20 * SECOND);
    before = circle->bytes;
    for (uint32_t i = 0; i < NBATCHES; i++) {
        add(i, i % 2 == 0 ? N1 | N2 | N3 : N1 | N2);
    }
    cr_assert_eq(circle_count(circle, 3, &document, keys[1], BATCH), 0);
    circle_run(circle, 8 * SECOND);
    expect_all(3);
    cr_assert_eq(missed(3), NBATCHES / 2 * BATCH, "%llu", (unsigned long long)missed(3));
    cr_assert_eq(missed(1) + missed(2), 0);
    each = (circle->bytes - before) / (NBATCHES / 2 * BATCH);
    cr_assert_leq(each, 24, "%llu bytes a missed key", (unsigned long long)each);
    close_circle();
}

/* Two sources have the same; it is fetched from one of them. */
Test(node_delta, a_batch_has_one_number_everywhere)
{
    open_circle();
    add(0, N1);
    add(1, N2);
    add(2, N1 | N2);
    circle_run(circle, 8 * SECOND);
    cr_assert_eq(missed(1), BATCH);
    cr_assert_eq(missed(2), BATCH);
    cr_assert_eq(missed(3), 3 * BATCH);
    close_circle();
}

Test(node_delta, what_is_young_is_left_to_routers)
{
    open_circle();
    circle_run(circle, 20 * SECOND);
    add(0, N1 | N2);
    circle_run(circle, SECOND * 9 / 10);
    cr_assert_eq(missed(3), 0);
    add(0, N3);
    circle_run(circle, 10 * SECOND);
    cr_assert_eq(missed(3), 0, "it had come by then");
    cr_assert_eq(circle->requests[PULL_BODIES], 0);
    close_circle();
}

Test(node_delta, a_restart_goes_on_from_its_cursors)
{
    open_circle();
    for (uint32_t i = 0; i < NBATCHES - 1; i++) {
        add(i, N1 | N2);
    }
    circle_run(circle, 8 * SECOND);
    cr_assert_eq(missed(3), (NBATCHES - 1) * BATCH);
    circle_stop(circle, 3);
    add(NBATCHES - 1, N1 | N2);
    circle_start(circle, 3);
    circle_run(circle, 8 * SECOND);
    cr_assert_eq(missed(3), BATCH, "only what came after the cursor: %llu",
                 (unsigned long long)missed(3));
    expect_all(3);
    close_circle();
}

static bool lose_bodies(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    (void)self;
    (void)frame;
    return decoded->kind != FRAME_PULL_REPLY || decoded->body.pull_reply.kind != PULL_BODIES;
}

Test(node_delta, a_cursor_does_not_overtake_its_data)
{
    open_circle();
    circle_run(circle, 10 * SECOND);
    circle->spy = lose_bodies;
    add(0, N1 | N2);
    circle_run(circle, 10 * SECOND);
    cr_assert_gt(circle->requests[PULL_BODIES], 0);
    circle_stop(circle, 3);
    circle->spy = NULL;
    circle_start(circle, 3);
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(missed(3), BATCH);
    cr_assert_eq(circle_logged(circle, 3, &document, keys[0], BATCH), BATCH);
    close_circle();
}

/* What the log holds that was read back is known, cursor or not. */
Test(node_delta, a_restart_knows_what_its_log_holds)
{
    open_circle();
    add(0, N1 | N2 | N3);
    circle_stop(circle, 3);
    circle_start(circle, 3);
    circle_run(circle, 10 * SECOND);
    cr_assert_eq(missed(3), 0);
    close_circle();
}

/* Forgotten, as what has been merged is: fetched again, harmlessly. */
Test(node_delta, unknown_history_is_fetched_again)
{
    open_circle();
    add(0, N1 | N2 | N3);
    batch_set_clear(circle_node(circle, 3)->exchange->have);
    circle_run(circle, 10 * SECOND);
    cr_assert_eq(missed(3), BATCH);
    cr_assert_eq(circle_count(circle, 3, &document, keys[0], BATCH), BATCH);
    close_circle();
}

/* A cursor older than what is kept never means that nothing was missed. */
Test(node_delta, where_a_log_is_not_kept_replicas_are_compared)
{
    enum { MANY = 800 };
    static uint64_t many[BATCH];

    circle = calloc(1, sizeof *circle);
    circle_init(circle, 3);
    for (uint32_t id = 1; id <= 3; id++) {
        circle_stop(circle, id);
    }
    circle->retain_mib = 0;
    for (uint32_t id = 1; id <= 3; id++) {
        circle_start(circle, id);
    }
    circle_run(circle, SECOND);
    circle_document(circle, 5, &rule, 3, &document);
    circle_hand(circle, &document, 0);
    circle_run(circle, SECOND);
    circle->nodes[2].cut = true;
    for (uint32_t i = 0; i < NBATCHES; i++) {
        sample_fingerprints(&document, 0, i + 1, BATCH, keys[i]);
        add(i, N1 | N2);
    }
    for (uint32_t i = NBATCHES; i < MANY; i++) { /* Several subrequests' worth. */
        sample_fingerprints(&document, 0, i + 1, BATCH, many);
        cr_assert_eq(circle_add(circle, 1, &document, i + 1, many, BATCH), STATUS_OK);
        cr_assert_eq(circle_add(circle, 2, &document, i + 1, many, BATCH), STATUS_OK);
    }
    circle_run(circle, 5 * SECOND);
    cr_assert_eq(missed(3), 0);
    circle->nodes[2].cut = false;
    circle_run(circle, 20 * SECOND);
    cr_assert_eq(circle_counter(circle, 3, NODE_gossip_copies_total), 0);
    cr_assert_gt(circle_counter(circle, 3, NODE_repair_keys_total), 0);
    cr_assert_leq(circle_counter(circle, 3, NODE_repair_keys_total), MANY * BATCH, "each once");
    expect_all(3);
    cr_assert_eq(circle_count(circle, 3, &document, many, BATCH), BATCH);
    close_circle();
}

/* The add's own batch came by gossip; its "present" is not somebody else's doing. */
Test(node_delta, an_add_that_gossip_overtook_is_flagged)
{
    open_circle();
    add(0, N1 | N2);
    circle_run(circle, 8 * SECOND);
    cr_assert_eq(missed(3), BATCH);
    add(0, N3);
    cr_assert(circle->reply.repeated);
    cr_assert_eq(circle->present[0], UINT64_MAX);
    add(1, N3);
    cr_assert_not(circle->reply.repeated, "another batch is not doubted");
    close_circle();
}
