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

static void expect_told(const struct histogram *log_syncs, const char *what)
{
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 1 << 16);
    node_tell_metrics(log_syncs, &metrics);
    cr_assert_eq(metrics.status, STATUS_OK);
    cr_assert_eq(buffer_append(&out, span_of("", 1)), STATUS_OK);
    cr_expect_not_null(strstr((char *)out.data, what), "%s in:\n%s", what, (char *)out.data);
    buffer_fini(&out);
}

Test(node_metrics, writes_of_the_log_are_told_as_they_were_measured)
{
    struct histogram log_syncs = {0};

    expect_told(&log_syncs, "\norbloom_node_log_sync_seconds_count 0\n");
    histogram_add(&log_syncs, 150);
    expect_told(&log_syncs, "\norbloom_node_log_sync_seconds_bucket{le=\"0.0001\"} 0\n");
    expect_told(&log_syncs, "\norbloom_node_log_sync_seconds_bucket{le=\"0.0002\"} 1\n");
}
