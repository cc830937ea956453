/* Fingerprints of keys: known vectors, every byte and every secret counts. */
#include "filter/fingerprint.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

/* A key of `length` bytes 00 01 02 ... under the secret 00 .. 0f, as the SipHash authors
 * test it; their expected bytes are read little-endian here. */
struct siphash_vector {
    uint32_t length;
    uint64_t fingerprint;
};

ParameterizedTestParameters(fingerprint, siphash_gives_the_official_vectors)
{
    static struct siphash_vector vectors[] = {
        {0, 0x726fdb47dd0e0e31},  {1, 0x74f839c593dc67fd},  {2, 0x0d6c8009d9a94f5a},
        {3, 0x85676696d7fb7e2d},  {4, 0xcf2794e0277187b7},  {5, 0x18765564cd99a68d},
        {6, 0xcbc9466e58fee3ce},  {7, 0xab0200f58b01d137},  {8, 0x93f5f5799a932462},
        {15, 0xa129ca6149be45e5}, {63, 0x958a324ceb064572},
    };

    return cr_make_param_array(struct siphash_vector, vectors, sizeof vectors / sizeof *vectors);
}

ParameterizedTest(struct siphash_vector *vector, fingerprint, siphash_gives_the_official_vectors)
{
    struct hash_secret secret;
    uint8_t key[64];
    uint64_t fingerprint = 0;

    for (size_t i = 0; i < sizeof key; i++) {
        key[i] = (uint8_t)i;
    }
    memcpy(secret.bytes, key, sizeof secret.bytes);

    fingerprint_batch(HASH_SIPHASH24, &secret, key, &vector->length, 1, &fingerprint);
    cr_assert_eq(fingerprint, vector->fingerprint, "length %u: %016lx", vector->length,
                 fingerprint);
}

/* From the self-test of xxHash; the key is one byte 00, or none. */
Test(fingerprint, kinds_have_names)
{
    cr_assert_str_eq(hash_kind_name(HASH_SIPHASH24), "siphash");
    cr_assert_str_eq(hash_kind_name(HASH_XXH3), "xxh3");
}

Test(fingerprint, xxh3_gives_the_known_vectors_with_and_without_a_seed)
{
    struct hash_secret seedless = {{0}};
    /* 0x9e3779b185ebca8d, little-endian; the second half must not matter. */
    struct hash_secret seeded = {
        {0x8d, 0xca, 0xeb, 0x85, 0xb1, 0x79, 0x37, 0x9e, 1, 2, 3, 4, 5, 6, 7, 8}};
    const uint8_t blob[1] = {0};
    const uint32_t lengths[2] = {0, 1};
    uint64_t fingerprints[2];

    fingerprint_batch(HASH_XXH3, &seedless, blob, lengths, 2, fingerprints);
    cr_assert_eq(fingerprints[0], 0x2d06800538d394c2);
    cr_assert_eq(fingerprints[1], 0xc44bdff4074eecdb);
    fingerprint_batch(HASH_XXH3, &seeded, blob, lengths, 2, fingerprints);
    cr_assert_eq(fingerprints[0], 0xa8a6b918b2f0364a);
    cr_assert_eq(fingerprints[1], 0x032be332dd766ef8);
}

/* The place of a key in the blob, and its neighbours, leave no trace. */
Test(fingerprint, a_batch_equals_its_keys_one_by_one)
{
    enum { NKEYS = 300 };
    static const enum hash_kind kinds[] = {HASH_SIPHASH24, HASH_XXH3};
    struct hash_secret secret = {{9, 8, 7, 6, 5, 4, 3, 2, 1}};
    static uint8_t blob[NKEYS * NKEYS];
    uint32_t lengths[NKEYS];

    for (size_t i = 0; i < sizeof blob; i++) {
        blob[i] = (uint8_t)(i * i >> 3);
    }
    for (uint32_t i = 0; i < NKEYS; i++) {
        lengths[i] = i;
    }
    for (size_t k = 0; k < 2; k++) {
        uint64_t together[NKEYS];
        const uint8_t *key = blob;

        fingerprint_batch(kinds[k], &secret, blob, lengths, NKEYS, together);
        for (size_t i = 0; i < NKEYS; i++) {
            uint64_t alone = 0;

            fingerprint_batch(kinds[k], &secret, key, &lengths[i], 1, &alone);
            cr_assert_eq(alone, together[i], "kind %d, key %zu", (int)kinds[k], i);
            key += lengths[i];
        }
    }
}

/* What a zero byte ends for C strings must not end a key. */
Test(fingerprint, every_byte_of_a_key_counts)
{
    static const enum hash_kind kinds[] = {HASH_SIPHASH24, HASH_XXH3};
    struct hash_secret secret = {{1}};
    uint8_t key[40] = {0};
    const uint32_t length = sizeof key;

    for (size_t k = 0; k < 2; k++) {
        uint64_t plain = 0;

        fingerprint_batch(kinds[k], &secret, key, &length, 1, &plain);
        for (size_t i = 0; i < sizeof key; i++) {
            uint64_t changed = 0;

            key[i] = 1;
            fingerprint_batch(kinds[k], &secret, key, &length, 1, &changed);
            key[i] = 0;
            cr_assert_neq(changed, plain, "kind %d, byte %zu", (int)kinds[k], i);
        }
    }
}

Test(fingerprint, another_secret_gives_another_fingerprint)
{
    struct hash_secret secret = {{0}};
    const uint8_t key[4] = {'a', 'b', 'c', 'd'};
    const uint32_t length = sizeof key;
    uint64_t plain = 0;

    fingerprint_batch(HASH_SIPHASH24, &secret, key, &length, 1, &plain);
    for (size_t i = 0; i < sizeof secret.bytes; i++) {
        uint64_t changed = 0;

        secret.bytes[i] = 1;
        fingerprint_batch(HASH_SIPHASH24, &secret, key, &length, 1, &changed);
        secret.bytes[i] = 0;
        cr_assert_neq(changed, plain, "byte %zu", i);
    }
}

Test(fingerprint, an_empty_batch_touches_nothing)
{
    struct hash_secret secret = {{0}};

    fingerprint_batch(HASH_SIPHASH24, &secret, NULL, NULL, 0, NULL);
    fingerprint_batch(HASH_XXH3, &secret, NULL, NULL, 0, NULL);
    cr_assert(true);
}
