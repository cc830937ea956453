/* Keys that no delta brings, as they have no number or the log is not kept, come by comparing
 * replicas: all of them, in few messages, and nothing else. */
#include "node/node_exchange.h"
#include "tests/support/node_circle.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000, SECOND = 1000000, FEW = 40, MANY = 300 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct circle *circle;
static struct filter_document document;
static uint64_t keys[MANY][BATCH];

static void open_circle(uint64_t scrub_us)
{
    circle = calloc(1, sizeof *circle);
    circle_init(circle, 3);
    for (uint32_t id = 1; id <= 3; id++) {
        circle_stop(circle, id);
    }
    circle->scrub_us = scrub_us;
    for (uint32_t id = 1; id <= 3; id++) {
        circle_start(circle, id);
    }
    circle_run(circle, SECOND / 100);
    circle_document(circle, 5, &rule, 3, &document);
    circle_hand(circle, &document, 0);
}

static void close_circle(void)
{
    circle_fini(circle);
    document_fini(&document);
    free(circle);
}

/* Batches first + 1 to `end` to all nodes. */
static void add(uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        circle_fingerprints(&document, 0, i + 1, BATCH, keys[i]);
        for (uint32_t id = 1; id <= 3; id++) {
            cr_assert_eq(circle_add(circle, id, &document, i + 1, keys[i], BATCH), STATUS_OK);
        }
    }
}

/* Without a number, as what was copied. */
static void absorb(uint32_t id, uint64_t seed, uint32_t count, uint64_t *out)
{
    struct node *node = circle_node(circle, id);
    struct record_batch batch = {
        .filter_id = document.id,
        .epoch = document.epoch,
        .ntargets = 1,
        .targets = {{.lineage = 1}},
        .count = count,
        .fingerprints = out,
    };

    circle_fingerprints(&document, 0, seed, count, out);
    cr_assert_eq(node_absorb(node, document_cache_find(&node->documents, document.id), &batch),
                 STATUS_OK);
    circle_run(circle, 1000);
}

static void expect_all(uint32_t id, const uint64_t *some, uint32_t count)
{
    cr_assert_eq(circle_logged(circle, id, &document, some, count), count, "node %u", id);
    cr_assert_eq(circle_count(circle, id, &document, some, count), (int)count);
}

static uint64_t counted(enum node_counter counter)
{
    uint64_t sum = 0;

    for (uint32_t id = 1; id <= 3; id++) {
        sum += circle_counter(circle, id, counter);
    }
    return sum;
}

Test(node_repair, keys_without_numbers_reach_every_replica)
{
    static uint64_t ones[10];
    static uint64_t twos[5000];

    open_circle(30 * SECOND);
    add(0, FEW);
    absorb(1, 1000, 10, ones);
    absorb(2, 1001, 5000, twos);
    circle_run(circle, 5 * SECOND);
    cr_assert_eq(circle_logged(circle, 3, &document, ones, 10), 0, "no delta brings them");
    circle_run(circle, 60 * SECOND);
    for (uint32_t id = 1; id <= 3; id++) {
        expect_all(id, ones, 10);
        expect_all(id, twos, 5000);
        expect_all(id, keys[FEW - 1], BATCH);
    }
    cr_assert_eq(counted(NODE_repair_keys_total), 2 * 10 + 2 * 5000, "each of them once: %llu",
                 (unsigned long long)counted(NODE_repair_keys_total));
    cr_assert_eq(counted(NODE_repair_failures_total), 0);
    close_circle();
}

Test(node_repair, equal_replicas_cost_a_round_trip)
{
    uint64_t bytes;
    uint64_t shards;

    open_circle(30 * SECOND);
    add(0, FEW);
    circle_run(circle, 100 * SECOND);
    bytes = counted(NODE_repair_bytes_total);
    shards = counted(NODE_repair_shards_total);
    cr_assert_geq(shards, 6 << document.content.shard_bits, "each one with each other one");
    cr_assert_leq(bytes, 128 * shards, "%llu bytes a shard", (unsigned long long)(bytes / shards));
    cr_assert_eq(counted(NODE_repair_round_trips_total), counted(NODE_repairs_ended_total));
    cr_assert_eq(counted(NODE_repair_keys_total), 0);
    cr_assert_eq(circle->requests[PULL_RANGES], 0);
    close_circle();
}

/* At 300,000 keys the tree is as deep as at millions, but for a level. */
Test(node_repair, few_differing_keys_are_found_cheaply)
{
    static uint64_t apart[BATCH];
    uint64_t trips;
    uint64_t bytes;

    open_circle(300 * SECOND);
    add(0, MANY);
    circle_run(circle, 10 * SECOND);
    absorb(1, 1000, BATCH, apart);
    circle_stop(circle, 3);
    trips = circle_counter(circle, 2, NODE_repair_round_trips_total);
    bytes = circle_counter(circle, 2, NODE_repair_bytes_total);
    for (int i = 0; i < 500 && circle_counter(circle, 2, NODE_repair_keys_total) == 0; i++) {
        circle_run(circle, SECOND);
    }
    circle_run(circle, SECOND);
    expect_all(2, apart, BATCH);
    trips = circle_counter(circle, 2, NODE_repair_round_trips_total) - trips;
    bytes = circle_counter(circle, 2, NODE_repair_bytes_total) - bytes;
    cr_assert_leq(trips, 6, "%llu", (unsigned long long)trips);
    cr_assert_leq(bytes, 1536 * BATCH, "%llu bytes a key", (unsigned long long)bytes / BATCH);
    cr_assert_eq(circle_counter(circle, 1, NODE_repair_keys_total), 0);
    close_circle();
}
