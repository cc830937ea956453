/* What a router lets clients do with a filter that lives in several sites. */
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 3, ALL = (1 << KEYS) - 1, SOON_US = 1000000 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

/* A newer document, of which the router has heard. */
static void allow(bool takes_adds, bool says_absent)
{
    stage.document.content.sites->takes_adds = takes_adds;
    stage.document.content.sites->says_absent = says_absent;
    document_epoch_advance(&stage.document);
    router_stage_sync(&stage, stage.sync, true);
}

static void open_stage(enum when_unavailable when_unavailable, bool takes_adds, bool says_absent)
{
    router_stage_init(&stage, &rule, 3, when_unavailable);
    stage.document.durability = DURABILITY_SYNC;
    sample_sites(0, &stage.document);
    allow(takes_adds, says_absent);
}

static void send(enum operation operation)
{
    struct client_request request = router_stage_request(operation, 1, KEYS);

    router_stage_send(&stage, 1, &request);
}

/* Two nodes are asked; they answer like that. */
static void answer(char first, char second)
{
    char letters[2] = {first, second};
    size_t at = 0;

    for (uint32_t node = 1; node <= 3 && at < 2; node++) {
        if (router_stage_asked(&stage, node) != NULL) {
            router_stage_vote(&stage, node, letters[at++]);
        }
    }
    cr_assert_eq(at, 2);
}

static void check(char first, char second)
{
    send(OPERATION_CHECK);
    answer(first, second);
}

static struct router_told expect(enum status status, uint64_t present, uint64_t absent)
{
    struct router_told told = router_stage_told(&stage);

    cr_assert_eq(told.status, status, "%s: %s", status_code(told.status), told.message);
    cr_assert_eq(told.present, present);
    cr_assert_eq(told.absent, absent);
    return told;
}

Test(router_sites, a_site_that_is_filled_answers_as_any_cluster)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, true, true);
    check('a', 'a');
    (void)expect(STATUS_OK, 0, ALL);
    check('p', 'p');
    (void)expect(STATUS_OK, ALL, 0);
    cr_assert_eq(router_stage_counter(&stage, "checks_behind_total"), 0);
    router_stage_fini(&stage);
}

Test(router_sites, a_site_that_is_being_filled_never_says_absent)
{
    struct router_told told;

    open_stage(WHEN_UNAVAILABLE_ERROR, true, false);
    check('a', 'a');
    told = expect(STATUS_BEHIND, 0, 0);
    cr_assert_not_null(strstr(told.message, "still being filled"));
    cr_assert_eq(router_stage_counter(&stage, "checks_behind_total"), KEYS);
    cr_assert_eq(router_stage_counter(&stage, "keys_undecided_total"), KEYS);
    check('p', 'p');
    (void)expect(STATUS_OK, ALL, 0);
    router_stage_fini(&stage);
}

Test(router_sites, adds_are_taken_while_it_is_being_filled)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, true, false);
    send(OPERATION_ADD);
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    (void)expect(STATUS_OK, ALL, ALL);
    router_stage_fini(&stage);
}

/* Others may have had for long what is new here. What is here is known, and so is what is new where
 * all that the others had is here. */
Test(router_sites, a_site_that_is_being_filled_calls_no_key_new)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, true, false);
    send(OPERATION_ADD);
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    (void)expect(STATUS_OK, ALL, ALL);
    cr_assert_eq(router_stage_counter(&stage, "keys_maybe_new_total"), KEYS);
    cr_assert_eq(router_stage_counter(&stage, "checks_behind_total"), 0);
    send(OPERATION_ADD);
    router_stage_vote(&stage, 1, 'p');
    router_stage_vote(&stage, 2, 'p');
    (void)expect(STATUS_OK, ALL, 0);
    allow(true, true);
    send(OPERATION_ADD);
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    (void)expect(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

Test(router_sites, a_site_that_has_left_says_so)
{
    struct site_set *sites;

    open_stage(WHEN_UNAVAILABLE_ERROR, false, false);
    sites = stage.document.content.sites;
    sites->entries[sites->own].state = SITE_LEAVING;
    allow(false, false);
    check('a', 'a');
    cr_assert_not_null(strstr(expect(STATUS_BEHIND, 0, 0).message, "has left them"));
    router_stage_fini(&stage);
}

static struct {
    enum status status;
    bool told;
    char message[ROUTER_MESSAGE_BYTES];
} dumped;

static void take_page(void *owner, const struct router_page *page)
{
    (void)owner;
    dumped.told = true;
    dumped.status = page->status;
    (void)snprintf(dumped.message, sizeof dumped.message, "%s",
                   page->message != NULL ? page->message : "");
}

static void expect_dump(enum status status, const char *words)
{
    memset(&dumped, 0, sizeof dumped);
    router_dump(stage.router, stage.now_us,
                &(struct router_dump){
                    .name = "urls", .deadline_us = stage.now_us + SOON_US, .done = take_page});
    router_stage_pass(&stage, 1000);
    if (!dumped.told) {
        router_stage_sync(&stage, stage.sync, false);
    }
    cr_assert(dumped.told);
    cr_assert_eq(dumped.status, status, "%s", dumped.message);
    cr_assert_not_null(strstr(dumped.message, words), "%s", dumped.message);
}

/* What it has it keeps, and may be the last to have. */
Test(router_sites, a_site_that_leaves_is_dumped_if_it_has_all)
{
    struct site_set *sites;

    open_stage(WHEN_UNAVAILABLE_ERROR, true, false);
    stage.document.keylog = KEYLOG_ON;
    stage.document.content.sites->settled = true;
    allow(true, false);
    expect_dump(STATUS_NOT_READY, "still being filled");
    sites = stage.document.content.sites;
    sites->entries[sites->own].state = SITE_LEAVING;
    allow(false, false);
    expect_dump(STATUS_OK, "");
    sites->entries[sites->own].state = SITE_GONE;
    allow(false, false);
    expect_dump(STATUS_OK, "");
    sites->settled = false;
    allow(false, false);
    expect_dump(STATUS_NOT_READY, "may lack keys");
    router_stage_fini(&stage);
}

Test(router_sites, who_fails_open_is_told_maybe)
{
    open_stage(WHEN_UNAVAILABLE_MAYBE, true, false);
    check('a', 'a');
    (void)expect(STATUS_OK, ALL, ALL);
    cr_assert_eq(router_stage_counter(&stage, "checks_behind_total"), KEYS);
    cr_assert_eq(router_stage_counter(&stage, "keys_maybe_total"), KEYS);
    router_stage_fini(&stage);
}

/* With the epoch that says more come new votes; one of before, which comes late, doesn't count. */
Test(router_sites, a_check_is_asked_anew_under_the_epoch_that_lets_it_say_more)
{
    uint32_t first = 1;

    open_stage(WHEN_UNAVAILABLE_ERROR, true, false);
    send(OPERATION_CHECK);
    while (router_stage_asked(&stage, first) == NULL) {
        first++;
    }
    router_stage_vote(&stage, first, 'a');
    allow(true, true);
    router_stage_pass(&stage, ROUTER_STAGE_RETRY_US);
    cr_assert_eq(stage.ntold, 0);
    answer('a', 'a');
    (void)expect(STATUS_OK, 0, ALL);
    router_stage_fini(&stage);
}

/* The router may only not have heard: the store is read first. */
Test(router_sites, a_newcomer_takes_no_adds_until_the_store_says_so)
{
    struct router_told told;

    open_stage(WHEN_UNAVAILABLE_ERROR, false, false);
    send(OPERATION_ADD);
    cr_assert_null(router_stage_asked(&stage, 1));
    cr_assert_eq(stage.ntold, 0, "the store is asked");
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, false);
    told = expect(STATUS_NOT_READY, 0, 0);
    cr_assert_not_null(strstr(told.message, "takes no adds"));
    send(OPERATION_ADD);
    router_stage_pass(&stage, SOON_US);
    allow(true, false);
    cr_assert_not_null(router_stage_asked(&stage, 1));
    router_stage_fini(&stage);
}

/* Nobody would come for it: an add that was begun is asked for anew under the newer epoch. */
Test(router_sites, an_add_under_way_ends_where_the_site_leaves)
{
    open_stage(WHEN_UNAVAILABLE_ERROR, true, true);
    send(OPERATION_ADD);
    router_stage_vote(&stage, 1, 'a');
    stage.document.content.sites->takes_adds = false;
    stage.document.content.sites->says_absent = false;
    document_epoch_advance(&stage.document);
    router_stage_vote(&stage, 2, 'S');
    (void)expect(STATUS_NOT_READY, 0, 0);
    router_stage_fini(&stage);
}

Test(router_sites, what_other_sites_relay_is_taken_at_all_times)
{
    static const uint64_t fingerprints[KEYS] = {123, 1 << 20, UINT64_MAX};

    open_stage(WHEN_UNAVAILABLE_ERROR, false, false);
    router_relay(stage.router, stage.now_us,
                 &(struct router_relay){.filter_id = ROUTER_STAGE_FILTER,
                                        .correlation = 1,
                                        .timeout_ms = 5000,
                                        .fingerprints = fingerprints,
                                        .count = KEYS});
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 1000);
    router_stage_vote(&stage, 1, 'd');
    document_epoch_advance(&stage.document);
    router_stage_vote(&stage, 2, 'S');
    router_stage_pass(&stage, 1000);
    answer('d', 'd');
    (void)expect(STATUS_OK, ALL, ALL);
    router_stage_fini(&stage);
}
