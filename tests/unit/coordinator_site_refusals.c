/* What a coordinator refuses of filters that are in several sites, and whom as being of another
 * site. */
#include "coordinator/private.h"
#include "coordinator/sites.h"
#include "proto/signed_document.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { ROUTER_PEER = 801, SECOND_US = 1000000 };

static struct memory_store store;
static struct coordinator_stage stage;

static void setup(void)
{
    memory_store_init(&store);
    coordinator_stage_disks = true;
    coordinator_stage_init(&stage, &store.store);
}

static void teardown(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

TestSuite(coordinator_sites, .init = setup, .fini = teardown);

/* ---- of another site ---- */

static void name_site(const char *site)
{
    (void)snprintf(stage.coordinator->config.site, SITE_NAME_BYTES, "%s", site);
}

/* A node's is signed by coordinator_stage_node(); this one says more. */
static struct coordinator_synced sync_node(uint32_t n, const char *site)
{
    struct sync_request request = coordinator_stage_node(n);

    request.site = site;
    return coordinator_stage_sync(&stage, n, &request);
}

static struct coordinator_synced sync_router(const char *site)
{
    const struct sync_request request = {.role = SYNC_ROUTER,
                                         .name = "router-1",
                                         .endpoint = "",
                                         .host = "",
                                         .zone = "",
                                         .site = site,
                                         .features = features_known()};

    return coordinator_stage_sync(&stage, ROUTER_PEER, &request);
}

Test(coordinator_sites, a_node_of_another_site_is_refused)
{
    struct coordinator_synced synced;

    name_site("eu");
    synced = sync_node(1, "us");
    cr_assert_eq(synced.status, STATUS_INVALID);
    cr_assert_str_eq(synced.message,
                     "node node-1 is of site us, and this is a coordinator of site eu: name the "
                     "coordinators of its own site, or correct its `site`");
    cr_assert_eq(synced.node_id, 0);
    cr_assert_eq(stage.coordinator->documents.nodes.count, 0, "it has left nothing");
    cr_assert_eq(stage.coordinator->nclaims, 0);
    cr_assert_eq(sync_node(1, "eu").node_id, 1);
    cr_assert_eq(sync_node(2, "").node_id, 2, "one that does not say is taken");
    cr_assert_eq(sync_node(3, NULL).node_id, 3, "one of before");
    cr_assert_eq(sync_node(1, "us").status, STATUS_INVALID, "one that is listed, too");
}

Test(coordinator_sites, a_coordinator_without_a_site_takes_all)
{
    cr_assert_eq(sync_node(1, "us").node_id, 1);
    cr_assert_eq(sync_node(2, "eu").node_id, 2);
    cr_assert_eq(sync_router("us").status, STATUS_OK);
}

Test(coordinator_sites, a_link_of_another_site_is_refused)
{
    struct coordinator_synced synced;

    name_site("eu");
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    cr_assert_eq(sync_router("eu").status, STATUS_OK);
    cr_assert_eq(sync_router("").status, STATUS_OK);
    synced = sync_router("us");
    cr_assert_eq(synced.status, STATUS_INVALID);
    cr_assert_not_null(strstr(synced.message, "link router-1 is of site us"), "%s", synced.message);
}

/* Else its folder would be this cluster's for good. */
Test(coordinator_sites, a_node_of_another_site_is_not_told_which_cluster_this_is)
{
    struct sync_request request = coordinator_stage_node(1);
    struct coordinator_synced synced;

    name_site("eu");
    request.incarnation = 0;
    request.boot = 0;
    request.durable = false;
    request.replicas = NULL;
    request.nreplicas = 0;
    request.site = "us";
    synced = coordinator_stage_send(&stage, 1, &request);
    cr_assert_eq(synced.status, STATUS_INVALID, "%s", synced.message);
    cr_assert_not(cluster_id_known(&synced.cluster));
    request.site = "eu";
    synced = coordinator_stage_send(&stage, 1, &request);
    cr_assert_eq(synced.status, STATUS_OK, "%s", synced.message);
    cr_assert(cluster_id_known(&synced.cluster));
}

/* ---- filters in several sites ---- */

static const struct site_set two_sites = {
    .entries = {{{1, 0}, "eu", {1, 1}, SITE_COUNTED, false, 0},
                {{2, 0}, "old", {1, 2}, SITE_GONE, false, 0},
                {{3, 0}, "us", {1, 3}, SITE_JOINING, false, 0}},
    .count = 3,
    .takes_adds = true,
};

/* Another hand writes the set into the filter's document. */
static void put_sites(const char *key, const struct site_set *sites)
{
    struct filter_document document = {0};
    struct store_swap swap = {.key = key};
    struct buffer before;
    struct buffer after;
    uint64_t change;

    buffer_init(&before, 1 << 20);
    cr_assert_eq(store.store.get(store.store.self, swap.key, &before, &swap.expected), STATUS_OK);
    cr_assert_eq(codec_filter_document_open(buffer_span(&before), sample_key(), &document),
                 STATUS_OK);
    cr_assert_eq(document_put_sites(&document, sites), STATUS_OK);
    document_epoch_advance(&document);
    sample_sign(&document, sample_key(), &after);
    swap.value = buffer_span(&after);
    cr_assert_eq(store.store.swap(store.store.self, &swap, 1, &change), STATUS_OK);
    document_fini(&document);
    buffer_fini(&after);
    buffer_fini(&before);
}

static void make(const char *name, uint64_t id)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    create.name = name;
    create.create.durability = DURABILITY_SYNC;
    create.create.when_full = WHEN_FULL_EXPAND;
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 3, id, 1, REPLICA_FULL);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
}

static void make_in_sites(void)
{
    make("urls", 1);
    put_sites("filter/1", &two_sites);
}

static struct coordinator_told ask(const struct admin_request *request)
{
    coordinator_stage_command(&stage, 7, request);
    return coordinator_stage_told(&stage);
}

static void expect_refused(const struct admin_request *request, const char *message)
{
    struct coordinator_told told = ask(request);

    cr_assert_eq(told.status, STATUS_INVALID, "%d: %s", told.status, told.message);
    cr_assert_str_eq(told.message, message);
}

static const struct filter_document *document(void)
{
    return &document_cache_find(&stage.coordinator->documents, 1)->document;
}

static struct admin_request request_of(enum admin_action action)
{
    return (struct admin_request){
        .action = action,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "urls",
        .successor = "",
    };
}

Test(coordinator_sites, a_drop_says_where)
{
    struct site_set sites = two_sites;
    struct admin_request drop = coordinator_stage_drop();

    make_in_sites();
    expect_refused(&drop, "filter urls is in sites eu, us: say --here to drop what this one has, "
                          "which the others keep, or --everywhere");
    cr_assert_eq(document()->content.state, FILTER_ACTIVE);
    drop.scope = DROP_HERE;
    expect_refused(&drop,
                   "the other sites of filter urls would wait for this one, or have it make "
                   "the filter anew: leave first, `orbloom site remove urls eu`. If they are "
                   "gone for good, remove them with --now --confirmed-off; or drop it "
                   "--everywhere");
    cr_assert_eq(document()->content.state, FILTER_ACTIVE);
    sites.entries[0].state = SITE_LEAVING;
    sites.takes_adds = false;
    put_sites("filter/1", &sites);
    coordinator_stage_command(&stage, 7, &drop);
    cr_assert_eq(document()->content.state, FILTER_DROPPING);
    drop.scope = 0;
    coordinator_stage_command(&stage, 8, &drop);
    cr_assert_eq(stage.ntold, 0, "one that is under way is joined");
}

Test(coordinator_sites, a_drop_of_a_filter_that_nobody_else_has_takes_no_word)
{
    struct site_set sites = two_sites;
    struct admin_request drop = coordinator_stage_drop();

    make_in_sites();
    sites.entries[2].state = SITE_GONE;
    sites.settled = true;
    put_sites("filter/1", &sites);
    coordinator_stage_command(&stage, 7, &drop);
    cr_assert_eq(document()->content.state, FILTER_DROPPING);
}

Test(coordinator_sites, words_about_sites_change_no_other_drop)
{
    struct admin_request drop = coordinator_stage_drop();

    make("urls", 1);
    drop.scope = DROP_EVERYWHERE;
    coordinator_stage_command(&stage, 7, &drop);
    cr_assert_eq(document()->content.state, FILTER_DROPPING);
}

Test(coordinator_sites, an_expiry_is_refused)
{
    struct admin_request expire = request_of(ADMIN_EXPIRE);

    make_in_sites();
    expire.expire = (struct expiry_wish){.after_us = 3600 * (uint64_t)SECOND_US};
    expect_refused(&expire,
                   "filter urls is in sites eu, us: an expiry of a filter in several "
                   "sites is not possible yet; drop it when its time is over: `orbloom drop "
                   "--everywhere`");
    expire.expire.after_us = 0;
    expect_refused(&expire,
                   "filter urls is in sites eu, us: an expiry of a filter in several "
                   "sites is not possible yet; drop it when its time is over: `orbloom drop "
                   "--everywhere`");
    cr_assert_eq(document()->content.state, FILTER_ACTIVE);
    expire.expire = (struct expiry_wish){.never = true};
    cr_assert_eq(ask(&expire).status, STATUS_OK, "it has none");
}

Test(coordinator_sites, a_rebuild_is_refused)
{
    struct admin_request begin = request_of(ADMIN_REBUILD);

    make_in_sites();
    begin.rebuild.step = REBUILD_BEGIN;
    expect_refused(&begin, "filter urls: it is in sites eu, us: a rebuild of a filter in several "
                           "sites is not possible yet; create another filter, add the list there, "
                           "and change over to that");
    cr_assert_eq(document()->content.nkeysets, 1);
}

/* The name of each is its cluster's own. */
Test(coordinator_sites, a_name_can_be_changed_but_not_taken)
{
    struct admin_request rename = request_of(ADMIN_RENAME);

    make_in_sites();
    make("next", 2);
    rename.name = "next";
    rename.rename = (struct rename_parameters){.name = "urls", .replace = true};
    expect_refused(&rename, "filter urls, whose name is to be taken, is in sites eu, us: drop it "
                            "first, `orbloom drop urls --everywhere` (or --here, once it has left "
                            "them), and then rename");
    rename.name = "urls";
    rename.rename = (struct rename_parameters){.name = "others"};
    coordinator_stage_command(&stage, 7, &rename);
    cr_assert_str_eq(document()->content.name, "others");
    cr_assert(document_has_sites(document()));
}

Test(coordinator_sites, the_longest_list_is_told_whole)
{
    struct site_set sites = {.count = SITE_SET_MAX_LIVE};
    char text[SITES_TEXT_BYTES];

    for (uint32_t i = 0; i < SITE_SET_MAX_LIVE; i++) {
        sites.entries[i].state = SITE_COUNTED;
        memset(sites.entries[i].name, 'a' + (int)i, SITE_NAME_BYTES - 1);
    }
    cr_assert_eq(strlen(sites_list(&sites, text)),
                 SITE_SET_MAX_LIVE * (SITE_NAME_BYTES - 1) + 2 * (SITE_SET_MAX_LIVE - 1));
    cr_assert_str_eq(sites_list(&(struct site_set){0}, text), "");
}
