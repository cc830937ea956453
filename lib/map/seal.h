/* seal.h - what the cluster key vouches for: MACs of documents, sealed hash secrets.
 *
 * The cluster key is a secret file of every process. Subkeys are derived from it, one a
 * purpose, so that a MAC can never stand for another kind of record.
 *
 * Shape:   key 32 bytes; MAC 32 bytes; a sealed secret is SEAL_SECRET_BYTES long.
 * Errors:  STATUS_UNAUTHENTIC when a MAC or seal does not match the key.
 * Threads: any; pure but for the nonce, which the caller draws.
 * Source:  BLAKE2b keyed hash (RFC 7693) and XSalsa20-Poly1305 (NaCl secretbox), libsodium.
 */
#ifndef ORBLOOM_MAP_SEAL_H
#define ORBLOOM_MAP_SEAL_H

#include "base/span.h"
#include "base/status.h"
#include "filter/fingerprint.h"

enum {
    SEAL_KEY_BYTES = 32,
    SEAL_MAC_BYTES = 32,
    SEAL_NONCE_BYTES = 24,
    SEAL_SECRET_BYTES = 64, /* nonce 24, box of (filter id 8, secret 16) 40 */
};

struct cluster_key {
    uint8_t mac[SEAL_KEY_BYTES];
    uint8_t seal[SEAL_KEY_BYTES];
};

enum seal_domain {
    SEAL_FILTER_DOCUMENT = 1,
    SEAL_NODE_LIST = 2,
    SEAL_REGISTRATION = 3,
    SEAL_FOLDER = 4,
    SEAL_BOOT = 5,
    SEAL_REPORTS = 6,
    SEAL_DROPPED = 7,
    SEAL_CLUSTER = 8,
    SEAL_FEATURES = 9,
};

/* Derive the subkeys from the 32 bytes of the key file. */
void cluster_key_derive(const uint8_t master[SEAL_KEY_BYTES], struct cluster_key *key);

/* 64 hexadecimal digits, surrounding blanks allowed; STATUS_MALFORMED else. */
MUST_USE enum status cluster_key_parse(struct span text, struct cluster_key *key);

/* The same for readers of files: `key` is a struct cluster_key. */
MUST_USE enum status cluster_key_read(void *key, struct span text);

void seal_mac(const struct cluster_key *key, enum seal_domain domain, struct span content,
              uint8_t mac[SEAL_MAC_BYTES]);

MUST_USE enum status seal_mac_verify(const struct cluster_key *key, enum seal_domain domain,
                                     struct span content, struct span mac);

/* Tells cluster keys apart, in backups of the store; says nothing about the key. */
uint64_t cluster_key_tag(const struct cluster_key *key);

/* Encrypt a filter's hash secret for its way from the store to routers. */
void seal_secret(const struct cluster_key *key, uint64_t filter_id,
                 const struct hash_secret *secret, const uint8_t nonce[SEAL_NONCE_BYTES],
                 uint8_t sealed[SEAL_SECRET_BYTES]);

/* STATUS_UNAUTHENTIC also when the secret belongs to another filter. */
MUST_USE enum status seal_secret_open(const struct cluster_key *key, uint64_t filter_id,
                                      struct span sealed, struct hash_secret *secret);

#endif
