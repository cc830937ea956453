/* Whom a coordinator refuses as being of another site. */
#include "coordinator/private.h"
#include "coordinator/sites.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { ROUTER_PEER = 801 };

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
    cr_assert_not_null(strstr(synced.message, "router router-1 is of site us"), "%s",
                       synced.message);
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
