/* bits.h - bit planes: a bit for each key of a batch, in words of 64.
 *
 * Bit i is bit i % 64 of word i / 64. A plane of `count` bits has bits_words(count) words; what the
 * last one has beyond that is spare. Unless said otherwise, spare bits are 0. A plane of no bits
 * may be NULL.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BASE_BITS_H
#define ORBLOOM_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BITS_A_WORD = 64 };

static inline size_t bits_words(size_t count)
{
    return (count + BITS_A_WORD - 1) / BITS_A_WORD;
}

static inline bool bits_has(const uint64_t *plane, size_t at)
{
    return (plane[at / BITS_A_WORD] >> (at % BITS_A_WORD) & 1) != 0;
}

/* Sets a bit if `value` is true; one that is set stays. */
static inline void bits_or(uint64_t *plane, size_t at, bool value)
{
    plane[at / BITS_A_WORD] |= (uint64_t)value << (at % BITS_A_WORD);
}

static inline void bits_set(uint64_t *plane, size_t at)
{
    bits_or(plane, at, true);
}

static inline void bits_clear(uint64_t *plane, size_t at)
{
    plane[at / BITS_A_WORD] &= ~(UINT64_C(1) << (at % BITS_A_WORD));
}

/* All bits 0. */
static inline void bits_zero(uint64_t *plane, size_t count)
{
    if (count > 0) {
        memset(plane, 0, bits_words(count) * sizeof *plane);
    }
}

/* All bits 1, spare ones too: they are cut off where planes become an answer. */
static inline void bits_fill(uint64_t *plane, size_t count)
{
    if (count > 0) {
        memset(plane, 0xff, bits_words(count) * sizeof *plane);
    }
}

/* The bits of one word of a plane of `count` that are not spare. There has to be such a word. */
static inline uint64_t bits_mask(size_t count, size_t word)
{
    size_t left = count - word * BITS_A_WORD;

    return left >= BITS_A_WORD ? UINT64_MAX : (UINT64_C(1) << left) - 1;
}

static inline size_t bits_count_word(uint64_t word)
{
    return (size_t)__builtin_popcountll(word);
}

/* How many are set. */
static inline size_t bits_count(const uint64_t *plane, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < bits_words(count); i++) {
        sum += bits_count_word(plane[i]);
    }
    return sum;
}

/* How many are set in one of the two at least. */
static inline size_t bits_count_either(const uint64_t *one, const uint64_t *other, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < bits_words(count); i++) {
        sum += bits_count_word(one[i] | other[i]);
    }
    return sum;
}

#endif
