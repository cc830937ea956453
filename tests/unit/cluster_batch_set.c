/* Does the set of batches never claim one that was not added, and forget only when it must? */
#include "node/pull/batch_set.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct batch_set *set;
static const struct batch_series_key key = {1, 2, 3, 4, 5, 6};

static void setup(void)
{
    set = calloc(1, sizeof *set);
}

static void teardown(void)
{
    batch_set_fini(set);
    free(set);
}

TestSuite(batch_set, .init = setup, .fini = teardown);

static void add(uint64_t number)
{
    batch_set_add(set, &key, number);
}

static bool has(uint64_t number)
{
    return batch_set_has(set, &key, number);
}

static size_t lacking(uint64_t first, uint64_t last, struct number_range *out)
{
    return batch_set_lacking(set, &key, first, last, out, BATCH_SET_RANGES + 1);
}

Test(batch_set, neighbours_become_one_interval)
{
    struct number_range out[BATCH_SET_RANGES + 1];

    cr_assert_not(has(5));
    add(5);
    add(7);
    cr_assert(has(5) && has(7));
    cr_assert_not(has(6));
    cr_assert_eq(lacking(4, 8, out), 3);
    cr_assert(out[0].first == 4 && out[0].last == 4);
    cr_assert(out[1].first == 6 && out[1].last == 6);
    cr_assert(out[2].first == 8 && out[2].last == 8);
    add(6);
    add(4);
    add(8);
    cr_assert_eq(lacking(4, 8, out), 0);
    cr_assert_eq(lacking(1, 9, out), 2);
    cr_assert(out[0].first == 1 && out[0].last == 3);
    cr_assert(out[1].first == 9 && out[1].last == 9);
}

Test(batch_set, the_ends_of_the_numbers_do_not_wrap)
{
    struct number_range out[BATCH_SET_RANGES + 1];

    add(UINT64_MAX);
    add(0);
    cr_assert(has(UINT64_MAX) && has(0));
    cr_assert_not(has(1));
    cr_assert_not(has(UINT64_MAX - 1));
    cr_assert_eq(lacking(0, UINT64_MAX, out), 1);
    cr_assert(out[0].first == 1 && out[0].last == UINT64_MAX - 1);
    add(UINT64_MAX - 1);
    cr_assert_eq(lacking(UINT64_MAX - 2, UINT64_MAX, out), 1);
    cr_assert_eq(out[0].last, UINT64_MAX - 2);
}

/* Each part of the key makes another series. */
Test(batch_set, series_are_apart)
{
    struct batch_series_key other;

    add(9);
    for (int field = 0; field < 6; field++) {
        other = key;
        other.producer_id += field == 0;
        other.filter_id += field == 1;
        other.epoch += field == 2;
        other.slice += field == 3;
        other.keyset += field == 4;
        other.group += field == 5;
        cr_assert_not(batch_set_has(set, &other, 9), "field %d", field);
    }
}

/* Beyond its intervals the lowest are forgotten: lacking, never claimed. */
Test(batch_set, too_many_intervals_forget_the_lowest)
{
    for (uint64_t i = 0; i < 2 * BATCH_SET_RANGES; i++) {
        add(2 * i);
    }
    for (uint64_t i = 0; i < 2 * BATCH_SET_RANGES; i++) {
        cr_assert_eq(has(2 * i), i >= BATCH_SET_RANGES, "%llu", (unsigned long long)i);
        cr_assert_not(has(2 * i + 1));
    }
    add(1);
    cr_assert_not(has(1), "lower than what there is room for");
}

Test(batch_set, too_many_series_forget_the_oldest)
{
    enum { NSERIES = 4 * BATCH_SET_BUCKETS * BATCH_SET_WAYS };
    struct batch_series_key one = key;
    unsigned kept = 0;

    for (uint32_t i = 0; i < NSERIES; i++) {
        one.producer_id = i;
        batch_set_add(set, &one, 7);
        cr_assert(batch_set_has(set, &one, 7));
    }
    for (uint32_t i = 0; i < NSERIES; i++) {
        one.producer_id = i;
        kept += batch_set_has(set, &one, 7);
    }
    cr_assert_leq(kept, BATCH_SET_BUCKETS * BATCH_SET_WAYS);
    cr_assert_gt(kept, BATCH_SET_BUCKETS * BATCH_SET_WAYS / 2, "the hash spreads them");
}

/* Else replicas of so many filters would tell each other the same batches again and again. */
Test(batch_set, as_many_series_as_are_asked_for_are_kept)
{
    enum { NSERIES = 20 * BATCH_SET_BUCKETS * BATCH_SET_WAYS };
    struct batch_series_key one = key;

    add(7);
    cr_assert_eq(batch_set_reserve(set, NSERIES), STATUS_OK);
    cr_assert(has(7), "what was there stays");
    cr_assert_eq(batch_set_reserve(set, 1), STATUS_OK, "never less");
    for (uint32_t i = 0; i < NSERIES; i++) {
        one.filter_id = i;
        batch_set_add(set, &one, 7);
    }
    for (uint32_t i = 0; i < NSERIES; i++) {
        one.filter_id = i;
        cr_assert(batch_set_has(set, &one, 7), "%u", i);
    }
}

/* Against a plain set of bits, any order, repeats and all. */
Test(batch_set, agrees_with_a_plain_set)
{
    enum { NUMBERS = 120, ROUNDS = 300 };
    struct number_range out[BATCH_SET_RANGES + 1];
    uint64_t random = 5;

    for (int round = 0; round < ROUNDS; round++) {
        bool plain[NUMBERS] = {false};

        batch_set_clear(set);
        for (int i = 0; i < NUMBERS; i++) {
            uint64_t number = random_next(&random) % NUMBERS;
            uint64_t first = random_next(&random) % NUMBERS;
            uint64_t last = first + random_next(&random) % (NUMBERS - first);
            bool told[NUMBERS] = {false};
            size_t count;

            add(number);
            plain[number] = true;
            count = lacking(first, last, out);
            for (size_t k = 0; k < count; k++) {
                cr_assert(out[k].first >= first && out[k].last <= last);
                cr_assert(k == 0 || out[k].first > out[k - 1].last + 1);
                for (uint64_t n = out[k].first; n <= out[k].last; n++) {
                    told[n] = true;
                }
            }
            for (uint64_t n = first; n <= last; n++) {
                cr_assert_eq(told[n], !plain[n]);
                cr_assert_eq(has(n), plain[n]);
            }
        }
    }
}
