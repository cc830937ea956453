/* How long a check waits before it asks the rest: learned from what nodes take to answer. */
#include "tests/support/router_stage.h"

#include <criterion/criterion.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

/* One check, in steps of 100 us; node n answers latency_us[n - 1] after it was asked. */
static void serve_one(uint64_t sequence, const uint64_t latency_us[3])
{
    struct client_request request = router_stage_request(OPERATION_CHECK, sequence, 1);
    uint64_t waited_us[3] = {0};

    router_stage_send(&stage, 1, &request);
    while (router_stage_open(&stage) > 0) {
        router_stage_pass(&stage, 100);
        for (uint32_t node = 1; node <= 3; node++) {
            waited_us[node - 1] += router_stage_asked(&stage, node) != NULL ? 100 : 0;
            if (waited_us[node - 1] >= latency_us[node - 1]) {
                waited_us[node - 1] = 0;
                router_stage_vote(&stage, node, 'a');
            }
        }
    }
    stage.ntold = 0;
    stage.nasked = 0;
}

static uint64_t learned_us(const uint64_t latency_us[3], int count)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    for (int i = 1; i <= count; i++) {
        serve_one((uint64_t)i, latency_us);
    }
    router_stage_pass(&stage, 1000000);
    return router_stage_counter(&stage, "hedge_delay_us");
}

Test(hedge, a_given_delay_stays)
{
    static const uint64_t fast[3] = {300, 300, 300};

    cr_assert_eq(learned_us(fast, 300), ROUTER_STAGE_HEDGE_US);
    router_stage_fini(&stage);
}

Test(hedge, the_delay_follows_the_nodes)
{
    static const uint64_t slow[3] = {6000, 6000, 6000};
    uint64_t delay_us;

    router_stage_hedge_us = 0;
    delay_us = learned_us(slow, 300);
    cr_assert_geq(delay_us, 6000);
    cr_assert_leq(delay_us, 8000);
    cr_assert_eq(router_stage_counter(&stage, "hedges_total"), 0);
    router_stage_fini(&stage);
}

/* Less than a millisecond is not worth a second message. */
Test(hedge, the_delay_has_a_least)
{
    static const uint64_t fast[3] = {100, 100, 100};

    router_stage_hedge_us = 0;
    cr_assert_eq(learned_us(fast, 500), 1000);
    router_stage_fini(&stage);
}

Test(hedge, nothing_is_learned_from_a_few)
{
    static const uint64_t fast[3] = {100, 100, 100};

    router_stage_hedge_us = 0;
    cr_assert_eq(learned_us(fast, 20), 20000);
    router_stage_fini(&stage);
}

/* One slow node does not teach the router patience: its checks are hedged, and counted. */
Test(hedge, a_single_slow_node_is_hedged)
{
    static const uint64_t latency_us[3] = {300, 300, 15000};

    router_stage_hedge_us = 0;
    cr_assert_leq(learned_us(latency_us, 600), 1500);
    cr_assert_gt(router_stage_counter(&stage, "hedges_total"), 50);
    router_stage_fini(&stage);
}

/* Adds may wait for a disk: how long they take says nothing about checks. */
Test(hedge, adds_teach_nothing)
{
    router_stage_hedge_us = 0;
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    for (uint64_t sequence = 1; sequence <= 200; sequence++) {
        struct client_request request = router_stage_request(OPERATION_ADD, sequence, 1);

        router_stage_send(&stage, 1, &request);
        for (uint32_t node = 1; node <= 3; node++) {
            router_stage_vote(&stage, node, 'a');
        }
        stage.ntold = 0;
        stage.nasked = 0;
    }
    router_stage_pass(&stage, 1000000);
    cr_assert_eq(router_stage_counter(&stage, "hedge_delay_us"), 20000);
    router_stage_fini(&stage);
}

/* With nothing under way only the next question to a coordinator wants a timer. */
Test(hedge, an_idle_router_sleeps)
{
    static const uint64_t fast[3] = {100, 100, 100};
    unsigned timers = 0;
    uint64_t end_us;

    router_stage_hedge_us = 0;
    cr_assert_eq(learned_us(fast, 500), 1000);
    end_us = stage.now_us + 1000000;
    while (stage.actor.next_us(stage.actor.self) <= end_us) {
        stage.now_us = stage.actor.next_us(stage.actor.self);
        stage.actor.time(stage.actor.self, stage.now_us);
        stage.actor.turn(stage.actor.self, stage.now_us);
        cr_assert_leq(++timers, 10, "it wakes again and again");
    }
    router_stage_fini(&stage);
}

/* A stall teaches patience, which does not outlast it: with few answers, time makes it fade. */
Test(hedge, patience_learned_in_a_stall_fades)
{
    static const uint64_t stalled[3] = {70000, 70000, 70000};
    static const uint64_t fast[3] = {300, 300, 300};

    router_stage_hedge_us = 0;
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    for (uint64_t i = 1; router_stage_counter(&stage, "hedge_delay_us") < 70000; i++) {
        cr_assert_leq(i, 110, "nothing was learned");
        serve_one(i, stalled);
    }
    for (uint64_t i = 0; i < 3; i++) {
        router_stage_pass(&stage, 5000000);
        serve_one(1000 + i, fast);
    }
    router_stage_pass(&stage, 100000);
    cr_assert_leq(router_stage_counter(&stage, "hedge_delay_us"), 20000);
    router_stage_fini(&stage);
}
