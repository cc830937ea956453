/* libsodium does it. The sealed secret is laid out as the cluster key seals one
 * (map/access/seal.h): nonce, then a box of what it belongs to and the secret. */
#include "backup/digest.h"

#include <sodium.h>
#include <string.h>

enum {
    PASSES = 3,
    MEMORY_KIB = 64 << 10,
    MOST_PASSES = 16,
    MOST_MEMORY_KIB = 1 << 20,
    PLAIN_BYTES = 8 + HASH_SECRET_BYTES,
};

_Static_assert(sizeof(crypto_generichash_state) <= sizeof(struct backup_digest), "it fits in");
_Static_assert(crypto_pwhash_SALTBYTES == BACKUP_SALT_BYTES, "as record.h says");
_Static_assert(SEAL_NONCE_BYTES + crypto_secretbox_MACBYTES + PLAIN_BYTES == SEAL_SECRET_BYTES,
               "as a sealed secret");

void backup_head_cost(struct backup_head *head)
{
    head->passes = PASSES;
    head->memory_kib = MEMORY_KIB;
}

enum status backup_key_derive(struct span passphrase, const struct backup_head *head,
                              struct backup_key *key)
{
    _Static_assert(sizeof *key == 2 * (size_t)BACKUP_KEY_BYTES, "no padding");

    if (head->passes > MOST_PASSES || head->memory_kib > MOST_MEMORY_KIB) {
        return STATUS_INVALID;
    }
    return crypto_pwhash((uint8_t *)key, sizeof *key, (const char *)passphrase.data,
                         passphrase.size, head->salt, head->passes, (size_t)head->memory_kib << 10,
                         crypto_pwhash_ALG_ARGON2ID13) == 0
               ? STATUS_OK
               : STATUS_NOMEM;
}

void backup_secret_seal(const struct backup_key *key, uint64_t source,
                        const struct hash_secret *secret, const uint8_t nonce[SEAL_NONCE_BYTES],
                        uint8_t sealed[SEAL_SECRET_BYTES])
{
    uint8_t plain[PLAIN_BYTES];

    for (size_t i = 0; i < 8; i++) {
        plain[i] = (uint8_t)(source >> (8 * i));
    }
    memcpy(plain + 8, secret->bytes, HASH_SECRET_BYTES);
    memcpy(sealed, nonce, SEAL_NONCE_BYTES);
    (void)crypto_secretbox_easy(sealed + SEAL_NONCE_BYTES, plain, sizeof plain, nonce, key->seal);
    sodium_memzero(plain, sizeof plain);
}

enum status backup_secret_open(const struct backup_key *key, uint64_t source,
                               const uint8_t sealed[SEAL_SECRET_BYTES], struct hash_secret *secret)
{
    uint8_t plain[PLAIN_BYTES];
    uint64_t named = 0;

    if (crypto_secretbox_open_easy(plain, sealed + SEAL_NONCE_BYTES,
                                   SEAL_SECRET_BYTES - SEAL_NONCE_BYTES, sealed, key->seal) != 0) {
        return STATUS_UNAUTHENTIC;
    }
    for (size_t i = 0; i < 8; i++) {
        named |= (uint64_t)plain[i] << (8 * i);
    }
    if (named == source) {
        memcpy(secret->bytes, plain + 8, HASH_SECRET_BYTES);
    }
    sodium_memzero(plain, sizeof plain);
    return named == source ? STATUS_OK : STATUS_UNAUTHENTIC;
}

/* ---- the digest ---- */

static crypto_generichash_state *state_of(struct backup_digest *self)
{
    return (crypto_generichash_state *)(void *)self->state;
}

void backup_digest_begin(struct backup_digest *self, const struct backup_key *key)
{
    (void)crypto_generichash_init(state_of(self), key != NULL ? key->digest : NULL,
                                  key != NULL ? sizeof key->digest : 0, BACKUP_DIGEST_BYTES);
}

void backup_digest_take(struct backup_digest *self, struct span bytes)
{
    (void)crypto_generichash_update(state_of(self), bytes.data, bytes.size);
}

void backup_digest_tell(const struct backup_digest *self, uint8_t digest[BACKUP_DIGEST_BYTES])
{
    struct backup_digest copy = *self;

    (void)crypto_generichash_final(state_of(&copy), digest, BACKUP_DIGEST_BYTES);
}
