/* What a router knows of users, whether it has heard of any, and what it tells of their tokens. */
#include "proto/signed_document.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SECOND = 1000000 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

static void start(void)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
}

/* The next question for news goes out. */
static void ask(void)
{
    size_t nsyncs = stage.nsyncs;

    router_stage_pass(&stage, SECOND + 1);
    cr_assert_gt(stage.nsyncs, nsyncs);
}

/* A record of one user, signed with that key. */
static void tell(uint64_t revision, const struct cluster_key *key)
{
    struct user user = {.id = 1, .name = "crawler", .role = USER_CLIENT};
    const struct user_list users = {.revision = revision, .last_id = 1, .users = &user, .count = 1};
    struct frame frame = {.kind = FRAME_SYNC_REPLY, .correlation = stage.sync};
    struct buffer bytes;
    struct span item;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_users_sign(&users, key, &bytes), STATUS_OK);
    item = buffer_span(&bytes);
    frame.body.sync_reply = (struct sync_reply){
        .message = "", .change = 90, .documents = &item, .ndocuments = 1};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
    buffer_fini(&bytes);
}

Test(router_users, it_has_heard_once_it_was_answered)
{
    start(); /* with an answer */
    cr_assert(router_heard_of_users(stage.router));
    cr_assert_eq(router_users(stage.router)->revision, 0);
    ask();
    tell(7, sample_key());
    cr_assert(router_heard_of_users(stage.router));
    cr_assert_eq(router_users(stage.router)->revision, 7);
    cr_assert_not_null(user_list_find(router_users(stage.router), "crawler"));
    router_stage_fini(&stage);
}

/* It may be of somebody who is to be kept out. */
Test(router_users, a_record_that_it_can_not_verify_is_no_news)
{
    const uint8_t master[SEAL_KEY_BYTES] = {9};
    struct cluster_key other;

    cluster_key_derive(master, &other);
    start();
    ask();
    tell(7, &other);
    cr_assert_not(router_heard_of_users(stage.router));
    cr_assert_eq(router_users(stage.router)->revision, 0);
    ask();
    tell(7, sample_key());
    cr_assert(router_heard_of_users(stage.router));
    router_stage_fini(&stage);
}

static void note(uint32_t user, uint32_t credential, uint64_t at_ms)
{
    const struct user_use use = {.user = user, .credential = credential, .at_ms = at_ms};

    router_note_use(stage.router, &use);
}

Test(router_users, uses_are_told_once_with_their_newest_times)
{
    start();
    note(1, 1, 100);
    note(1, 2, 100);
    note(1, 1, 200);
    ask();
    cr_assert_eq(stage.nuses, 2);
    cr_assert(stage.uses[0].user == 1 && stage.uses[0].credential == 1);
    cr_assert_eq(stage.uses[0].at_ms, 200);
    cr_assert_eq(stage.uses[1].credential, 2);
    note(3, 1, 300); /* while that is under way */
    router_stage_sync(&stage, stage.sync, false);
    ask();
    cr_assert_eq(stage.nuses, 1);
    cr_assert_eq(stage.uses[0].user, 3);
    router_stage_sync(&stage, stage.sync, false);
    ask();
    cr_assert_eq(stage.nuses, 0);
    router_stage_fini(&stage);
}

Test(router_users, uses_that_nobody_heard_are_told_again)
{
    start();
    note(1, 1, 100);
    ask();
    cr_assert_eq(stage.nuses, 1);
    ask(); /* The former one was given up. */
    cr_assert_eq(stage.nuses, 1);
    router_stage_fini(&stage);
}

/* What was told holds the former time. */
Test(router_users, a_use_of_what_is_being_told_is_told_next)
{
    start();
    note(1, 1, 100);
    ask();
    cr_assert_eq(stage.uses[0].at_ms, 100);
    note(1, 1, 200);
    note(1, 1, 300);
    router_stage_sync(&stage, stage.sync, false);
    ask();
    cr_assert_eq(stage.nuses, 1);
    cr_assert_eq(stage.uses[0].at_ms, 300);
    router_stage_sync(&stage, stage.sync, false);
    ask();
    cr_assert_eq(stage.nuses, 0);
    router_stage_fini(&stage);
}

/* However long no coordinator answers: each is told once, with its newest time. */
Test(router_users, uses_of_many_that_nobody_heard_take_no_more_room)
{
    start();
    for (uint64_t at_ms = 1; at_ms <= 3; at_ms++) {
        for (uint32_t user = 1; user <= CODEC_MAX_USES; user++) {
            note(user, 1, at_ms);
        }
        ask();
        cr_assert_eq(stage.nuses, CODEC_MAX_USES);
    }
    for (size_t i = 0; i < ROUTER_STAGE_USES; i++) {
        cr_assert(stage.uses[i].user == i + 1 && stage.uses[i].at_ms == 3, "%zu", i);
    }
    router_stage_fini(&stage);
}

Test(router_users, there_is_a_bound_to_them)
{
    start();
    for (uint32_t i = 1; i <= CODEC_MAX_USES + 5; i++) {
        note(i, 1, 100);
    }
    ask();
    cr_assert_eq(stage.nuses, CODEC_MAX_USES);
    router_stage_sync(&stage, stage.sync, false);
    note(1, 1, 100);
    ask();
    cr_assert_eq(stage.nuses, 1);
    router_stage_fini(&stage);
}
