/* siphash.h - private to lib/filter and its tests: SipHash-2-4 of many keys at once.
 *
 * One SipHash is a chain of operations that each wait for the one before. Keys that take the
 * same number of steps are therefore hashed side by side, one in each 64-bit lane of a vector
 * and a few vectors interleaved. libsodium, key by key, is the reference; it also does what no
 * lane pays for: long keys, and keys whose length nothing else in the batch has.
 *
 * Shape:   as fingerprint_batch(). Nothing is read beside a key, nothing is allocated; takes
 *          about 12 KiB of stack.
 * Errors:  none.
 * Threads: any; no state.
 * Source:  Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012). Per key of 60 bytes
 *          on one core of Zen 4: libsodium 28 ns, AVX2 11, AVX-512 8.
 */
#ifndef ORBLOOM_FILTER_SIPHASH_H
#define ORBLOOM_FILTER_SIPHASH_H

#include "filter/fingerprint.h"

enum {
    SIPHASH_MAX_LANES = 16,
    SIPHASH_MAX_WORDS = 31, /* whole words of a key in a lane; longer keys go to libsodium */
};

/* Keys of one number of whole 8-byte words. */
struct siphash_group {
    const uint8_t *keys[SIPHASH_MAX_LANES]; /* read up to their last whole word */
    uint64_t tails[SIPHASH_MAX_LANES];      /* the bytes after it, and the length on top */
};

struct siphash_kernel {
    const char *name;
    size_t lanes; /* of a full group */

    /* The first `count` keys, 1 .. lanes. The group is filled to its last lane all the same,
     * and `hashes` has room for that many: what is behind `count` is anything. */
    void (*hash)(const uint64_t secret[2], const struct siphash_group *group, size_t words,
                 size_t count, uint64_t *hashes);
};

/* NULL where the machine or the compiler lacks them. */
const struct siphash_kernel *siphash_kernel_avx2(void);
const struct siphash_kernel *siphash_kernel_avx512(void);

/* The best of this machine; NULL: libsodium alone. */
const struct siphash_kernel *siphash_kernel_best(void);

/* fingerprint_batch() of HASH_SIPHASH24, by that kernel. */
void siphash_batch(const struct siphash_kernel *kernel, const struct hash_secret *secret,
                   const uint8_t *blob, const uint32_t *lengths, size_t count,
                   uint64_t *fingerprints);

#endif
