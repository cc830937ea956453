/* Sorts keys by their number of words into groups that are hashed side by side; the vector
 * kernels are in files of their own. */
#include "filter/siphash.h"

#include <assert.h>
#include <endian.h>
#include <sodium/crypto_shorthash_siphash24.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(HASH_SECRET_BYTES == crypto_shorthash_siphash24_KEYBYTES, "SipHash takes 16 bytes");
_Static_assert(SIPHASH_MAX_WORDS < 32, "a tail tells the length of its key");

enum {
    WORD_BYTES = 8,
    FEW = 1,   /* keys of one group: cheaper by libsodium */
    MANY = 16, /* keys of a batch: pay for buckets even when all of them differ */
};

/* Keys of one number of words, gathered from anywhere in the batch until a group is full. */
struct bucket {
    struct siphash_group group;
    uint64_t *fingerprints[SIPHASH_MAX_LANES]; /* where they go */
};

struct batch {
    const struct siphash_kernel *kernel;
    const struct hash_secret *secret;
    uint64_t words[2]; /* of the secret */
    uint8_t used[SIPHASH_MAX_WORDS + 1];
    struct bucket buckets[SIPHASH_MAX_WORDS + 1]; /* by words */
};

static uint64_t read_little_endian(const uint8_t *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return le64toh(value);
}

static uint64_t hash_one(const struct hash_secret *secret, const uint8_t *key, uint32_t length)
{
    uint8_t hash[crypto_shorthash_siphash24_BYTES];

    (void)crypto_shorthash_siphash24(hash, key, length, secret->bytes);
    return read_little_endian(hash);
}

/* The last word that is hashed: the bytes after the whole words, and the length on top. Never
 * a byte from beside the key: a longer key is read from its end, a shorter one bytewise. */
static inline uint64_t tail_of(const uint8_t *key, uint32_t length)
{
    uint32_t spare = length % WORD_BYTES;
    uint64_t tail = 0;

    if (length >= WORD_BYTES) { /* Two shifts, as together they may be 64. */
        tail = read_little_endian(key + length - WORD_BYTES) >> 1 >> (63 - 8 * spare);
    } else {
        for (uint32_t i = 0; i < spare; i++) {
            tail |= (uint64_t)key[i] << (8 * i);
        }
    }
    return tail | (uint64_t)length << 56;
}

static inline void bucket_put(struct bucket *self, size_t lane, const uint8_t *key, uint32_t length,
                              uint64_t *fingerprint)
{
    self->group.keys[lane] = key;
    self->group.tails[lane] = tail_of(key, length);
    self->fingerprints[lane] = fingerprint;
}

/* Lanes without a key repeat the first one. */
static void group_pad(struct siphash_group *group, size_t count, size_t lanes)
{
    for (size_t i = count; i < lanes; i++) {
        group->keys[i] = group->keys[0];
        group->tails[i] = group->tails[0];
    }
}

static void hash_each(const struct hash_secret *secret, const uint8_t *key, const uint32_t *lengths,
                      size_t count, uint64_t *fingerprints)
{
    for (size_t i = 0; i < count; i++) {
        fingerprints[i] = hash_one(secret, key, lengths[i]);
        key += lengths[i];
    }
}

static void bucket_hash(const struct batch *self, size_t words, size_t count)
{
    const struct bucket *bucket = &self->buckets[words];
    uint64_t hashes[SIPHASH_MAX_LANES];

    self->kernel->hash(self->words, &bucket->group, words, count, hashes);
    for (size_t i = 0; i < count; i++) {
        *bucket->fingerprints[i] = hashes[i];
    }
}

/* Runs of keys of one bucket are the rule: it and its fill stay in registers meanwhile. */
static void gather(struct batch *self, const uint8_t *key, const uint32_t *lengths, size_t count,
                   uint64_t *fingerprints)
{
    const size_t lanes = self->kernel->lanes;
    struct bucket *bucket = self->buckets;
    size_t words = 0;
    size_t used = 0;

    memset(self->used, 0, sizeof self->used);
    for (size_t i = 0; i < count; i++) {
        uint32_t length = lengths[i];

        if (length / WORD_BYTES != words) {
            if (length / WORD_BYTES > SIPHASH_MAX_WORDS) {
                fingerprints[i] = hash_one(self->secret, key, length);
                key += length;
                continue;
            }
            self->used[words] = (uint8_t)used;
            words = length / WORD_BYTES;
            used = self->used[words];
            bucket = &self->buckets[words];
        }
        bucket_put(bucket, used++, key, length, &fingerprints[i]);
        key += length;
        if (used == lanes) {
            bucket_hash(self, words, used);
            used = 0;
        }
    }
    self->used[words] = (uint8_t)used;
}

static void bucket_finish(struct batch *self, size_t words)
{
    struct bucket *bucket = &self->buckets[words];
    size_t count = self->used[words];

    if (count > FEW) {
        group_pad(&bucket->group, count, self->kernel->lanes);
        bucket_hash(self, words, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t length = (uint32_t)(bucket->group.tails[i] >> 56);

        *bucket->fingerprints[i] = hash_one(self->secret, bucket->group.keys[i], length);
    }
}

static bool worth_lanes(const uint32_t *lengths, size_t count)
{
    uint32_t different = 0;

    for (size_t i = 0; i < count && i < MANY; i++) {
        different |= lengths[i] ^ lengths[0];
    }
    return count >= MANY || (count > FEW && different < WORD_BYTES);
}

const struct siphash_kernel *siphash_kernel_best(void)
{
    const struct siphash_kernel *avx512 = siphash_kernel_avx512();

    return avx512 != NULL ? avx512 : siphash_kernel_avx2();
}

void siphash_batch(const struct siphash_kernel *kernel, const struct hash_secret *secret,
                   const uint8_t *blob, const uint32_t *lengths, size_t count,
                   uint64_t *fingerprints)
{
    struct batch batch;

    if (kernel == NULL || !worth_lanes(lengths, count)) {
        hash_each(secret, blob, lengths, count, fingerprints);
        return;
    }
    assert(kernel->lanes <= SIPHASH_MAX_LANES);
    batch.kernel = kernel;
    batch.secret = secret;
    batch.words[0] = read_little_endian(secret->bytes);
    batch.words[1] = read_little_endian(secret->bytes + WORD_BYTES);
    gather(&batch, blob, lengths, count, fingerprints);
    for (size_t words = 0; words <= SIPHASH_MAX_WORDS; words++) {
        bucket_finish(&batch, words);
    }
}
