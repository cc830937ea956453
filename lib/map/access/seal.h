/* seal.h - what the cluster key vouches for: MACs of documents, sealed hash secrets.
 *
 * The cluster key is a secret file of every process: a ring of 1 to CLUSTER_KEY_MAX keys, so that
 * it can be replaced while the cluster runs. The first one signs and seals; each of them verifies
 * and opens. Subkeys are derived from each, one a purpose, so that a MAC can never stand for
 * another kind of record.
 *
 * Shape:   key 32 bytes; MAC 32 bytes; a sealed secret is SEAL_SECRET_BYTES long.
 * Errors:  STATUS_UNAUTHENTIC when a MAC or seal matches no key of the ring.
 * Threads: any; pure but for the nonce, which the caller draws.
 * Source:  BLAKE2b keyed hash (RFC 7693), XSalsa20-Poly1305 (NaCl secretbox), and key pairs of
 *          Curve25519 from a seed (crypto_box_seed_keypair), libsodium.
 */
#ifndef ORBLOOM_MAP_ACCESS_SEAL_H
#define ORBLOOM_MAP_ACCESS_SEAL_H

#include "base/curve.h"
#include "base/span.h"
#include "base/status.h"
#include "filter/fingerprint.h"

#include <stdbool.h>

enum {
    CLUSTER_KEY_MAX = 8, /* keys of a ring */
    SEAL_KEY_BYTES = 32,
    SEAL_MAC_BYTES = 32,
    SEAL_NONCE_BYTES = 24,
    SEAL_SECRET_BYTES = 64, /* nonce 24, box of (filter id 8, secret 16) 40 */
};

/* What is derived from one key of the ring. */
struct seal_key {
    uint8_t mac[SEAL_KEY_BYTES];
    uint8_t seal[SEAL_KEY_BYTES];
    uint8_t curve[CURVE_NKINDS][SEAL_KEY_BYTES]; /* seeds of key pairs */
};

struct cluster_key {
    struct seal_key keys[CLUSTER_KEY_MAX]; /* the first one signs; beyond `count` zeros */
    uint32_t count;
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
    SEAL_USERS = 10,
};

/* A ring of one key, of its 32 bytes. */
void cluster_key_derive(const uint8_t master[SEAL_KEY_BYTES], struct cluster_key *key);

/* Another one behind those that are there. STATUS_EXISTS: it is there already, in place *at;
 * STATUS_TOO_LARGE: the ring is full. */
MUST_USE enum status cluster_key_add(struct cluster_key *key, const uint8_t master[SEAL_KEY_BYTES],
                                     uint32_t *at);

/* The content of a key file: a key a line, 64 hexadecimal digits with blanks around them; blank
 * lines and those that begin with # are skipped, and a key of zeros is none. STATUS_MALFORMED, and
 * in `reason` which line it is and what is wrong with it; then `key` is as before. */
MUST_USE enum status cluster_key_parse(struct span text, struct cluster_key *key, char *reason,
                                       size_t size);

/* The same for readers of files: `key` is a struct cluster_key. */
MUST_USE enum status cluster_key_read(void *key, struct span text, char *reason, size_t size);

/* Same keys in the same order? */
bool cluster_key_equal(const struct cluster_key *a, const struct cluster_key *b);

/* With the first key of the ring ... */
void seal_mac(const struct cluster_key *key, enum seal_domain domain, struct span content,
              uint8_t mac[SEAL_MAC_BYTES]);

/* ... or one of it, for what is a MAC over MACs. */
void seal_mac_by(const struct seal_key *key, enum seal_domain domain, struct span content,
                 uint8_t mac[SEAL_MAC_BYTES]);

MUST_USE enum status seal_mac_verify(const struct cluster_key *key, enum seal_domain domain,
                                     struct span content, struct span mac);

/* Is it by this one key? */
bool seal_mac_matches(const struct seal_key *key, enum seal_domain domain, struct span content,
                      struct span mac);

/* Tells keys apart, in backups of the store and for operators; says nothing about the key. That of
 * a ring is its first one's. */
uint64_t seal_key_tag(const struct seal_key *key);
uint64_t cluster_key_tag(const struct cluster_key *key);

/* Is it that of a key of the ring? */
bool cluster_key_has_tag(const struct cluster_key *key, uint64_t tag);

/* The pair that 32 random bytes make. */
void seal_pair_of_seed(const uint8_t seed[CURVE_KEY_BYTES], struct curve_pair *pair);

/* The pair by which processes of that kind are known to others, and which they prove to have: all
 * of a kind have the same one of each key of the ring, so nothing else has to be distributed. */
void seal_curve_pair(const struct seal_key *key, enum curve_kind kind, struct curve_pair *pair);

/* Those of all keys of the ring, in its order; how many. For those who don't know what a ring is:
 * `key` is a struct cluster_key. */
size_t cluster_key_curve_pairs(const void *key, enum curve_kind kind,
                               struct curve_pair pairs[CLUSTER_KEY_MAX]);

/* Encrypt a filter's hash secret for its way from the store to routers. */
void seal_secret(const struct cluster_key *key, uint64_t filter_id,
                 const struct hash_secret *secret, const uint8_t nonce[SEAL_NONCE_BYTES],
                 uint8_t sealed[SEAL_SECRET_BYTES]);

/* STATUS_UNAUTHENTIC also when the secret belongs to another filter. */
MUST_USE enum status seal_secret_open(const struct cluster_key *key, uint64_t filter_id,
                                      struct span sealed, struct hash_secret *secret);

/* Does the first key of the ring open it? */
bool seal_secret_by_first(const struct cluster_key *key, uint64_t filter_id, struct span sealed);

#endif
