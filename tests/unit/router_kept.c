/* What a router keeps of what it knows, and how another one goes on by that. */
#include "proto/signed_document.h"
#include "router/private.h"
#include "tests/support/health.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000, KEYS = 3, CRAWLER = 1 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static const uint8_t public[CURVE_KEY_BYTES] = {7};
static struct router_stage stage;
static struct buffer written; /* by keep() */
static unsigned writes;
static enum status writes_end;

static enum status keep(void *context, struct span bytes)
{
    (void)context;
    writes++;
    buffer_clear(&written);
    cr_assert_eq(buffer_append(&written, bytes), STATUS_OK);
    return writes_end;
}

static void set_up(void)
{
    buffer_init(&written, ROUTER_KEPT_MAX_BYTES);
    writes = 0;
    writes_end = STATUS_OK;
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    stage.router->keeping.write = keep;
}

static void tear_down(void)
{
    router_stage_fini(&stage);
    buffer_fini(&written);
}

TestSuite(router_kept, .init = set_up, .fini = tear_down, .timeout = 60);

/* A coordinator tells of a user with a key. */
static void tell_of_users(void)
{
    struct user_key key = {.id = 1};
    struct user user = {
        .id = CRAWLER, .name = "crawler", .role = USER_CLIENT, .keys = &key, .nkeys = 1};
    const struct user_list users = {.revision = 7, .last_id = 1, .users = &user, .count = 1};
    struct frame frame = {.kind = FRAME_SYNC_REPLY, .correlation = stage.sync};
    struct buffer bytes;
    struct span item;

    memcpy(key.key, public, sizeof key.key);
    user.last_credential = 1;
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_users_sign(&users, sample_key(), &bytes), STATUS_OK);
    item = buffer_span(&bytes);
    frame.body.sync_reply = (struct sync_reply){
        .message = "", .change = 90, .documents = &item, .ndocuments = 1};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
    buffer_fini(&bytes);
    cr_assert_eq(stage.router->documents.users.revision, 7);
}

/* Another one takes its place, and gets those bytes. */
static void start_again(struct span kept, const struct cluster_key *key)
{
    struct router_config config = stage.router->config;
    struct buffer bytes;

    config.key = *key;
    router_destroy(&stage.router);
    stage.fake.nlinks = 0; /* All are closed. */
    memset(stage.fake.closed, 0, sizeof stage.fake.closed);
    cr_assert_eq(router_create(&config, &stage.fake.effects, &stage.router), STATUS_OK);
    stage.router->keeping.write = keep;
    stage.actor = router_actor(stage.router);
    stage.nasked = stage.ntold = 0;
    buffer_init(&bytes, ROUTER_KEPT_MAX_BYTES);
    cr_assert_eq(buffer_append(&bytes, kept), STATUS_OK);
    router_set_kept(stage.router, &bytes);
    cr_assert_eq(bytes.size, 0);
    buffer_fini(&bytes);
    writes = 0;
}

static void keep_all(void)
{
    router_stage_pass(&stage, SECOND + 1);
    tell_of_users();
    router_stage_pass(&stage, 10 * SECOND);
    cr_assert_gt(writes, 0);
}

static enum peer_role who(bool *known, uint32_t *user)
{
    struct peer peer = {.size = 1};

    *known = router_identify(stage.router, public, &peer);
    *user = peer.user;
    return (enum peer_role)peer.role;
}

static void expect_user(uint32_t expected)
{
    uint32_t user;
    bool known;

    cr_assert_eq(who(&known, &user), PEER_CLIENT);
    cr_assert(known);
    cr_assert_eq(user, expected);
}

static void ask(void)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 9, KEYS);

    router_stage_send(&stage, 1, &request);
    router_stage_pass(&stage, 1);
    router_stage_pass(&stage, 1);
}

Test(router_kept, without_coordinators_what_was_known_serves)
{
    uint64_t fingerprint;

    keep_all();
    ask();
    fingerprint = stage.asked[0].fingerprint;
    start_again(buffer_span(&written), sample_key());
    router_stage_pass(&stage, ROUTER_KEPT_US - SECOND);
    expect_user(PEER_PENDING);
    cr_assert_null(router_find(stage.router, "urls"), "a coordinator may answer yet");
    router_stage_pass(&stage, 4 * SECOND);
    expect_user(CRAWLER);
    cr_assert_not(router_heard_of_users(stage.router), "there may be others by now");
    ask();
    cr_assert_gt(stage.nasked, 0);
    cr_assert_eq(stage.asked[0].fingerprint, fingerprint, "the secret is the same");
    router_stage_vote(&stage, stage.asked[0].node, 'p');
    router_stage_vote(&stage, stage.asked[1].node, 'p');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    router_stage_pass(&stage, 60 * SECOND);
    cr_assert_eq(writes, 0, "there is nothing new");
}

/* Its store is the newer one, whatever it says. */
Test(router_kept, who_hears_of_a_coordinator_needs_nothing_else)
{
    keep_all();
    start_again(buffer_span(&written), sample_key());
    router_stage_pass(&stage, SECOND);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert(router_synced(stage.router));
    router_stage_pass(&stage, 10 * SECOND);
    cr_assert_null(router_find(stage.router, "urls"));
    cr_assert_eq(stage.router->documents.users.revision, 0);
    cr_assert_eq(stage.router->kept.size, 0);
}

/* A coordinator whose store was put back, or is of another age, tells what it has, or nothing. */
static void tell_in_doubt(void)
{
    struct frame frame = {.kind = FRAME_SYNC_REPLY, .correlation = stage.sync};

    frame.body.sync_reply = (struct sync_reply){
        .status = STATUS_UNAVAILABLE, .message = "an older store", .change = 1};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
}

Test(router_kept, a_coordinator_in_doubt_takes_nothing_away)
{
    keep_all();
    start_again(buffer_span(&written), sample_key());
    router_stage_pass(&stage, SECOND);
    tell_in_doubt();
    router_stage_pass(&stage, 10 * SECOND);
    cr_assert_not_null(router_find(stage.router, "urls"));
    cr_assert_eq(stage.router->documents.users.revision, 7);
    cr_assert_eq(writes, 0, "what it tells is not kept");
    router_stage_sync(&stage, stage.sync, true);
    cr_assert_eq(stage.router->documents.users.revision, 7);
}

/* One that is too old for the cluster. */
Test(router_kept, a_router_that_is_refused_does_not_serve)
{
    struct frame frame = {.kind = FRAME_SYNC_REPLY};

    keep_all();
    start_again(buffer_span(&written), sample_key());
    router_stage_pass(&stage, SECOND);
    frame.correlation = stage.sync;
    frame.body.sync_reply = (struct sync_reply){.status = STATUS_VERSION, .message = "too old"};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
    router_stage_pass(&stage, 10 * SECOND);
    cr_assert_null(router_find(stage.router, "urls"));
}

/* What is not there may be told by a coordinator that knows its store to be current. */
Test(router_kept, a_router_without_filters_waits_for_who_does_not_doubt)
{
    struct frame frame = {.kind = FRAME_SYNC_REPLY};
    struct health health = {0};

    start_again(span_text(""), sample_key());
    router_stage_pass(&stage, SECOND);
    frame.correlation = stage.sync;
    frame.body.sync_reply = (struct sync_reply){.status = STATUS_UNAVAILABLE, .message = "starts"};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
    cr_assert(stage.router->synced && stage.router->doubtful);
    router_tell_health(stage.router, &health);
    expect_health(&health, "documents", "no coordinator has told yet");
    router_stage_sync(&stage, stage.sync, true);
    health = (struct health){0};
    router_tell_health(stage.router, &health);
    expect_health(&health, NULL, NULL);
}

/* More than go into one page. */
enum { MANY = 600, FIRST = 1000 };

static void tell_of_many(void)
{
    char *name = stage.document.content.name;
    uint64_t first = stage.document.id;

    for (uint64_t i = 0; i < MANY; i++) {
        (void)snprintf(name, DOCUMENT_NAME_BYTES, "many-%u", (unsigned)i);
        document_epoch_advance(&stage.document); /* Its bytes are encoded anew. */
        stage.document.id = FIRST + i;
        router_stage_sync(&stage, stage.sync, true);
        router_stage_pass(&stage, SECOND + 1);
    }
    stage.document.id = first;
    (void)snprintf(name, DOCUMENT_NAME_BYTES, "urls");
}

Test(router_kept, many_filters_are_kept_in_pages)
{
    keep_all();
    tell_of_many();
    cr_assert_not_null(router_find(stage.router, "many-0"));
    router_stage_pass(&stage, 20 * SECOND);
    start_again(buffer_span(&written), sample_key());
    router_stage_pass(&stage, 5 * SECOND);
    cr_assert_eq(stage.router->documents.count, 1 + MANY);
    for (unsigned i = 0; i < MANY; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "many-%u", i);
        cr_assert_not_null(router_find(stage.router, name), "%s", name);
    }
}

/* What was kept is as good as what comes by the network: newer documents take its place. */
Test(router_kept, a_coordinator_that_is_late_is_heard_all_the_same)
{
    keep_all();
    start_again(buffer_span(&written), sample_key());
    router_stage_pass(&stage, 5 * SECOND);
    cr_assert_not_null(router_find(stage.router, "urls"));
    stage.document.revision++;
    router_stage_sync(&stage, stage.sync, true);
    cr_assert(router_synced(stage.router));
    cr_assert_eq(router_find(stage.router, "urls")->document.revision, stage.document.revision);
    router_stage_pass(&stage, 10 * SECOND);
    cr_assert_gt(writes, 0, "that is kept");
}

/* ... also where the next question is far away. */
Test(router_kept, a_coordinator_that_is_silent_is_not_waited_for)
{
    keep_all();
    stage.router->config.sync_interval_us = 60 * SECOND;
    start_again(buffer_span(&written), sample_key());
    router_stage_pass(&stage, ROUTER_KEPT_US + SECOND);
    cr_assert_not_null(router_find(stage.router, "urls"));
}

Test(router_kept, of_a_damaged_file_what_is_well_is_taken)
{
    static uint8_t copy[1 << 16];
    size_t size;

    keep_all();
    size = written.size;
    cr_assert_leq(size, sizeof copy);
    for (size_t i = 0; i < size; i += 3) {
        memcpy(copy, written.data, size);
        copy[i] ^= 0x10;
        start_again(span_of(copy, size), sample_key());
        router_stage_pass(&stage, 5 * SECOND);
        cr_assert_leq(stage.router->documents.count, 1);
        cr_assert(stage.router->documents.users.revision == 0 ||
                  stage.router->documents.users.revision == 7);
        start_again(span_of(written.data, i), sample_key());
        router_stage_pass(&stage, 5 * SECOND);
        cr_assert_null(router_find(stage.router, "urls"), "%zu of %zu bytes", i, size);
    }
}

Test(router_kept, what_another_key_has_signed_is_not_believed)
{
    const uint8_t master[SEAL_KEY_BYTES] = {99};
    struct cluster_key other;

    keep_all();
    cluster_key_derive(master, &other);
    start_again(buffer_span(&written), &other);
    router_stage_pass(&stage, 5 * SECOND);
    cr_assert_eq(stage.router->documents.count, 0);
    cr_assert_eq(stage.router->documents.users.revision, 0);
    cr_assert_gt(router_stage_counter(&stage, "documents_refused_total"), 0);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert(router_heard_of_users(stage.router), "that there are none");
}

Test(router_kept, it_is_written_once_a_while_and_again_if_that_failed)
{
    router_stage_pass(&stage, SECOND + 1);
    cr_assert_eq(writes, 1);
    router_stage_pass(&stage, 60 * SECOND);
    cr_assert_eq(writes, 1, "nothing has changed");
    writes_end = STATUS_IO;
    stage.document.revision++;
    router_stage_sync(&stage, stage.sync, true);
    router_stage_pass(&stage, 2 * SECOND);
    cr_assert_eq(writes, 2);
    router_stage_pass(&stage, 2 * SECOND);
    cr_assert_eq(writes, 2, "not at once");
    writes_end = STATUS_OK;
    router_stage_pass(&stage, 10 * SECOND);
    cr_assert_eq(writes, 3);
    router_stage_pass(&stage, 60 * SECOND);
    cr_assert_eq(writes, 3);
}

/* It may know less than what is kept. */
Test(router_kept, who_has_heard_of_nobody_writes_nothing)
{
    keep_all();
    start_again(buffer_span(&written), sample_key());
    router_stage_pass(&stage, 60 * SECOND);
    cr_assert_not_null(router_find(stage.router, "urls"));
    cr_assert_eq(writes, 0);
}

/* By another key of the ring: the former one may be gone when this is read. */
Test(router_kept, a_secret_that_was_sealed_anew_is_kept_like_that)
{
    const uint8_t master[SEAL_KEY_BYTES] = {99};
    const struct routed_filter *routed = router_find(stage.router, "urls")->attachment;
    const struct hash_secret secret = routed->secret;
    const uint8_t nonce[SEAL_NONCE_BYTES] = {3};
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct sealed_secret again = {.filter_id = stage.document.id,
                                  .sealed = span_of(sealed, sizeof sealed)};
    struct cluster_key ring = *sample_key();
    struct cluster_key next;
    uint32_t at;

    cr_assert_eq(cluster_key_add(&ring, master, &at), STATUS_OK);
    cluster_key_derive(master, &next);
    router_rekey(stage.router, &ring);
    seal_secret(&next, stage.document.id, &secret, nonce, sealed);
    router_stage_pass(&stage, SECOND + 1);
    writes = 0;
    router_take_secret(stage.router, stage.now_us, &again);
    router_stage_pass(&stage, 20 * SECOND);
    cr_assert_eq(writes, 1);
    cr_assert_eq(memcmp(routed->sealed, sealed, sizeof sealed), 0);
    cr_assert_eq(memcmp(&routed->secret, &secret, sizeof secret), 0);
    router_take_secret(stage.router, stage.now_us, &again);
    router_stage_pass(&stage, 20 * SECOND);
    cr_assert_eq(writes, 1, "it is known");
}
