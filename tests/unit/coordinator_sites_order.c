/* Pausing, resuming and comparing other sites: what an operator's order becomes in the store, and
 * what is refused. */
#include "coordinator/links.h"
#include "tests/unit/coordinator_sites_join.h"

TestSuite(coordinator_order, .init = setup, .fini = site_stages_fini);

static const struct site_entry *entry_of(uint32_t i, uint32_t k)
{
    const struct site_id id = site_stages_id(k);
    const struct site_entry *entry = site_set_find(set_of(i), &id);

    cr_assert_not_null(entry);
    return entry;
}

static uint64_t epoch_of(uint32_t i)
{
    return site_stages_document(i, "urls")->epoch;
}

/* Of all filters. */
static struct coordinator_told order_all(uint32_t i, enum site_step step, const char *site)
{
    const struct admin_request request = {
        .action = ADMIN_SITE_CHANGE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "",
        .successor = "",
        .site = {.step = step, .site = site},
    };

    coordinator_stage_command(&site_stages[i].stage, 7, &request);
    return coordinator_stage_told(&site_stages[i].stage);
}

static const struct node_list *nodes_of(uint32_t i)
{
    return &site_stages[i].stage.coordinator->documents.nodes;
}

static void expect_done(struct coordinator_told told, bool changed)
{
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert_eq(told.created, changed);
}

Test(coordinator_order, a_filter_is_paused_and_resumed)
{
    uint64_t epoch;

    join(EU, US);
    epoch = epoch_of(EU);
    expect_done(site_stages_change(EU, SITE_STEP_PAUSE, "us"), true);
    cr_assert(entry_of(EU, US)->paused);
    cr_assert_eq(epoch_of(EU), epoch + 1);
    expect_done(site_stages_change(EU, SITE_STEP_PAUSE, "us"), false);
    cr_assert_eq(epoch_of(EU), epoch + 1);
    site_stages_run();
    cr_assert_not(entry_of(US, EU)->paused, "that is the other site's own to say");
    cr_assert(set_of(EU)->says_absent && set_of(US)->says_absent, "nothing else is changed");
    cr_assert(site_set_agrees(set_of(EU), set_of(US)));
    site_stages_restart(EU);
    site_stages_run();
    cr_assert(entry_of(EU, US)->paused);
    expect_done(site_stages_change(EU, SITE_STEP_RESUME, "us"), true);
    cr_assert_not(entry_of(EU, US)->paused);
    expect_done(site_stages_change(EU, SITE_STEP_RESUME, "us"), false);
}

/* Its links hear of it with the state of the filter. */
Test(coordinator_order, the_other_site_is_told)
{
    const struct site_filter *told = &site_stages[US].heard[EU].told;
    const struct site_id us = site_stages_id(US);

    join(EU, US);
    expect_done(site_stages_change(EU, SITE_STEP_PAUSE, "us"), true);
    site_stages_run();
    cr_assert(site_set_find(&told->document, &us)->paused);
    expect_done(site_stages_change(EU, SITE_STEP_RESUME, "us"), true);
    site_stages_run();
    cr_assert_not(site_set_find(&told->document, &us)->paused);
}

/* A newcomer begins without what others have ordered. */
Test(coordinator_order, a_newcomer_takes_no_orders_over)
{
    join(EU, US);
    expect_done(site_stages_change(EU, SITE_STEP_PAUSE, "us"), true);
    expect_done(site_stages_change(US, SITE_STEP_RESYNC, "eu"), true);
    join(EU, AP);
    cr_assert_not(entry_of(AP, US)->paused);
    cr_assert_eq(entry_of(AP, EU)->resync, 0);
    cr_assert(entry_of(EU, US)->paused, "but the orders stand");
    cr_assert_neq(entry_of(US, EU)->resync, 0);
}

Test(coordinator_order, a_site_that_is_paused_holds_up_a_join_and_that_is_told)
{
    join(EU, US);
    add(EU, "ap");
    site_stages_run();
    expect_done(site_stages_change(AP, SITE_STEP_PAUSE, "us"), true);
    site_stages_copy(AP, EU);
    site_stages_run();
    expect_awaited(AP, "all keys of site us to be copied; it is paused here");
}

Test(coordinator_order, each_order_to_compare_is_a_new_one)
{
    uint64_t first;

    join(EU, US);
    expect_done(site_stages_change(EU, SITE_STEP_RESYNC, "us"), true);
    first = entry_of(EU, US)->resync;
    cr_assert_eq(first, epoch_of(EU), "the epoch that it has made");
    expect_done(site_stages_change(EU, SITE_STEP_RESYNC, "us"), true);
    cr_assert_gt(entry_of(EU, US)->resync, first);
    cr_assert_eq(entry_of(US, EU)->resync, 0);
}

Test(coordinator_order, all_filters_are_paused_in_the_list_of_nodes)
{
    const struct site_id us = site_stages_id(US);
    uint64_t revision;

    site_stages_run(); /* Links have told whom they know. */
    revision = nodes_of(EU)->revision;
    expect_done(order_all(EU, SITE_STEP_PAUSE, "us"), true);
    cr_assert(node_list_pauses(nodes_of(EU), &us));
    cr_assert_eq(nodes_of(EU)->revision, revision + 1);
    expect_done(order_all(EU, SITE_STEP_PAUSE, "us"), false);
    expect_done(order_all(EU, SITE_STEP_PAUSE, "ap"), true);
    cr_assert_eq(nodes_of(EU)->npaused, 2);
    site_stages_restart(EU);
    site_stages_run();
    cr_assert_eq(nodes_of(EU)->npaused, 2);
    expect_done(order_all(EU, SITE_STEP_RESUME, "us"), true);
    cr_assert_not(node_list_pauses(nodes_of(EU), &us));
    cr_assert_eq(nodes_of(EU)->npaused, 1);
    expect_done(order_all(EU, SITE_STEP_RESUME, "us"), false);
}

Test(coordinator_order, filters_that_stay_paused_are_told_when_all_are_resumed)
{
    struct coordinator_told told;

    join(EU, US);
    expect_done(order_all(EU, SITE_STEP_PAUSE, "us"), true);
    told = order_all(EU, SITE_STEP_RESUME, "us");
    cr_assert_str_eq(told.message, "");
    expect_done(site_stages_change(EU, SITE_STEP_PAUSE, "us"), true);
    told = order_all(EU, SITE_STEP_RESUME, "us");
    expect_done(told, false);
    cr_assert_str_eq(told.message, "1 filter stays paused by orders of their own, urls among them; "
                                   "`orbloom site resume us NAME`");
}

/* A node that registers is written into the same list. */
Test(coordinator_order, what_is_paused_stays_so_when_nodes_come)
{
    site_stages_run();
    expect_done(order_all(EU, SITE_STEP_PAUSE, "us"), true);
    coordinator_stage_report(&site_stages[EU].stage, 4, 0, 0, REPLICA_NONE);
    cr_assert_eq(nodes_of(EU)->count, 4);
    cr_assert_eq(nodes_of(EU)->npaused, 1);
}

Test(coordinator_order, what_cannot_be_is_refused_with_the_reason)
{
    join(EU, US);
    expect_refused(site_stages_change(EU, SITE_STEP_PAUSE, "eu"), STATUS_INVALID,
                   "eu is this site; name another one");
    expect_refused(site_stages_change(EU, SITE_STEP_RESYNC, "eu"), STATUS_INVALID,
                   "eu is this site; name another one");
    expect_refused(site_stages_change(EU, SITE_STEP_PAUSE, "ap"), STATUS_NOT_FOUND,
                   "filter urls is not in a site ap; see `orbloom site urls`");
    expect_refused(site_stages_change(EU, SITE_STEP_RESYNC, "ap"), STATUS_NOT_FOUND,
                   "filter urls is not in a site ap");
    expect_refused(site_stages_change(EU, SITE_STEP_PAUSE, "A B"), STATUS_INVALID,
                   "a site's name takes 1 to 32 of [a-z0-9-]");
    expect_refused(order_all(EU, SITE_STEP_PAUSE, "eu"), STATUS_INVALID,
                   "eu is this site; name another one");
    expect_refused(order_all(EU, SITE_STEP_PAUSE, "mars"), STATUS_NOT_FOUND,
                   "no link of this site knows a site mars, and no filter is in it");
    expect_refused(order_all(EU, SITE_STEP_RESUME, "mars"), STATUS_NOT_FOUND,
                   "no link of this site knows a site mars");
    expect_refused(order_all(EU, SITE_STEP_RESYNC, "us"), STATUS_INVALID,
                   "a comparison is ordered of one filter; name it");
    cr_assert_eq(nodes_of(EU)->npaused, 0);
}

Test(coordinator_order, what_is_paused_is_not_compared)
{
    join(EU, US);
    expect_done(site_stages_change(EU, SITE_STEP_PAUSE, "us"), true);
    expect_refused(site_stages_change(EU, SITE_STEP_RESYNC, "us"), STATUS_NOT_READY,
                   "first `orbloom site resume us urls`");
    expect_done(site_stages_change(EU, SITE_STEP_RESUME, "us"), true);
    expect_done(order_all(EU, SITE_STEP_PAUSE, "us"), true);
    expect_refused(site_stages_change(EU, SITE_STEP_RESYNC, "us"), STATUS_NOT_READY,
                   "first `orbloom site resume us`");
    cr_assert_eq(entry_of(EU, US)->resync, 0);
}
