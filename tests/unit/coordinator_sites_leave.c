/* Coordinators of several sites, which hear each other by links: how a filter leaves a site, how
 * one is removed at once, and how it is dropped at one of them or at all. */
#include "tests/unit/coordinator_sites_join.h"

TestSuite(coordinator_leave, .init = setup, .fini = site_stages_fini);

/* ---- leaving ---- */

Test(coordinator_leave, a_site_leaves)
{
    struct coordinator_told told;

    join(EU, US);
    join(EU, AP);
    site_stages_mark(EU, AP);
    expect_refused(site_stages_change(EU, SITE_STEP_LEAVE, "us"), STATUS_INVALID,
                   "a site leaves by itself: give the command to a coordinator of us");
    told = site_stages_change(US, SITE_STEP_LEAVE, "us");
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(told.created);
    cr_assert_not(set_of(US)->takes_adds || set_of(US)->says_absent);
    cr_assert_eq(site_stages_state(EU, US), SITE_COUNTED, "until us has fenced it");
    site_stages_run();
    cr_assert_eq(site_stages_state(EU, US), SITE_LEAVING);
    cr_assert_eq(site_stages_state(AP, US), SITE_LEAVING);
    site_stages_mark(EU, US);
    site_stages_mark(EU, AP);
    site_stages_mark(AP, US);
    site_stages_run();
    cr_assert_eq(site_stages_state(EU, US), SITE_LEAVING, "ap lacks a mark of eu");
    expect_awaited(EU, "site ap to have all that us, which leaves, has acknowledged");
    site_stages_mark(AP, EU);
    site_stages_run();
    cr_assert_eq(site_stages_state(EU, US), SITE_GONE);
    cr_assert_eq(site_stages_state(AP, US), SITE_GONE);
    cr_assert_eq(site_stages_state(US, US), SITE_GONE);
    cr_assert(set_of(EU)->settled && set_of(AP)->settled, "it left in order");
    cr_assert(set_of(EU)->says_absent && set_of(AP)->says_absent);
    told = site_stages_change(US, SITE_STEP_LEAVE, "us");
    cr_assert(told.status == STATUS_OK && !told.created, "it has left");
}

Test(coordinator_leave, the_last_one_that_counts_does_not_leave)
{
    add(EU, "us");
    site_stages_run();
    expect_refused(site_stages_change(EU, SITE_STEP_LEAVE, "eu"), STATUS_INVALID,
                   "no other site of filter urls counts yet");
    expect_refused(site_stages_change(EU, SITE_STEP_LEAVE, "ap"), STATUS_NOT_FOUND,
                   "filter urls is not in a site ap");
}

/* Neither has heard of the other one: each is the one that has all, and stays as it is. */
Test(coordinator_leave, all_leave_at_once)
{
    join(EU, US);
    site_stages[US].cut = true;
    cr_assert_eq(site_stages_change(EU, SITE_STEP_LEAVE, "eu").status, STATUS_OK);
    cr_assert_eq(site_stages_change(US, SITE_STEP_LEAVE, "us").status, STATUS_OK);
    site_stages_run();
    site_stages[US].cut = false;
    site_stages_run();
    site_stages_mark(EU, US);
    site_stages_mark(US, EU);
    site_stages_run();
    for (uint32_t i = EU; i <= US; i++) {
        cr_assert_eq(site_stages_state(i, EU), SITE_LEAVING);
        cr_assert_eq(site_stages_state(i, US), SITE_LEAVING);
        cr_assert(set_of(i)->settled, "it may be dumped");
        expect_awaited(i, "a site that stays: all that had the keys leave");
        expect_awaited(i, "`orbloom drop urls --everywhere`");
    }
}

/* ---- removed ---- */

Test(coordinator_leave, a_site_is_removed_at_once)
{
    struct coordinator_told told;

    join(EU, US);
    join(EU, AP);
    site_stages[US].cut = true;
    told = site_stages_change(EU, SITE_STEP_REMOVE, "us");
    cr_assert(told.status == STATUS_OK && told.created, "%s", told.message);
    cr_assert_eq(site_stages_state(EU, US), SITE_GONE);
    cr_assert_not(set_of(EU)->settled);
    site_stages_run();
    cr_assert_eq(site_stages_state(AP, US), SITE_GONE);
    cr_assert_not(set_of(AP)->settled);
    expect_awaited(EU, "all keys of site ap to be compared, as a site was removed");
    site_stages_copy(EU, AP);
    site_stages_run();
    cr_assert(set_of(EU)->settled);
    cr_assert_not(set_of(AP)->settled);
    site_stages_copy(AP, EU);
    site_stages_run();
    cr_assert(set_of(AP)->settled);
    site_stages[US].cut = false;
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_GONE, "it hears of it when it is back");
    cr_assert_not(set_of(US)->takes_adds || set_of(US)->says_absent);
    told = site_stages_change(EU, SITE_STEP_REMOVE, "us");
    cr_assert(told.status == STATUS_OK && !told.created);
    expect_refused(site_stages_change(EU, SITE_STEP_REMOVE, "eu"), STATUS_INVALID,
                   "eu is this site, which is not off");
}

/* It has some of what eu had, and nobody can tell it which. */
Test(coordinator_leave, the_last_one_that_counts_is_not_removed)
{
    add(EU, "us");
    site_stages_run();
    cr_assert(set_of(US)->takes_adds);
    site_stages[EU].cut = true;
    expect_refused(site_stages_change(US, SITE_STEP_REMOVE, "eu"), STATUS_INVALID,
                   "no site that has all keys of filter urls would be left");
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_JOINING);
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK,
                 "eu has all, and goes on alone");
}

/* It took no add: so there is nothing to make up for. */
Test(coordinator_leave, who_has_made_nothing_is_removed_without_a_comparison)
{
    join(EU, AP);
    site_stages[US].cut = true;
    add(EU, "us");
    site_stages_run();
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    cr_assert_eq(site_stages_state(EU, US), SITE_GONE);
    cr_assert(set_of(EU)->settled);
    site_stages_run();
    cr_assert_eq(site_stages_state(AP, US), SITE_GONE);
    cr_assert(set_of(AP)->settled);
}

/* Each of two sites that count removes the other one: a newcomer hears both. */
Test(coordinator_leave, a_newcomer_alone_says_no_absent)
{
    join(EU, US);
    add(EU, "ap");
    site_stages_run();
    cr_assert(set_of(AP)->takes_adds);
    site_stages[AP].cut = true;
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    site_stages[US].cut = true;
    site_stages[AP].cut = false;
    site_stages_run();
    cr_assert_eq(site_stages_state(AP, US), SITE_GONE);
    expect_refused(site_stages_change(AP, SITE_STEP_REMOVE, "eu"), STATUS_INVALID,
                   "eu is the last one that counts");
    cr_assert_not(set_of(AP)->says_absent);
}

/* A comparison begun before both knew that us is gone may lack what us had told the other. */
Test(coordinator_leave, a_comparison_begun_before_the_removal_does_not_count)
{
    join(EU, US);
    join(EU, AP);
    site_stages_copy(EU, AP);
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    site_stages_run();
    cr_assert_not(set_of(EU)->settled);
}

/* ---- acknowledgements of so many sites ---- */

static void setup_two_acks(void)
{
    site_stages_init(SITE_STAGES);
    site_stages_make(2);
}

TestSuite(coordinator_join_acks, .init = setup_two_acks, .fini = site_stages_fini);

Test(coordinator_join_acks, so_many_stay_as_acknowledge_an_add)
{
    join(EU, US);
    expect_refused(site_stages_change(US, SITE_STEP_LEAVE, "us"), STATUS_INVALID,
                   "adds to filter urls are acknowledged by 2 sites, and without us 1 would count: "
                   "none would be acknowledged any more. Add another site first, `orbloom site "
                   "add`");
    cr_assert(set_of(US)->takes_adds);
    expect_refused(site_stages_change(EU, SITE_STEP_REMOVE, "us"), STATUS_INVALID,
                   "links of this site are connected to it, so it is not off; and adds to filter "
                   "urls are acknowledged by 2 sites, and without us 1 would count");
    cr_assert_eq(site_stages_state(EU, US), SITE_COUNTED);
    join(EU, AP);
    cr_assert_eq(site_stages_change(US, SITE_STEP_LEAVE, "us").status, STATUS_OK);
    site_stages_run();
    expect_refused(site_stages_change(EU, SITE_STEP_REMOVE, "ap"), STATUS_INVALID,
                   "without ap 1 would count");
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK,
                 "it counts no more");
}

Test(coordinator_join_acks, who_joins_counts_no_more_when_removed_than_before)
{
    join(EU, US);
    add(EU, "ap");
    site_stages_run();
    cr_assert_eq(site_stages_state(EU, AP), SITE_JOINING);
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "ap").status, STATUS_OK);
    cr_assert_eq(site_stages_state(EU, AP), SITE_GONE);
}

/* Else another could never take its place: a join waits for each site that is not gone. */
Test(coordinator_join_acks, who_is_off_is_removed_and_another_takes_its_place)
{
    join(EU, US);
    site_stages[US].cut = true;
    site_stages_run();
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    join(EU, AP);
    cr_assert_eq(site_stages_state(EU, AP), SITE_COUNTED);
}

/* Each of those that are left is always there. */
Test(coordinator_leave, each_that_counts_may_leave)
{
    join(EU, US);
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
}

/* ---- dropped ---- */

Test(coordinator_leave, a_drop_everywhere_reaches_all)
{
    struct admin_request drop = coordinator_stage_drop();
    struct coordinator_stage *eu = &site_stages[EU].stage;

    join(EU, US);
    join(EU, AP);
    site_stages[AP].cut = true;
    drop.scope = DROP_EVERYWHERE;
    coordinator_stage_command(eu, 2, &drop);
    site_stages_run();
    cr_assert_null(site_stages_document(EU, "urls"));
    cr_assert_null(site_stages_document(US, "urls"));
    cr_assert_not_null(site_stages_document(AP, "urls"));
    coordinator_stage_pass(eu, 60000000);
    site_stages_restart(EU);
    site_stages[EU].words.said = false;
    site_stages[EU].told_to = 0;
    site_stages[US].cut = true;
    site_stages[AP].cut = false;
    site_stages_run();
    cr_assert_null(site_stages_document(AP, "urls"), "it is told for good");
    site_stages_run();
    cr_assert_null(site_stages_document(EU, "urls"), "nothing comes back");
}

Test(coordinator_leave, a_drop_here_is_no_other_sites_drop)
{
    join(EU, US);
    drop_here(US, STATUS_INVALID, "leave first, `orbloom site remove urls us`");
    cr_assert_eq(site_stages_change(EU, SITE_STEP_LEAVE, "eu").status, STATUS_OK);
    drop_here(EU, STATUS_NOT_READY, "site us does not know yet that this one leaves");
    site_stages_run();
    drop_here(EU, STATUS_OK, "");
    site_stages_run();
    cr_assert_null(site_stages_document(EU, "urls"));
    cr_assert_not_null(site_stages_document(US, "urls"));
    cr_assert_eq(site_stages_state(US, EU), SITE_LEAVING);
}

/* Else it would be made anew, as the others go on telling of it. */
Test(coordinator_leave, a_newcomer_that_leaves_and_is_dropped_is_not_made_anew)
{
    add(EU, "us");
    site_stages_run();
    drop_here(US, STATUS_INVALID, "have it make the filter anew");
    cr_assert_eq(site_stages_change(US, SITE_STEP_LEAVE, "us").status, STATUS_OK);
    site_stages_run();
    drop_here(US, STATUS_OK, "");
    site_stages_run();
    coordinator_stage_pass(&site_stages[US].stage, 20000000);
    site_stages_restart(US);
    site_stages_run();
    cr_assert_null(site_stages_document(US, "urls"));
}

Test(coordinator_leave, who_can_t_reach_the_others_any_more_drops_what_it_has)
{
    join(EU, US);
    site_stages[US].cut = true;
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    drop_here(EU, STATUS_OK, "");
    cr_assert_eq(site_stages_change(US, SITE_STEP_LEAVE, "us").status, STATUS_OK);
    site_stages_run();
    drop_here(US, STATUS_OK, "");
}

/* One that left, and was dropped there then, has nothing to say about the others' filter. */
Test(coordinator_leave, the_drop_of_one_that_left_is_no_other_sites_drop)
{
    struct admin_request drop = coordinator_stage_drop();

    join(EU, US);
    cr_assert_eq(site_stages_change(US, SITE_STEP_LEAVE, "us").status, STATUS_OK);
    site_stages_run();
    site_stages_mark(EU, US);
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_GONE);
    coordinator_stage_command(&site_stages[US].stage, 2, &drop);
    site_stages_run();
    cr_assert_null(site_stages_document(US, "urls"));
    cr_assert_not_null(site_stages_document(EU, "urls"));
    cr_assert_not(site_stages[US].words.told.dropped);
}

/* Its word about the filter counts no more, whatever it has not heard. */
Test(coordinator_leave, the_drop_of_one_that_was_removed_is_no_other_sites_drop)
{
    struct admin_request drop = coordinator_stage_drop();

    join(EU, US);
    site_stages[US].cut = true;
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    drop.scope = DROP_EVERYWHERE;
    coordinator_stage_command(&site_stages[US].stage, 2, &drop);
    site_stages_run();
    site_stages[US].cut = false;
    site_stages_run();
    cr_assert(site_stages[EU].heard[US].told.dropped);
    cr_assert_not_null(site_stages_document(EU, "urls"));
}
