/* digest.h - what a passphrase is good for in a backup, and the digest over all of it.
 *
 * The digest is the BLAKE2b-256 of all bytes so far. With a passphrase it is keyed, so that nobody
 * without that can bend a backup and put it right again; secrets are sealed with another key that
 * is made of the same passphrase. Without one the digest has no key: it tells damage, not malice.
 *
 * Source:  BLAKE2b (RFC 7693), Argon2id (RFC 9106), XSalsa20-Poly1305 (NaCl secretbox), libsodium.
 * Errors:  STATUS_INVALID: making the key would cost more than anybody asks for. STATUS_NOMEM.
 *          STATUS_UNAUTHENTIC: another passphrase, or another filter's secret.
 * Threads: any.
 */
#ifndef ORBLOOM_BACKUP_DIGEST_H
#define ORBLOOM_BACKUP_DIGEST_H

#include "backup/record.h"

enum { BACKUP_KEY_BYTES = 32 };

struct backup_key {
    uint8_t seal[BACKUP_KEY_BYTES];
    uint8_t digest[BACKUP_KEY_BYTES];
};

/* What new backups ask for: salt and cost are the head's. */
void backup_head_cost(struct backup_head *head);
MUST_USE enum status backup_key_derive(struct span passphrase, const struct backup_head *head,
                                       struct backup_key *key);

void backup_secret_seal(const struct backup_key *key, uint64_t source,
                        const struct hash_secret *secret, const uint8_t nonce[SEAL_NONCE_BYTES],
                        uint8_t sealed[SEAL_SECRET_BYTES]);
MUST_USE enum status backup_secret_open(const struct backup_key *key, uint64_t source,
                                        const uint8_t sealed[SEAL_SECRET_BYTES],
                                        struct hash_secret *secret);

/* ---- the digest ---- */

struct backup_digest {
    uint8_t state[384]; /* of libsodium's */
} __attribute__((aligned(64)));

/* `key`: NULL: none. */
void backup_digest_begin(struct backup_digest *self, const struct backup_key *key);
void backup_digest_take(struct backup_digest *self, struct span bytes);

/* Of all so far; it goes on. */
void backup_digest_tell(const struct backup_digest *self, uint8_t digest[BACKUP_DIGEST_BYTES]);

#endif
