/* link_streams.h - two sites whose links are connected, and keys that are added at both; shared by
 * link_stream.c and link_peer.c only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_LINK_STREAMS_H
#define ORBLOOM_TESTS_UNIT_LINK_STREAMS_H

#include "tests/support/sample_cluster.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { EU = 0, US = 1, SECOND = 1000000, N1 = 2, N2 = 4, N3 = 8, ALL = 14, BATCH = 200 };

static struct site_pair *pair;

static inline void begin_on(uint32_t nnodes)
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair, nnodes);
}

static inline void begin(void)
{
    begin_on(3);
}

static inline void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* Keys that no other seed has. */
static inline void make_keys(uint64_t seed, uint64_t *keys, uint32_t count)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (uint32_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

/* At W of the site's nodes, so that every check finds them. */
static inline void expect_all(uint32_t site, const uint64_t *keys, uint32_t count)
{
    int found = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        found += site_pair_count(pair, site, node, keys, count) == (int)count;
    }
    cr_assert_geq(found, 2, "%d of 3 replicas have all", found);
}

static inline uint32_t have_none(uint32_t site, const uint64_t *keys, uint32_t count)
{
    uint32_t none = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        none += site_pair_count(pair, site, node, keys, count) == 0;
    }
    return none;
}

/* Until both have greeted, and opened both streams. */
static inline void connect_both(void)
{
    site_pair_run(pair, 4 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_channels"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_channels"), 1);
    cr_assert_eq(site_pair_counter(pair, EU, "site_streams_out"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1);
}

enum { ROUNDS = 12, MANY = ROUNDS * BATCH };

/* A batch a round at each site, the nodes that get it changing. */
static inline void add_rounds(uint64_t *one, uint64_t *other, uint64_t pause_us)
{
    static const unsigned nodes[] = {N1 | N2, N2 | N3, N1 | N3, ALL};

    make_keys(1, one, MANY);
    make_keys(2, other, MANY);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        site_pair_add(pair, EU, nodes[i % 4], one + i * BATCH, BATCH);
        site_pair_add(pair, US, nodes[(i + 1) % 4], other + i * BATCH, BATCH);
        site_pair_run(pair, pause_us);
    }
}

static inline void expect_rounds(const uint64_t *one, const uint64_t *other)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        expect_all(US, one + i * BATCH, BATCH);
        expect_all(EU, other + i * BATCH, BATCH);
    }
}

static uint64_t one_keys[MANY];
static uint64_t other_keys[MANY];

#endif
