/* What a coordinator hears of links, for how long, and what it tells of sites. */
#include "coordinator/links.h"
#include "proto/registration.h"
#include "proto/signed_document.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { LINK_PEER = 700, ROUTER_PEER = 801, OPERATOR_PEER = 900, SECOND_US = 1000000 };

static struct memory_store store;
static struct coordinator_stage stage;
static struct fake_sent sent; /* the last answer; valid until the next one */

static void setup(void)
{
    memory_store_init(&store);
    coordinator_stage_disks = true;
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
}

static void teardown(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

TestSuite(coordinator_links, .init = setup, .fini = teardown);

/* The link of that number, of site eu, which knows us and ap. */
static struct sync_request link_of(unsigned n)
{
    static char names[CODEC_MAX_LINKS + 2][16];
    static char endpoints[CODEC_MAX_LINKS + 2][32];

    (void)snprintf(names[n], sizeof names[n], "link-%u", n);
    (void)snprintf(endpoints[n], sizeof endpoints[n], "tcp://10.0.0.%u:7420", n);
    return (struct sync_request){
        .role = SYNC_ROUTER,
        .name = names[n],
        .endpoint = endpoints[n],
        .host = "",
        .zone = "",
        .site = "eu",
        .features = features_known(),
        .link = {.id = {0xe0, 1},
                 .peers = {{"us", {0x05, 1}, true, 80000 + n}, {"ap", {0xa9, 1}, false, 0}},
                 .npeers = 2},
    };
}

/* The answer, whatever else was sent before. */
static void take(enum frame_kind kind)
{
    do {
        cr_assert(fake_take(&stage.fake, &sent));
    } while (sent.frame.kind != kind);
}

static const struct sync_reply *ask(uint32_t peer, const struct sync_request *request)
{
    const struct frame frame = {.kind = FRAME_SYNC_REQUEST, .body.sync_request = *request};

    fake_request(&stage.actor, stage.now_us, peer, &frame);
    take(FRAME_SYNC_REPLY);
    cr_assert_eq(sent.frame.body.sync_reply.status, STATUS_OK, "%s",
                 sent.frame.body.sync_reply.message);
    return &sent.frame.body.sync_reply;
}

static void link_asks(unsigned n)
{
    const struct sync_request request = link_of(n);

    (void)ask(LINK_PEER + n, &request);
}

static const struct sync_reply *router_asks(void)
{
    const struct sync_request request = {.role = SYNC_ROUTER,
                                         .name = "router-1",
                                         .endpoint = "",
                                         .host = "",
                                         .zone = "",
                                         .features = features_known()};

    return ask(ROUTER_PEER, &request);
}

static const struct admin_reply *list(const char *name)
{
    const struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_SITE,
                               .timeout_ms = 1000,
                               .name = name,
                               .successor = "",
                               .site = {.step = SITE_STEP_LIST, .site = ""}}};

    fake_request(&stage.actor, stage.now_us, OPERATOR_PEER, &frame);
    take(FRAME_ADMIN_REPLY);
    return &sent.frame.body.admin_reply;
}

static const struct site_summary *site_named(const struct site_page *page, const char *name)
{
    for (size_t i = 0; i < page->nsites; i++) {
        if (strcmp(page->sites[i].name, name) == 0) {
            return &page->sites[i];
        }
    }
    return NULL;
}

/* ---- what makes no sense ---- */

Test(coordinator_links, one_that_is_not_taken_down_brings_nothing)
{
    const struct site_evidence nonsense = {.uid = {0, 0}};
    struct sync_request request = link_of(1);

    request.evidence = &nonsense;
    request.nevidence = 1;
    (void)ask(LINK_PEER, &request);
    cr_assert_eq(coordinator_stage_counter(&stage, "site_states_refused_total"), 1);
    request.endpoint = "";
    (void)ask(LINK_PEER, &request);
    cr_assert_eq(coordinator_stage_counter(&stage, "site_states_refused_total"), 1);
}

/* ---- where links are reached ---- */

Test(coordinator_links, routers_are_told_where_links_are)
{
    const struct sync_reply *reply = router_asks();
    struct sync_request second = link_of(2);

    cr_assert_eq(reply->nlinks, 0);
    link_asks(1);
    second.curve = true;
    (void)ask(LINK_PEER + 2, &second);
    reply = router_asks();
    cr_assert_eq(reply->nlinks, 2);
    cr_assert_str_eq(reply->links[0].endpoint, "tcp://10.0.0.1:7420");
    cr_assert_not(reply->links[0].curve);
    cr_assert_str_eq(reply->links[1].endpoint, "tcp://10.0.0.2:7420");
    cr_assert(reply->links[1].curve);
    second.endpoint = "tcp://10.0.9.9:7420";
    (void)ask(LINK_PEER + 2, &second);
    reply = router_asks();
    cr_assert_eq(reply->nlinks, 2, "it has moved");
    cr_assert_str_eq(reply->links[1].endpoint, "tcp://10.0.9.9:7420");
}

Test(coordinator_links, nodes_are_told_of_none)
{
    struct sync_request node = coordinator_stage_node(1);

    link_asks(1);
    node.number = 1000;
    node.features = features_known();
    registration_sign(sample_key(), &node);
    cr_assert_eq(ask(1, &node)->nlinks, 0);
}

/* As routers are: one that asks seldom, as it asks others in between, is not. */
Test(coordinator_links, a_link_that_asks_no_more_is_forgotten)
{
    const uint64_t timeout_us = stage.coordinator->config.node_timeout_us;

    link_asks(1);
    stage.now_us += timeout_us;
    cr_assert_eq(router_asks()->nlinks, 1);
    stage.now_us += 1;
    cr_assert_eq(router_asks()->nlinks, 0);
    cr_assert_eq(list("")->sites.nsites, 0);
    link_asks(1);
    stage.now_us += 2 * timeout_us;
    cr_assert_eq(router_asks()->nlinks, 1, "its gap is known");
}

Test(coordinator_links, so_many_are_kept_and_the_oldest_goes)
{
    const struct sync_reply *reply;

    for (unsigned n = 1; n <= CODEC_MAX_LINKS + 1; n++) {
        stage.now_us++;
        link_asks(n);
    }
    reply = router_asks();
    cr_assert_eq(reply->nlinks, CODEC_MAX_LINKS);
    for (size_t i = 0; i < reply->nlinks; i++) {
        cr_assert_str_neq(reply->links[i].endpoint, "tcp://10.0.0.1:7420");
    }
}

Test(coordinator_links, what_makes_no_sense_is_no_link)
{
    struct sync_request request = link_of(1);

    request.link.id = (struct site_id){0};
    (void)ask(LINK_PEER, &request);
    request = link_of(1);
    request.site = "";
    (void)ask(LINK_PEER, &request);
    request.site = "EU";
    (void)ask(LINK_PEER, &request);
    request = link_of(1);
    request.endpoint = "";
    (void)ask(LINK_PEER, &request);
    request = link_of(1);
    request.name = "no blanks";
    (void)ask(LINK_PEER, &request);
    cr_assert_eq(router_asks()->nlinks, 0);
}

/* ---- sites ---- */

Test(coordinator_links, sites_are_told_as_links_know_them)
{
    const struct site_page *page = &list("")->sites;
    const struct site_summary *site;

    cr_assert_not_null(page->site);
    cr_assert_eq(page->nsites, 0);
    cr_assert_eq(page->nfilters, 0);
    (void)snprintf(stage.coordinator->config.site, SITE_NAME_BYTES, "eu");
    link_asks(1);
    link_asks(2);
    page = &list("")->sites;
    cr_assert_str_eq(page->site, "eu");
    cr_assert_eq(page->nsites, 3);
    site = site_named(page, "eu");
    cr_assert(site->own);
    cr_assert_eq(site->links, 2);
    cr_assert_eq(site->id.high, 0xe0);
    site = site_named(page, "us");
    cr_assert_not(site->own);
    cr_assert_eq(site->links, 2);
    cr_assert_eq(site->round_trip_us, 80001, "the shorter one");
    site = site_named(page, "ap");
    cr_assert_eq(site->links, 0);
    cr_assert_eq(site->round_trip_us, 0);
}

static const struct site_set two_sites = {
    .entries = {{{0x05, 1}, "us", {4, 1}, SITE_COUNTED, false, 0},
                {{0x99, 1}, "za", {1, 1}, SITE_GONE, false, 0},
                {{0xb0, 1}, "br", {2, 2}, SITE_JOINING, false, 0},
                {{0xe0, 1}, "eu", {1, 3}, SITE_COUNTED, false, 0}},
    .count = 4,
    .own = 3,
    .takes_adds = true,
    .says_absent = true,
};

static void make_in_sites(void)
{
    struct admin_request create = coordinator_stage_create();
    struct filter_document document = {0};
    struct store_swap swap = {.key = "filter/1"};
    struct buffer before;
    struct buffer after;
    uint64_t change;

    create.create.durability = DURABILITY_SYNC;
    create.create.when_full = WHEN_FULL_EXPAND;
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    buffer_init(&before, 1 << 20);
    cr_assert_eq(store.store.get(store.store.self, swap.key, &before, &swap.expected), STATUS_OK);
    cr_assert_eq(codec_filter_document_open(buffer_span(&before), sample_key(), &document),
                 STATUS_OK);
    cr_assert_eq(document_put_sites(&document, &two_sites), STATUS_OK);
    document_epoch_advance(&document);
    sample_sign(&document, sample_key(), &after);
    swap.value = buffer_span(&after);
    cr_assert_eq(store.store.swap(store.store.self, &swap, 1, &change), STATUS_OK);
    document_fini(&document);
    buffer_fini(&after);
    buffer_fini(&before);
    coordinator_stage_collect(&stage);
}

/* A site that no link knows of is told as well. */
Test(coordinator_links, filters_are_told_with_their_sites)
{
    const struct site_page *page;

    make_in_sites();
    link_asks(1);
    page = &list("")->sites;
    cr_assert_eq(page->nsites, 4, "eu, us, ap and br");
    cr_assert_null(site_named(page, "za"), "it is gone");
    cr_assert_eq(site_named(page, "br")->links, 0);
    cr_assert_eq(page->nfilters, 1);
    cr_assert_eq(page->filters[0].filter_id, 1);
    cr_assert_str_eq(page->filters[0].name, "urls");
    cr_assert(site_set_agrees(&page->filters[0].sites, &two_sites));
    cr_assert_eq(page->filters[0].sites.own, 3);
    cr_assert(page->filters[0].sites.says_absent);
    cr_assert_eq(page->filters_left, 0);
    page = &list("urls")->sites;
    cr_assert_eq(page->nfilters, 1);
}

Test(coordinator_links, a_filter_that_is_not_there_is_refused)
{
    make_in_sites();
    cr_assert_eq(list("others")->status, STATUS_NOT_FOUND);
    cr_assert_not_null(strstr(sent.frame.body.admin_reply.message, "there is no filter others"));
    cr_assert_null(sent.frame.body.admin_reply.sites.site);
}

/* Routers share users' limits among as many as serve clients, and a link serves none. */
Test(coordinator_links, a_link_takes_no_share_of_users_limits)
{
    cr_assert_eq(router_asks()->routers, 1);
    link_asks(0);
    link_asks(1);
    cr_assert_eq(router_asks()->routers, 1);
}
