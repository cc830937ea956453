/* Whose key is it? Only those of the ring are processes, and only living keys of the record users.
 */
#include "map/identity.h"

#include <criterion/criterion.h>

static struct cluster_key ring_of(uint8_t first, uint32_t count)
{
    uint8_t master[SEAL_KEY_BYTES] = {first};
    struct cluster_key ring;
    uint32_t at;

    cluster_key_derive(master, &ring);
    for (uint32_t i = 1; i < count; i++) {
        master[0]++;
        cr_assert_eq(cluster_key_add(&ring, master, &at), STATUS_OK);
    }
    return ring;
}

static struct process_keys derived(const struct cluster_key *ring)
{
    struct process_keys keys;

    process_keys_derive(ring, &keys);
    return keys;
}

/* All keys of the ring, of each kind; and none of another ring. */
Test(identity, a_process_is_known_by_any_key_of_the_ring)
{
    static const uint8_t roles[] = {PEER_ROUTER, PEER_NODE, PEER_COORDINATOR};
    struct cluster_key ring = ring_of(1, 3);
    struct cluster_key foreign = ring_of(50, 1);
    struct process_keys keys = derived(&ring);
    struct curve_pair pair;

    for (int kind = 0; kind < CURVE_NKINDS; kind++) {
        struct peer peer = {.user = 9};

        for (uint32_t i = 0; i < ring.count; i++) {
            seal_curve_pair(&ring.keys[i], (enum curve_kind)kind, &pair);
            cr_assert(identity_of(&keys, NULL, 0, pair.public, &peer));
            cr_assert_eq(peer.role, roles[kind]);
            cr_assert_eq(peer.user, 0);
        }
        seal_curve_pair(&foreign.keys[0], (enum curve_kind)kind, &pair);
        peer = (struct peer){.role = PEER_NODE, .user = 9};
        cr_assert_not(identity_of(&keys, NULL, 0, pair.public, &peer));
        cr_assert_eq(peer.role, PEER_NODE);
        cr_assert_eq(peer.user, 9);
    }
}

Test(identity, a_retired_key_is_nobodys)
{
    struct cluster_key both = ring_of(1, 2);
    struct cluster_key first = ring_of(1, 1);
    struct process_keys before = derived(&both);
    struct process_keys after = derived(&first);
    struct peer peer = {.user = 0};

    cr_assert(identity_of(&before, NULL, 0, before.of[CURVE_NODE].keys[1], &peer));
    cr_assert_not(identity_of(&after, NULL, 0, before.of[CURVE_NODE].keys[1], &peer));
    cr_assert_not(process_keys_equal(&before, &after));
    cr_assert(process_keys_equal(&after, &after));
}

/* Zeros are no key of a ring that has fewer than there is room for. */
Test(identity, zeros_are_nobody)
{
    struct cluster_key ring = ring_of(1, 1);
    struct process_keys keys = derived(&ring);
    uint8_t zeros[CURVE_KEY_BYTES] = {0};
    struct peer peer = {.user = 0};

    cr_assert_not(identity_of(&keys, NULL, 0, zeros, &peer));
}

Test(identity, a_user_has_the_role_of_the_record_until_its_key_expires)
{
    static const struct {
        enum user_role role;
        uint8_t peer;
    } roles[] = {
        {USER_CLIENT, PEER_CLIENT}, {USER_MONITOR, PEER_MONITOR}, {USER_ADMIN, PEER_ADMIN}};
    struct cluster_key ring = ring_of(1, 1);
    struct process_keys keys = derived(&ring);
    struct user_key key = {.id = 1, .expires_ms = 1000, .key = {7}};
    struct user user = {.id = 42, .name = "x", .keys = &key, .nkeys = 1};
    struct user_list users = {.revision = 1, .users = &user, .count = 1};
    struct peer peer = {.user = 0};
    uint8_t other[CURVE_KEY_BYTES] = {8};

    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        user.role = roles[i].role;
        cr_assert(identity_of(&keys, &users, 999, key.key, &peer));
        cr_assert_eq(peer.role, roles[i].peer);
        cr_assert_eq(peer.user, 42);
    }
    cr_assert_not(identity_of(&keys, &users, 1000, key.key, &peer));
    cr_assert_not(identity_of(&keys, &users, 0, other, &peer));
    key.expires_ms = 0;
    cr_assert(identity_of(&keys, &users, UINT64_MAX, key.key, &peer));
    cr_assert_not(identity_of(&keys, NULL, 0, key.key, &peer));
}
