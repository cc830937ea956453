/* Does the cluster key vouch for what it signed, and for nothing else? */
#include "map/access/seal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char low_hex[] = "0000000000000000000000000000000000000000000000000000000000000001";

static struct cluster_key key_of(uint8_t first)
{
    uint8_t master[SEAL_KEY_BYTES];
    struct cluster_key key;

    for (size_t i = 0; i < sizeof master; i++) {
        master[i] = (uint8_t)(first + i);
    }
    cluster_key_derive(master, &key);
    return key;
}

static void assert_hex(const uint8_t *bytes, size_t size, const char *expected)
{
    char hex[2 * SEAL_SECRET_BYTES + 1];

    for (size_t i = 0; i < size; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    }
    cr_assert_str_eq(hex, expected);
}

/* Stored documents and secrets depend on these bytes: they must never change. The values were
 * computed by other means, not by this code. */
Test(seal, golden_subkeys)
{
    /* python3: hashlib.blake2b(b"orbloom v1: ...", key=bytes(range(32)), digest_size=32) */
    struct cluster_key key = key_of(0);

    assert_hex(key.keys[0].mac, SEAL_KEY_BYTES,
               "37ab2fe920e5ea0c0a771d798e876e4a21ac57748b476f762d6f14db68eb9106");
    assert_hex(key.keys[0].seal, SEAL_KEY_BYTES,
               "1fc31838bbf5b65a8272f5fbe0dd0cbb8a8a07e678e4ca223f90fd95fcf0b8fe");
}

/* Of each kind another pair, the same in every process that holds the key. */
Test(seal, golden_curve_pairs)
{
    /* python3: the seed is hashlib.blake2b(b"orbloom v1 curve ...", key=bytes(range(32)), ...), the
     * secret key the first half of its SHA-512, the public one X25519 as in RFC 7748. */
    static const char *const golden[CURVE_NKINDS][2] = {
        [CURVE_ROUTER] = {"9ae827251420da415de9e0b13746b9eb6cffac178b81a1d8de01c34f63fbf035",
                          "0d3b483dddbf74f8e219acab97b09ad5d7d8baee56d959d5c09d4f3b61ad6e33"},
        [CURVE_NODE] = {"d3dbcb46b3f11adb11018884f7cf865f62603f500207bf8c3715a0902bfae93f",
                        "0fc9811390d7794237539793832c1f93f0c02a5b7fc0aeb85dfa91b9fdd1c659"},
        [CURVE_COORDINATOR] = {"c4eee25169d67b14ec1385a605a29694afa507ec8a8166901094cc7c3989bbf4",
                               "4e83737f964a0ffdbab1c737d1c4e986e7fde64b7891643aa2292594b855da73"},
    };
    struct cluster_key key = key_of(0);
    struct curve_pair pair;

    for (size_t i = 0; i < CURVE_NKINDS; i++) {
        seal_curve_pair(&key.keys[0], (enum curve_kind)i, &pair);
        assert_hex(pair.secret, sizeof pair.secret, golden[i][0]);
        assert_hex(pair.public, sizeof pair.public, golden[i][1]);
    }
}

Test(seal, another_key_gives_other_pairs)
{
    struct cluster_key key = key_of(0);
    struct cluster_key other = key_of(1);
    struct curve_pair pair;
    struct curve_pair others;

    seal_curve_pair(&key.keys[0], CURVE_NODE, &pair);
    seal_curve_pair(&other.keys[0], CURVE_NODE, &others);
    cr_assert_neq(memcmp(pair.public, others.public, sizeof pair.public), 0);
}

Test(seal, golden_mac)
{
    /* python3: hashlib.blake2b(domain.to_bytes(8, "little") + b"content", key=subkey, ...) */
    struct cluster_key key = key_of(0);
    uint8_t mac[SEAL_MAC_BYTES];

    seal_mac(&key, SEAL_FILTER_DOCUMENT, span_text("content"), mac);
    assert_hex(mac, sizeof mac, "a7a1edb1b79cd091266c272caa24d578eff673a70794839defa79357a7a62edb");
    seal_mac(&key, SEAL_NODE_LIST, span_text("content"), mac);
    assert_hex(mac, sizeof mac, "6ec1e7a76b5788264c9a2e18fda0ab36ebe13cefbb271d1496e701cbbffac6a9");
}

Test(seal, golden_secret)
{
    /* XSalsa20-Poly1305 written in Python from the papers. */
    struct cluster_key key = key_of(0);
    struct hash_secret secret = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    uint8_t nonce[SEAL_NONCE_BYTES];
    uint8_t sealed[SEAL_SECRET_BYTES];

    memset(nonce, 0x24, sizeof nonce);
    seal_secret(&key, 0x1122334455667788, &secret, nonce, sealed);
    assert_hex(sealed, sizeof sealed,
               "24242424242424242424242424242424242424242424242408386d98e3919df2"
               "f1595b1614820a5ecb32e528d6691cfe7085672778fb04979342d991ea61bb83");
}

Test(seal, subkeys_differ_from_each_other_and_from_the_master)
{
    uint8_t master[SEAL_KEY_BYTES] = {0};
    struct cluster_key key;

    cluster_key_derive(master, &key);
    cr_assert_neq(memcmp(key.keys[0].mac, key.keys[0].seal, SEAL_KEY_BYTES), 0);
    cr_assert_neq(memcmp(key.keys[0].mac, master, sizeof master), 0);
    cr_assert_neq(memcmp(key.keys[0].seal, master, sizeof master), 0);
}

/* Any single bit of content, MAC, key or domain. */
Test(seal, a_mac_vouches_for_every_bit)
{
    struct cluster_key key = key_of(3);
    uint8_t content[40] = {1, 2, 3};
    uint8_t mac[SEAL_MAC_BYTES];
    struct span sealed = span_of(mac, sizeof mac);
    struct span bytes = span_of(content, sizeof content);

    seal_mac(&key, SEAL_FILTER_DOCUMENT, bytes, mac);
    cr_assert_eq(seal_mac_verify(&key, SEAL_FILTER_DOCUMENT, bytes, sealed), STATUS_OK);
    cr_assert_eq(seal_mac_verify(&key, SEAL_NODE_LIST, bytes, sealed), STATUS_UNAUTHENTIC);
    for (size_t bit = 0; bit < 8 * sizeof content; bit++) {
        content[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(seal_mac_verify(&key, SEAL_FILTER_DOCUMENT, bytes, sealed),
                     STATUS_UNAUTHENTIC);
        content[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof mac; bit++) {
        mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(seal_mac_verify(&key, SEAL_FILTER_DOCUMENT, bytes, sealed),
                     STATUS_UNAUTHENTIC);
        mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof key.keys[0].mac; bit++) {
        key.keys[0].mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(seal_mac_verify(&key, SEAL_FILTER_DOCUMENT, bytes, sealed),
                     STATUS_UNAUTHENTIC);
        key.keys[0].mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

Test(seal, macs_of_other_lengths_are_refused)
{
    struct cluster_key key = key_of(3);
    uint8_t mac[SEAL_MAC_BYTES + 1] = {0};

    seal_mac(&key, SEAL_NODE_LIST, span_text(""), mac);
    for (size_t size = 0; size <= sizeof mac; size++) {
        cr_assert_eq(seal_mac_verify(&key, SEAL_NODE_LIST, span_text(""), span_of(mac, size)),
                     size == SEAL_MAC_BYTES ? STATUS_OK : STATUS_UNAUTHENTIC, "%zu", size);
    }
    cr_assert_eq(seal_mac_verify(&key, SEAL_NODE_LIST, span_of(NULL, 0), span_of(mac, 32)),
                 STATUS_OK, "empty content needs no pointer");
}

Test(seal, a_sealed_secret_opens_for_its_filter_and_key_only)
{
    struct cluster_key key = key_of(4);
    struct cluster_key other = key_of(5);
    struct hash_secret secret = {{9, 8, 7}};
    struct hash_secret opened = {{0}};
    const struct hash_secret untouched = {{0}};
    uint8_t nonce[SEAL_NONCE_BYTES] = {1};
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct span span = span_of(sealed, sizeof sealed);

    seal_secret(&key, 77, &secret, nonce, sealed);
    cr_assert_eq(seal_secret_open(&key, 78, span, &opened), STATUS_UNAUTHENTIC);
    cr_assert_eq(seal_secret_open(&other, 77, span, &opened), STATUS_UNAUTHENTIC);
    for (size_t size = 0; size < sizeof sealed; size++) {
        cr_assert_eq(seal_secret_open(&key, 77, span_of(sealed, size), &opened),
                     STATUS_UNAUTHENTIC);
    }
    for (size_t bit = 0; bit < 8 * sizeof sealed; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(seal_secret_open(&key, 77, span, &opened), STATUS_UNAUTHENTIC, "%zu", bit);
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cr_assert_eq(memcmp(&opened, &untouched, sizeof opened), 0);
    cr_assert_eq(seal_secret_open(&key, 77, span, &opened), STATUS_OK);
    cr_assert_eq(memcmp(&opened, &secret, sizeof opened), 0);
}

/* ---- rings ---- */

static struct cluster_key ring_of(uint8_t first, uint8_t second)
{
    struct cluster_key key = key_of(first);
    uint8_t master[SEAL_KEY_BYTES];
    uint32_t at;

    for (size_t i = 0; i < sizeof master; i++) {
        master[i] = (uint8_t)(second + i);
    }
    cr_assert_eq(cluster_key_add(&key, master, &at), STATUS_OK);
    return key;
}

Test(seal, every_key_of_a_ring_verifies_and_the_first_signs)
{
    const struct cluster_key former = key_of(3);
    const struct cluster_key next = key_of(4);
    const struct cluster_key foreign = key_of(5);
    const struct cluster_key ring = ring_of(4, 3);
    struct span content = span_text("content");
    uint8_t mac[SEAL_MAC_BYTES];
    struct span span = span_of(mac, sizeof mac);

    seal_mac(&former, SEAL_NODE_LIST, content, mac);
    cr_assert_eq(seal_mac_verify(&ring, SEAL_NODE_LIST, content, span), STATUS_OK);
    cr_assert(!seal_mac_matches(&ring.keys[0], SEAL_NODE_LIST, content, span));
    cr_assert(seal_mac_matches(&ring.keys[1], SEAL_NODE_LIST, content, span));
    seal_mac(&foreign, SEAL_NODE_LIST, content, mac);
    cr_assert_eq(seal_mac_verify(&ring, SEAL_NODE_LIST, content, span), STATUS_UNAUTHENTIC);
    seal_mac(&ring, SEAL_NODE_LIST, content, mac);
    cr_assert_eq(seal_mac_verify(&next, SEAL_NODE_LIST, content, span), STATUS_OK);
    cr_assert_eq(seal_mac_verify(&former, SEAL_NODE_LIST, content, span), STATUS_UNAUTHENTIC);
}

Test(seal, every_key_of_a_ring_opens_secrets_and_the_first_seals)
{
    const struct cluster_key former = key_of(3);
    const struct cluster_key next = key_of(4);
    const struct cluster_key foreign = key_of(5);
    const struct cluster_key ring = ring_of(4, 3);
    const struct hash_secret secret = {{9, 8, 7}};
    const uint8_t nonce[SEAL_NONCE_BYTES] = {1};
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct span span = span_of(sealed, sizeof sealed);
    struct hash_secret opened = {{0}};

    seal_secret(&former, 7, &secret, nonce, sealed);
    cr_assert_eq(seal_secret_open(&ring, 7, span, &opened), STATUS_OK);
    cr_assert_eq(memcmp(&opened, &secret, sizeof opened), 0);
    cr_assert(!seal_secret_by_first(&ring, 7, span));
    cr_assert(seal_secret_by_first(&former, 7, span));
    seal_secret(&foreign, 7, &secret, nonce, sealed);
    cr_assert_eq(seal_secret_open(&ring, 7, span, &opened), STATUS_UNAUTHENTIC);
    seal_secret(&ring, 7, &secret, nonce, sealed);
    cr_assert(seal_secret_by_first(&ring, 7, span));
    cr_assert(!seal_secret_by_first(&ring, 8, span));
    cr_assert_eq(seal_secret_open(&next, 7, span, &opened), STATUS_OK);
    cr_assert_eq(seal_secret_open(&former, 7, span, &opened), STATUS_UNAUTHENTIC);
}

Test(seal, a_ring_has_the_tags_of_all_its_keys)
{
    const struct cluster_key former = key_of(3);
    const struct cluster_key next = key_of(4);
    const struct cluster_key foreign = key_of(5);
    const struct cluster_key ring = ring_of(4, 3);

    cr_assert_eq(cluster_key_tag(&ring), cluster_key_tag(&next));
    cr_assert(cluster_key_has_tag(&ring, cluster_key_tag(&former)));
    cr_assert(cluster_key_has_tag(&ring, cluster_key_tag(&next)));
    cr_assert(!cluster_key_has_tag(&ring, cluster_key_tag(&foreign)));
    cr_assert(cluster_key_equal(&ring, &ring));
    cr_assert(!cluster_key_equal(&ring, &next));
}

/* ---- key files ---- */

/* "": taken. */
static const char *fault_of(struct span text)
{
    static char reason[200];
    struct cluster_key key = key_of(0);
    const struct cluster_key before = key;
    enum status status;

    reason[0] = '\0';
    status = cluster_key_read(&key, text, reason, sizeof reason);
    cr_assert_eq(status, reason[0] == '\0' ? STATUS_OK : STATUS_MALFORMED);
    cr_assert_eq(memcmp(&key, &before, sizeof key) == 0, status != STATUS_OK);
    return reason;
}

#define ONES "1111111111111111111111111111111111111111111111111111111111111111"

Test(seal, key_files_hold_64_digits_a_line_with_blanks_around)
{
    uint8_t master[SEAL_KEY_BYTES] = {[SEAL_KEY_BYTES - 1] = 1};
    char text[200];
    char reason[100];
    struct cluster_key parsed;
    struct cluster_key derived;

    cluster_key_derive(master, &derived);
    (void)snprintf(text, sizeof text, " \t%s\r\n", low_hex);
    cr_assert_eq(cluster_key_parse(span_text(text), &parsed, reason, sizeof reason), STATUS_OK);
    cr_assert_eq(memcmp(&parsed, &derived, sizeof parsed), 0);

    text[5] = 'a';
    text[6] = 'F';
    cr_assert_str_empty(fault_of(span_text(text)), "either case");
    text[5] = 'g';
    cr_assert_str_eq(fault_of(span_text(text)),
                     "line 1: character 4 is no hexadecimal digit; a key is 64 of them");
    text[5] = ' ';
    cr_assert_str_eq(fault_of(span_text(text)),
                     "line 1: character 4 is no hexadecimal digit; a key is 64 of them");
    cr_assert_str_eq(fault_of(span_text(low_hex + 1)),
                     "line 1 is too short: 63 digits, and a key has 64");
    (void)snprintf(text, sizeof text, "%s00", low_hex);
    cr_assert_str_eq(fault_of(span_text(text)), "line 1 is too long: 66 digits, and a key has 64");
    cr_assert_str_eq(fault_of(span_of(low_hex, sizeof low_hex)),
                     "line 1: character 65 is no hexadecimal digit; a key is 64 of them",
                     "a NUL is no blank");
}

Test(seal, key_files_hold_several_keys_in_order)
{
    char text[1000];
    char reason[100] = "";
    struct cluster_key parsed;
    struct cluster_key first;
    struct cluster_key second;

    (void)snprintf(text, sizeof text, "# former\r\n\r\n%s\r\n\n  # next\n\t%s", low_hex, ONES);
    cr_assert_eq(cluster_key_parse(span_text(text), &parsed, reason, sizeof reason), STATUS_OK);
    cr_assert_eq(cluster_key_parse(span_text(low_hex), &first, reason, sizeof reason), STATUS_OK);
    cr_assert_eq(cluster_key_parse(span_text(ONES), &second, reason, sizeof reason), STATUS_OK);
    cr_assert_eq(parsed.count, 2);
    cr_assert_eq(memcmp(&parsed.keys[0], &first.keys[0], sizeof first.keys[0]), 0);
    cr_assert_eq(memcmp(&parsed.keys[1], &second.keys[0], sizeof second.keys[0]), 0);
}

Test(seal, key_files_say_which_line_is_wrong)
{
    char text[1000] = "";
    size_t size = 0;

    cr_assert_str_eq(fault_of(span_text("")), "there is no key in it");
    cr_assert_str_eq(fault_of(span_text("\n \n# none\n")), "there is no key in it");
    (void)snprintf(text, sizeof text, "%s\n%064d\n", low_hex, 0);
    cr_assert_str_eq(fault_of(span_text(text)), "line 2: a key of zeros is none");
    (void)snprintf(text, sizeof text, "#\n%s\n\n%s\n", low_hex, low_hex);
    cr_assert_str_eq(fault_of(span_text(text)), "line 4: the key of line 2 once more");
    (void)snprintf(text, sizeof text, "%s\n%s\n", low_hex, low_hex + 2);
    cr_assert_str_eq(fault_of(span_text(text)), "line 2 is too short: 62 digits, and a key has 64");
    (void)snprintf(text, sizeof text, "%s\r%s\n", low_hex, ONES);
    cr_assert_str_eq(fault_of(span_text(text)),
                     "line 1: character 65 is no hexadecimal digit; a key is 64 of them");
    for (int i = 0; i <= CLUSTER_KEY_MAX; i++) {
        cr_assert(i < CLUSTER_KEY_MAX || fault_of(span_of(text, size))[0] == '\0');
        size += (size_t)snprintf(text + size, sizeof text - size, "%d%s\n", i, low_hex + 1);
    }
    cr_assert_str_eq(fault_of(span_of(text, size)),
                     "line 9: one key more than the 8 that it may hold");
}
