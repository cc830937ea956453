/* When a filter grows by itself, and to what. */
#include "coordinator/plan/expansion.h"
#include "tests/support/expansion_cluster.h"

#include <criterion/criterion.h>

static struct expansion_cluster cluster;

static void setup(void)
{
    expansion_cluster_init(&cluster, 3);
}

static void teardown(void)
{
    expansion_cluster_fini(&cluster);
}

TestSuite(expansion_due, .init = setup, .fini = teardown);

Test(expansion_due, at_85_percent_however_slow)
{
    cr_assert_not(expansion_due(&cluster.document, 8499, 0, 10));
    cr_assert(expansion_due(&cluster.document, 8500, 0, 10));
}

/* 30 seconds of margin on top of what it takes. */
Test(expansion_due, earlier_when_keys_arrive_fast)
{
    cr_assert_not(expansion_due(&cluster.document, 6000, 99, 10));
    cr_assert(expansion_due(&cluster.document, 6000, 100, 10));
    cr_assert_not(expansion_due(&cluster.document, 6000, 100, 9));
}

/* A load that will fit must not make it grow again and again. */
Test(expansion_due, never_below_half)
{
    cr_assert_not(expansion_due(&cluster.document, 4999, 1e9, 10));
    cr_assert(expansion_due(&cluster.document, 5000, 1e9, 10));
}

/* From what is named as the least it does not grow, not even with a little more keys and pace. */
Test(expansion_due, the_least_capacity_stays_and_a_lesser_one_does_not)
{
    static const double paces[] = {0, 1, 50, 1000, 1e9};

    for (uint64_t keys = 150; keys < 300000; keys = keys * 3 / 2) {
        for (size_t i = 0; i < sizeof paces / sizeof *paces; i++) {
            struct expansion_coming coming = {.keys_per_s = paces[i], .duration_s = 10};
            struct generation *wanted = &cluster.document.generations[0];
            uint64_t least = expansion_least(&cluster.document, keys, &coming);

            wanted->capacity = least;
            cr_assert_not(expansion_due(&cluster.document, keys + keys / 70, 1.5 * paces[i], 10),
                          "%llu at %g: %llu", (unsigned long long)keys, paces[i],
                          (unsigned long long)least);
            wanted->capacity = least / 2;
            cr_assert(expansion_due(&cluster.document, keys + keys / 70, 2.1 * paces[i], 10));
        }
    }
}

Test(expansion_due, the_least_is_told_in_three_figures_up_to_the_maximum)
{
    struct expansion_coming coming = {.duration_s = 10};

    cr_assert_eq(expansion_least(&cluster.document, 200000, &coming), 239000, "203,125 / 0.85");
    cr_assert_eq(expansion_least(&cluster.document, 15, &coming), 18);
    coming.keys_per_s = 500;
    cr_assert_eq(expansion_least(&cluster.document, 200000, &coming), 244000, "and twice 500 x 40");
    coming.keys_per_s = 1e6;
    cr_assert_eq(expansion_least(&cluster.document, 200000, &coming), 407000, "twice as many");
    cr_assert_eq(expansion_least(&cluster.document, 600000, &coming), 640000, "it stays there");
}

/* What is noted now has the weight of the time since the last note, however short. */
Test(expansion_due, pace_with_what_is_known_now)
{
    struct expansion_pace pace = {0};

    cr_assert_eq(expansion_pace_with(&pace, 5000000, 9000), 0, "nothing to compare with");
    expansion_pace_note(&pace, 1000000, 1000);
    cr_assert_eq(expansion_pace_with(&pace, 2000000, 1000), 0);
    cr_assert_float_eq(expansion_pace_with(&pace, 1001000, 11000), 1000, 1, "a tenth of the keys");
    cr_assert_eq(pace.keys, 1000);
}

Test(expansion_due, doubles_but_not_above_the_maximum)
{
    cr_assert_eq(expansion_goal(&cluster.document, 9000, 2), 20000);
    cr_assert_eq(expansion_goal(&cluster.document, 9000, 1.5), 15000);
    cr_assert_eq(expansion_goal(&cluster.document, 30000, 2), 60000, "it is beyond it already");
    cr_assert_eq(expansion_goal(&cluster.document, 9000, 64), 640000);
    cluster.document.max_capacity = 12000;
    cr_assert_eq(expansion_goal(&cluster.document, 9000, 2), 12000);
    cluster.document.max_capacity = 10000;
    cr_assert_eq(expansion_goal(&cluster.document, 9000, 2), 10000);
}

/* What a fast writer brings within some seconds has room, or it would have to grow again before
 * that is over. */
Test(expansion_due, a_burst_asks_for_more)
{
    cluster.document.max_capacity = 100000000;
    cr_assert_geq(expansion_burst_goal(&cluster.document, 9000, 2, 100000), 9000 + 15 * 100000);
    cr_assert_lt(expansion_burst_goal(&cluster.document, 9000, 2, 100000),
                 2 * (9000 + 15 * 100000));
    cr_assert_geq(expansion_burst_goal(&cluster.document, 9000, 2, 0), 20000);
    cr_assert_eq(expansion_burst_goal(&cluster.document, 9000, 2, 1e12), 100000000);
    cluster.document.max_capacity = 10000;
    cr_assert_eq(expansion_burst_goal(&cluster.document, 9000, 2, 1e12), 10000, "it can't");
}

/* A larger capacity that takes no more memory is had for nothing. */
Test(expansion_due, whole_pages_are_used)
{
    uint64_t goal;

    cluster.document.max_capacity = 100000000;
    cluster.document.capacity = 100;
    goal = expansion_burst_goal(&cluster.document, 90, 2, 0);
    cr_assert_gt(goal, 1000);
    cluster.document.capacity = goal;
    cr_assert_leq(expansion_burst_goal(&cluster.document, goal, 2, 0), 4 * goal);
}

Test(expansion_due, pace_follows_what_arrives)
{
    struct expansion_pace pace = {0};
    uint64_t keys = 1000000;
    uint64_t now_us = 5000000;

    expansion_pace_note(&pace, now_us, keys);
    cr_assert_eq(pace.keys_per_s, 0, "one report tells no pace");
    for (int i = 0; i < 60; i++) {
        keys += 500;
        now_us += 1000000;
        expansion_pace_note(&pace, now_us, keys);
    }
    cr_assert_float_eq(pace.keys_per_s, 500, 5);
    cr_assert_float_eq(pace.burst_per_s, 500, 25);
    expansion_pace_note(&pace, now_us + 1000, keys + 1000000);
    cr_assert_float_eq(pace.keys_per_s, 500, 5, "two reports of one moment tell no pace");
    for (int i = 0; i < 60; i++) {
        now_us += 1000000;
        expansion_pace_note(&pace, now_us, keys - 300); /* estimates fall, too */
    }
    cr_assert_float_eq(pace.keys_per_s, 0, 5);
    cr_assert_geq(pace.keys_per_s, 0);
}

/* The same pace, whether reports come often or seldom. */
Test(expansion_due, pace_does_not_depend_on_how_often_it_is_looked_at)
{
    struct expansion_pace often = {0};
    struct expansion_pace seldom = {0};

    for (uint64_t i = 0; i <= 60; i++) {
        expansion_pace_note(&often, 1000000 + i * 1000000, i * 700);
        if (i % 5 == 0) {
            expansion_pace_note(&seldom, 1000000 + i * 1000000, i * 700);
        }
    }
    cr_assert_float_eq(often.keys_per_s, seldom.keys_per_s, 1);
}

Test(expansion_due, it_takes_longer_with_more_keys_and_fewer_hosts)
{
    double few = expansion_duration_s(&cluster.view, 1000, 1);

    cr_assert_gt(few, 0);
    cr_assert_gt(expansion_duration_s(&cluster.view, 100000000, 1), few);
    cr_assert_eq(expansion_duration_s(&cluster.view, 1000, 3), few,
                 "three replicas on three nodes go one after the other anyway");
    expansion_cluster_fini(&cluster);
    expansion_cluster_init(&cluster, 9);
    cr_assert_gt(expansion_duration_s(&cluster.view, 1000, 1),
                 expansion_duration_s(&cluster.view, 1000, 3));
    cluster.view.nnodes = 0;
    cr_assert(expansion_duration_s(&cluster.view, 1000, 1) > 0, "no node is known");
}
