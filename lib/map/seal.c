/* Derives a key for each purpose from the cluster key, then signs, verifies and seals with
 * libsodium. */
#include "map/seal.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

enum { SECRET_PLAIN_BYTES = 8 + HASH_SECRET_BYTES, DOMAIN_BYTES = 8 };

_Static_assert(SEAL_KEY_BYTES == crypto_secretbox_KEYBYTES, "key of secretbox");
_Static_assert(SEAL_NONCE_BYTES == crypto_secretbox_NONCEBYTES, "nonce of secretbox");
_Static_assert(SEAL_SECRET_BYTES ==
                   SEAL_NONCE_BYTES + crypto_secretbox_MACBYTES + SECRET_PLAIN_BYTES,
               "shape of a sealed secret");

static void store_le64(uint8_t out[8], uint64_t value)
{
    unsigned i;

    for (i = 0; i < 8; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static void derive(const uint8_t master[SEAL_KEY_BYTES], const char *purpose,
                   uint8_t subkey[SEAL_KEY_BYTES])
{
    int failed = crypto_generichash(subkey, SEAL_KEY_BYTES, (const uint8_t *)purpose,
                                    strlen(purpose), master, SEAL_KEY_BYTES);

    assert(failed == 0); /* It fails for lengths out of range only. */
}

void cluster_key_derive(const uint8_t master[SEAL_KEY_BYTES], struct cluster_key *key)
{
    derive(master, "orbloom v1: authenticate documents", key->mac);
    derive(master, "orbloom v1: seal hash secrets", key->seal);
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static struct span trim(struct span text)
{
    while (text.size > 0 && is_blank(text.data[0])) {
        text = span_of(text.data + 1, text.size - 1);
    }
    while (text.size > 0 && is_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

enum status cluster_key_parse(struct span text, struct cluster_key *key)
{
    uint8_t master[SEAL_KEY_BYTES];
    enum status status = STATUS_MALFORMED;
    size_t size = 0;

    text = trim(text);
    if (text.size == sizeof master * 2 &&
        sodium_hex2bin(master, sizeof master, (const char *)text.data, text.size, NULL, &size,
                       NULL) == 0 &&
        size == sizeof master) {
        cluster_key_derive(master, key);
        status = STATUS_OK;
    }
    sodium_memzero(master, sizeof master);
    return status;
}

enum status cluster_key_read(void *key, struct span text)
{
    return cluster_key_parse(text, key);
}

void seal_mac(const struct cluster_key *key, enum seal_domain domain, struct span content,
              uint8_t mac[SEAL_MAC_BYTES])
{
    crypto_generichash_state state;
    uint8_t prefix[DOMAIN_BYTES];
    int failed;

    /* Of fixed length, so that no content of one kind reads as prefix and content of another. */
    store_le64(prefix, (uint64_t)domain);
    failed = crypto_generichash_init(&state, key->mac, sizeof key->mac, SEAL_MAC_BYTES);
    failed |= crypto_generichash_update(&state, prefix, sizeof prefix);
    failed |= crypto_generichash_update(&state, content.data, content.size);
    failed |= crypto_generichash_final(&state, mac, SEAL_MAC_BYTES);
    assert(failed == 0);
    sodium_memzero(&state, sizeof state);
}

uint64_t cluster_key_tag(const struct cluster_key *key)
{
    uint8_t mac[SEAL_MAC_BYTES];
    uint64_t tag;

    seal_mac(key, SEAL_FOLDER, span_text("folder"), mac);
    memcpy(&tag, mac, sizeof tag);
    return tag;
}

enum status seal_mac_verify(const struct cluster_key *key, enum seal_domain domain,
                            struct span content, struct span mac)
{
    uint8_t expected[SEAL_MAC_BYTES];

    if (mac.size != sizeof expected) {
        return STATUS_UNAUTHENTIC;
    }
    seal_mac(key, domain, content, expected);
    return sodium_memcmp(expected, mac.data, sizeof expected) == 0 ? STATUS_OK : STATUS_UNAUTHENTIC;
}

void seal_secret(const struct cluster_key *key, uint64_t filter_id,
                 const struct hash_secret *secret, const uint8_t nonce[SEAL_NONCE_BYTES],
                 uint8_t sealed[SEAL_SECRET_BYTES])
{
    uint8_t plain[SECRET_PLAIN_BYTES];
    int failed;

    store_le64(plain, filter_id);
    memcpy(plain + 8, secret->bytes, sizeof secret->bytes);
    memcpy(sealed, nonce, SEAL_NONCE_BYTES);
    failed = crypto_secretbox_easy(sealed + SEAL_NONCE_BYTES, plain, sizeof plain, nonce,
                                   key->seal);
    assert(failed == 0);
    sodium_memzero(plain, sizeof plain);
}

enum status seal_secret_open(const struct cluster_key *key, uint64_t filter_id, struct span sealed,
                             struct hash_secret *secret)
{
    enum status status = STATUS_UNAUTHENTIC;
    uint8_t plain[SECRET_PLAIN_BYTES];
    uint8_t id[8];

    if (sealed.size != SEAL_SECRET_BYTES) {
        return STATUS_UNAUTHENTIC;
    }
    store_le64(id, filter_id);
    if (crypto_secretbox_open_easy(plain, sealed.data + SEAL_NONCE_BYTES,
                                   SEAL_SECRET_BYTES - SEAL_NONCE_BYTES, sealed.data,
                                   key->seal) == 0 &&
        memcmp(plain, id, sizeof id) == 0) {
        memcpy(secret->bytes, plain + sizeof id, sizeof secret->bytes);
        status = STATUS_OK;
    }
    sodium_memzero(plain, sizeof plain);
    return status;
}
