/* SipHash in lanes is SipHash: key by key the same as libsodium's, for every kernel that this
 * machine has, every length, every mix of lengths and every size of batch. The blobs end with
 * their last key, so that AddressSanitizer sees a byte read beside it. */
#include "filter/siphash.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <sodium/crypto_shorthash_siphash24.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 3000, NKERNELS = 3, GUARD = 0x5a };

static const struct siphash_kernel *kernel_of(size_t number)
{
    const struct siphash_kernel *kernels[NKERNELS] = {NULL, siphash_kernel_avx2(),
                                                      siphash_kernel_avx512()};

    return kernels[number];
}

static const char *name_of(size_t number)
{
    return kernel_of(number) != NULL ? kernel_of(number)->name : "libsodium";
}

static struct hash_secret secret_of(uint64_t *state)
{
    struct hash_secret secret;

    for (size_t i = 0; i < sizeof secret.bytes; i++) {
        secret.bytes[i] = (uint8_t)random_next(state);
    }
    return secret;
}

/* Exactly the keys: what libc hands out for 0 bytes holds none either. */
static uint8_t *blob_of(const uint32_t *lengths, size_t count, uint64_t *state)
{
    size_t size = 0;
    uint8_t *blob;

    for (size_t i = 0; i < count; i++) {
        size += lengths[i];
    }
    blob = malloc(size);
    cr_assert(blob != NULL || size == 0);
    for (size_t i = 0; i < size; i++) {
        blob[i] = (uint8_t)random_next(state);
    }
    return blob;
}

static uint64_t expected(const struct hash_secret *secret, const uint8_t *key, uint32_t length)
{
    uint8_t hash[crypto_shorthash_siphash24_BYTES];
    uint64_t fingerprint = 0;

    cr_assert_eq(crypto_shorthash_siphash24(hash, key, length, secret->bytes), 0);
    for (size_t i = 0; i < sizeof hash; i++) {
        fingerprint |= (uint64_t)hash[i] << (8 * i);
    }
    return fingerprint;
}

static void compare(const uint32_t *lengths, size_t count, uint64_t seed)
{
    uint64_t state = seed;
    struct hash_secret secret = secret_of(&state);
    uint8_t *blob = blob_of(lengths, count, &state);
    uint64_t *fingerprints = malloc((count + 1) * sizeof *fingerprints);

    cr_assert(fingerprints != NULL);
    for (size_t kernel = 0; kernel < NKERNELS; kernel++) {
        const uint8_t *key = blob;

        memset(fingerprints, GUARD, (count + 1) * sizeof *fingerprints);
        siphash_batch(kernel_of(kernel), &secret, blob, lengths, count, fingerprints);
        for (size_t i = 0; i < count; i++) {
            cr_assert_eq(fingerprints[i], expected(&secret, key, lengths[i]),
                         "seed %lu, %s: key %zu of %zu, %u bytes", seed, name_of(kernel), i, count,
                         lengths[i]);
            key += lengths[i];
        }
        cr_assert_eq(fingerprints[count], UINT64_C(0x5a5a5a5a5a5a5a5a), "a word too much");
    }
    free(fingerprints);
    free(blob);
}

Test(siphash, keys_of_every_length_hash_as_by_libsodium)
{
    uint32_t lengths[2 * SIPHASH_MAX_LANES + 3];

    for (uint32_t length = 0; length <= 300; length++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            lengths[i] = length;
        }
        compare(lengths, sizeof lengths / sizeof *lengths, length);
    }
}

/* Groups that are not full, of one number of words but not of one length. */
Test(siphash, groups_of_every_fill_hash_as_by_libsodium)
{
    uint32_t lengths[2 * SIPHASH_MAX_LANES];

    for (size_t count = 0; count <= sizeof lengths / sizeof *lengths; count++) {
        for (uint32_t words = 0; words <= SIPHASH_MAX_WORDS + 1; words++) {
            for (uint32_t i = 0; i < count; i++) {
                lengths[i] = 8 * words + i % 8;
            }
            compare(lengths, count, count * 100 + words);
        }
    }
}

Test(siphash, any_mix_of_lengths_hashes_as_by_libsodium)
{
    static const size_t counts[] = {0,  1,  2,  3,   4,   5,    7,    8,    9,    15,
                                    16, 17, 31, 100, 999, 1000, 1023, 1024, 1025, MAX_KEYS};
    static const uint32_t ranges[][2] = {{0, 7},   {1, 60},    {20, 120},
                                         {60, 64}, {200, 300}, {0, 4000}};
    static uint32_t lengths[MAX_KEYS];

    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            uint64_t seed = c * 10 + r;
            uint64_t state = ~seed;
            bool runs = c % 2 == 0;

            for (size_t i = 0; i < counts[c]; i++) {
                lengths[i] = ranges[r][0] +
                             (uint32_t)random_below(&state, ranges[r][1] - ranges[r][0] + 1);
                if (runs && i > 0 && random_below(&state, 8) > 0) {
                    lengths[i] = lengths[i - 1];
                }
            }
            compare(lengths, counts[c], seed);
        }
    }
}

Test(siphash, the_best_kernel_is_what_batches_use)
{
    const struct siphash_kernel *best = siphash_kernel_best();
    struct hash_secret secret = {{7}};
    const uint8_t blob[32] = {1, 2, 3};
    const uint32_t lengths[4] = {8, 8, 8, 8};
    uint64_t one[4];
    uint64_t other[4];

    cr_assert(best == siphash_kernel_avx512() || siphash_kernel_avx512() == NULL);
    cr_assert(best != NULL || siphash_kernel_avx2() == NULL);
    fingerprint_batch(HASH_SIPHASH24, &secret, blob, lengths, 4, one);
    siphash_batch(best, &secret, blob, lengths, 4, other);
    cr_assert_arr_eq(one, other, sizeof one);
}
