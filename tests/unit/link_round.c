/* What is offered of a stretch of a copy, and what is dropped of it: nothing that the other site
 * lacks, whatever either of them has. */
#include "link/link.h"
#include "link/sent/round.h"
#include "log/run_digest.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200000, LEAST = LINK_OFFERED_KEYS };

static uint64_t keys[MOST];
static struct round one;
static struct round rest;

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* So many of the shard 1 of 16, ascending, each once. */
static size_t make_keys(uint64_t *random, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        keys[i] = UINT64_C(1) << 60 | random_next(random) >> 4;
    }
    qsort(keys, count, sizeof keys[0], by_value);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || keys[i] != keys[kept - 1]) {
            keys[kept++] = keys[i];
        }
    }
    return kept;
}

static const uint64_t first = UINT64_C(1) << 60;
static const uint64_t last = (UINT64_C(1) << 61) - 1;

static void clear(void)
{
    round_clear(&one);
    round_clear(&rest);
}

/* What the other site answers that has these keys, by the digests that its nodes would tell. */
static void answer(const uint64_t *theirs, size_t count)
{
    uint64_t *held = calloc(one.nprefixes + 1, sizeof *held);
    size_t at = 0;

    cr_assert_not_null(held);
    for (size_t i = 0; i < one.nprefixes; i++) {
        struct run_digest_range parts[PULL_PARTS];
        struct run_digest *digest;
        size_t end;

        cr_assert(i == 0 || one.prefixes[i] > one.prefixes[i - 1]);
        cr_assert_eq(run_digest_create(one.bits, one.prefixes[i], PULL_PART_BITS, &digest),
                     STATUS_OK);
        while (at < count && theirs[at] >> (64 - one.bits) < one.prefixes[i]) {
            at++;
        }
        for (end = at; end < count && theirs[end] >> (64 - one.bits) == one.prefixes[i];) {
            end++;
        }
        run_digest_add(digest, theirs + at, end - at);
        run_digest_finish(digest);
        cr_assert_eq(run_digest_children(digest, 0, 0, parts), PULL_PARTS);
        for (size_t k = 0; k < PULL_PARTS; k++) {
            held[i] |= (uint64_t)(run_digest_short(parts[k]) == one.digests[i * PULL_PARTS + k])
                       << k;
        }
        run_digest_destroy(&digest);
    }
    round_take(&one, held);
    free(held);
}

/* All of these keys are offered, and answered until the rest is left. Returns how many digests that
 * has taken. */
static size_t offer_to(size_t nkeys, const uint64_t *theirs, size_t count)
{
    uint32_t bits = round_bits(first, last, nkeys, 4, LEAST);
    size_t digests = 0;

    cr_assert(round_gather(&one, keys, nkeys));
    cr_assert(round_close(&one, bits, LEAST, SITE_MAX_OFFERED, last, &rest));
    cr_assert_eq(rest.nkeys, 0);
    while (one.state == ROUND_OFFERED) {
        digests += one.nprefixes * PULL_PARTS;
        answer(theirs, count);
    }
    cr_assert_eq(one.state, ROUND_LEFT);
    return digests;
}

static bool is_left(uint64_t key)
{
    return bsearch(&key, one.keys, one.nkeys, sizeof key, by_value) != NULL;
}

TestSuite(link_round, .fini = clear);

Test(link_round, what_both_have_is_not_sent)
{
    uint64_t random = 1;
    size_t count = make_keys(&random, 100000);
    size_t digests = offer_to(count, keys, count);

    cr_assert_eq(one.nkeys, 0);
    cr_assert_lt(digests * 8, count / 64, "%zu digests", digests);
}

/* Whatever each of them has, all that the other one lacks is left; and not much more. */
Test(link_round, what_the_other_site_lacks_is_left)
{
    static const size_t lacks[] = {0, 1, 10, 500, 20000};
    static uint64_t theirs[MOST];
    static bool lacking[MOST];

    for (size_t seed = 0; seed < 15; seed++) {
        uint64_t random = seed + 7;
        size_t count = make_keys(&random, seed < 5 ? 100000 : 1 + random_below(&random, 50000));
        size_t wanted = lacks[seed % 5] < count ? lacks[seed % 5] : count;
        size_t ntheirs = 0;

        memset(lacking, 0, sizeof lacking);
        for (size_t i = 0; i < wanted; i++) {
            lacking[random_below(&random, count)] = true;
        }
        for (size_t i = 0; i < count; i++) {
            if (!lacking[i]) {
                theirs[ntheirs++] = keys[i];
            }
            if (seed % 2 == 1 && random_below(&random, 1000) == 0 && keys[i] < UINT64_MAX - 1 &&
                (i + 1 == count || keys[i + 1] != keys[i] + 1)) {
                theirs[ntheirs++] = keys[i] + 1; /* Which is not here. */
            }
        }
        (void)offer_to(count, theirs, ntheirs);
        for (size_t i = 0; i < count; i++) {
            cr_assert(!lacking[i] || is_left(keys[i]), "seed %zu: key %zu is lost", seed, i);
        }
        if (seed == 2) {
            cr_assert_lt(one.nkeys, 1000, "10 keys that lack, and %zu are sent", one.nkeys);
        }
        clear();
    }
}

Test(link_round, who_has_nothing_is_sent_all)
{
    uint64_t random = 3;
    size_t count = make_keys(&random, 70000);

    (void)offer_to(count, NULL, 0);
    cr_assert_eq(one.nkeys, count);
    cr_assert_arr_eq(one.keys, keys, count * sizeof keys[0]);
}

Test(link_round, what_is_not_answered_is_left)
{
    uint64_t random = 4;
    size_t count = make_keys(&random, 70000);

    cr_assert(round_gather(&one, keys, count));
    cr_assert(round_close(&one, round_bits(first, last, count, 4, LEAST), LEAST, SITE_MAX_OFFERED,
                          last, &rest));
    cr_assert_eq(one.state, ROUND_OFFERED);
    round_leave(&one);
    cr_assert_eq(one.nkeys, count);
}

/* The last range that is not all there is offered with the next ones. */
Test(link_round, only_whole_ranges_are_offered)
{
    uint64_t random = 5;
    size_t count = make_keys(&random, 150000);
    uint32_t bits = 6;
    uint64_t cut = keys[count / 2];
    size_t whole = 0;

    while (keys[whole] >> (64 - bits) < cut >> (64 - bits)) {
        whole++;
    }
    cr_assert_gt(whole, 0);
    cr_assert(round_gather(&one, keys, count / 2 + 1));
    cr_assert(round_close(&one, bits, LEAST, SITE_MAX_OFFERED, cut, &rest));
    cr_assert_eq(one.nkeys, whole);
    cr_assert_eq(rest.nkeys, count / 2 + 1 - whole);
    cr_assert_arr_eq(rest.keys, keys + whole, rest.nkeys * sizeof keys[0]);
    cr_assert_eq(rest.state, ROUND_GATHERS);
    cr_assert(round_gather(&rest, keys + count / 2 + 1, count - count / 2 - 1));
}

Test(link_round, of_no_whole_range_all_is_left)
{
    uint64_t random = 6;
    size_t count = make_keys(&random, 1000);

    cr_assert(round_gather(&one, keys, count / 2));
    cr_assert(round_close(&one, 4, LEAST, SITE_MAX_OFFERED, keys[count / 2 - 1], &rest));
    cr_assert_eq(one.state, ROUND_LEFT);
    cr_assert_eq(one.nkeys, count / 2);
    cr_assert_eq(rest.nkeys, 0);
}

/* No offer is larger than a message may be. */
Test(link_round, ranges_beyond_one_offer_come_with_the_next_one)
{
    size_t count = SITE_MAX_OFFERED + 5;

    for (size_t i = 0; i < count; i++) {
        keys[i] = (uint64_t)i << 40;
    }
    cr_assert(round_gather(&one, keys, count));
    cr_assert(round_close(&one, 24, LEAST, SITE_MAX_OFFERED, UINT64_MAX, &rest));
    cr_assert_eq(one.nprefixes, SITE_MAX_OFFERED);
    cr_assert_eq(one.nkeys, SITE_MAX_OFFERED);
    cr_assert_eq(rest.nkeys, 5);
    round_clear(&one);
    cr_assert(round_close(&rest, 24, LEAST, 2, UINT64_MAX, &one));
    cr_assert_eq(rest.nprefixes, 2);
    cr_assert_eq(one.nkeys, 3);
}

Test(link_round, ranges_are_as_large_as_it_is_worth)
{
    cr_assert_eq(round_bits(0, UINT64_MAX, 2000000, 0, LEAST), 4);
    cr_assert_eq(round_bits(0, UINT64_MAX / 2, 1000000, 0, LEAST), 4,
                 "half of them, in half of the room");
    cr_assert_eq(round_bits(0, UINT64_MAX, 1000000000, 6, LEAST), 13);
    cr_assert_eq(round_bits(0, UINT64_MAX, 2000000, 8, LEAST), 8, "no range is of two shards");
    cr_assert_eq(round_bits(0, UINT64_MAX, 2000000, 12, LEAST), ROUND_UNOFFERED,
                 "too few for digests");
    cr_assert_eq(round_bits(5, 5, 1, 0, LEAST), PULL_MAX_PARENT_BITS);
}
