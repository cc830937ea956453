/* Who may ask a coordinator for what. */
#include "coordinator_users.h"

TestSuite(coordinator_users_rights, .init = setup, .fini = teardown);

static enum status ask(const char *user, const struct admin_request *request)
{
    struct admin_request named = *request;
    enum status status = STATUS_INTERNAL;

    named.user = user;
    coordinator_stage_ask(&stage, 5, &named);
    if (stage.ntold > 0) {
        status = coordinator_stage_told(&stage).status;
    }
    return status;
}

static struct admin_request plain(enum admin_action action, const char *name)
{
    return (struct admin_request){.action = action,
                                  .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
                                  .name = name,
                                  .successor = ""};
}

Test(coordinator_users_rights, ask_for_what_their_grants_give)
{
    struct admin_request drop = plain(ADMIN_DROP, "urls");
    struct admin_request rename = plain(ADMIN_RENAME, "crawl:a");
    struct admin_request other = plain(ADMIN_MAP_BACKUP, "");

    make("crawler", TOKEN_A);
    cr_assert_eq(create_as("crawler", "crawl:a"), STATUS_OK);
    cr_assert_eq(create_as("crawler", "elsewhere"), STATUS_UNAUTHENTIC);
    cr_assert_eq(create_as("nobody", "crawl:b"), STATUS_UNAUTHENTIC);
    drop = coordinator_stage_look(&stage, &drop);
    cr_assert_eq(ask("crawler", &drop), STATUS_UNAUTHENTIC);
    rename.rename.name = "elsewhere";
    cr_assert_eq(ask("crawler", &rename), STATUS_UNAUTHENTIC, "both names");
    cr_assert_eq(ask("crawler", &other), STATUS_UNAUTHENTIC);
    other = plain(ADMIN_USER_LIST, "");
    cr_assert_eq(ask("crawler", &other), STATUS_UNAUTHENTIC);
    cr_assert_eq(ask("", &other), STATUS_OK, "nobody's name: no restriction");
    cr_assert_eq(coordinator_stage_counter(&stage, "not_permitted_total"), 6);
    cr_assert_not_null(document_cache_find_name(&stage.coordinator->documents, "urls"));
}

static struct coordinator_told status_of(const char *user, const char *name)
{
    struct admin_request request = plain(ADMIN_STATUS, name);

    request.user = user;
    coordinator_stage_ask(&stage, 5, &request);
    return coordinator_stage_told(&stage);
}

Test(coordinator_users_rights, see_what_they_have_a_right_to)
{
    struct user narrow = client("narrow");

    make("crawler", TOKEN_A);
    narrow.ngrants = 1; /* crawl:* */
    cr_assert_eq(put(&narrow).status, STATUS_OK);
    cr_assert_eq(status_of("crawler", "").nfilters, 1);
    cr_assert_eq(status_of("narrow", "").nfilters, 0);
    cr_assert_eq(status_of("narrow", "urls").status, STATUS_NOT_FOUND);
    cr_assert_eq(status_of("crawler", "urls").status, STATUS_OK);
    cr_assert_eq(status_of("nobody", "").status, STATUS_UNAUTHENTIC);
    cr_assert_eq(status_of("", "").nfilters, 1);
}

/* It may be one that could not be read. */
Test(coordinator_users_rights, nobody_is_unknown_for_sure_while_the_store_is_silent)
{
    struct admin_request drop = plain(ADMIN_DROP, "urls");

    make("crawler", TOKEN_A);
    store.broken = true;
    cr_assert_eq(ask("new", &drop), STATUS_IO);
    cr_assert_eq(status_of("new", "").status, STATUS_IO);
    cr_assert_eq(coordinator_stage_counter(&stage, "not_permitted_total"), 0);
    cr_assert_eq(ask("crawler", &drop), STATUS_UNAUTHENTIC, "who is known is judged");
    cr_assert_eq(status_of("crawler", "").status, STATUS_OK);
    cr_assert_eq(coordinator_stage_counter(&stage, "not_permitted_total"), 1);
}

/* All of it, and of every filter. */
Test(coordinator_users_rights, who_monitor_see_all)
{
    struct user watch = client("watch");

    watch.role = USER_MONITOR;
    watch.ngrants = 0;
    cr_assert_eq(put(&watch).status, STATUS_OK);
    cr_assert_eq(status_of("watch", "").nfilters, 1);
    cr_assert_eq(status_of("watch", "").nreplicas, status_of("", "").nreplicas);
    cr_assert_eq(status_of("watch", "urls").nreplicas, 3);
    coordinator_stage_report(&stage, 1, 99, 1, REPLICA_FULL); /* Of a filter that is not here. */
    cr_assert_eq(status_of("", "").nreplicas, 3);
    cr_assert_eq(status_of("watch", "").nreplicas, 3);
}

static enum status judge(enum peer_role role, uint32_t id, const char *named,
                         enum admin_action action)
{
    const struct peer peer = {.size = 1, .role = (uint8_t)role, .user = id};
    struct admin_request request = plain(action, "urls");
    char message[COORDINATOR_MESSAGE_BYTES];

    request.user = named;
    return users_judge(stage.coordinator, &peer, &request, STATUS_OK, message);
}

Test(coordinator_users_rights, are_known_by_what_their_connection_has_proved)
{
    struct user monitor = client("watch");
    uint32_t crawler;
    uint32_t watch;

    make("crawler", TOKEN_A);
    monitor.role = USER_MONITOR;
    cr_assert_eq(put(&monitor).status, STATUS_OK);
    monitor = client("root");
    monitor.role = USER_ADMIN;
    cr_assert_eq(put(&monitor).status, STATUS_OK);
    crawler = user_list_find(users(), "crawler")->id;
    watch = user_list_find(users(), "watch")->id;
    cr_assert_eq(judge(PEER_CLIENT, crawler, "", ADMIN_DROP), STATUS_UNAUTHENTIC);
    cr_assert_eq(judge(PEER_CLIENT, crawler, "", ADMIN_STATUS), STATUS_OK);
    cr_assert_eq(judge(PEER_CLIENT, crawler, "root", ADMIN_STATUS), STATUS_UNAUTHENTIC);
    cr_assert_eq(judge(PEER_CLIENT, 999, "", ADMIN_STATUS), STATUS_UNAUTHENTIC, "deleted");
    cr_assert_eq(judge(PEER_MONITOR, watch, "", ADMIN_STATUS), STATUS_OK);
    cr_assert_eq(judge(PEER_MONITOR, watch, "", ADMIN_LOOK), STATUS_UNAUTHENTIC);
    cr_assert_eq(judge(PEER_ADMIN, user_list_find(users(), "root")->id, "", ADMIN_MAP_BACKUP),
                 STATUS_OK);
    cr_assert_eq(judge(PEER_ROUTER, 0, "crawler", ADMIN_DROP), STATUS_UNAUTHENTIC);
    cr_assert_eq(judge(PEER_ROUTER, 0, "", ADMIN_DROP), STATUS_OK);
    cr_assert_eq(judge(PEER_ANYBODY, 0, "", ADMIN_USER_CHANGE), STATUS_OK);
}

/* Grants of "crawler" are rwc crawl:*, r urls. */
static enum status judge_request(uint32_t id, const struct admin_request *request)
{
    const struct peer peer = {.size = 1, .role = PEER_CLIENT, .user = id};
    char message[COORDINATOR_MESSAGE_BYTES];

    return users_judge(stage.coordinator, &peer, request, STATUS_OK, message);
}

Test(coordinator_users_rights, who_feeds_a_list_tells_how_much_and_may_not_begin_a_rebuild)
{
    static const struct user_grant feed[] = {{USER_WRITE, "urls"}};
    struct admin_request request = plain(ADMIN_REBUILD, "urls");
    struct user feeder = client("feeder");
    uint32_t id;

    feeder.grants = (struct user_grant *)feed;
    feeder.ngrants = 1;
    cr_assert_eq(put(&feeder).status, STATUS_OK);
    id = users()->users[0].id;
    for (int step = REBUILD_BEGIN; step <= REBUILD_ABORT; step++) {
        request.rebuild.step = (enum rebuild_step)step;
        cr_assert_eq(judge_request(id, &request),
                     step == REBUILD_FED ? STATUS_OK : STATUS_UNAUTHENTIC, "%d", step);
    }
    request.name = "other";
    request.rebuild.step = REBUILD_FED;
    cr_assert_eq(judge_request(id, &request), STATUS_UNAUTHENTIC);
}

Test(coordinator_users_rights, look_at_what_they_see)
{
    struct admin_request request = plain(ADMIN_LOOK, "urls");
    uint32_t id;

    make("crawler", TOKEN_A);
    id = users()->users[0].id;
    cr_assert_eq(judge_request(id, &request), STATUS_OK, "any right to it");
    request.rename.name = "crawl:a";
    cr_assert_eq(judge_request(id, &request), STATUS_OK);
    request.rename.name = "hidden";
    cr_assert_eq(judge_request(id, &request), STATUS_UNAUTHENTIC, "both names");
    request.name = "hidden";
    request.rename.name = "urls";
    cr_assert_eq(judge_request(id, &request), STATUS_UNAUTHENTIC);
}

/* Of both names the one that the user may not use. */
Test(coordinator_users_rights, are_told_which_name_it_is)
{
    static const enum admin_action asked[] = {ADMIN_RENAME, ADMIN_LOOK};
    struct peer peer = {.size = 1, .role = PEER_CLIENT};
    char message[COORDINATOR_MESSAGE_BYTES];

    make("crawler", TOKEN_A);
    peer.user = users()->users[0].id;
    for (size_t i = 0; i < 2; i++) {
        struct admin_request request = plain(asked[i], "crawl:a");

        request.rename.name = "other";
        cr_assert_eq(users_judge(stage.coordinator, &peer, &request, STATUS_OK, message),
                     STATUS_UNAUTHENTIC);
        cr_assert_not_null(strstr(message, "may not do this to \"other\""), "%s", message);
        request.name = "hidden";
        cr_assert_eq(users_judge(stage.coordinator, &peer, &request, STATUS_OK, message),
                     STATUS_UNAUTHENTIC);
        cr_assert_not_null(strstr(message, "may not do this to \"hidden\""), "%s", message);
    }
}

/* The door lets routers and admins ask for it; a router names the user. */
Test(coordinator_users_rights, load_a_dump_as_they_create)
{
    struct admin_request request = plain(ADMIN_LOAD, "crawl:a");
    const struct peer router = {.size = 1, .role = PEER_ROUTER};
    char message[COORDINATOR_MESSAGE_BYTES];

    make("crawler", TOKEN_A);
    request.user = "crawler";
    cr_assert_eq(users_judge(stage.coordinator, &router, &request, STATUS_OK, message), STATUS_OK);
    request.name = "urls";
    cr_assert_eq(users_judge(stage.coordinator, &router, &request, STATUS_OK, message),
                 STATUS_UNAUTHENTIC, "r alone");
}

/* What the connection has proved is of before. */
Test(coordinator_users_rights, are_what_the_record_says_now)
{
    struct user root = client("root");
    struct user watch = client("watch");
    uint32_t id;

    root.role = USER_ADMIN;
    watch.role = USER_MONITOR;
    cr_assert_eq(put(&root).status, STATUS_OK);
    cr_assert_eq(put(&watch).status, STATUS_OK);
    root.id = id = user_list_find(users(), "root")->id;
    cr_assert_eq(judge(PEER_ADMIN, id, "watch", ADMIN_STATUS), STATUS_OK, "for another one");
    root.role = USER_CLIENT;
    cr_assert_eq(put(&root).status, STATUS_OK);
    cr_assert_eq(judge(PEER_ADMIN, id, "", ADMIN_MAP_BACKUP), STATUS_UNAUTHENTIC);
    cr_assert_eq(judge(PEER_ADMIN, id, "", ADMIN_USER_LIST), STATUS_UNAUTHENTIC);
    cr_assert_eq(judge(PEER_ADMIN, id, "", ADMIN_DROP), STATUS_UNAUTHENTIC, "r to urls");
    cr_assert_eq(judge(PEER_ADMIN, id, "watch", ADMIN_STATUS), STATUS_UNAUTHENTIC);
    cr_assert_eq(judge(PEER_ADMIN, id, "", ADMIN_STATUS), STATUS_OK);
}
