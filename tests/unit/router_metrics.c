/* What a router tells of requests: each once, as it leaves, by what became of it. */
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLIENT = 1, KEYS = 3, KEYSET = 9, SOON_US = 1000000 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

static void expect_line(const char *line)
{
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 1 << 20);
    router_tell_metrics(stage.router, &metrics);
    cr_assert_eq(metrics.status, STATUS_OK);
    cr_assert_eq(buffer_append(&out, span_of("", 1)), STATUS_OK);
    cr_expect_not_null(strstr((char *)out.data, line), "no %s in:\n%s", line, (char *)out.data);
    buffer_fini(&out);
}

static void ask(enum operation operation, uint64_t sequence)
{
    struct client_request request = router_stage_request(operation, sequence, KEYS);

    router_stage_send(&stage, CLIENT, &request);
}

static void vote(const char *letters)
{
    for (uint32_t node = 1; letters[node - 1] != '\0'; node++) {
        if (letters[node - 1] != '-') {
            router_stage_vote(&stage, node, letters[node - 1]);
        }
    }
}

Test(router_metrics, answers_are_told_by_their_keys)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    expect_line("\norbloom_requests_total{op=\"check\",result=\"ok\"} 0\n");
    ask(OPERATION_ADD, 1);
    vote("aa-");
    expect_line("\norbloom_requests_total{op=\"add\",result=\"ok\"} 1\n");
    expect_line("\norbloom_keys_total{op=\"add\",outcome=\"acknowledged\"} 3\n");
    expect_line("\norbloom_keys_total{op=\"add\",outcome=\"not_acknowledged\"} 0\n");
    expect_line("\norbloom_request_duration_seconds_count{op=\"add\"} 1\n");
    expect_line("\norbloom_node_roundtrip_seconds_count{node=\"node-1\"} 1\n");
    expect_line("\norbloom_node_roundtrip_seconds_count{node=\"node-3\"} 0\n");
    router_stage_fini(&stage);
}

static void check_until_told(const char *letters)
{
    ask(OPERATION_CHECK, 1);
    router_stage_pass(&stage, ROUTER_STAGE_HEDGE_US + 2 * 5000);
    vote(letters);
    router_stage_pass(&stage, 10 * SOON_US);
    cr_assert_eq(stage.ntold, 1);
}

Test(router_metrics, what_nobody_could_decide_is_undecided_and_took_its_time)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    check_until_told("---");
    expect_line("\norbloom_requests_total{op=\"check\",result=\"undecided\"} 1\n");
    expect_line("\norbloom_keys_total{op=\"check\",outcome=\"unknown\"} 3\n");
    expect_line("\norbloom_request_duration_seconds_bucket{op=\"check\",le=\"0.8192\"} 0\n");
    expect_line("\norbloom_request_duration_seconds_count{op=\"check\"} 1\n");
    router_stage_fini(&stage);
}

Test(router_metrics, present_absent_and_maybe_are_told_apart)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_MAYBE);
    ask(OPERATION_CHECK, 1);
    router_stage_pass(&stage, ROUTER_STAGE_HEDGE_US + 2 * 5000);
    vote("ppp");
    ask(OPERATION_CHECK, 2);
    router_stage_pass(&stage, ROUTER_STAGE_HEDGE_US + 2 * 5000);
    vote("aaa");
    ask(OPERATION_CHECK, 3);
    router_stage_pass(&stage, 10 * SOON_US);
    expect_line("\norbloom_keys_total{op=\"check\",outcome=\"present\"} 3\n");
    expect_line("\norbloom_keys_total{op=\"check\",outcome=\"absent\"} 3\n");
    expect_line("\norbloom_keys_total{op=\"check\",outcome=\"maybe\"} 3\n");
    expect_line("\norbloom_requests_total{op=\"check\",result=\"ok\"} 3\n");
    router_stage_fini(&stage);
}

/* Not a second time as it was kept until a coordinator has answered. */
Test(router_metrics, what_is_refused_is_told_once_and_without_a_time)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, KEYS);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    request.filter = "nothing";
    router_stage_send(&stage, CLIENT, &request);
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_NOT_FOUND);
    request = router_stage_request(OPERATION_ADD, 2, KEYS);
    request.filter_id = 0;
    router_stage_send(&stage, CLIENT, &request);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_STALE);
    expect_line("\norbloom_requests_total{op=\"add\",result=\"refused\"} 1\n");
    expect_line("\norbloom_requests_total{op=\"add\",result=\"again\"} 1\n");
    expect_line("\norbloom_request_duration_seconds_count{op=\"add\"} 0\n");
    expect_line("\norbloom_keys_total{op=\"add\",outcome=\"not_acknowledged\"} 0\n");
    router_stage_fini(&stage);
}

static void open_rebuild(void)
{
    stage.document.content.keysets[1] = (struct keyset){.id = KEYSET};
    stage.document.content.nkeysets = 2;
    stage.document.content.last_keyset = KEYSET;
    stage.document.durability = DURABILITY_SYNC;
    document_epoch_advance(&stage.document);
}

/* All but a moment of it was spent waiting for the coordinator. */
Test(router_metrics, it_takes_from_the_receipt_on)
{
    struct client_request request = router_stage_request(OPERATION_FEED, 1, KEYS);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    request.keyset = KEYSET;
    router_stage_send(&stage, CLIENT, &request);
    cr_assert_eq(router_stage_open(&stage), 0, "no rebuild is open, as far as is known");
    open_rebuild();
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, true);
    vote("aa-");
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    expect_line("\norbloom_requests_total{op=\"feed\",result=\"ok\"} 1\n");
    expect_line("\norbloom_keys_total{op=\"feed\",outcome=\"acknowledged\"} 3\n");
    expect_line("\norbloom_request_duration_seconds_bucket{op=\"feed\",le=\"0.8192\"} 0\n");
    expect_line("\norbloom_request_duration_seconds_bucket{op=\"feed\",le=\"1.6384\"} 1\n");
    router_stage_fini(&stage);
}
