/* Checks: R replicas are asked first, the rest when that does not decide; "absent" takes R votes
 * that count, and what can't be decided is said to be so, naming the nodes. */
#include "tests/support/router_stage.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLIENT = 1, KEYS = 3, ALL = (1 << KEYS) - 1 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;
static uint32_t first; /* the two nodes asked first, and the one that was not */
static uint32_t second;
static uint32_t third;

static void open_and_check(enum when_unavailable when_unavailable)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 1, KEYS);

    router_stage_init(&stage, &rule, 3, when_unavailable);
    router_stage_send(&stage, CLIENT, &request);
    cr_assert_eq(router_stage_open(&stage), 2, "R replicas are asked");
    first = stage.asked[0].node;
    second = stage.asked[1].node;
    third = 6 - first - second;
    cr_assert_neq(first, second);
}

static void expect_told(enum status status, uint64_t present, uint64_t absent)
{
    struct router_told told = router_stage_told(&stage);
    struct peer client = fake_peer(CLIENT);

    cr_assert_eq(told.kind, FRAME_CLIENT_REPLY);
    cr_assert_eq(memcmp(&told.peer, &client, sizeof client), 0);
    cr_assert_eq(told.correlation, 1);
    cr_assert_eq(told.status, status, "status %s", status_code(told.status));
    cr_assert_eq(told.count, KEYS);
    cr_assert_eq(told.copies, 0, "a check says nothing of copies");
    cr_assert_eq(told.present, present);
    cr_assert_eq(told.absent, absent);
    cr_assert_eq(told.message[0] != '\0', status != STATUS_OK);
}

Test(router_checks, two_absent_of_two_decide)
{
    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, first, 'a');
    cr_assert_eq(stage.ntold, 0, "one is not enough");
    router_stage_vote(&stage, second, 'a');
    expect_told(STATUS_OK, 0, ALL);
    cr_assert_eq(router_stage_open(&stage), 0, "the third is not asked");
    cr_assert_eq(router_stage_counter(&stage, "hedges_total"), 0);
    cr_assert_eq(router_stage_counter(&stage, "keys_checked_total"), KEYS);
    cr_assert_eq(router_stage_counter(&stage, "inflight_bytes"), 0);
    router_stage_fini(&stage);
}

Test(router_checks, two_present_of_two_decide)
{
    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, second, 'p');
    router_stage_vote(&stage, first, 'p');
    expect_told(STATUS_OK, ALL, 0);
    router_stage_fini(&stage);
}

Test(router_checks, disagreement_asks_the_rest_at_once)
{
    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, first, 'a');
    router_stage_vote(&stage, second, 'p');
    cr_assert_eq(stage.ntold, 0);
    cr_assert_not_null(router_stage_asked(&stage, third));
    cr_assert_eq(router_stage_counter(&stage, "disagreements_total"), 1);
    cr_assert_eq(router_stage_counter(&stage, "hedges_total"), 0);
    router_stage_vote(&stage, third, 'a');
    expect_told(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

Test(router_checks, a_slow_replica_makes_the_router_ask_the_rest)
{
    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, first, 'a');
    router_stage_pass(&stage, ROUTER_STAGE_HEDGE_US / 2);
    cr_assert_null(router_stage_asked(&stage, third), "too early");
    router_stage_pass(&stage, ROUTER_STAGE_HEDGE_US);
    cr_assert_not_null(router_stage_asked(&stage, third));
    cr_assert_eq(router_stage_counter(&stage, "hedges_total"), 1);
    router_stage_vote(&stage, third, 'a');
    expect_told(STATUS_OK, 0, ALL);
    router_stage_vote(&stage, second, 'p');
    cr_assert_eq(stage.ntold, 0, "the late one changes nothing");
    cr_assert_eq(router_stage_counter(&stage, "late_total"), 1);
    router_stage_fini(&stage);
}

/* "Absent" is withheld with one replica left, and the refusal names the other two. */
Test(router_checks, at_the_deadline_absent_is_withheld_and_the_silent_are_named)
{
    struct router_told told;

    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, first, 'a');
    router_stage_pass(&stage, 5100000);
    told = stage.told[0];
    expect_told(STATUS_UNAVAILABLE, 0, 0);
    cr_assert_not_null(strstr(told.message, second == 1   ? "node-1"
                                            : second == 2 ? "node-2"
                                                          : "node-3"),
                       "%s", told.message);
    cr_assert_not_null(strstr(told.message, third == 1   ? "node-1"
                                            : third == 2 ? "node-2"
                                                         : "node-3"),
                       "%s", told.message);
    cr_assert_eq(router_stage_counter(&stage, "deadlines_total"), 1);
    cr_assert_eq(router_stage_counter(&stage, "keys_undecided_total"), KEYS);
    cr_assert_gt(router_stage_counter(&stage, "retries_total"), 0);
    cr_assert_geq(router_stage_counter(&stage, "suspects_total"), 2);
    router_stage_fini(&stage);
}

/* One "present" is enough when nobody else answers, long before the deadline. */
Test(router_checks, one_present_is_enough_when_nobody_else_will_answer)
{
    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, first, 'p');
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, 1000000);
    expect_told(STATUS_OK, ALL, 0);
    router_stage_fini(&stage);
}

/* And soon: a cache can't wait for the deadline. */
Test(router_checks, a_filter_that_fails_open_says_maybe)
{
    open_and_check(WHEN_UNAVAILABLE_MAYBE);
    router_stage_vote(&stage, first, 'a');
    router_stage_pass(&stage, 10 * ROUTER_STAGE_HEDGE_US);
    expect_told(STATUS_OK, ALL, ALL);
    cr_assert_eq(router_stage_counter(&stage, "keys_maybe_total"), KEYS);
    router_stage_fini(&stage);
}

/* Votes that do not count: of a JOINING replica, another incarnation, epoch or hash. */
Test(router_checks, void_votes_never_make_absent)
{
    const char *letters = "jieh";

    for (const char *letter = letters; *letter != '\0'; letter++) {
        open_and_check(WHEN_UNAVAILABLE_ERROR);
        router_stage_vote(&stage, first, *letter);
        router_stage_vote(&stage, second, 'a');
        cr_assert_eq(stage.ntold, 0, "'%c' counted", *letter);
        cr_assert_eq(router_stage_counter(&stage, "votes_void_total"), 1);
        router_stage_vote(&stage, third, *letter);
        router_stage_pass(&stage, 5100000);
        expect_told(STATUS_UNAVAILABLE, 0, 0);
        router_stage_fini(&stage);
    }
}

Test(router_checks, a_node_that_is_not_ready_is_replaced_by_another_at_once)
{
    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, first, 'R');
    router_stage_vote(&stage, second, 'a');
    cr_assert_not_null(router_stage_asked(&stage, third));
    router_stage_vote(&stage, third, 'a');
    expect_told(STATUS_OK, 0, ALL);
    cr_assert_eq(router_stage_counter(&stage, "not_ready_total"), 1);
    router_stage_fini(&stage);
}

Test(router_checks, an_overloaded_node_is_asked_again)
{
    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, first, 'O');
    router_stage_vote(&stage, second, 'O');
    router_stage_vote(&stage, third, 'O');
    router_stage_pass(&stage, 2 * ROUTER_STAGE_RETRY_US);
    router_stage_vote(&stage, first, 'a');
    router_stage_vote(&stage, second, 'a');
    expect_told(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

/* A node that does not answer is asked last by the operations that follow. */
Test(router_checks, a_silent_node_is_asked_last)
{
    open_and_check(WHEN_UNAVAILABLE_ERROR);
    router_stage_vote(&stage, first, 'a');
    router_stage_pass(&stage, ROUTER_STAGE_HEDGE_US + 10000);
    router_stage_vote(&stage, third, 'a');
    router_stage_pass(&stage, 1000000);
    stage.ntold = 0;
    for (uint64_t sequence = 2; sequence < 8; sequence++) {
        struct client_request request = router_stage_request(OPERATION_CHECK, sequence, KEYS);

        stage.nasked = 0;
        router_stage_send(&stage, CLIENT, &request);
        cr_assert_null(router_stage_asked(&stage, second), "the silent one");
        router_stage_vote(&stage, first, 'a');
        router_stage_vote(&stage, third, 'a');
        (void)router_stage_told(&stage);
    }
    router_stage_fini(&stage);
}

/* The slots that a client names are the only ones asked. */
Test(router_checks, only_the_slots_named_are_asked)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 1, KEYS);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    request.slots = 1 << 1;
    router_stage_send(&stage, CLIENT, &request);
    cr_assert_eq(router_stage_open(&stage), 1);
    cr_assert_not_null(router_stage_asked(&stage, 2));
    router_stage_vote(&stage, 2, 'p');
    expect_told(STATUS_OK, ALL, 0);
    router_stage_fini(&stage);
}

/* A client that pinned a filter is not served by another one of the same name. */
Test(router_checks, a_pinned_filter_is_that_filter_or_none)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 1, KEYS);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    request.filter_id = ROUTER_STAGE_FILTER + 1;
    router_stage_send(&stage, CLIENT, &request);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_NOT_FOUND);
    cr_assert_eq(router_stage_open(&stage), 0);
    request.filter_id = ROUTER_STAGE_FILTER;
    router_stage_send(&stage, CLIENT, &request);
    cr_assert_eq(router_stage_open(&stage), 2);
    router_stage_fini(&stage);
}

/* A request may name the replicas to ask; too few of them can never say "absent", and it says so.
 */
Test(router_checks, a_request_that_lets_too_few_replicas_be_asked_is_told_why)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 1, KEYS);
    struct router_told told;

    request.slots = 1;
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    router_stage_send(&stage, CLIENT, &request);
    router_stage_vote(&stage, stage.asked[0].node, 'a');
    router_stage_pass(&stage, 5100000);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(told.message, "too few"), "%s", told.message);
    router_stage_fini(&stage);
}
