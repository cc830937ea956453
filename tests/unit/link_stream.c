/* Keys travel from one site to another: two sites of three nodes each, with real nodes, routers'
 * cores and links, and a network between them that is late, cut, and loses what is on it. */
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { EU = 0, US = 1, SECOND = 1000000, N1 = 2, N2 = 4, N3 = 8, ALL = 14, BATCH = 200 };

TestSuite(link_stream, .timeout = 120);

static struct site_pair *pair;

static void begin(void)
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair);
}

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* Keys that no other seed has. */
static void make_keys(uint64_t seed, uint64_t *keys, uint32_t count)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (uint32_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

/* At W of the site's nodes, so that every check finds them. */
static void expect_all(uint32_t site, const uint64_t *keys, uint32_t count)
{
    int found = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        found += site_pair_count(pair, site, node, keys, count) == (int)count;
    }
    cr_assert_geq(found, 2, "%d of 3 replicas have all", found);
}

static uint32_t have_none(uint32_t site, const uint64_t *keys, uint32_t count)
{
    uint32_t none = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        none += site_pair_count(pair, site, node, keys, count) == 0;
    }
    return none;
}

/* Until both have greeted, and opened both streams. */
static void connect_both(void)
{
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_channels"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_channels"), 1);
    cr_assert_eq(site_pair_counter(pair, EU, "site_streams_out"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1);
}

Test(link_stream, what_is_added_at_one_site_is_found_at_the_other)
{
    uint64_t one[BATCH];
    uint64_t other[BATCH];

    begin();
    make_keys(1, one, BATCH);
    make_keys(2, other, BATCH);
    connect_both();
    site_pair_add(pair, EU, N1 | N2, one, BATCH);
    site_pair_add(pair, US, N2 | N3, other, BATCH);
    site_pair_run(pair, SECOND);
    expect_all(US, one, BATCH);
    expect_all(EU, other, BATCH);
    end();
}

/* What was there before the sites met is copied. */
Test(link_stream, what_was_added_before_is_copied)
{
    uint64_t keys[BATCH];

    begin();
    make_keys(1, keys, BATCH);
    site_pair_add(pair, EU, N1 | N3, keys, BATCH);
    cr_assert_eq(have_none(US, keys, BATCH), 3);
    connect_both();
    site_pair_run(pair, SECOND);
    expect_all(US, keys, BATCH);
    end();
}
