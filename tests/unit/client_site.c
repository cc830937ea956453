/* What `orbloom site add` and `remove` show while they wait, and when they are through. */
#include "cli/cmd.h"
#include "cli/commands/site_change.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct site_set eu_and_us = {
    .entries = {{{0x05, 1}, "us", {1, 1}, SITE_JOINING, false, 0},
                {{0xe0, 1}, "eu", {1, 3}, SITE_COUNTED, false, 0}},
    .count = 2,
    .own = 1,
    .takes_adds = true,
    .says_absent = true,
    .settled = true,
};

static struct site_standing us;
static struct filter_sites filter;

static void setup(void)
{
    us = (struct site_standing){.id = {0x05, 1}};
    filter = (struct filter_sites){
        .name = "urls", .sites = eu_and_us, .awaited = "", .others = &us, .nothers = 1};
}

TestSuite(client_site, .init = setup);

static void expect(enum site_step step, enum site_progress progress, const char *words)
{
    const struct site_wish wish = {.step = step, .name = "urls", .site = "us"};
    char text[SITE_LINE_BYTES];

    cr_assert_eq(site_progress_of(&filter, &wish, text), progress, "%s", text);
    cr_assert_not_null(strstr(text, words), "%s", text);
}

Test(client_site, an_add_goes_on_until_the_newcomer_answers)
{
    expect(SITE_STEP_ADD, SITE_GOES_ON, "us is to make it");
    us.told = true;
    expect(SITE_STEP_ADD, SITE_GOES_ON, "us waits until all sites know of it");
    us.takes_adds = true;
    us.keys = 1200000;
    expect(SITE_STEP_ADD, SITE_GOES_ON, "copies what the others have; about 1,200,000 keys");
    filter.sites.entries[0].state = SITE_COUNTED;
    expect(SITE_STEP_ADD, SITE_GOES_ON, "us counts");
    us.says_absent = true;
    expect(SITE_STEP_ADD, SITE_THERE, "");
}

Test(client_site, an_add_that_was_taken_back_is_told)
{
    filter.sites.entries[0].state = SITE_GONE;
    expect(SITE_STEP_ADD, SITE_OVERTAKEN, "");
    filter.sites.count = 1;
    filter.sites.entries[0] = eu_and_us.entries[1];
    filter.sites.own = 0;
    expect(SITE_STEP_ADD, SITE_OVERTAKEN, "");
}

Test(client_site, a_leave_goes_on_until_it_is_gone)
{
    filter.sites.entries[0].state = SITE_COUNTED;
    expect(SITE_STEP_LEAVE, SITE_OVERTAKEN, "");
    filter.sites.entries[0].state = SITE_LEAVING;
    filter.awaited = "site eu to have all that us, which leaves, has acknowledged";
    expect(SITE_STEP_LEAVE, SITE_GOES_ON, "site eu to have all");
    filter.sites.entries[0].state = SITE_GONE;
    expect(SITE_STEP_LEAVE, SITE_THERE, "");
}

Test(client_site, a_removal_goes_on_until_the_others_are_compared)
{
    filter.sites.entries[0].state = SITE_GONE;
    filter.sites.settled = false;
    filter.awaited = "all keys of site ap to be compared, as a site was removed";
    expect(SITE_STEP_REMOVE, SITE_GOES_ON, "all keys of site ap");
    filter.sites.settled = true;
    expect(SITE_STEP_REMOVE, SITE_THERE, "");
}

/* One that came back under the name with another key is another site. */
Test(client_site, of_two_of_one_name_the_one_that_lives_is_meant)
{
    filter.sites.entries[2] = filter.sites.entries[1];
    filter.sites.entries[1] = (struct site_entry){{0x06, 1}, "us", {1, 1}, SITE_JOINING, false, 0};
    filter.sites.entries[0].state = SITE_GONE;
    filter.sites.count = 3;
    filter.sites.own = 2;
    us.id = (struct site_id){0x06, 1};
    expect(SITE_STEP_ADD, SITE_GOES_ON, "us is to make it");
}

/* Before a filter is made for them. */
Test(client_site, a_list_of_sites_is_judged_whole)
{
    cr_assert_eq(site_check_list("eu"), CMD_OK);
    cr_assert_eq(site_check_list("eu,us-2"), CMD_OK);
    cr_assert_eq(site_check_list(""), CMD_USAGE);
    cr_assert_eq(site_check_list("eu,,us"), CMD_USAGE);
    cr_assert_eq(site_check_list("eu,US"), CMD_USAGE);
    cr_assert_eq(site_check_list("eu,us-23456789-123456789-123456789-1"), CMD_USAGE);
}
