/* The keys of processes follow from the ring, and only living keys of the record are users'. */
#include "map/access/identity.h"

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

/* All keys of the ring, of each kind, in its order. */
Test(identity, processes_have_a_key_of_each_of_the_ring)
{
    struct cluster_key ring = ring_of(1, 3);
    struct process_keys keys;
    struct curve_pair pair;

    process_keys_derive(&ring, &keys);
    for (int kind = 0; kind < CURVE_NKINDS; kind++) {
        cr_assert_eq(keys.of[kind].count, 3);
        for (uint32_t i = 0; i < ring.count; i++) {
            seal_curve_pair(&ring.keys[i], (enum curve_kind)kind, &pair);
            cr_assert_arr_eq(keys.of[kind].keys[i], pair.public, CURVE_KEY_BYTES);
        }
    }
}

Test(identity, another_ring_has_other_keys)
{
    struct cluster_key both = ring_of(1, 2);
    struct cluster_key first = ring_of(1, 1);
    struct process_keys before;
    struct process_keys after;

    process_keys_derive(&both, &before);
    process_keys_derive(&first, &after);
    cr_assert_not(process_keys_equal(&before, &after));
    before = after;
    cr_assert(process_keys_equal(&before, &after));
    after.of[CURVE_NODE].keys[0][5] ^= 1;
    cr_assert_not(process_keys_equal(&before, &after));
}

/* Before and after a step of a replacement, but not over a whole one. */
Test(identity, rings_meet_where_they_have_a_key_of_both)
{
    const struct cluster_key rings[] = {ring_of(1, 1), ring_of(1, 2), ring_of(2, 1), ring_of(7, 8)};
    struct process_keys keys[4];

    for (size_t i = 0; i < 4; i++) {
        process_keys_derive(&rings[i], &keys[i]);
        cr_assert(process_keys_meet(&keys[i], &keys[i]));
    }
    cr_assert(process_keys_meet(&keys[0], &keys[1]) && process_keys_meet(&keys[1], &keys[0]));
    cr_assert(process_keys_meet(&keys[1], &keys[2]) && process_keys_meet(&keys[2], &keys[1]));
    cr_assert_not(process_keys_meet(&keys[0], &keys[2]));
    cr_assert_not(process_keys_meet(&keys[1], &keys[3]));
    cr_assert_not(process_keys_meet(&keys[3], &keys[1]));
}

static uint64_t date_ms;

static uint64_t tell_date(void *context)
{
    (void)context;
    return date_ms;
}

static const struct effects effects = {.date_ms = tell_date};

Test(identity, a_user_has_the_role_of_the_record_until_its_key_expires)
{
    static const struct {
        enum user_role role;
        uint8_t peer;
    } roles[] = {
        {USER_CLIENT, PEER_CLIENT}, {USER_MONITOR, PEER_MONITOR}, {USER_ADMIN, PEER_ADMIN}};
    struct user_key key = {.id = 5, .expires_ms = 1000, .key = {7}};
    struct user user = {.id = 42, .name = "x", .keys = &key, .nkeys = 1};
    struct user_list users = {.revision = 1, .users = &user, .count = 1};
    struct peer peer = {.role = PEER_NODE, .user = 1};
    struct user_use use = {.user = 1};
    uint8_t other[CURVE_KEY_BYTES] = {8};

    date_ms = 1000;
    cr_assert_not(identity_judge(&effects, &users, true, key.key, &peer, &use));
    cr_assert_eq(use.user, 0);
    date_ms = 999;
    cr_assert_not(identity_judge(&effects, &users, true, other, &peer, &use));
    cr_assert(peer.role == PEER_NODE && peer.user == 1 && use.user == 0);
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        user.role = roles[i].role;
        cr_assert(identity_judge(&effects, &users, i != 0, key.key, &peer, &use));
        cr_assert_eq(peer.role, roles[i].peer);
        cr_assert_eq(peer.user, 42);
        cr_assert(use.user == 42 && use.credential == 5 && use.at_ms == 999);
    }
    key.expires_ms = 0;
    date_ms = UINT64_MAX;
    cr_assert(identity_judge(&effects, &users, true, key.key, &peer, &use));
    users.count = 0;
    cr_assert_not(identity_judge(&effects, &users, true, key.key, &peer, &use));
}

/* Nobody is kept out for good by a process that has just started, and nobody is noted. */
Test(identity, it_is_pending_until_users_have_been_heard_of)
{
    const struct user_list users = {.revision = 0};
    struct peer peer = {.role = PEER_ADMIN, .user = 1};
    struct user_use use = {.user = 1};
    uint8_t key[CURVE_KEY_BYTES] = {8};

    cr_assert(identity_judge(&effects, &users, false, key, &peer, &use));
    cr_assert(peer.role == PEER_CLIENT && peer.user == PEER_PENDING);
    cr_assert_eq(use.user, 0);
    cr_assert_not(identity_judge(&effects, &users, true, key, &peer, &use));
}
