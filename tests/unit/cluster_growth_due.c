/* When a filter grows by itself, and to what. */
#include "cluster/growth.h"
#include "tests/support/growth_cluster.h"

#include <criterion/criterion.h>

static struct growth_cluster cluster;

static void setup(void)
{
    growth_cluster_init(&cluster, 3);
}

static void teardown(void)
{
    growth_cluster_fini(&cluster);
}

TestSuite(growth_due, .init = setup, .fini = teardown);

Test(growth_due, at_85_percent_however_slow)
{
    cr_assert_not(growth_due(&cluster.document, 8499, 0, 10));
    cr_assert(growth_due(&cluster.document, 8500, 0, 10));
}

/* 30 seconds of margin on top of what it takes. */
Test(growth_due, earlier_when_keys_arrive_fast)
{
    cr_assert_not(growth_due(&cluster.document, 6000, 99, 10));
    cr_assert(growth_due(&cluster.document, 6000, 100, 10));
    cr_assert_not(growth_due(&cluster.document, 6000, 100, 9));
}

/* A load that will fit must not make it grow again and again. */
Test(growth_due, never_below_half)
{
    cr_assert_not(growth_due(&cluster.document, 4999, 1e9, 10));
    cr_assert(growth_due(&cluster.document, 5000, 1e9, 10));
}

Test(growth_due, doubles_but_not_above_the_maximum)
{
    cr_assert_eq(growth_goal(&cluster.document, 9000, 2), 20000);
    cr_assert_eq(growth_goal(&cluster.document, 9000, 1.5), 15000);
    cr_assert_eq(growth_goal(&cluster.document, 30000, 2), 60000, "it is beyond it already");
    cr_assert_eq(growth_goal(&cluster.document, 9000, 64), 640000);
    cluster.document.max_capacity = 12000;
    cr_assert_eq(growth_goal(&cluster.document, 9000, 2), 12000);
    cluster.document.max_capacity = 10000;
    cr_assert_eq(growth_goal(&cluster.document, 9000, 2), 10000);
}

/* What a fast writer brings within some seconds has room, or it would have to grow again before
 * that is over. */
Test(growth_due, a_burst_asks_for_more)
{
    cluster.document.max_capacity = 100000000;
    cr_assert_geq(growth_burst_goal(&cluster.document, 9000, 2, 100000), 9000 + 15 * 100000);
    cr_assert_lt(growth_burst_goal(&cluster.document, 9000, 2, 100000), 2 * (9000 + 15 * 100000));
    cr_assert_geq(growth_burst_goal(&cluster.document, 9000, 2, 0), 20000);
    cr_assert_eq(growth_burst_goal(&cluster.document, 9000, 2, 1e12), 100000000);
    cluster.document.max_capacity = 10000;
    cr_assert_eq(growth_burst_goal(&cluster.document, 9000, 2, 1e12), 10000, "it can't");
}

/* A larger capacity that takes no more memory is had for nothing. */
Test(growth_due, whole_pages_are_used)
{
    uint64_t goal;

    cluster.document.max_capacity = 100000000;
    cluster.document.capacity = 100;
    goal = growth_burst_goal(&cluster.document, 90, 2, 0);
    cr_assert_gt(goal, 1000);
    cluster.document.capacity = goal;
    cr_assert_leq(growth_burst_goal(&cluster.document, goal, 2, 0), 4 * goal);
}

Test(growth_due, pace_follows_what_arrives)
{
    struct growth_pace pace = {0};
    uint64_t keys = 1000000;
    uint64_t now_us = 5000000;

    growth_pace_note(&pace, now_us, keys);
    cr_assert_eq(pace.keys_per_s, 0, "one report tells no pace");
    for (int i = 0; i < 60; i++) {
        keys += 500;
        now_us += 1000000;
        growth_pace_note(&pace, now_us, keys);
    }
    cr_assert_float_eq(pace.keys_per_s, 500, 5);
    cr_assert_float_eq(pace.burst_per_s, 500, 25);
    growth_pace_note(&pace, now_us + 1000, keys + 1000000);
    cr_assert_float_eq(pace.keys_per_s, 500, 5, "two reports of one moment tell no pace");
    for (int i = 0; i < 60; i++) {
        now_us += 1000000;
        growth_pace_note(&pace, now_us, keys - 300); /* estimates fall, too */
    }
    cr_assert_float_eq(pace.keys_per_s, 0, 5);
    cr_assert_geq(pace.keys_per_s, 0);
}

/* The same pace, whether reports come often or seldom. */
Test(growth_due, pace_does_not_depend_on_how_often_it_is_looked_at)
{
    struct growth_pace often = {0};
    struct growth_pace seldom = {0};

    for (uint64_t i = 0; i <= 60; i++) {
        growth_pace_note(&often, 1000000 + i * 1000000, i * 700);
        if (i % 5 == 0) {
            growth_pace_note(&seldom, 1000000 + i * 1000000, i * 700);
        }
    }
    cr_assert_float_eq(often.keys_per_s, seldom.keys_per_s, 1);
}

Test(growth_due, it_takes_longer_with_more_keys_and_fewer_hosts)
{
    double few = growth_duration_s(&cluster.view, 1000, 1);

    cr_assert_gt(few, 0);
    cr_assert_gt(growth_duration_s(&cluster.view, 100000000, 1), few);
    cr_assert_eq(growth_duration_s(&cluster.view, 1000, 3), few,
                 "three replicas on three nodes go one after the other anyway");
    growth_cluster_fini(&cluster);
    growth_cluster_init(&cluster, 9);
    cr_assert_gt(growth_duration_s(&cluster.view, 1000, 1),
                 growth_duration_s(&cluster.view, 1000, 3));
    cluster.view.nnodes = 0;
    cr_assert(growth_duration_s(&cluster.view, 1000, 1) > 0, "no node is known");
}
