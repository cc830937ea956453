/* A link is fit for use while it hears a link of each other site, and its router is. */
#include "tests/support/health.h"
#include "tests/support/site_pair.h"

enum { EU, US, SECOND = 1000000 };

static struct site_pair pair;

static void expect(uint32_t site, const char *what, const char *why)
{
    struct health health = {0};

    link_tell_health(pair.sides[site].link, &health);
    expect_health(&health, what, why);
}

Test(link_health, each_other_site_is_to_be_heard, .timeout = 60)
{
    site_pair_init(&pair, 3);
    site_pair_run(&pair, 5 * SECOND);
    expect(EU, NULL, NULL);
    expect(US, NULL, NULL);
    site_pair_link_stop(&pair, US);
    site_pair_run(&pair, 3 * (uint64_t)LINK_SILENT_US);
    expect(EU, "site", "no link of site us is heard of");
    site_pair_link_start(&pair, US);
    site_pair_run(&pair, 5 * SECOND);
    expect(EU, NULL, NULL);
    site_pair_fini(&pair);
}
