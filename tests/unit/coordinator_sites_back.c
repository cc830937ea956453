/* Coordinators of several sites: one that had left, or was removed, has the filter again. */
#include "tests/unit/coordinator_sites_join.h"

TestSuite(coordinator_back, .init = setup, .fini = site_stages_fini);

/* us leaves, and is marked by all that stay. */
static void leave_in_order(void)
{
    cr_assert_eq(site_stages_change(US, SITE_STEP_LEAVE, "us").status, STATUS_OK);
    site_stages_run();
    site_stages_mark(EU, US);
    site_stages_mark(EU, AP);
    site_stages_mark(AP, US);
    site_stages_mark(AP, EU);
    site_stages_run();
    cr_assert_eq(site_stages_state(EU, US), SITE_GONE, "%s", site_stages_awaited(EU));
    cr_assert_eq(site_stages_state(US, US), SITE_GONE);
}

static void expect_back(void)
{
    for (uint32_t i = 0; i < SITE_STAGES; i++) {
        cr_assert_eq(site_stages_state(i, US), SITE_COUNTED, "%s", site_stages_name(i));
        cr_assert(set_of(i)->says_absent && set_of(i)->takes_adds, "%s", site_stages_name(i));
        cr_assert(set_of(i)->settled, "%s", site_stages_name(i));
    }
}

Test(coordinator_back, who_left_in_order_joins_anew)
{
    join(EU, US);
    join(EU, AP);
    leave_in_order();
    add(AP, "us");
    cr_assert_eq(site_stages_state(AP, US), SITE_JOINING);
    site_stages_run();
    cr_assert(set_of(EU)->settled && set_of(AP)->settled, "it left in order");
    cr_assert_eq(site_stages_state(US, US), SITE_JOINING);
    cr_assert(set_of(US)->takes_adds && set_of(US)->joins_anew && !set_of(US)->says_absent);
    cr_assert_eq(site_stages_state(US, AP), SITE_COUNTED);
    finish_join(US);
    expect_back();
    cr_assert_eq(site_life_return(site_set_own(set_of(US))->life.number), 1);
    expect_refused(site_stages_change(AP, SITE_STEP_ADD, "us"), STATUS_EXISTS, "already");
}

/* That all were done with it once is no word about what it has acknowledged since. */
Test(coordinator_back, who_leaves_again_is_taken_over_again)
{
    join(EU, US);
    join(EU, AP);
    leave_in_order();
    add(EU, "us");
    site_stages_run();
    finish_join(US);
    expect_back();
    site_stages[EU].cut = true;
    cr_assert_eq(site_stages_change(US, SITE_STEP_LEAVE, "us").status, STATUS_OK);
    site_stages_run();
    site_stages[EU].cut = false;
    site_stages_run();
    cr_assert_eq(site_stages_state(EU, US), SITE_LEAVING);
    cr_assert_eq(site_stages_state(AP, US), SITE_LEAVING);
    leave_in_order();
    cr_assert_eq(site_life_return(site_set_own(set_of(US))->life.number), 1);
}

/* Nobody has heard of the first removal but who has ordered it: it is one of a removed site all the
 * same that all have to compare. */
Test(coordinator_back, who_was_removed_at_once_unsettles_all)
{
    join(EU, US);
    join(EU, AP);
    site_stages[US].cut = true;
    site_stages[AP].cut = true;
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    add(EU, "us");
    site_stages[US].cut = false;
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_JOINING);
    cr_assert_not(set_of(US)->takes_adds, "ap has not heard of it");
    cr_assert_not(set_of(US)->settled);
    site_stages[AP].cut = false;
    site_stages_run();
    cr_assert_not(set_of(AP)->settled);
    cr_assert(set_of(US)->takes_adds);
    finish_join(US);
    cr_assert_eq(site_stages_state(AP, US), SITE_COUNTED);
    cr_assert_not(set_of(EU)->settled);
    for (uint32_t i = 0; i < SITE_STAGES; i++) {
        for (uint32_t k = 0; k < SITE_STAGES; k++) {
            if (i != k) {
                site_stages_copy(i, k);
            }
        }
    }
    site_stages_run();
    finish_join(US);
    expect_back();
}

static void drop_everywhere(uint32_t i)
{
    struct admin_request drop = coordinator_stage_drop();
    struct coordinator_stage *stage = &site_stages[i].stage;

    drop.scope = DROP_EVERYWHERE;
    stage->ntold = 0;
    coordinator_stage_command(stage, 2, &drop);
}

Test(coordinator_back, who_has_left_drops_it_nowhere_else)
{
    join(EU, US);
    join(EU, AP);
    leave_in_order();
    drop_everywhere(US);
    expect_refused(coordinator_stage_told(&site_stages[US].stage), STATUS_INVALID,
                   "has left this site, and is not this one's to drop at others");
    cr_assert_eq(site_stages_state(US, US), SITE_GONE);
}

/* The tombstone comes late: it is about what us was before it came back. */
Test(coordinator_back, what_was_dropped_before_a_return_is_not_dropped_since)
{
    struct admin_request drop = coordinator_stage_drop();

    join(EU, US);
    join(EU, AP);
    site_stages[US].cut = true;
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    site_stages_run();
    drop.scope = DROP_EVERYWHERE;
    coordinator_stage_command(&site_stages[US].stage, 2, &drop);
    site_stages[US].cut = false;
    site_stages_sync(EU);
    add(EU, "us");
    site_stages_run();
    cr_assert_eq(site_stages_state(AP, US), SITE_JOINING);
    cr_assert_eq(site_stages_state(EU, EU), SITE_COUNTED, "it is there still");
    cr_assert_eq(site_stages_state(AP, AP), SITE_COUNTED);
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
}

/* It would be dropped at all of them as soon as it is one of them. */
Test(coordinator_back, who_has_dropped_it_everywhere_stays_gone)
{
    join(EU, US);
    join(EU, AP);
    site_stages[US].cut = true;
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "us").status, STATUS_OK);
    site_stages_run();
    drop_everywhere(US);
    site_stages[US].cut = false;
    site_stages_run();
    cr_assert_eq(site_stages_state(EU, US), SITE_GONE);
    cr_assert_eq(site_stages_state(EU, AP), SITE_COUNTED);
    expect_refused(site_stages_change(EU, SITE_STEP_ADD, "us"), STATUS_INVALID,
                   "site us has dropped filter urls for all sites");
}
