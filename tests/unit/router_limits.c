/* Limits of users at a router, and their turns: keys a second, of which each router allows its
 * share, bytes under way, and whose request is served next. */
#include "router/private.h"
#include "tests/support/router_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum {
    KEYS = 50,
    STEP_US = 20000,
    FLOOD = 1,
    CALM,
    FREE,
    NUSERS = FREE,
    RATE = 1000,
    SECOND_US = 1000000,
    LARGE_BYTES = 1000,
    TIMEOUT_US = 5000000, /* router_stage_request()'s */
    IN_FLIGHT = 2 * KEYS * 50,
};

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;
static struct user users[NUSERS];
/* What is asked for. */
static const char *filter;
static enum operation operation;
static bool at_the_resp_door; /* in the same process: without a routing id */
static uint64_t correlation;

static void learn(uint64_t revision)
{
    const struct user_list list = {
        .revision = revision, .last_id = NUSERS, .users = users, .count = NUSERS};

    user_list_fini(&stage.router->documents.users);
    cr_assert_eq(user_list_copy(&list, &stage.router->documents.users), STATUS_OK);
}

static void set_up(void)
{
    static const char *const names[] = {"flood", "calm", "free"};

    filter = "urls";
    operation = OPERATION_CHECK;
    at_the_resp_door = false;
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    for (uint32_t i = 0; i < NUSERS; i++) {
        users[i] = (struct user){.id = i + 1, .role = USER_ADMIN};
        (void)snprintf(users[i].name, sizeof users[i].name, "%s", names[i]);
    }
    learn(1);
}

static void tear_down(void)
{
    router_stage_fini(&stage);
}

TestSuite(router_limits, .init = set_up, .fini = tear_down, .timeout = 60);

/* `user` asks; peers of users are told apart by their ids. */
static void come(uint32_t user, uint64_t number, size_t count, size_t key_bytes)
{
    static uint8_t keys[KEYS * LARGE_BYTES];
    static uint32_t lengths[KEYS];
    const struct peer peer = {.size = 4, .id = {(uint8_t)user, 9, 9, 9}, .user = user};
    struct frame frame = {.kind = FRAME_CLIENT_REQUEST, .correlation = number};
    const struct peer inside = {.user = user};
    struct buffer bytes;

    for (size_t i = 0; i < count; i++) {
        lengths[i] = (uint32_t)key_bytes;
    }
    frame.body.client_request = router_stage_request(OPERATION_CHECK, number, count);
    frame.body.client_request.operation = operation;
    frame.body.client_request.filter = filter;
    frame.body.client_request.keys = span_of(keys, count * key_bytes);
    frame.body.client_request.lengths = lengths;
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    stage.actor.on_request(stage.actor.self, stage.now_us, at_the_resp_door ? &inside : &peer,
                           buffer_span(&bytes));
    buffer_fini(&bytes);
}

static void turn(void)
{
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 1);
}

/* The answer; of those that are still under way there is none. */
static enum status ask(uint32_t user, size_t count)
{
    come(user, ++correlation, count, 1);
    turn();
    if (stage.ntold == 0) {
        return STATUS_OK;
    }
    cr_assert_eq(stage.told[0].correlation, correlation);
    return router_stage_told(&stage).status;
}

static void expect_all_answered(void)
{
    for (uint32_t node = 1; node <= 3; node++) {
        while (router_stage_asked(&stage, node) != NULL) {
            router_stage_vote(&stage, node, 'p');
        }
    }
    stage.ntold = stage.nasked = 0;
}

/* ---- keys a second ---- */

static void limit_rate(uint64_t keys_per_s, uint32_t routers)
{
    users[FLOOD - 1].limits.keys_per_s = keys_per_s;
    learn(stage.router->documents.users.revision + 1);
    stage.router->routers = routers;
}

/* Keys that are served in so many seconds to one who asks each 20 ms. */
static uint64_t flood(uint32_t user, uint64_t seconds)
{
    uint64_t end_us = stage.now_us + seconds * SECOND_US;
    uint64_t served = 0;

    while (stage.now_us < end_us) {
        if (ask(user, KEYS) == STATUS_OK) {
            served += KEYS;
        }
        expect_all_answered();
        router_stage_pass(&stage, STEP_US);
    }
    return served;
}

Test(router_limits, a_flood_is_held_to_its_limit_and_others_are_not)
{
    limit_rate(RATE, 1);
    cr_assert_leq(flood(FLOOD, 3), 3 * RATE * 11 / 10);
    cr_assert_geq(flood(FLOOD, 3), 3 * RATE * 9 / 10);
    cr_assert_gt(router_stage_counter(&stage, "user_rate_total"), 0);
    cr_assert_geq(flood(CALM, 1), 2 * RATE, "it has no limit");
}

Test(router_limits, each_router_allows_its_share)
{
    uint64_t served;

    limit_rate(RATE, 4);
    (void)flood(FLOOD, 1);
    served = flood(FLOOD, 4);
    cr_assert_leq(served, RATE * 11 / 10, "%zu", (size_t)served);
    cr_assert_geq(served, RATE * 9 / 10, "%zu", (size_t)served);
}

Test(router_limits, how_many_routers_there_are_is_heard_of_coordinators)
{
    const struct sync_reply reply = {.status = STATUS_OK, .message = "", .routers = 3};

    cr_assert_eq(stage.router->routers, 0);
    (void)sync_on_reply(stage.router, stage.now_us, stage.sync, &reply);
    cr_assert_eq(stage.router->routers, 3);
    (void)sync_on_reply(stage.router, stage.now_us, stage.sync,
                        &(const struct sync_reply){.status = STATUS_OK, .message = ""});
    cr_assert_eq(stage.router->routers, 3, "one that does not tell changes nothing");
}

Test(router_limits, a_refusal_says_when_to_come_again)
{
    struct router_told told;

    limit_rate(RATE, 2);
    for (int i = 0; i < RATE && stage.ntold == 0; i++) {
        come(FLOOD, 1, KEYS, 1);
        turn();
    }
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told.message,
                              "user flood asks for more than its keys_per_s (1000, of "
                              "which 500 at this router); retry in "),
                       "%s", told.message);
    cr_assert_not_null(strstr(told.message, " ms"), "%s", told.message);
}

static uint64_t under_way(uint32_t user)
{
    const struct usage *usage = usages_find(&stage.router->usages, user);

    return usage != NULL ? usage->in_flight : 0;
}

/* What is refused has cost nothing. A key a second: nothing passes where one was counted. */
static void expect_uncounted(enum status refusal, size_t key_bytes)
{
    come(FLOOD, ++correlation, KEYS, key_bytes);
    turn();
    cr_assert_eq(router_stage_told(&stage).status, refusal);
    cr_assert_eq(under_way(FLOOD), 0);
    filter = "urls";
    operation = OPERATION_CHECK;
    cr_assert_eq(ask(FLOOD, 1), STATUS_OK);
    cr_assert_eq(ask(FLOOD, 1), STATUS_OVERLOADED, "it is not without a limit");
    expect_all_answered();
}

Test(router_limits, a_request_that_is_wrong_counts_no_keys)
{
    limit_rate(1, 1);
    expect_uncounted(STATUS_INVALID, 0);
}

Test(router_limits, an_add_that_names_no_filter_counts_no_keys)
{
    limit_rate(1, 1);
    operation = OPERATION_ADD;
    expect_uncounted(STATUS_STALE, 1);
}

Test(router_limits, who_may_not_ask_counts_no_keys)
{
    limit_rate(1, 1);
    users[FLOOD - 1].role = USER_CLIENT;
    learn(3);
    come(FLOOD, 1, KEYS, 1);
    turn();
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAUTHENTIC);
    users[FLOOD - 1].role = USER_ADMIN;
    learn(4);
    cr_assert_eq(ask(FLOOD, 1), STATUS_OK);
    cr_assert_eq(ask(FLOOD, 1), STATUS_OVERLOADED);
}

Test(router_limits, no_room_for_it_counts_no_keys)
{
    limit_rate(1, 1);
    stage.router->config.max_inflight_bytes = KEYS * LARGE_BYTES;
    expect_uncounted(STATUS_OVERLOADED, LARGE_BYTES);
}

Test(router_limits, what_waits_for_the_store_is_counted_once_it_begins)
{
    limit_rate(1, 1);
    filter = "unknown";
    come(FLOOD, 1, KEYS, 1);
    turn();
    router_stage_pass(&stage, 10000);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_NOT_FOUND);
    filter = "urls";
    cr_assert_eq(ask(FLOOD, 1), STATUS_OK);
    cr_assert_eq(ask(FLOOD, 1), STATUS_OVERLOADED);
}

/* All places for operations are taken. */
Test(router_limits, where_no_place_is_free_nothing_is_counted)
{
    struct router *router = stage.router;
    uint32_t nops = router->nops;
    uint32_t nfree = router->nfree;

    limit_rate(1, 1);
    users[FLOOD - 1].limits.in_flight = IN_FLIGHT;
    learn(3);
    router->nops = ROUTER_MAX_OPS;
    router->nfree = 0;
    come(FLOOD, ++correlation, KEYS, 1);
    turn();
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OVERLOADED);
    cr_assert_eq(under_way(FLOOD), 0);
    cr_assert_eq(router_stage_counter(&stage, "overloaded_total"), 1);
    router->nops = nops;
    router->nfree = nfree;
    cr_assert_eq(ask(FLOOD, 1), STATUS_OK);
    cr_assert_eq(ask(FLOOD, 1), STATUS_OVERLOADED);
}

/* ---- bytes under way ---- */

Test(router_limits, bytes_under_way_are_bounded_and_come_back)
{
    unsigned count = 0;

    users[FLOOD - 1].limits.in_flight = IN_FLIGHT;
    learn(2);
    while (ask(FLOOD, KEYS) == STATUS_OK) {
        count++;
    }
    cr_assert_eq(count, 2);
    cr_assert_eq(router_stage_counter(&stage, "user_in_flight_total"), 1);
    cr_assert_eq(ask(CALM, KEYS), STATUS_OK);
    expect_all_answered();
    cr_assert_eq(usages_find(&stage.router->usages, FLOOD)->in_flight, 0);
    cr_assert_eq(ask(FLOOD, KEYS), STATUS_OK);
    expect_all_answered();
}

/* Also whoever has no limit leaves as much as it takes. */
Test(router_limits, what_is_under_way_of_one_leaves_room_for_others)
{
    struct router_told told;
    unsigned count = 0;

    while (stage.ntold == 0 && count < 2 * ROUTER_STAGE_MAX_INFLIGHT / LARGE_BYTES / KEYS) {
        come(FLOOD, ++correlation, KEYS, LARGE_BYTES);
        turn();
        turn();
        count++;
    }
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told.message, "as much of the router's max_inflight as is free"),
                       "%s", told.message);
    cr_assert_geq(stage.router->inflight_bytes, ROUTER_STAGE_MAX_INFLIGHT * 4 / 10);
    cr_assert_leq(stage.router->inflight_bytes, ROUTER_STAGE_MAX_INFLIGHT / 2);
    cr_assert_eq(ask(CALM, KEYS), STATUS_OK);
    cr_assert_eq(ask(CALM, KEYS), STATUS_OK);
    expect_all_answered();
    cr_assert_eq(stage.router->inflight_bytes, 0);
    cr_assert_eq(ask(FLOOD, KEYS), STATUS_OK);
}

/* Filters of the messages to nodes, as users, in the order of their sending. */
static size_t place_of(uint32_t user)
{
    for (size_t i = 0; i < stage.nasked; i++) {
        for (size_t k = 0; k < stage.asked[i].nsubrequests; k++) {
            if (stage.asked[i].subrequests[k].user == user) {
                return i;
            }
        }
    }
    return SIZE_MAX;
}

/* All that may be under way to the nodes is a flood's: who asks for little is asked for at once,
 * and the flood gets no more than its share from then on. */
static void expect_room_beside_a_flood(uint32_t flood)
{
    uint64_t refused;

    stage.nasked = 0;
    for (uint32_t node = 1; node <= 3; node++) {
        backend_of(stage.router, node)->flight = flight_begin(16 << 10);
    }
    while (router_stage_counter(&stage, "backend_overloaded_total") < 6) {
        come(flood, ++correlation, KEYS, 1);
        turn();
        cr_assert_eq(stage.ntold, 0);
    }
    refused = router_stage_counter(&stage, "backend_overloaded_total");
    cr_assert_eq(place_of(CALM), SIZE_MAX);
    come(CALM, ++correlation, KEYS, 1);
    turn();
    cr_assert_neq(place_of(CALM), SIZE_MAX);
    cr_assert_eq(router_stage_counter(&stage, "backend_overloaded_total"), refused);
    come(flood, ++correlation, KEYS, 1);
    turn();
    cr_assert_gt(router_stage_counter(&stage, "backend_overloaded_total"), refused);
}

Test(router_limits, a_flood_at_the_nodes_leaves_room_for_others)
{
    expect_room_beside_a_flood(FLOOD);
}

Test(router_limits, a_flood_of_nobody_leaves_room_for_users)
{
    at_the_resp_door = true;
    expect_room_beside_a_flood(0);
}

/* ---- users of the RESP door, who have had their turn there ---- */

Test(router_limits, users_of_the_resp_door_have_limits)
{
    at_the_resp_door = true;
    users[FLOOD - 1].limits = (struct user_limits){.keys_per_s = 1, .in_flight = IN_FLIGHT};
    learn(2);
    come(FLOOD, ++correlation, KEYS, 1);
    cr_assert_eq(stage.router->nused, 1, "it waits for no turn");
    cr_assert_gt(under_way(FLOOD), 0);
    cr_assert_eq(ask(FLOOD, 1), STATUS_OVERLOADED);
    cr_assert_eq(router_stage_counter(&stage, "user_rate_total"), 1);
    cr_assert_eq(ask(CALM, KEYS), STATUS_OK);
    expect_all_answered();
    cr_assert_eq(under_way(FLOOD), 0);
    limit_rate(0, 1);
    cr_assert_eq(ask(FLOOD, KEYS), STATUS_OK);
    cr_assert_eq(ask(FLOOD, KEYS), STATUS_OK);
    cr_assert_eq(ask(FLOOD, KEYS), STATUS_OVERLOADED);
    cr_assert_eq(router_stage_counter(&stage, "user_in_flight_total"), 1);
}

/* ---- turns ---- */

Test(router_limits, who_comes_after_a_flood_is_served_in_its_first_turn)
{
    for (uint64_t i = 0; i < 10; i++) {
        come(FLOOD, i + 1, KEYS, 400);
    }
    come(CALM, 100, 1, 1);
    cr_assert_eq(stage.nasked, 0, "all wait for the turn");
    turn();
    cr_assert_neq(place_of(CALM), SIZE_MAX);
    cr_assert(stage.actor.work(stage.actor.self, stage.now_us), "the rest is to come at once");
    cr_assert(router_busy(stage.router));
    for (int i = 0; i < 10; i++) {
        turn();
    }
    cr_assert_not(stage.actor.work(stage.actor.self, stage.now_us));
    cr_assert_eq(router_stage_counter(&stage, "requests_total"), 11);
    cr_assert_eq(stage.ntold, 0, "all are under way");
}

/* A question about the filter. */
static void wonder(uint32_t user, uint64_t number)
{
    const struct peer peer = {.size = 4, .id = {(uint8_t)user, 9, 9, 9}, .user = user};
    const struct frame frame = {.kind = FRAME_INFO_REQUEST,
                                .correlation = number,
                                .body.info_request = {.filter = "urls", .timeout_ms = 1000}};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    stage.actor.on_request(stage.actor.self, stage.now_us, &peer, buffer_span(&bytes));
    buffer_fini(&bytes);
}

/* So many answers to nodes' questions about the filter are awaited. */
static size_t questions(void)
{
    size_t count = 0;

    for (size_t i = 0; i < ROUTER_MAX_INFOS; i++) {
        count += stage.router->infos[i].used;
    }
    return count;
}

Test(router_limits, questions_have_turns_too)
{
    for (uint64_t i = 0; i < 10; i++) {
        come(FLOOD, i + 1, KEYS, 400);
    }
    wonder(FLOOD, 50);
    wonder(CALM, 51);
    cr_assert_eq(questions(), 0, "all wait for the turn");
    turn();
    cr_assert_eq(questions(), 1);
    cr_assert_eq(stage.router->infos[0].client.user, CALM);
    for (int i = 0; i < 10; i++) {
        turn();
    }
    cr_assert_eq(questions(), 2, "in the order of a user's requests");
}

Test(router_limits, without_users_no_question_waits)
{
    user_list_fini(&stage.router->documents.users);
    wonder(0, 1);
    cr_assert_eq(questions(), 1);
}

Test(router_limits, what_has_waited_for_its_turn_has_the_rest_of_its_time)
{
    struct router_told told;

    come(FLOOD, 1, 1, 1);
    stage.now_us += TIMEOUT_US * 3 / 4;
    turn();
    cr_assert_neq(place_of(FLOOD), SIZE_MAX);
    router_stage_pass(&stage, TIMEOUT_US / 8);
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, TIMEOUT_US / 4);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE, "no node has answered");
    cr_assert_eq(stage.router->nused, 0);
}

Test(router_limits, what_has_waited_for_too_long_is_not_begun)
{
    struct router_told told;

    come(FLOOD, 1, 1, 1);
    stage.now_us += TIMEOUT_US;
    turn();
    told = router_stage_told(&stage);
    cr_assert_eq(told.correlation, 1);
    cr_assert_eq(told.status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told.message, "waited for its turn until its time-out was over"),
                       "%s", told.message);
    cr_assert_eq(stage.nasked, 0);
    cr_assert_eq(router_stage_counter(&stage, "deadlines_total"), 1);
}

/* Also what has to wait for the store then. */
Test(router_limits, turns_and_the_store_are_waited_for_in_one_time)
{
    filter = "unknown";
    come(FLOOD, 1, 1, 1);
    stage.now_us += TIMEOUT_US * 3 / 4;
    turn();
    cr_assert_eq(stage.router->nwaiting, 1);
    router_stage_pass(&stage, TIMEOUT_US / 8);
    cr_assert_eq(stage.ntold, 0);
    router_stage_pass(&stage, TIMEOUT_US / 4);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAVAILABLE);
}

Test(router_limits, a_message_to_a_node_is_one_users)
{
    come(FLOOD, 1, 1, 1);
    come(CALM, 2, 1, 1);
    come(FLOOD, 3, 1, 1);
    turn();
    cr_assert_gt(stage.nasked, 0);
    for (size_t i = 0; i < stage.nasked; i++) {
        for (size_t k = 0; k < stage.asked[i].nsubrequests; k++) {
            cr_assert_eq(stage.asked[i].subrequests[k].user, stage.asked[i].subrequests[0].user);
        }
    }
}

Test(router_limits, a_flood_leaves_room_for_others)
{
    struct router_told told;

    for (uint64_t i = 0; i < 100; i++) {
        come(FLOOD, i + 1, KEYS, LARGE_BYTES);
    }
    router_stage_pass(&stage, 1);
    cr_assert_gt(stage.ntold, 0);
    told = stage.told[0];
    cr_assert_eq(told.status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told.message, "too many requests of this user wait"), "%s",
                       told.message);
    stage.ntold = 0;
    come(CALM, 200, 1, 1);
    turn(); /* One of the flood's is more than a turn. */
    turn();
    cr_assert_neq(place_of(CALM), SIZE_MAX);
}

Test(router_limits, what_waits_is_not_answered_yet)
{
    uint64_t waiting;

    come(FLOOD, 1, KEYS, LARGE_BYTES);
    come(CALM, 2, KEYS, LARGE_BYTES);
    waiting = router_stage_counter(&stage, "inflight_bytes");
    cr_assert_geq(waiting, 2 * KEYS * LARGE_BYTES);
    turn();
    turn();
    cr_assert_geq(router_stage_counter(&stage, "inflight_bytes"), 2 * KEYS * LARGE_BYTES);
    expect_all_answered();
    cr_assert_eq(router_stage_counter(&stage, "inflight_bytes"), 0);
}

/* Who has nothing waiting is not blamed. */
Test(router_limits, what_finds_no_room_is_told_whose_fault_it_is)
{
    struct router_told told;

    stage.router->arrivals.most_bytes = KEYS * LARGE_BYTES;
    come(CALM, 1, KEYS, LARGE_BYTES);
    router_stage_pass(&stage, 1);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told.message, "max_inflight"), "%s", told.message);
    cr_assert_null(strstr(told.message, "this user"), "%s", told.message);
}

/* Without users all is served as it comes. */
Test(router_limits, without_users_nothing_waits)
{
    user_list_fini(&stage.router->documents.users);
    come(0, 1, 1, 1);
    cr_assert_not(arrivals_wait(&stage.router->arrivals));
    turn();
    cr_assert_gt(stage.nasked, 0);
}

/* ---- what is told of them ---- */

static bool tells(const char *line)
{
    struct buffer out;
    struct metrics metrics = metrics_to(&out);
    bool found;

    buffer_init(&out, 1 << 20);
    router_tell_metrics(stage.router, &metrics);
    cr_assert_eq(metrics.status, STATUS_OK);
    cr_assert_eq(buffer_append(&out, span_of("", 1)), STATUS_OK);
    found = strstr((char *)out.data, line) != NULL;
    buffer_fini(&out);
    return found;
}

/* Of users without limits nothing, and of limits that they do not have. */
Test(router_limits, use_is_told_beside_the_limit)
{
    users[FLOOD - 1].limits.keys_per_s = RATE;
    users[CALM - 1].limits.in_flight = IN_FLIGHT;
    learn(2);
    cr_expect(tells("\norbloom_user_keys_total{user=\"flood\"} 0\n"), "before it has asked");
    for (uint32_t user = 1; user <= NUSERS; user++) {
        cr_assert_eq(ask(user, KEYS), STATUS_OK);
    }
    cr_expect(tells("\norbloom_user_keys_total{user=\"flood\"} 50\n"));
    cr_expect(tells("\norbloom_user_keys_per_second_limit{user=\"flood\"} 1000\n"));
    cr_expect_not(tells("orbloom_user_keys_total{user=\"calm\"}"));
    cr_expect(tells("\norbloom_user_in_flight_bytes{user=\"calm\"} 2450\n"));
    cr_expect(tells("\norbloom_user_in_flight_bytes_limit{user=\"calm\"} 5000\n"));
    cr_expect_not(tells("user=\"free\""));
    expect_all_answered();
    cr_expect(tells("\norbloom_user_in_flight_bytes{user=\"calm\"} 0\n"));
}
