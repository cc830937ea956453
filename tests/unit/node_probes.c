/* Filters are probed in turn, no more often than the node may, and only while it serves. */
#include "base/heap.h"
#include "node/array/probe.h"
#include "node/private.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { LIMIT_BYTES = 1 << 30, FILTERS = 1000, SECOND = 1000000, AT_ONCE = 256, PEER = 9 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct node_stage stage;

static void hand_filters(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct filter_document document;
        char name[32];

        (void)snprintf(name, sizeof name, "filter-%u", i);
        node_stage_document(&stage, 5 + i, name, &rule, 3, &document);
        document.generations[0].geometry.lines = 1;
        node_stage_hand(&stage, &document);
        document_fini(&document);
    }
    node_stage_build(&stage);
}

static void set_up(void)
{
    node_stage_init(&stage, LIMIT_BYTES);
    stage.node->config.probe_rate = 10000;
}

static void tear_down(void)
{
    node_stage_fini(&stage);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(node_probes, .init = set_up, .fini = tear_down, .timeout = 60);

/* Until then, as often as the node wants. */
static void run_until(uint64_t end_us)
{
    while (stage.now_us < end_us) {
        uint64_t next_us = stage.actor.next_us(stage.actor.self);

        stage.now_us = next_us > stage.now_us ? next_us : stage.now_us + 1;
        stage.actor.time(stage.actor.self, stage.now_us);
        stage.actor.turn(stage.actor.self, stage.now_us);
        fake_forget(&stage.fake);
    }
}

static uint64_t probes(void)
{
    return stage.node->counters[NODE_probes_total];
}

/* As a router is told. */
static uint64_t told(uint64_t filter_id)
{
    struct frame question = {.kind = FRAME_INFO_REQUEST,
                             .body.info_request = {.filter = "", .filter_id = filter_id}};
    struct fake_sent sent;
    uint64_t count = UINT64_MAX;

    fake_forget(&stage.fake);
    fake_request(&stage.actor, stage.now_us, PEER, &question);
    while (fake_take(&stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_INFO_REPLY) {
            count = sent.frame.body.info_reply.replicas[0].probes;
        }
    }
    cr_assert_neq(count, UINT64_MAX);
    return count;
}

Test(node_probes, no_more_a_second_than_it_may)
{
    uint64_t begun_us = stage.now_us;

    node_stage_register(&stage);
    hand_filters(2);
    run_until(begun_us + 10 * SECOND);
    cr_expect_leq(probes(), 10 * 10000 + AT_ONCE);
    cr_expect_geq(probes(), 9 * 10000);
    cr_expect_geq(told(5), probes() / 2 - AT_ONCE);
    cr_expect_geq(told(6), probes() / 2 - AT_ONCE);
}

/* What a busy node has left out it does not make up for. */
Test(node_probes, what_was_left_out_is_not_made_up_for)
{
    node_stage_register(&stage);
    hand_filters(1);
    for (unsigned i = 0; i < 10; i++) {
        stage.now_us += 10 * SECOND;
        for (unsigned k = 0; k < 20; k++) {
            stage.actor.time(stage.actor.self, stage.now_us + k);
        }
    }
    cr_expect_eq(probes(), 10 * AT_ONCE);
}

Test(node_probes, few_a_second_are_few_at_once)
{
    uint64_t begun_us = stage.now_us;

    stage.node->config.probe_rate = 3;
    node_stage_register(&stage);
    hand_filters(1);
    run_until(begun_us + 10 * SECOND);
    cr_expect_leq(probes(), 10 * 3 + 3);
    cr_expect_geq(probes(), 9 * 3);
}

Test(node_probes, a_thousand_filters_take_turns)
{
    node_stage_register(&stage);
    hand_filters(FILTERS);
    while (probes() < 2 * FILTERS * AT_ONCE) {
        stage.now_us = node_probes_next_us(stage.node);
        node_probes_turn(stage.node, stage.now_us);
    }
    for (uint64_t id = 5; id < 5 + FILTERS; id++) {
        cr_assert_eq(told(id), 2 * AT_ONCE, "filter %llu", (unsigned long long)id);
    }
}

/* Of five slot groups three are here: each has its turn, and no key of another one is drawn. */
Test(node_probes, slot_groups_of_a_filter_take_turns)
{
    struct filter_document document;
    struct hosted_filter *hosted;
    uint32_t here = 0;

    node_stage_register(&stage);
    node_stage_document(&stage, 5, "urls", &rule, 5, &document);
    node_stage_hand(&stage, &document);
    node_stage_build(&stage);
    while (probes() < 6 * AT_ONCE) {
        stage.now_us = node_probes_next_us(stage.node);
        node_probes_turn(stage.node, stage.now_us);
    }
    hosted = document_cache_find(&stage.node->documents, 5)->attachment;
    for (uint32_t group = 0; group < document.content.ngroups; group++) {
        uint64_t count = probe_found(hosted, &document, stage.now_us, group).probes;

        cr_expect_eq(count, arrays_hosts(hosted->set, group) ? 2 * AT_ONCE : 0);
        here += count > 0;
    }
    cr_expect_eq(here, 3);
    document_fini(&document);
}

/* A node that nobody has confirmed answers no checks. */
Test(node_probes, only_while_it_serves)
{
    hand_filters(1);
    stage.now_us += SECOND;
    node_probes_turn(stage.node, stage.now_us);
    cr_expect_eq(probes(), 0);
    node_stage_register(&stage);
    node_stage_build(&stage);
    node_probes_turn(stage.node, stage.now_us);
    cr_expect_eq(probes(), AT_ONCE);
    stage.now_us += SECOND;
    stage.node->life.recovering = true;
    node_probes_turn(stage.node, stage.now_us);
    cr_expect_eq(probes(), AT_ONCE);
    stage.node->life.recovering = false;
}

Test(node_probes, none_if_none_are_wanted)
{
    stage.node->config.probe_rate = 0;
    node_stage_register(&stage);
    hand_filters(1);
    run_until(stage.now_us + 10 * SECOND);
    cr_expect_eq(probes(), 0);
    cr_expect_eq(told(5), 0);
}
