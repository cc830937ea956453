/* What a node tells of itself beside what it has done. */
#include "node_circle.h"

enum { BATCH = 50, FREE = 4096 };

static void expect_gauges(uint32_t id, uint64_t replicas, uint64_t behind)
{
    const uint64_t *counts = node_counts(circle_node(circle, id));

    cr_expect_eq(counts[NODE_replicas], replicas);
    cr_expect_eq(counts[NODE_gossip_behind], behind, "node %u: %llu", id,
                 (unsigned long long)counts[NODE_gossip_behind]);
    cr_expect_eq(counts[NODE_filters_refused], 0);
    cr_expect_eq(counts[NODE_memory_limit_bytes],
                 circle_node(circle, id)->config.memory_limit_bytes);
}

/* Whose node does not answer may have anything. */
Test(node_metrics, who_does_not_answer_is_behind_until_it_does)
{
    uint64_t keys[BATCH];

    for (uint64_t i = 0; i < BATCH; i++) {
        keys[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    }
    make_circle(3);
    circle_hand(circle, &document, 0);
    circle_run(circle, 5 * SECOND);
    expect_gauges(1, 1, 0);
    circle->nodes[2].cut = true;
    circle_run(circle, 20 * SECOND);
    expect_gauges(1, 1, 1);
    expect_gauges(3, 1, 2);
    cr_assert_eq(circle_add(circle, 1, &document, 1, keys, BATCH), STATUS_OK);
    circle->nodes[2].cut = false;
    circle_run(circle, 60 * SECOND);
    expect_gauges(1, 1, 0);
    expect_gauges(3, 1, 0);
    close_circle();
}

static void expect_told(const struct node_machine *machine, const char *what, bool told)
{
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 1 << 16);
    node_tell_metrics(machine, &metrics);
    cr_assert_eq(metrics.status, STATUS_OK);
    cr_assert_eq(buffer_append(&out, span_of("", 1)), STATUS_OK);
    cr_expect_eq(strstr((char *)out.data, what) != NULL, told, "%s in:\n%s", what,
                 (char *)out.data);
    buffer_fini(&out);
}

/* A node in memory has no disk; what is not known is not told. */
Test(node_metrics, the_disk_is_told_as_it_was_measured)
{
    struct node_machine machine = {0};

    expect_told(&machine, "orbloom_node_disk_free_bytes", false);
    expect_told(&machine, "\norbloom_node_log_sync_seconds_count 0\n", true);
    histogram_add(&machine.log_syncs, 150);
    machine.disk_known = true;
    machine.disk_free_bytes = FREE;
    expect_told(&machine, "\norbloom_node_disk_free_bytes 4096\n", true);
    expect_told(&machine, "\norbloom_node_log_sync_seconds_bucket{le=\"0.0001\"} 0\n", true);
    expect_told(&machine, "\norbloom_node_log_sync_seconds_bucket{le=\"0.0002\"} 1\n", true);
}
