/* fingerprint.h - keys to 64-bit fingerprints, the only input to every bit of a filter.
 *
 * Two keys with one fingerprint are one key to us, which is harmless: it costs a false
 * positive of about 2^-64 a pair. Both kinds are seeded by the filter's secret, so that
 * fingerprints differ from filter to filter. Only HASH_SIPHASH24 promises that whoever
 * chooses keys can't make them collide; XXH3 is no cryptographic function, seeded or not,
 * and so for trusted keys. Batches of SIPHASH24 are hashed several keys at once where the
 * machine can, to the same numbers.
 *
 * Shape:   key i is the lengths[i] bytes of `blob` after keys 0 .. i-1; any byte values.
 *          The lengths must add up to no more than the size of `blob`: the caller checks.
 * Errors:  none; an unknown kind is asserted, so check it where it is decoded.
 * Threads: any; no state.
 * Source:  Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), read as a
 *          little-endian number; XXH3_64bits_withSeed of xxHash 0.8, whose seed is the
 *          first 8 bytes of the secret, little-endian.
 */
#ifndef ORBLOOM_FILTER_FINGERPRINT_H
#define ORBLOOM_FILTER_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* Numbers are part of documents: never reused. */
enum hash_kind { HASH_SIPHASH24 = 1, HASH_XXH3 = 2 };

/* "siphash", "xxh3"; as people type and read them. */
const char *hash_kind_name(enum hash_kind kind);

enum { HASH_SECRET_BYTES = 16 };

struct hash_secret {
    uint8_t bytes[HASH_SECRET_BYTES];
};

/* fingerprints[0 .. count-1] of the keys in `blob`. */
void fingerprint_batch(enum hash_kind kind, const struct hash_secret *secret, const uint8_t *blob,
                       const uint32_t *lengths, size_t count, uint64_t *fingerprints);

#endif
