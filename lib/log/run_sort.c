/* Two scatters by digits of some 11 bits, the lower one first, put fingerprints in the order of
 * their leading bits that differ: with four bits more than are needed to tell as many apart hardly
 * two share them, and insertion sorts those that do. That is fast while everything stays in a
 * core's own cache; more are first scattered into buckets by their leading bits. Fingerprints are
 * hashes; where they cluster after all, a bucket, or what shares its leading bits, is sorted by the
 * bits that differ within it. Each level takes 6 bits or more, which bounds the recursion to 11
 * levels of 16 KiB of stack. */
#include "log/run_merge.h"

#include <assert.h>
#include <string.h>

enum {
    CACHE_KEYS = 1 << 18,  /* at most: 2 MiB, and as much for the other side */
    BUCKET_KEYS = 1 << 16, /* wanted of a bucket */
    BUCKET_LEAST_BITS = 6,
    BUCKET_MOST_BITS = 10,
    APART_BITS = 4, /* sorted by so many more than tell them apart on average */
    DIGIT_BITS = 11,
    DIGIT_VALUES = 1 << DIGIT_BITS,
    INSERTION_MAX = 32,
};

/* A digit: (fingerprint >> shift) & mask. */
struct digit {
    unsigned shift;
    uint32_t mask;
};

static void insertion_sort(uint64_t *data, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t value = data[i];
        size_t at = i;

        for (; at > 0 && data[at - 1] > value; at--) {
            data[at] = data[at - 1];
        }
        data[at] = value;
    }
}

/* How many low bits hold all in which any two differ. */
static unsigned width_of(const uint64_t *fingerprints, size_t count)
{
    uint64_t bits = 0;

    for (size_t i = 1; i < count; i++) {
        bits |= fingerprints[i] ^ fingerprints[0];
    }
    return bits == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bits);
}

static unsigned bits_of(uint64_t value)
{
    return 64 - (unsigned)__builtin_clzll(value);
}

static struct digit digit_of(unsigned shift, unsigned bits)
{
    return (struct digit){.shift = shift, .mask = (UINT32_C(1) << bits) - 1};
}

static uint32_t digit_get(struct digit digit, uint64_t fingerprint)
{
    return (uint32_t)(fingerprint >> digit.shift) & digit.mask;
}

/* Counts become where each value begins. */
static void add_up(uint32_t *counts, uint32_t mask)
{
    uint32_t sum = 0;

    for (size_t value = 0; value <= mask; value++) {
        uint32_t count = counts[value];

        counts[value] = sum;
        sum += count;
    }
}

/* begins[value] becomes where that value ends. */
static void scatter(const uint64_t *from, uint64_t *to, size_t count, struct digit digit,
                    uint32_t *begins)
{
    for (size_t i = 0; i < count; i++) {
        to[begins[digit_get(digit, from[i])]++] = from[i];
    }
}

/* In the order of the two digits, `high` counting more; the others are left as they come. */
static void scatter_twice(uint64_t *data, uint64_t *other, size_t count, struct digit low,
                          struct digit high)
{
    uint32_t lows[DIGIT_VALUES] = {0};
    uint32_t highs[DIGIT_VALUES] = {0};

    for (size_t i = 0; i < count; i++) {
        lows[digit_get(low, data[i])]++;
        highs[digit_get(high, data[i])]++;
    }
    add_up(lows, low.mask);
    add_up(highs, high.mask);
    scatter(data, other, count, low, lows);
    scatter(other, data, count, high, highs);
}

static void sort(uint64_t *data, uint64_t *other, size_t count);

/* Those whose bits from `shift` on are the same are next to each other. */
static void sort_alike(uint64_t *data, uint64_t *other, size_t count, unsigned shift)
{
    size_t end;

    for (size_t begin = 0; begin < count; begin = end) {
        uint64_t leading = data[begin] >> shift;

        for (end = begin + 1; end < count && data[end] >> shift == leading; end++) {
        }
        if (end - begin > INSERTION_MAX) {
            sort(data + begin, other + begin, end - begin);
        } else if (end - begin > 1) {
            insertion_sort(data + begin, end - begin);
        }
    }
}

static void sort_cached(uint64_t *data, uint64_t *other, size_t count, unsigned width)
{
    unsigned bits = bits_of(count) + APART_BITS;
    unsigned low;

    bits = bits < 2 * DIGIT_BITS ? bits : 2 * DIGIT_BITS;
    bits = bits < width ? bits : width;
    low = bits / 2;
    scatter_twice(data, other, count, digit_of(width - bits, low),
                  digit_of(width - bits + low, bits - low));
    if (bits < width) {
        sort_alike(data, other, count, width - bits);
    }
}

/* Buckets are brought back before each is sorted: then it is in the cache. */
static void sort_buckets(uint64_t *data, uint64_t *other, size_t count, unsigned width)
{
    uint32_t ends[1 << BUCKET_MOST_BITS] = {0};
    unsigned bits = bits_of(count / BUCKET_KEYS);
    struct digit digit;
    size_t begin = 0;

    bits = bits < BUCKET_MOST_BITS ? bits : BUCKET_MOST_BITS;
    bits = bits > BUCKET_LEAST_BITS ? bits : BUCKET_LEAST_BITS;
    bits = bits < width ? bits : width;
    digit = digit_of(width - bits, bits);
    for (size_t i = 0; i < count; i++) {
        ends[digit_get(digit, data[i])]++;
    }
    add_up(ends, digit.mask);
    scatter(data, other, count, digit, ends);
    for (size_t value = 0; value <= digit.mask; begin = ends[value++]) {
        size_t size = ends[value] - begin;

        memcpy(data + begin, other + begin, size * sizeof *data);
        sort(data + begin, other + begin, size);
    }
}

static void sort(uint64_t *data, uint64_t *other, size_t count)
{
    unsigned width = width_of(data, count);

    if (width == 0) {
        return;
    }
    if (count <= INSERTION_MAX) {
        insertion_sort(data, count);
    } else if (count <= CACHE_KEYS) {
        sort_cached(data, other, count, width);
    } else {
        sort_buckets(data, other, count, width);
    }
}

static size_t drop_repeats(uint64_t *fingerprints, size_t count)
{
    size_t kept = count > 0 ? 1 : 0;
    uint64_t last = count > 0 ? fingerprints[0] : 0;

    for (size_t i = 1; i < count; i++) {
        uint64_t value = fingerprints[i];

        fingerprints[kept] = value; /* beyond what is kept, unless it counts */
        kept += value != last;
        last = value;
    }
    return kept;
}

size_t run_sort(uint64_t *fingerprints, uint64_t *spare, size_t count)
{
    assert(count == 0 || (fingerprints != NULL && spare != NULL));
    assert(count <= UINT32_MAX);
    sort(fingerprints, spare, count);
    return drop_repeats(fingerprints, count);
}
