/* Derives a key for each purpose from each key of the ring, then signs, verifies and seals with
 * libsodium. What verifies tries one key after the other: a ring has more than one only while it is
 * replaced. */
#include "map/access/seal.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { SECRET_PLAIN_BYTES = 8 + HASH_SECRET_BYTES, DOMAIN_BYTES = 8 };

_Static_assert(SEAL_KEY_BYTES == crypto_secretbox_KEYBYTES, "key of secretbox");
_Static_assert(SEAL_KEY_BYTES == crypto_box_SEEDBYTES, "seed of a pair");
_Static_assert(CURVE_KEY_BYTES == crypto_box_PUBLICKEYBYTES, "public key of a pair");
_Static_assert(CURVE_KEY_BYTES == crypto_box_SECRETKEYBYTES, "secret key of a pair");
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

static void derive_key(const uint8_t master[SEAL_KEY_BYTES], struct seal_key *key)
{
    derive(master, "orbloom v1: authenticate documents", key->mac);
    derive(master, "orbloom v1: seal hash secrets", key->seal);
    derive(master, "orbloom v1 curve router", key->curve[CURVE_ROUTER]);
    derive(master, "orbloom v1 curve node", key->curve[CURVE_NODE]);
    derive(master, "orbloom v1 curve coordinator", key->curve[CURVE_COORDINATOR]);
}

/* ---- the ring ---- */

void cluster_key_derive(const uint8_t master[SEAL_KEY_BYTES], struct cluster_key *key)
{
    memset(key, 0, sizeof *key);
    derive_key(master, &key->keys[0]);
    key->count = 1;
}

enum status cluster_key_add(struct cluster_key *key, const uint8_t master[SEAL_KEY_BYTES],
                            uint32_t *at)
{
    struct seal_key one;
    enum status status = key->count < CLUSTER_KEY_MAX ? STATUS_OK : STATUS_TOO_LARGE;

    derive_key(master, &one);
    for (*at = 0; *at < key->count; (*at)++) {
        if (sodium_memcmp(&key->keys[*at], &one, sizeof one) == 0) {
            status = STATUS_EXISTS;
            break;
        }
    }
    if (status == STATUS_OK) {
        key->keys[key->count++] = one;
    }
    sodium_memzero(&one, sizeof one);
    return status;
}

bool cluster_key_equal(const struct cluster_key *a, const struct cluster_key *b)
{
    return a->count == b->count && sodium_memcmp(a->keys, b->keys, sizeof a->keys) == 0;
}

/* ---- the key file ---- */

enum { KEY_DIGITS = 2 * SEAL_KEY_BYTES };

/* A file of keys, while its lines are read. */
struct reading {
    struct cluster_key key;
    size_t lines[CLUSTER_KEY_MAX]; /* where each key is, from 1 */
    size_t line;
    char *reason;
    size_t size;
};

static bool is_digit(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
           (byte >= 'A' && byte <= 'F');
}

/* What the line holds is not told: part of it may be a key. */
static enum status refuse_line(struct reading *self, struct span line)
{
    size_t digits = 0;

    while (digits < line.size && is_digit(line.data[digits])) {
        digits++;
    }
    if (digits < line.size) {
        (void)snprintf(self->reason, self->size,
                       "line %zu: character %zu is no hexadecimal digit; a key is %d of them",
                       self->line, digits + 1, KEY_DIGITS);
    } else {
        (void)snprintf(self->reason, self->size, "line %zu is too %s: %zu digits, and a key has %d",
                       self->line, digits < KEY_DIGITS ? "short" : "long", digits, KEY_DIGITS);
    }
    return STATUS_MALFORMED;
}

static enum status add_line(struct reading *self, const uint8_t master[SEAL_KEY_BYTES])
{
    uint32_t at;
    enum status status = cluster_key_add(&self->key, master, &at);

    if (status == STATUS_OK) {
        self->lines[at] = self->line;
        return STATUS_OK;
    }
    if (status == STATUS_EXISTS) {
        (void)snprintf(self->reason, self->size, "line %zu: the key of line %zu once more",
                       self->line, self->lines[at]);
    } else {
        (void)snprintf(self->reason, self->size,
                       "line %zu: one key more than the %d that it may "
                       "hold",
                       self->line, CLUSTER_KEY_MAX);
    }
    return STATUS_MALFORMED;
}

static enum status read_line(struct reading *self, struct span line)
{
    uint8_t master[SEAL_KEY_BYTES];
    enum status status;
    size_t size = 0;

    line = span_trim(line);
    if (line.size == 0 || line.data[0] == '#') {
        return STATUS_OK;
    }
    if (line.size != KEY_DIGITS ||
        sodium_hex2bin(master, sizeof master, (const char *)line.data, line.size, NULL, &size,
                       NULL) != 0 ||
        size != sizeof master) {
        status = refuse_line(self, line);
    } else if (sodium_is_zero(master, sizeof master)) {
        (void)snprintf(self->reason, self->size, "line %zu: a key of zeros is none", self->line);
        status = STATUS_MALFORMED;
    } else {
        status = add_line(self, master);
    }
    sodium_memzero(master, sizeof master);
    return status;
}

enum status cluster_key_parse(struct span text, struct cluster_key *key, char *reason, size_t size)
{
    struct reading reading = {.reason = reason, .size = size};
    enum status status = STATUS_OK;
    struct span line;

    while (status == STATUS_OK && span_take_line(&text, &line)) {
        reading.line++;
        status = read_line(&reading, line);
    }
    if (status == STATUS_OK && reading.key.count == 0) {
        (void)snprintf(reason, size, "there is no key in it");
        status = STATUS_MALFORMED;
    }
    if (status == STATUS_OK) {
        *key = reading.key;
    }
    sodium_memzero(&reading.key, sizeof reading.key);
    return status;
}

enum status cluster_key_read(void *key, struct span text, char *reason, size_t size)
{
    return cluster_key_parse(text, key, reason, size);
}

/* ---- MACs ---- */

void seal_mac_by(const struct seal_key *key, enum seal_domain domain, struct span content,
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

void seal_mac(const struct cluster_key *key, enum seal_domain domain, struct span content,
              uint8_t mac[SEAL_MAC_BYTES])
{
    seal_mac_by(&key->keys[0], domain, content, mac);
}

bool seal_mac_matches(const struct seal_key *key, enum seal_domain domain, struct span content,
                      struct span mac)
{
    uint8_t expected[SEAL_MAC_BYTES];

    if (mac.size != sizeof expected) {
        return false;
    }
    seal_mac_by(key, domain, content, expected);
    return sodium_memcmp(expected, mac.data, sizeof expected) == 0;
}

enum status seal_mac_verify(const struct cluster_key *key, enum seal_domain domain,
                            struct span content, struct span mac)
{
    for (uint32_t i = 0; i < key->count; i++) {
        if (seal_mac_matches(&key->keys[i], domain, content, mac)) {
            return STATUS_OK;
        }
    }
    return STATUS_UNAUTHENTIC;
}

uint64_t seal_key_tag(const struct seal_key *key)
{
    uint8_t mac[SEAL_MAC_BYTES];
    uint64_t tag;

    seal_mac_by(key, SEAL_FOLDER, span_text("folder"), mac);
    memcpy(&tag, mac, sizeof tag);
    return tag;
}

uint64_t cluster_key_tag(const struct cluster_key *key)
{
    return seal_key_tag(&key->keys[0]);
}

bool cluster_key_has_tag(const struct cluster_key *key, uint64_t tag)
{
    for (uint32_t i = 0; i < key->count; i++) {
        if (seal_key_tag(&key->keys[i]) == tag) {
            return true;
        }
    }
    return false;
}

void seal_pair_of_seed(const uint8_t seed[CURVE_KEY_BYTES], struct curve_pair *pair)
{
    int failed = crypto_box_seed_keypair(pair->public, pair->secret, seed);

    assert(failed == 0); /* It knows no failure. */
}

void seal_curve_pair(const struct seal_key *key, enum curve_kind kind, struct curve_pair *pair)
{
    assert(kind < CURVE_NKINDS);
    seal_pair_of_seed(key->curve[kind], pair);
}

size_t cluster_key_curve_pairs(const void *key, enum curve_kind kind,
                               struct curve_pair pairs[CLUSTER_KEY_MAX])
{
    const struct cluster_key *ring = key;

    for (uint32_t i = 0; i < ring->count; i++) {
        seal_curve_pair(&ring->keys[i], kind, &pairs[i]);
    }
    return ring->count;
}

/* ---- hash secrets ---- */

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
                                   key->keys[0].seal);
    assert(failed == 0);
    sodium_memzero(plain, sizeof plain);
}

static enum status open_by(const struct seal_key *key, uint64_t filter_id, struct span sealed,
                           struct hash_secret *secret)
{
    enum status status = STATUS_UNAUTHENTIC;
    uint8_t plain[SECRET_PLAIN_BYTES];
    uint8_t id[8];

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

enum status seal_secret_open(const struct cluster_key *key, uint64_t filter_id, struct span sealed,
                             struct hash_secret *secret)
{
    enum status status = STATUS_UNAUTHENTIC;

    if (sealed.size != SEAL_SECRET_BYTES) {
        return STATUS_UNAUTHENTIC;
    }
    for (uint32_t i = 0; status != STATUS_OK && i < key->count; i++) {
        status = open_by(&key->keys[i], filter_id, sealed, secret);
    }
    return status;
}

bool seal_secret_by_first(const struct cluster_key *key, uint64_t filter_id, struct span sealed)
{
    struct hash_secret secret;
    bool opened = sealed.size == SEAL_SECRET_BYTES &&
                  open_by(&key->keys[0], filter_id, sealed, &secret) == STATUS_OK;

    sodium_memzero(&secret, sizeof secret);
    return opened;
}
