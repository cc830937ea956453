/* What `orbloom site resync` shows while it waits, and when it is through. */
#include "cli/commands/site_order.h"

#include <criterion/criterion.h>
#include <string.h>

static struct site_standing us;
static struct filter_sites filter;
static struct site_lag lag;
static struct site_lags lags;

static void setup(void)
{
    us = (struct site_standing){.id = {0x05, 1}, .told = true, .keys = 5000};
    filter = (struct filter_sites){
        .filter_id = 7,
        .name = "urls",
        .sites = {.entries = {{{0x05, 1}, "us", {1, 1}, SITE_COUNTED, false, 12},
                              {{0xe0, 1}, "eu", {1, 3}, SITE_COUNTED, false, 0}},
                  .count = 2,
                  .own = 1},
        .awaited = "",
        .others = &us,
        .nothers = 1,
    };
    lag = (struct site_lag){.filter_id = 7, .id = {0x05, 1}, .resync = 12, .in_keys = 1200};
    lags = (struct site_lags){.items = &lag, .count = 1};
}

TestSuite(client_site_order, .init = setup);

static void expect(enum site_progress progress, const char *words)
{
    char text[SITE_LINE_BYTES];

    cr_assert_eq(site_order_progress(&filter, "us", &lags, text), progress, "%s", text);
    cr_assert_not_null(strstr(text, words), "%s", text);
}

Test(client_site_order, words_of_the_command_line)
{
    cr_assert_eq(site_order_step("pause"), SITE_STEP_PAUSE);
    cr_assert_eq(site_order_step("resume"), SITE_STEP_RESUME);
    cr_assert_eq(site_order_step("resync"), SITE_STEP_RESYNC);
    cr_assert_eq(site_order_step("add"), 0);
}

Test(client_site_order, it_goes_on_until_all_has_come_by_this_order)
{
    lag.resync = 3;
    lag.copied = true;
    expect(SITE_GOES_ON, "links have not begun yet");
    lags.count = 0;
    expect(SITE_GOES_ON, "links have not begun yet");
    lags.count = 1;
    lag.resync = 12;
    lag.copied = false;
    expect(SITE_GOES_ON, "1,200 keys taken, us has about 5,000; received");
    lag.copied = true;
    expect(SITE_THERE, "");
    lag.resync = 15;
    expect(SITE_THERE, "");
}

Test(client_site_order, it_is_given_up_where_the_site_is_paused_or_gone)
{
    filter.sites.entries[0].paused = true;
    expect(SITE_OVERTAKEN, "");
    filter.sites.entries[0].paused = false;
    filter.sites.entries[0].state = SITE_GONE;
    expect(SITE_OVERTAKEN, "");
}
