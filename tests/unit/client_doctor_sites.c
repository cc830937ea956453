/* `orbloom doctor` on other sites: not connected, paused, behind, refused. */
#include "tests/unit/doctor_fake.h"

static const struct site_id own_id = {.high = 1};
static const struct site_id other_id = {.high = 2};
static struct site_summary sites[2];
static struct filter_sites filter;
static struct site_standing standing;
static struct site_lag lag;
static struct site_page *page;

static void setup(void)
{
    static struct frame frame;

    fake_setup();
    sites[0] = (struct site_summary){.name = "eu", .id = own_id, .own = true, .links = 1};
    sites[1] = (struct site_summary){.name = "us", .id = other_id, .links = 1};
    standing = (struct site_standing){.id = other_id, .told = true};
    lag = (struct site_lag){.filter_id = 1, .id = other_id, .sends = true};
    filter = (struct filter_sites){
        .filter_id = 1, .name = "seen", .awaited = "", .others = &standing, .nothers = 1};
    filter.sites.count = 2;
    filter.sites.entries[0] = (struct site_entry){.id = own_id, .name = "eu"};
    filter.sites.entries[1] = (struct site_entry){.id = other_id, .name = "us"};
    frame = (struct frame){.kind = FRAME_ADMIN_REPLY};
    page = &frame.body.admin_reply.sites;
    *page = (struct site_page){
        .site = "eu", .sites = sites, .nsites = 2, .filters = &filter, .nfilters = 1, .nlinks = 1};
    fake.gathered.sites = (struct doctor_answer){.asked = true, .frame = &frame};
    fake.gathered.lags = (struct site_lags){.items = &lag, .count = 1, .room = 1};
}

TestSuite(client_doctor_sites, .init = setup, .fini = fake_teardown);

Test(client_doctor_sites, a_site_that_is_not_connected)
{
    fake_expect_none(judge_sites);
    sites[1].links = 0;
    (void)fake_expect(judge_sites, SEVERITY_WARNING, "site", "us",
                      "`orbloom site remove NAME us --now --confirmed-off us`");
}

Test(client_doctor_sites, a_site_that_is_paused_for_all_or_for_one)
{
    sites[1].paused = true;
    (void)fake_expect(judge_sites, SEVERITY_WARNING, "site", "us", "`orbloom site resume us`");
    sites[1].paused = false;
    filter.sites.entries[1].paused = true;
    (void)fake_expect(judge_sites, SEVERITY_WARNING, "site", "seen",
                      "`orbloom site resume us seen`");
    filter.sites.entries[1].paused = false;
    lag.paused_there = true;
    (void)fake_expect(judge_sites, SEVERITY_WARNING, "site", "seen",
                      "said there: `orbloom site resume eu seen`");
}

Test(client_doctor_sites, a_site_that_is_thirty_seconds_behind)
{
    lag.pending_us = JUDGE_SITE_US - 1;
    fake_expect_none(judge_sites);
    lag.pending_us = JUDGE_SITE_US;
    (void)fake_expect(judge_sites, SEVERITY_WARNING, "site", "seen", "`orbloom site seen`");
    lag.sends = false;
    fake_expect_none(judge_sites);
}

Test(client_doctor_sites, a_site_that_nothing_is_heard_of)
{
    standing.told = false;
    (void)fake_expect(judge_sites, SEVERITY_WARNING, "site", "seen", "orbloom-link");
}

Test(client_doctor_sites, a_filter_that_waits)
{
    filter.awaited = "all keys of site us to be copied";
    (void)fake_expect(judge_sites, SEVERITY_INFO, "site", "seen", NULL);
}

Test(client_doctor_sites, filters_in_sites_take_a_link)
{
    page->nlinks = 0;
    (void)fake_expect(judge_sites, SEVERITY_ERROR, "link", "eu", "orbloom-link");
    page->nfilters = 0;
    fake_expect_none(judge_sites);
}

Test(client_doctor_sites, a_filter_that_can_not_come_here)
{
    const struct site_refusal refusal = {"blocked", "us", "there is another filter blocked here"};

    page->refusals = &refusal;
    page->nrefusals = 1;
    (void)fake_expect(judge_sites, SEVERITY_WARNING, "site", "blocked", "`orbloom rename`");
}

Test(client_doctor_sites, what_was_not_told_is_said)
{
    page->filters_left = 5;
    fake_expect_none(judge_sites);
    fake_expect_omission("site", "5 more");
    page->site = NULL;
    fake_expect_none(judge_sites);
    fake_expect_omission("site", "version");
    fake.gathered.sites = (struct doctor_answer){
        .asked = true, .status = STATUS_UNAUTHENTIC, .why = "users of role client may not"};
    fake_expect_none(judge_sites);
    fake_expect_omission("site", "may not");
}
