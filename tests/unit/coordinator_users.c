/* The record of users at a coordinator: one compare-and-swap a change, which may be asked for
 * again, and is refused where another record was seen; who is told of it, when credentials were
 * used, and how much users may have. */
#include "coordinator_users.h"

#include "map/feature.h"

TestSuite(coordinator_users, .init = setup, .fini = teardown);

Test(coordinator_users, are_made_changed_and_deleted)
{
    struct user user;
    uint32_t id;

    cr_assert_eq(users()->revision, 0);
    make("crawler", TOKEN_A);
    make("app", TOKEN_A);
    cr_assert_eq(users()->count, 2);
    cr_assert_str_eq(users()->users[0].name, "app", "in order");
    cr_assert(has_token("crawler", TOKEN_A) && !has_token("crawler", TOKEN_B));
    cr_assert(user_may(user_list_find(users(), "crawler"), USER_CREATE, "crawl:x"));

    user = client("crawler");
    id = user.id = user_list_find(users(), "crawler")->id;
    user.role = USER_MONITOR;
    cr_assert_eq(put(&user).status, STATUS_OK);
    cr_assert_eq(user_list_find(users(), "crawler")->role, USER_MONITOR);
    cr_assert(has_token("crawler", TOKEN_A), "tokens stay");

    cr_assert_eq(change(&(struct user_change){.revision = 3, .deletes = &id, .ndeletes = 1}).status,
                 STATUS_OK);
    cr_assert_null(user_list_find(users(), "crawler"));
    make("crawler", TOKEN_B);
    cr_assert_gt(user_list_find(users(), "crawler")->id, id, "ids are never used again");
    cr_assert_gt(stage.nhints, 0);
}

Test(coordinator_users, what_is_so_already_is_no_change)
{
    struct user user = client("crawler");
    struct user_wish wish = token("crawler", TOKEN_A);
    const uint32_t gone = 77;
    const struct user_change again = {.revision = 0,
                                      .puts = &user,
                                      .nputs = 1,
                                      .adds = &wish,
                                      .nadds = 1,
                                      .deletes = &gone,
                                      .ndeletes = 1};
    struct coordinator_told told = change(&again);

    cr_assert_eq(told.status, STATUS_OK);
    cr_assert(told.created);
    told = change(&again);
    cr_assert_eq(told.status, STATUS_OK, "asked for again, as its answer was lost");
    cr_assert(!told.created);
    cr_assert_eq(users()->revision, 1);
    cr_assert_eq(users()->users[0].ntokens, 1);
}

/* Grants are what is there, and in their order. */
Test(coordinator_users, other_grants_are_a_change)
{
    const struct user_grant turned[] = {crawl[1], crawl[0]};
    struct user user = client("crawler");

    cr_assert(put(&user).created);
    user.id = users()->users[0].id;
    cr_assert(!put(&user).created);
    user.grants = (struct user_grant *)turned;
    cr_assert(put(&user).created);
    user.ngrants = 1;
    cr_assert(put(&user).created);
    cr_assert_eq(users()->revision, 3);
    cr_assert(!user_may(&users()->users[0], USER_CREATE, "crawl:x"));
    user.id = 0;
    cr_assert(!put(&user).created, "so it is already, whoever made it");
}

Test(coordinator_users, another_record_than_was_seen_is_not_changed)
{
    struct user user = client("other");
    struct coordinator_told told;

    make("crawler", TOKEN_A);
    told = change(&(struct user_change){.revision = 0, .puts = &user, .nputs = 1});
    cr_assert_eq(told.status, STATUS_CONFLICT);
    cr_assert(told.moved);
    cr_assert_eq(users()->revision, 1);
}

/* ---- the last admin ---- */

static uint32_t make_admin(const char *name, struct user_wish wish)
{
    struct user user = {.role = USER_ADMIN};
    struct coordinator_told told;

    (void)snprintf(user.name, sizeof user.name, "%s", name);
    wish.user = name;
    told = change(&(struct user_change){
        .revision = users()->revision, .puts = &user, .nputs = 1, .adds = &wish, .nadds = 1});
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    return user_list_find(users(), name)->id;
}

static void refused_as_last(struct user_change wish, const char *name)
{
    uint64_t revision = users()->revision;
    struct coordinator_told told;

    wish.revision = revision;
    told = change(&wish);
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert_not_null(strstr(told.message, name), "%s", told.message);
    cr_assert_not_null(strstr(told.message, "say --yes"), "%s", told.message);
    cr_assert_eq(users()->revision, revision);
}

Test(coordinator_users, the_last_admin_with_a_key_stays_unless_it_is_said)
{
    const struct user_wish key = {.token = span_text(""), .key = {1}};
    const struct user_wish other_key = {.token = span_text(""), .key = {2}};
    struct user root = {.name = "root", .role = USER_CLIENT};
    uint32_t first = make_admin("root", key);
    uint32_t second = make_admin("boss", token("", TOKEN_A)); /* It has no key. */
    const uint32_t both[] = {first, second};
    struct user_change gone = {.deletes = &first, .ndeletes = 1};
    const struct user_use which = {first, 1, 0};

    refused_as_last(gone, "user root");
    refused_as_last((struct user_change){.deletes = both, .ndeletes = 2}, "user root");
    refused_as_last((struct user_change){.removes = &which, .nremoves = 1}, "user root");
    root.id = first;
    refused_as_last((struct user_change){.puts = &root, .nputs = 1}, "user root");
    second = make_admin("third", other_key);
    gone.revision = users()->revision;
    cr_assert_eq(change(&gone).status, STATUS_OK, "there is another one");
    gone.deletes = &second;
    refused_as_last(gone, "user third");
    gone.revision = users()->revision;
    gone.without_admin = true;
    cr_assert_eq(change(&gone).status, STATUS_OK);
    cr_assert_eq(users()->count, 1);
}

/* One whose key has expired does not count, and one whose key will expire is no match for one whose
 * key lasts. A token lets nobody change users. */
Test(coordinator_users, the_last_admin_is_one_who_can_come_in)
{
    const struct user_wish lasting = {.token = span_text(""), .key = {2}};
    struct user_wish key = {.token = span_text(""), .key = {1}, .expires_ms = 5000};
    uint32_t first = make_admin("boss", token("", TOKEN_A));
    uint32_t second;
    uint32_t third;

    stage.fake.date_ms = 1000;
    second = make_admin("root", key);
    refused_as_last((struct user_change){.deletes = &second, .ndeletes = 1}, "user root");
    third = make_admin("third", lasting);
    refused_as_last((struct user_change){.deletes = &third, .ndeletes = 1}, "user third");
    stage.fake.date_ms = 5000;
    cr_assert_eq(change(&(struct user_change){
                            .revision = users()->revision, .deletes = &second, .ndeletes = 1})
                     .status,
                 STATUS_OK);
    refused_as_last((struct user_change){.deletes = &third, .ndeletes = 1}, "user third");
    cr_assert_eq(change(&(struct user_change){
                            .revision = users()->revision, .deletes = &first, .ndeletes = 1})
                     .status,
                 STATUS_OK);
}

/* It can't become what was seen: one look is enough. */
static size_t attempts;
static enum status moved(struct coordinator *self, uint64_t now_us, void *context)
{
    (void)now_us;
    (void)context;
    attempts++;
    self->order.moved = attempts > 1;
    return STATUS_CONFLICT;
}

Test(coordinator_users, what_has_moved_is_not_attempted_again)
{
    cr_assert_eq(records_change(stage.coordinator, stage.now_us, moved, NULL), STATUS_CONFLICT);
    cr_assert_eq(attempts, 2);
    stage.coordinator->order.moved = false;
}

Test(coordinator_users, a_dry_run_changes_nothing)
{
    struct user user = client("crawler");
    const struct admin_request request = {
        .action = ADMIN_USER_CHANGE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "",
        .successor = "",
        .dry_run = true,
        .users = {.puts = &user, .nputs = 1},
    };
    struct coordinator_told told;

    coordinator_stage_ask(&stage, 5, &request);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert(told.created, "there would be a change");
    cr_assert_eq(users()->revision, 0);
}

static void refused(const struct user_change *wish, enum status status)
{
    struct coordinator_told told = change(wish);

    cr_assert_eq(told.status, status, "%s: %s", status_code(told.status), told.message);
    cr_assert_neq(told.message[0], '\0');
}

Test(coordinator_users, what_can_not_be_is_refused_and_all_of_it_left)
{
    struct user puts[2] = {client("second"), client("not a name")};
    struct user_wish wish = token("crawler", "short");
    const uint8_t key[USER_KEY_BYTES] = {1, 2, 3};
    uint64_t revision;

    make("crawler", TOKEN_A);
    make("app", TOKEN_A);
    revision = users()->revision;
    refused(&(struct user_change){.revision = revision, .puts = puts, .nputs = 2}, STATUS_INVALID);
    refused(&(struct user_change){.revision = revision, .adds = &wish, .nadds = 1}, STATUS_INVALID);
    wish = token("nobody", TOKEN_A);
    refused(&(struct user_change){.revision = revision, .adds = &wish, .nadds = 1},
            STATUS_NOT_FOUND);
    wish = token("app", TOKEN_B);
    wish.expires_ms = 1;
    stage.coordinator->effects.date_ms = NULL;
    memcpy(wish.key, key, sizeof key);
    refused(&(struct user_change){.revision = revision, .adds = &wish, .nadds = 1}, STATUS_INVALID);
    wish.token = span_text("");
    wish.expires_ms = 0;
    cr_assert_eq(
        change(&(struct user_change){.revision = revision, .adds = &wish, .nadds = 1}).status,
        STATUS_OK);
    wish.user = "crawler";
    refused(&(struct user_change){.revision = revision + 1, .adds = &wish, .nadds = 1},
            STATUS_EXISTS);
    puts[0] = client("app");
    puts[0].create = true;
    refused(&(struct user_change){.revision = revision + 1, .puts = puts, .nputs = 1},
            STATUS_EXISTS);
    memcpy(puts[0].name, "x", 2);
    memcpy(puts[0].subject, "CN=x", 5);
    memcpy(puts[1].name, "y", 2);
    memcpy(puts[1].subject, "CN=x", 5);
    refused(&(struct user_change){.revision = revision + 1, .puts = puts, .nputs = 2},
            STATUS_INVALID);
    cr_assert_eq(users()->revision, revision + 1);
    cr_assert_eq(users()->count, 2);
}

Test(coordinator_users, tokens_and_keys_must_be_of_use_for_a_while)
{
    struct user_wish wish = token("crawler", TOKEN_B);

    make("crawler", TOKEN_A);
    stage.fake.date_ms = 5000;
    wish.expires_ms = 5000;
    refused(&(struct user_change){.revision = 1, .adds = &wish, .nadds = 1}, STATUS_INVALID);
    wish.expires_ms = 5001;
    cr_assert_eq(change(&(struct user_change){.revision = 1, .adds = &wish, .nadds = 1}).status,
                 STATUS_OK);
    cr_assert_eq(users()->users[0].tokens[1].expires_ms, 5001);
    cr_assert_eq(change(&(struct user_change){.revision = 2, .adds = &wish, .nadds = 1}).status,
                 STATUS_OK, "it is the same");
    for (int i = 0; i < 2; i++) {
        wish.expires_ms = i == 0 ? 9000 : 0;
        refused(&(struct user_change){.revision = 2, .adds = &wish, .nadds = 1}, STATUS_EXISTS);
    }
    cr_assert_eq(users()->users[0].tokens[1].expires_ms, 5001);
    cr_assert_eq(users()->users[0].ntokens, 2);
}

Test(coordinator_users, tokens_come_and_go_as_many_as_fit)
{
    char text[] = "0000000000000000";
    struct user_wish wish = token("crawler", text);
    struct user_use which;

    make("crawler", TOKEN_A);
    for (int i = 1; i < USER_MAX_TOKENS; i++) {
        text[0] = (char)('0' + i);
        cr_assert_eq(
            change(&(struct user_change){.revision = users()->revision, .adds = &wish, .nadds = 1})
                .status,
            STATUS_OK);
    }
    text[0] = 'x';
    refused(&(struct user_change){.revision = users()->revision, .adds = &wish, .nadds = 1},
            STATUS_TOO_LARGE);
    which = (struct user_use){users()->users[0].id, 1, 0};
    cr_assert_eq(change(&(struct user_change){.revision = users()->revision,
                                              .adds = &wish,
                                              .nadds = 1,
                                              .removes = &which,
                                              .nremoves = 1})
                     .status,
                 STATUS_OK);
    cr_assert(!has_token("crawler", TOKEN_A) && has_token("crawler", text));
    cr_assert_eq(users()->users[0].last_credential, USER_MAX_TOKENS + 1);
}

Test(coordinator_users, keys_too_and_the_remedy_is_one_of_keys)
{
    struct user_wish wish = {.user = "crawler", .token = span_text("")};
    struct coordinator_told told;

    make("crawler", TOKEN_A);
    for (int i = 1; i <= USER_MAX_KEYS + 1; i++) {
        wish.key[0] = (uint8_t)i;
        told = change(
            &(struct user_change){.revision = users()->revision, .adds = &wish, .nadds = 1});
        cr_assert_eq(told.status, i <= USER_MAX_KEYS ? STATUS_OK : STATUS_TOO_LARGE);
    }
    cr_assert_not_null(strstr(told.message, "`orbloom user key NAME remove ID`"), "%s",
                       told.message);
}

/* ---- when credentials were used ---- */

static uint64_t used_ms(uint32_t user, uint32_t credential)
{
    const struct users_held *held = &stage.coordinator->users;

    for (size_t i = 0; i < held->nuses; i++) {
        if (held->uses[i].user == user && held->uses[i].credential == credential) {
            return held->uses[i].at_ms;
        }
    }
    return 0;
}

Test(coordinator_users, the_latest_use_of_each_credential_is_kept)
{
    const struct user_use told[] = {{1, 1, 500}, {2, 1, 300}, {1, 1, 400}, {1, 9, 700}, {7, 1, 1}};

    make("crawler", TOKEN_A);
    make("app", TOKEN_A);
    users_note_uses(stage.coordinator, told, 5);
    cr_assert_eq(used_ms(1, 1), 500);
    cr_assert_eq(used_ms(2, 1), 300);
    cr_assert_eq(stage.coordinator->users.nuses, 2, "of what is there");
}

Test(coordinator_users, other_coordinators_hear_of_uses_by_the_store)
{
    const struct user_use first = {1, 1, 500};
    const struct user_use second = {1, 1, 900};
    struct coordinator_stage other;

    make("crawler", TOKEN_A);
    users_note_uses(stage.coordinator, &first, 1);
    coordinator_stage_turn(&stage);
    cr_assert_not_null(memory_store_find(&store, USERS_USES_KEY));
    users_note_uses(stage.coordinator, &second, 1);
    coordinator_stage_turn(&stage);
    coordinator_stage_init(&other, &store.store);
    cr_assert_eq(other.coordinator->users.nuses, 1);
    cr_assert_eq(other.coordinator->users.uses[0].at_ms, 500, "once a minute");
    coordinator_stage_fini(&other);
    coordinator_stage_pass(&stage, 61000000);
    coordinator_stage_turn(&stage);
    coordinator_stage_init(&other, &store.store);
    cr_assert_eq(other.coordinator->users.uses[0].at_ms, 900);
    coordinator_stage_fini(&other);
}

/* Ids are in another order than names. */
Test(coordinator_users, uses_of_what_is_gone_are_forgotten)
{
    const struct user_use told[] = {{1, 1, 500}, {2, 1, 300}, {3, 1, 400}, {3, 2, 600}};
    const struct user_wish second = token("b", TOKEN_B);
    const struct user_use which = {3, 1, 0};
    const uint32_t gone = 2;

    make("c", TOKEN_A);
    make("a", TOKEN_A);
    make("b", TOKEN_A);
    cr_assert_eq(change(&(struct user_change){.revision = 3, .adds = &second, .nadds = 1}).status,
                 STATUS_OK);
    users_note_uses(stage.coordinator, told, 4);
    cr_assert_eq(stage.coordinator->users.nuses, 4);
    cr_assert_eq(
        change(
            &(struct user_change){
                .revision = 4, .removes = &which, .nremoves = 1, .deletes = &gone, .ndeletes = 1})
            .status,
        STATUS_OK);
    users_forget_uses(stage.coordinator);
    cr_assert_eq(stage.coordinator->users.nuses, 2);
    cr_assert_eq(used_ms(1, 1), 500);
    cr_assert_eq(used_ms(3, 2), 600);
}

/* With it in the store's hands somebody comes in once more. */
static void use_again(void *context)
{
    const struct user_use second = {1, 1, 900};

    (void)context;
    users_note_uses(stage.coordinator, &second, 1);
}

Test(coordinator_users, a_use_heard_of_during_a_write_is_written_later)
{
    const struct user_use first = {1, 1, 500};
    struct coordinator_stage other;

    make("crawler", TOKEN_A);
    users_note_uses(stage.coordinator, &first, 1);
    store.before_swap = use_again;
    coordinator_stage_turn(&stage);
    coordinator_stage_pass(&stage, 61000000);
    coordinator_stage_turn(&stage);
    coordinator_stage_init(&other, &store.store);
    cr_assert_eq(other.coordinator->users.uses[0].at_ms, 900);
    coordinator_stage_fini(&other);
}

/* ---- a coordinator that comes later, and another key ---- */

Test(coordinator_users, are_known_to_a_coordinator_that_starts)
{
    struct coordinator_stage other;

    make("crawler", TOKEN_A);
    coordinator_stage_init(&other, &store.store);
    cr_assert_eq(other.coordinator->documents.users.revision, 1);
    cr_assert_str_eq(other.coordinator->documents.users.users[0].name, "crawler");
    coordinator_stage_fini(&other);
}

Test(coordinator_users, followers_get_the_record)
{
    const struct sync_request request = {.role = SYNC_ROUTER,
                                         .name = "r",
                                         .endpoint = "",
                                         .host = "",
                                         .zone = "",
                                         .features = features_known(),
                                         .since = stage.coordinator->change};
    struct coordinator_synced synced;

    cr_assert_eq(coordinator_stage_send(&stage, 50, &request).ndocuments, 0);
    make("crawler", TOKEN_A);
    synced = coordinator_stage_send(&stage, 50, &request);
    cr_assert_eq(synced.ndocuments, 1);
    cr_assert_eq(synced.nsecrets, 0);
}

/* Each gives its users a share of their limits. */
Test(coordinator_users, routers_hear_how_many_of_them_live)
{
    struct sync_request request = {.role = SYNC_ROUTER,
                                   .name = "r1",
                                   .endpoint = "",
                                   .host = "",
                                   .zone = "",
                                   .since = stage.coordinator->change};

    cr_assert_eq(coordinator_stage_send(&stage, 50, &request).routers, 1);
    request.name = "r2";
    cr_assert_eq(coordinator_stage_send(&stage, 51, &request).routers, 2);
    request.name = "r1";
    cr_assert_eq(coordinator_stage_send(&stage, 50, &request).routers, 2, "nodes are none");
    stage.now_us += 10000000;
    cr_assert_eq(coordinator_stage_send(&stage, 51, &request).routers, 2, "node_timeout");
    stage.now_us += 1;
    cr_assert_eq(coordinator_stage_send(&stage, 51, &request).routers, 1);
}

/* One that asks each of eight coordinators once a minute is there all the time. */
Test(coordinator_users, routers_that_ask_seldom_live_as_long_as_they_ask)
{
    enum { SELDOM_US = 480000000 };
    struct sync_request often = {.role = SYNC_ROUTER,
                                 .name = "r1",
                                 .endpoint = "",
                                 .host = "",
                                 .zone = "",
                                 .since = stage.coordinator->change};
    struct sync_request seldom = often;

    seldom.name = "r2";
    (void)coordinator_stage_send(&stage, 51, &seldom);
    for (int i = 0; i < 3; i++) {
        stage.now_us += SELDOM_US;
        cr_assert_eq(coordinator_stage_send(&stage, 50, &often).routers, i == 0 ? 1 : 2);
        (void)coordinator_stage_send(&stage, 51, &seldom);
    }
    stage.now_us += 1000;
    (void)coordinator_stage_send(&stage, 51, &seldom); /* It was hinted. */
    stage.now_us += 2 * (uint64_t)SELDOM_US;
    cr_assert_eq(coordinator_stage_send(&stage, 50, &often).routers, 2);
    stage.now_us += 1;
    cr_assert_eq(coordinator_stage_send(&stage, 50, &often).routers, 1, "it asks no more");
}

/* It would let in who is gone by now until it asks. */
Test(coordinator_users, routers_that_ask_seldom_are_hinted_of_a_change)
{
    enum { SELDOM_US = 480000000 };
    const struct sync_request seldom = {
        .role = SYNC_ROUTER, .name = "r2", .endpoint = "", .host = "", .zone = ""};
    struct user user = client("crawler");
    size_t before;

    (void)coordinator_stage_send(&stage, 51, &seldom);
    stage.now_us += SELDOM_US;
    (void)coordinator_stage_send(&stage, 51, &seldom);
    stage.now_us += SELDOM_US;
    coordinator_stage_collect(&stage);
    before = stage.nhints;
    cr_assert_eq(put(&user).status, STATUS_OK);
    coordinator_stage_collect(&stage);
    cr_assert_eq(stage.nhints - before, 1);
}

/* ---- how much they may have ---- */

static void make_limited(uint64_t filters, uint64_t bytes)
{
    struct user user = client("crawler");

    user.limits.filters = filters;
    user.limits.bytes = bytes;
    cr_assert_eq(put(&user).status, STATUS_OK);
}

static struct coordinator_told told_as(const char *user, const char *name)
{
    struct admin_request request = coordinator_stage_create();

    request.name = name;
    request = coordinator_stage_look(&stage, &request);
    request.user = user;
    coordinator_stage_ask(&stage, 5, &request);
    coordinator_stage_report(&stage, 3, stage.coordinator->documents.count, 1, REPLICA_FULL);
    return coordinator_stage_told(&stage);
}

Test(coordinator_users, make_no_more_filters_than_they_may)
{
    const struct document_entry *entry;
    struct coordinator_told told;

    make_limited(2, 0);
    cr_assert_eq(create_as("crawler", "crawl:a"), STATUS_OK);
    cr_assert_eq(create_as("crawler", "crawl:b"), STATUS_OK);
    told = told_as("crawler", "crawl:c");
    cr_assert_eq(told.status, STATUS_OVER_QUOTA);
    cr_assert_not_null(strstr(told.message, "limit `filters`"));
    cr_assert_eq(create_as("crawler", "crawl:b"), STATUS_OK, "one that is there is no more");
    cr_assert_eq(create_as("", "crawl:c"), STATUS_OK, "of nobody");
    entry = document_cache_find_name(&stage.coordinator->documents, "crawl:a");
    cr_assert_eq(entry->document.owner, users()->users[0].id);
    entry = document_cache_find_name(&stage.coordinator->documents, "crawl:c");
    cr_assert_eq(entry->document.owner, 0);
}

Test(coordinator_users, have_no_more_bytes_than_they_may)
{
    const struct filter_document *urls =
        &document_cache_find(&stage.coordinator->documents, FILTER)->document;
    uint64_t one = document_shard_bytes(urls) * document_nshards(urls);
    struct coordinator_told told;
    struct user more = client("crawler");

    make_limited(0, 2 * one);
    cr_assert_eq(create_as("crawler", "crawl:a"), STATUS_OK);
    cr_assert_eq(create_as("crawler", "crawl:b"), STATUS_OK);
    told = told_as("crawler", "crawl:c");
    cr_assert_eq(told.status, STATUS_OVER_QUOTA);
    cr_assert_not_null(strstr(told.message, "limit `bytes`"));
    more.id = users()->users[0].id;
    more.limits.bytes = 100 * one;
    cr_assert_eq(put(&more).status, STATUS_OK);
    cr_assert_eq(create_as("crawler", "crawl:c"), STATUS_OK);
}

/* What another one has made counts. */
Test(coordinator_users, make_no_more_at_two_coordinators)
{
    struct coordinator_stage other;
    struct admin_request request = coordinator_stage_create();

    make_limited(1, 0);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 3, 0, 0, REPLICA_NONE);
    cr_assert_eq(create_as("crawler", "crawl:a"), STATUS_OK);
    request.name = "crawl:b";
    request = coordinator_stage_look(&other, &request);
    request.user = "crawler";
    coordinator_stage_ask(&other, 5, &request);
    cr_assert_eq(coordinator_stage_told(&other).status, STATUS_OVER_QUOTA);
    coordinator_stage_fini(&other);
}
