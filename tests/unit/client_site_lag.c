/* What `orbloom site` says of how far sites are, by what several links tell. */
#include "cli/site_lag.h"

#include <criterion/criterion.h>
#include <string.h>

#define NOTHING "nothing is sent: all that is added meanwhile is at risk"

static struct site_lag lag;
static char text[SITE_LAG_TEXT_BYTES];

static void setup(void)
{
    lag = (struct site_lag){.filter_id = 5, .id = {1, 2}, .sends = true};
}

TestSuite(client_site_lag, .init = setup);

static void expect(const char *in, const char *out)
{
    cr_assert_str_eq(site_lag_show_in(&lag, text), in);
    cr_assert_str_eq(site_lag_show_out(&lag, text), out);
}

Test(client_site_lag, nothing_is_behind)
{
    expect("received", "nothing is pending");
    lag.marked = true;
    lag.age_us = 300000;
    expect("all up to 300ms ago", "nothing is pending");
}

Test(client_site_lag, how_far_and_how_much_is_at_risk)
{
    lag.pending_keys = 3100;
    lag.pending_us = 200000;
    lag.out_per_s = 1 << 20;
    lag.in_per_s = 1 << 10;
    expect("received, 1.0 KiB/s", "200ms behind, about 3,100 keys at risk, 1.0 MiB/s");
    lag.holds = SITE_WAIT_RATE;
    expect("received, 1.0 KiB/s",
           "200ms behind, about 3,100 keys at risk, waits for site_rate, 1.0 MiB/s");
}

Test(client_site_lag, what_is_waited_for)
{
    lag.sends = false;
    lag.waits = SITE_WAIT_CONNECTION;
    lag.marked = true;
    lag.age_us = 60000000;
    expect("not connected, all up to 1m ago", NOTHING);
    lag.waits = SITE_WAIT_PAUSED;
    lag.paused_here = true;
    expect("paused here, all up to 1m ago", NOTHING ", paused here");
    lag.paused_there = true;
    expect("paused at both sites, all up to 1m ago", NOTHING ", paused at both sites");
    lag.waits = 4711;
    lag.marked = lag.paused_here = lag.paused_there = false;
    expect("waits for something that a newer link knows", NOTHING);
}

Test(client_site_lag, copies)
{
    lag.copies = 3;
    lag.holds = SITE_WAIT_COPY;
    expect("received", "nothing is pending, 3 replicas to be copied");
}

/* Two links here receive it, and two there. */
Test(client_site_lag, of_several_links_the_best_one_counts)
{
    struct site_lag other = lag;

    lag.waits = SITE_WAIT_OPEN;
    lag.pending_keys = 100;
    lag.pending_us = 7;
    lag.out_per_s = 10;
    lag.marked = true;
    lag.age_us = 50;
    other.pending_keys = 40;
    other.pending_us = 3;
    other.out_per_s = 5;
    other.marked = true;
    other.age_us = 60;
    other.paused_there = true;
    site_lag_join(&lag, &other);
    cr_assert_eq(lag.waits, SITE_WAIT_NOTHING);
    cr_assert_eq(lag.age_us, 50);
    cr_assert_eq(lag.pending_keys, 40);
    cr_assert_eq(lag.pending_us, 3);
    cr_assert_eq(lag.out_per_s, 15);
    cr_assert(lag.paused_there);
    other.sends = other.marked = false;
    other.pending_keys = 0;
    site_lag_join(&lag, &other);
    cr_assert_eq(lag.pending_keys, 40, "one that sends nothing knows nothing of it");
    cr_assert_eq(lag.age_us, 50);
}
