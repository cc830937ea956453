/* Positions of a key's bits by double hashing, and the whole bitmap made at once for an upload. */
#include "cli/bench/bits.h"

#include "base/heap.h"
#include "filter/fingerprint.h"

#include <assert.h>

uint64_t bits_for_keys(uint64_t keys)
{
    return (keys * BITS_A_KEY + 7) / 8 * 8;
}

void bits_hash(const uint8_t *keys, uint32_t count, uint64_t hashes[BITS_BATCH])
{
    static const struct hash_secret seed = {{0}};
    uint32_t lengths[BITS_BATCH];

    assert(count <= BITS_BATCH);
    for (uint32_t i = 0; i < count; i++) {
        lengths[i] = BENCH_KEY_BYTES;
    }
    fingerprint_batch(HASH_XXH3, &seed, keys, lengths, count, hashes);
}

/* Where `point` of a circle of 2^64 falls when it is divided into `bits` arcs. */
static uint64_t arc_of(uint64_t point, uint64_t bits)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)point * bits >> 64);
}

void bits_positions(uint64_t hash, uint64_t bits, uint64_t positions[BITS_HASHES])
{
    uint64_t step = hash * UINT64_C(0x9e3779b97f4a7c15); /* the second hash, of the first */

    step = (step ^ step >> 32) | 1;
    for (int i = 0; i < BITS_HASHES; i++) {
        positions[i] = arc_of(hash, bits);
        hash += step;
    }
}

static void set_bits(uint8_t *bitmap, uint64_t bits, const uint64_t *hashes, uint32_t count)
{
    uint64_t positions[BITS_BATCH][BITS_HASHES];

    /* All bytes of a batch are on their way before the first one is needed. */
    for (uint32_t i = 0; i < count; i++) {
        bits_positions(hashes[i], bits, positions[i]);
        for (int j = 0; j < BITS_HASHES; j++) {
            __builtin_prefetch(bitmap + positions[i][j] / 8, 1);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (int j = 0; j < BITS_HASHES; j++) {
            bitmap[positions[i][j] / 8] |= (uint8_t)(0x80U >> positions[i][j] % 8);
        }
    }
}

uint8_t *bits_build(uint64_t keys, uint64_t bits)
{
    const struct key_choice all = {.only_fresh = true};
    uint8_t *bitmap = heap_pages_alloc((size_t)(bits / 8), true);
    uint8_t *texts = heap_alloc(BITS_BATCH, BENCH_KEY_BYTES);
    uint64_t hashes[BITS_BATCH];

    for (uint32_t i = 0; texts != NULL && i < BITS_BATCH; i++) {
        key_write(texts + (size_t)i * BENCH_KEY_BYTES);
    }
    for (uint64_t first = 0; texts != NULL && bitmap != NULL && first < keys; first += BITS_BATCH) {
        uint32_t count = keys - first < BITS_BATCH ? (uint32_t)(keys - first) : BITS_BATCH;

        key_choose(&all, first, texts, BENCH_KEY_BYTES, count);
        bits_hash(texts, count, hashes);
        set_bits(bitmap, bits, hashes, count);
    }
    if (texts == NULL && bitmap != NULL) {
        heap_pages_free(bitmap, (size_t)(bits / 8));
        bitmap = NULL;
    }
    heap_free(texts);
    return bitmap;
}
