/* What users may ask a router for at its binary door: what their grants give, filter by filter, and
 * nothing once they are deleted. */
#include "map/access/identity.h"
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 3, CRAWLER = 1, READER, WRITER, STRANGER, MONITOR, ADMIN, NUSERS = ADMIN };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

/* Rights to the stage's filter, but for STRANGER, who has them to others. */
static void open_stage(void)
{
    struct user_grant grants[] = {
        {USER_READ | USER_WRITE, ""}, {USER_READ, "*"}, {USER_WRITE, "*"}, {USER_ALL_RIGHTS, "x*"}};
    struct user users[NUSERS] = {
        {.id = CRAWLER, .name = "a", .role = USER_CLIENT, .grants = &grants[0], .ngrants = 1},
        {.id = READER, .name = "b", .role = USER_CLIENT, .grants = &grants[1], .ngrants = 1},
        {.id = WRITER, .name = "c", .role = USER_CLIENT, .grants = &grants[2], .ngrants = 1},
        {.id = STRANGER, .name = "d", .role = USER_CLIENT, .grants = &grants[3], .ngrants = 1},
        {.id = MONITOR, .name = "e", .role = USER_MONITOR},
        {.id = ADMIN, .name = "f", .role = USER_ADMIN},
    };
    const struct user_list list = {
        .revision = 1, .last_id = NUSERS, .users = users, .count = NUSERS};

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    (void)snprintf(grants[0].pattern, sizeof grants[0].pattern, "%s", stage.document.content.name);
    user_list_fini(&stage.router->documents.users);
    cr_assert_eq(user_list_copy(&list, &stage.router->documents.users), STATUS_OK);
}

static void send(uint32_t user, const struct frame *frame)
{
    struct peer peer = {.size = 4, .id = {9, 9, 9, 9}, .role = (uint8_t)PEER_CLIENT, .user = user};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    stage.actor.on_request(stage.actor.self, stage.now_us, &peer, buffer_span(&bytes));
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 1);
    buffer_fini(&bytes);
}

static void ask(uint32_t user, enum operation operation, const char *filter)
{
    static uint64_t sequence;
    struct frame frame = {.kind = FRAME_CLIENT_REQUEST, .correlation = 7};

    frame.body.client_request = router_stage_request(operation, ++sequence, KEYS);
    if (filter != NULL) {
        frame.body.client_request.filter = filter;
    }
    send(user, &frame);
}

/* It went on to nodes; its answer does not matter. */
static bool is_served(uint32_t user, enum operation operation)
{
    bool served;

    open_stage();
    ask(user, operation, NULL);
    served = router_stage_open(&stage) > 0;
    cr_assert(served || router_stage_told(&stage).status == STATUS_UNAUTHENTIC);
    cr_assert_eq(router_stage_counter(&stage, "not_permitted_total"), !served);
    router_stage_fini(&stage);
    return served;
}

Test(router_rights, each_right_is_asked_for_where_it_is_needed)
{
    static const struct {
        uint32_t user;
        bool reads;
        bool writes;
    } cases[] = {
        {CRAWLER, true, true},
        {READER, true, false},
        {WRITER, false, true},
        {STRANGER, false, false},
        {MONITOR, false, false},
        {ADMIN, true, true},
        {0, true, true},            /* nobody knows who that is: plain transport */
        {NUSERS + 1, false, false}, /* deleted */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(is_served(cases[i].user, OPERATION_CHECK), cases[i].reads, "%zu", i);
        cr_expect_eq(is_served(cases[i].user, OPERATION_ADD), cases[i].writes, "%zu", i);
    }
}

/* Neither of a filter that is there nor of one that is not. */
Test(router_rights, a_refusal_says_what_is_missing_and_not_whether_there_is_such_a_filter)
{
    struct router_told known;
    struct router_told unknown;

    open_stage();
    ask(STRANGER, OPERATION_ADD, NULL);
    known = router_stage_told(&stage);
    ask(STRANGER, OPERATION_ADD, "nobody");
    unknown = router_stage_told(&stage);
    cr_assert_eq(known.status, STATUS_UNAUTHENTIC);
    cr_assert_eq(unknown.status, STATUS_UNAUTHENTIC);
    cr_assert_str_eq(unknown.message, "user d has not the right w to filter nobody; an admin may "
                                      "give it: orbloom user apply");
    ask(NUSERS + 1, OPERATION_ADD, NULL);
    cr_assert_not_null(strstr(router_stage_told(&stage).message, "deleted"));
    router_stage_fini(&stage);
}

Test(router_rights, info_tells_of_what_a_user_sees)
{
    struct frame frame = {.kind = FRAME_INFO_REQUEST, .correlation = 7};

    open_stage();
    frame.body.info_request.filter = stage.document.content.name;
    send(STRANGER, &frame);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAUTHENTIC);
    send(WRITER, &frame);
    cr_assert_eq(stage.ntold, 0);
    router_stage_fini(&stage);
}

/* Of a filter that is in memory a router that lets one ask says INVALID. */
Test(router_rights, a_dump_takes_the_right_to_one)
{
    static const enum status expected[NUSERS + 2] = {
        [0] = STATUS_INVALID,
        [CRAWLER] = STATUS_UNAUTHENTIC,
        [READER] = STATUS_UNAUTHENTIC,
        [WRITER] = STATUS_UNAUTHENTIC,
        [STRANGER] = STATUS_UNAUTHENTIC,
        [MONITOR] = STATUS_UNAUTHENTIC,
        [ADMIN] = STATUS_INVALID,
        [NUSERS + 1] = STATUS_UNAUTHENTIC,
    };
    struct frame frame = {.kind = FRAME_DUMP_REQUEST, .correlation = 7};

    open_stage();
    frame.body.dump_request.filter = stage.document.content.name;
    for (uint32_t user = 0; user <= NUSERS + 1; user++) {
        send(user, &frame);
        cr_expect_eq(router_stage_told(&stage).status, expected[user], "%u", user);
    }
    router_stage_fini(&stage);
}

/* With it somebody who may write to the store could put his filter's secret in its place. */
Test(router_rights, no_secret_is_sealed_under_the_id_of_another_filter)
{
    struct frame frame = {.kind = FRAME_DUMP_REQUEST, .correlation = 7};

    open_stage();
    frame.body.dump_request = (struct dump_request){.filter = stage.document.content.name,
                                                    .seal_as = DUMP_LEAST_NAME - 1};
    send(ADMIN, &frame);
    cr_assert_not_null(strstr(router_stage_told(&stage).message, "id of another filter"));
    frame.body.dump_request.seal_as = DUMP_LEAST_NAME;
    send(ADMIN, &frame);
    cr_assert_not_null(strstr(router_stage_told(&stage).message, "key log"));
    router_stage_fini(&stage);
}

Test(router_rights, what_is_brought_back_takes_the_right_to_make_filters)
{
    struct frame frame = {.kind = FRAME_LOAD_REQUEST, .correlation = 7};

    open_stage();
    frame.body.load_request = (struct load_request){.filter = stage.document.content.name,
                                                    .chunk = span_text("no chunk")};
    send(CRAWLER, &frame);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAUTHENTIC);
    send(ADMIN, &frame);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_MALFORMED, "bad input harms nothing");
    frame.body.load_request.filter = "x-of-my-own";
    frame.body.load_request.filter_id = ROUTER_STAGE_FILTER;
    send(STRANGER, &frame);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAUTHENTIC, "keys go by the id");
    send(ADMIN, &frame);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_EXISTS, "one that serves takes none");
    router_stage_fini(&stage);
}

/* Kept until the coordinator answers, a request is judged by what is known then. */
Test(router_rights, what_was_kept_is_judged_again)
{
    open_stage();
    ask(READER, OPERATION_CHECK, "nobody");
    cr_assert_eq(stage.ntold, 0);
    stage.router->documents.users.count = 0; /* as if another record had come */
    router_stage_pass(&stage, 1000);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAUTHENTIC);
    stage.router->documents.users.count = NUSERS;
    router_stage_fini(&stage);
}

/* A key that is nobody's as far as is known. */
static bool lets_in(struct peer *peer)
{
    static const uint8_t key[CURVE_KEY_BYTES] = {7};

    return router_identify(stage.router, key, peer);
}

/* That nobody has it is not known before a coordinator has told who there is. Until then the gate
 * answers instead, for it to try again: what came past it would get nothing. */
Test(router_rights, a_router_that_has_just_started_keeps_nobody_out_for_good)
{
    struct peer peer = {.size = 4};

    open_stage();
    stage.router->synced = false;
    cr_assert(lets_in(&peer));
    cr_assert_eq(peer.role, PEER_CLIENT);
    cr_assert_eq(peer.user, PEER_PENDING);
    ask(peer.user, OPERATION_CHECK, NULL);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAUTHENTIC);
    cr_assert_eq(router_stage_open(&stage), 0);
    stage.router->synced = true;
    cr_assert_not(lets_in(&peer));
    router_stage_fini(&stage);
}
