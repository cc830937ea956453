/* Which hash a filter's kind means; SipHash of many keys at once is in siphash.c. */
#include "filter/fingerprint.h"

#include "filter/siphash.h"

#include <assert.h>
#include <endian.h>
#include <string.h>
#include <xxhash.h>

const char *hash_kind_name(enum hash_kind kind)
{
    switch (kind) {
    case HASH_SIPHASH24:
        return "siphash";
    case HASH_XXH3:
        return "xxh3";
    }
    return "unknown";
}

static uint64_t read_little_endian(const uint8_t *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return le64toh(value);
}

static void batch_xxh3(const struct hash_secret *secret, const uint8_t *key,
                       const uint32_t *lengths, size_t count, uint64_t *fingerprints)
{
    uint64_t seed = read_little_endian(secret->bytes);

    for (size_t i = 0; i < count; i++) {
        fingerprints[i] = XXH3_64bits_withSeed(key, lengths[i], seed);
        key += lengths[i];
    }
}

void fingerprint_batch(enum hash_kind kind, const struct hash_secret *secret, const uint8_t *blob,
                       const uint32_t *lengths, size_t count, uint64_t *fingerprints)
{
    assert(kind == HASH_SIPHASH24 || kind == HASH_XXH3);
    assert(secret != NULL);
    assert(count == 0 || (blob != NULL && lengths != NULL && fingerprints != NULL));

    switch (kind) {
    case HASH_SIPHASH24:
        siphash_batch(siphash_kernel_best(), secret, blob, lengths, count, fingerprints);
        return;
    case HASH_XXH3:
        batch_xxh3(secret, blob, lengths, count, fingerprints);
        return;
    }
}
