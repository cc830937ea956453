/* lines.h - the bits of a filter: one or two 512-bit lines of memory a key.
 *
 * A Bloom filter cut into cache lines ("blocked"): a key sets one bit in each of the 8
 * lanes of a line (k = 8), or of z = 2 lines of one 4 KiB page (k = 16). A lookup costs
 * one cache miss, an add dirties one line. Bits are only ever gained, so arrays of one
 * geometry merge by OR in any order, any number of times.
 *
 * Shape:   a shard is the fingerprints with the same top shard_bits bits (0 .. 32), and
 *          its array is `lines` lines of 64 bytes. A line is 8 little-endian lanes of 64
 *          bits. line = ((fingerprint << shard_bits) * lines) >> 64 keeps the order of
 *          fingerprints, so a sorted run fills an array in one sequential pass, and a
 *          page of an array is a range of fingerprints (also with z = 2: the second line
 *          never leaves the page of the first).
 *          A page is 64 lines of a shard, which has a whole number of them and is aligned
 *          to 4 KiB; or it is all of a shard of 1 to 63 lines. Several of those are in 4 KiB
 *          of memory, and a key has one line of them (z = 1): with few lines to choose
 *          from, two of a key would be those of too many others.
 *          The same geometry gives the same bits on every machine.
 *          Batches of 1,000 keys and more keep the memory busy; one key waits for it.
 * Units:   counts are of fingerprints or lines; sizes are bytes and say so.
 * Errors:  none: shapes are the caller's promise and asserted.
 * Owner:   a view and its arrays belong to the caller; nothing is kept.
 * Threads: a shard has one writer and no reader beside it; plain loads and stores.
 * Source:  Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters"
 *          (2007); sizes and rates: sizing.h.
 */
#ifndef ORBLOOM_FILTER_LINES_H
#define ORBLOOM_FILTER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_BYTES = 64, LINE_BITS = 512, LINES_PER_PAGE = 64, LINES_PAGE_BYTES = 4096 };

/* What fixes every bit of a generation. */
struct geometry {
    uint64_t seed;       /* Any value; another seed gives unrelated bits within lines. */
    uint64_t lines;      /* Per shard: 1 to 63, or a multiple of 64. */
    uint32_t z;          /* Lines a key: 1; or 2, of a page of 64. */
    uint32_t shard_bits; /* Top bits of a fingerprint that name its shard. */
};

struct lines_view {
    struct geometry geometry;
    uint8_t *const *shards; /* By shard; NULL is fine for shards that no batch touches. */
};

/* Bit i (word i / 64, bit i % 64) of `present`: the bits of fingerprint i are all set.
 * Writes ceil(count / 64) words; spare bits are 0. */
void lines_check(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
                 uint64_t *present);

/* Set the bits of every fingerprint. Bit i of `present`: those of fingerprint i were all
 * set before, earlier fingerprints of the same batch included. */
void lines_add(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
               uint64_t *present);

/* OR `source` into `target`: arrays or whole lines of them; size_bytes is a multiple of 64,
 * both are aligned to 64 bytes. They may be the same array, but not overlap otherwise. */
void lines_merge(uint8_t *target, const uint8_t *source, size_t size_bytes);

/* Bits set; size_bytes is a multiple of 64, `lines` aligned to 64 bytes. */
uint64_t lines_popcount(const uint8_t *lines, size_t size_bytes);

/* May a shard have so many lines, and a key z of them? */
static inline bool lines_shape_holds(uint64_t lines, uint32_t z)
{
    return lines >= LINES_PER_PAGE ? lines % LINES_PER_PAGE == 0 && (z == 1 || z == 2)
                                   : lines > 0 && z == 1;
}

/* The size of one shard's array. */
uint64_t lines_shard_bytes(const struct geometry *geometry);

/* How many pages a shard of so many lines has, and the size of each. */
static inline uint64_t lines_shard_pages(uint64_t lines)
{
    return lines > LINES_PER_PAGE ? lines / LINES_PER_PAGE : 1;
}

static inline size_t lines_page_bytes(uint64_t lines)
{
    return (size_t)(lines < LINES_PER_PAGE ? lines : LINES_PER_PAGE) * LINE_BYTES;
}

/* "avx2" or "portable": what this machine runs. Both set the same bits. */
const char *lines_implementation_name(void);

/* The shard of a fingerprint: 0 .. 2^shard_bits - 1. Two shifts, as shard_bits may be 0. */
static inline uint64_t lines_shard_index(uint32_t shard_bits, uint64_t fingerprint)
{
    return (fingerprint >> 1) >> (63 - shard_bits);
}

/* The (first) line of a fingerprint within its shard. */
static inline uint64_t lines_line_index(const struct geometry *geometry, uint64_t fingerprint)
{
    __extension__ typedef unsigned __int128 uint128;

    return (uint64_t)(((uint128)(fingerprint << geometry->shard_bits) * geometry->lines) >> 64);
}

#endif
