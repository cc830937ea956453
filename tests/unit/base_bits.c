/* Bit planes, at the edges of their words. */
#include "base/bits.h"

#include <criterion/criterion.h>

enum { MOST = 200, WORDS = 5 };

/* The plain way to count. */
static size_t count_slowly(const uint64_t *plane, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += bits_has(plane, i);
    }
    return sum;
}

Test(bits, words_are_just_enough)
{
    cr_assert_eq(bits_words(0), 0);
    cr_assert_eq(bits_words(1), 1);
    cr_assert_eq(bits_words(64), 1);
    cr_assert_eq(bits_words(65), 2);
    cr_assert_eq(bits_words(128), 2);
    cr_assert_eq(bits_words(129), 3);
}

Test(bits, each_bit_is_one_of_its_own)
{
    for (size_t at = 0; at < MOST; at++) {
        uint64_t plane[WORDS] = {0};

        bits_set(plane, at);
        cr_assert_eq(plane[at / 64], UINT64_C(1) << at % 64, "bit %zu", at);
        for (size_t i = 0; i < MOST; i++) {
            cr_assert_eq(bits_has(plane, i), i == at, "bit %zu of %zu", i, at);
        }
        cr_assert_eq(bits_count(plane, MOST), 1);
    }
}

Test(bits, clearing_one_leaves_the_others)
{
    for (size_t at = 0; at < MOST; at++) {
        uint64_t plane[WORDS];

        bits_fill(plane, MOST);
        bits_clear(plane, at);
        bits_clear(plane, at); /* It stays clear. */
        for (size_t i = 0; i < MOST; i++) {
            cr_assert_eq(bits_has(plane, i), i != at, "bit %zu of %zu", i, at);
        }
    }
}

Test(bits, or_only_ever_sets)
{
    uint64_t plane[WORDS] = {0};

    bits_or(plane, 70, false);
    cr_assert_eq(bits_count(plane, MOST), 0);
    bits_or(plane, 70, true);
    bits_or(plane, 70, false);
    cr_assert(bits_has(plane, 70));
    cr_assert_eq(bits_count(plane, MOST), 1);
}

Test(bits, zero_and_fill_take_whole_words_and_no_more)
{
    for (size_t count = 0; count <= MOST; count++) {
        uint64_t plane[WORDS] = {5, 5, 5, 5, 5};

        bits_fill(plane, count);
        for (size_t word = 0; word < WORDS; word++) {
            cr_assert_eq(plane[word], word < bits_words(count) ? UINT64_MAX : 5, "of %zu", count);
        }
        bits_zero(plane, count);
        for (size_t word = 0; word < WORDS; word++) {
            cr_assert_eq(plane[word], word < bits_words(count) ? 0 : 5, "of %zu", count);
        }
    }
}

Test(bits, masks_cover_the_bits_and_nothing_spare)
{
    for (size_t count = 1; count <= MOST; count++) {
        uint64_t plane[WORDS] = {0};

        for (size_t word = 0; word < bits_words(count); word++) {
            plane[word] = bits_mask(count, word);
        }
        for (size_t i = 0; i < bits_words(count) * 64; i++) {
            cr_assert_eq(bits_has(plane, i), i < count, "bit %zu of %zu", i, count);
        }
        cr_assert_eq(bits_count(plane, count), count);
    }
}

Test(bits, counts_are_those_of_single_bits)
{
    const uint64_t one[WORDS] = {UINT64_C(0x8000000000000001), 0, 0xf0, 3, 0};
    const uint64_t other[WORDS] = {1, UINT64_MAX, 0x0f, 0, 0};
    uint64_t both[WORDS];

    for (size_t word = 0; word < WORDS; word++) {
        both[word] = one[word] | other[word];
    }
    for (size_t count = 0; count <= MOST; count += 64) { /* Whole words: no bit is spare. */
        cr_assert_eq(bits_count(one, count), count_slowly(one, count));
        cr_assert_eq(bits_count_either(one, other, count), count_slowly(both, count));
    }
    cr_assert_eq(bits_count_either(one, other, 192), 2 + 64 + 8);
}
