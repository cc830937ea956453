/* Most significant digits first: scatter by the leading bits that differ until a bucket holds
 * hardly more than one fingerprint, and finish by insertion. Fingerprints are hashes, so two
 * scatters do for millions of them, whatever shards they are of. Where they cluster after all, a
 * bucket is scattered again by the bits that differ within it: 6 or more a level, which bounds
 * the recursion to 11 levels of 32 KiB of stack. */
#include "storage/run_merge.h"

#include <assert.h>
#include <string.h>

enum {
    FIRST_BITS = 10, /* of a digit, while more will follow: the buckets' ends stay in the caches */
    LAST_BITS = 13,  /* of the last digit: fewer than one fingerprint a bucket, as insertion
                        stumbles over every one that is not in its place */
    INSERTION_MAX = 32, /* a bucket of more is scattered */
    DIGIT_VALUES = 1 << LAST_BITS,
};

/* A digit: (fingerprint >> shift) & mask. */
struct digit {
    unsigned shift;
    uint32_t mask;
};

/* `from` may be `to`. */
static void insertion_sort(const uint64_t *from, uint64_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = from[i];
        size_t at = i;

        for (; at > 0 && to[at - 1] > value; at--) {
            to[at] = to[at - 1];
        }
        to[at] = value;
    }
}

/* Bits in which any two of them differ. */
static uint64_t difference(const uint64_t *fingerprints, size_t count)
{
    uint64_t bits = 0;

    for (size_t i = 1; i < count; i++) {
        bits |= fingerprints[i] ^ fingerprints[0];
    }
    return bits;
}

static unsigned bits_of(uint64_t value)
{
    return 64 - (unsigned)__builtin_clzll(value);
}

/* The leading bits of `differing`, not 0: as many as there are bits in `count`, at once or
 * shared evenly among few scatters. */
static struct digit digit_choose(uint64_t differing, size_t count)
{
    unsigned width = bits_of(differing);
    unsigned bits = bits_of(count);

    if (bits > LAST_BITS) {
        bits /= 2 + (bits - LAST_BITS - 1) / FIRST_BITS;
        bits = bits < FIRST_BITS ? bits : FIRST_BITS;
    }
    bits = bits < width ? bits : width;
    return (struct digit){.shift = width - bits, .mask = (UINT32_C(1) << bits) - 1};
}

static uint32_t digit_of(struct digit digit, uint64_t fingerprint)
{
    return (uint32_t)(fingerprint >> digit.shift) & digit.mask;
}

/* From `from` to `to`; ends[d] becomes where bucket d ends. */
static void scatter(const uint64_t *from, uint64_t *to, size_t count, struct digit digit,
                    uint32_t ends[DIGIT_VALUES])
{
    uint32_t sum = 0;

    memset(ends, 0, ((size_t)digit.mask + 1) * sizeof *ends);
    for (size_t i = 0; i < count; i++) {
        ends[digit_of(digit, from[i])]++;
    }
    for (size_t d = 0; d <= digit.mask; d++) {
        uint32_t n = ends[d];

        ends[d] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++) {
        to[ends[digit_of(digit, from[i])]++] = from[i];
    }
}

static void sort(uint64_t *data, uint64_t *other, size_t count, bool move);

/* Sort each bucket of `scattered` into `to`; neighbours that are small in one go, as scattering
 * has brought their fingerprints near to where they belong. */
static void sort_buckets(uint64_t *scattered, uint64_t *spare, const uint32_t *ends,
                         size_t nbuckets, bool move)
{
    uint64_t *to = move ? spare : scattered;
    size_t begin = 0;
    size_t small = 0; /* where the small ones begin that are not sorted yet */

    for (size_t i = 0; i < nbuckets; begin = ends[i++]) {
        if (ends[i] - begin > INSERTION_MAX) {
            insertion_sort(scattered + small, to + small, begin - small);
            sort(scattered + begin, spare + begin, ends[i] - begin, move);
            small = ends[i];
        }
    }
    insertion_sort(scattered + small, to + small, begin - small);
}

/* The result is left in `data`, or moved to `other`. */
static void sort(uint64_t *data, uint64_t *other, size_t count, bool move)
{
    uint32_t ends[DIGIT_VALUES];
    uint64_t differing = difference(data, count);
    struct digit digit;

    if (differing == 0) {
        if (move) {
            memcpy(other, data, count * sizeof *data);
        }
        return;
    }
    digit = digit_choose(differing, count);
    scatter(data, other, count, digit, ends);
    sort_buckets(other, data, ends, (size_t)digit.mask + 1, !move);
}

static size_t drop_repeats(uint64_t *fingerprints, size_t count)
{
    size_t kept = count > 0 ? 1 : 0;

    for (size_t i = 1; i < count; i++) {
        bool repeated = fingerprints[i] == fingerprints[kept - 1];

        fingerprints[kept] = fingerprints[i]; /* beyond what is kept, unless it counts */
        kept += !repeated;
    }
    return kept;
}

size_t run_sort(uint64_t *fingerprints, uint64_t *spare, size_t count)
{
    assert(count == 0 || (fingerprints != NULL && spare != NULL));
    assert(count <= UINT32_MAX);
    if (count > INSERTION_MAX) {
        sort(fingerprints, spare, count, false);
    } else {
        insertion_sort(fingerprints, fingerprints, count);
    }
    return drop_repeats(fingerprints, count);
}
