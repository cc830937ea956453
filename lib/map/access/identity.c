/* Keys are public, and compared as such. */
#include "map/access/identity.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

void process_keys_derive(const struct cluster_key *ring, struct process_keys *out)
{
    struct curve_pair pair;

    memset(out, 0, sizeof *out);
    for (int kind = 0; kind < CURVE_NKINDS; kind++) {
        struct public_keys *keys = &out->of[kind];

        keys->count = ring->count;
        for (uint32_t i = 0; i < ring->count; i++) {
            seal_curve_pair(&ring->keys[i], (enum curve_kind)kind, &pair);
            memcpy(keys->keys[i], pair.public, sizeof pair.public);
        }
    }
    sodium_memzero(&pair, sizeof pair);
}

static bool same(const struct public_keys *a, const struct public_keys *b)
{
    return a->count == b->count && memcmp(a->keys, b->keys, a->count * sizeof a->keys[0]) == 0;
}

bool process_keys_equal(const struct process_keys *a, const struct process_keys *b)
{
    bool equal = true;

    for (int kind = 0; kind < CURVE_NKINDS && equal; kind++) {
        equal = same(&a->of[kind], &b->of[kind]);
    }
    return equal;
}

static bool has_key(const struct public_keys *self, const uint8_t key[CURVE_KEY_BYTES])
{
    bool found = false;

    for (uint32_t i = 0; i < self->count && !found; i++) {
        found = memcmp(self->keys[i], key, CURVE_KEY_BYTES) == 0;
    }
    return found;
}

bool process_keys_meet(const struct process_keys *a, const struct process_keys *b)
{
    bool met = false;

    for (int kind = 0; kind < CURVE_NKINDS; kind++) {
        for (uint32_t i = 0; i < a->of[kind].count; i++) {
            met = met || has_key(&b->of[kind], a->of[kind].keys[i]);
        }
    }
    return met;
}

static enum peer_role role_of(enum user_role role)
{
    switch (role) {
    case USER_CLIENT:
        return PEER_CLIENT;
    case USER_MONITOR:
        return PEER_MONITOR;
    case USER_ADMIN:
        return PEER_ADMIN;
    }
    assert(false); /* The record was judged when it came. */
    return PEER_CLIENT;
}

static const struct user *owner_of(const struct user_list *users, uint64_t now_ms,
                                   const uint8_t key[CURVE_KEY_BYTES],
                                   const struct user_key **found)
{
    const struct user *user = user_list_find_key(users, key, found);

    return user != NULL && ((*found)->expires_ms == 0 || now_ms < (*found)->expires_ms) ? user
                                                                                        : NULL;
}

bool identity_judge(const struct effects *effects, const struct user_list *users, bool heard,
                    const uint8_t key[CURVE_KEY_BYTES], struct peer *peer, struct user_use *use)
{
    uint64_t now_ms = effects->date_ms != NULL ? effects->date_ms(effects->context) : 0;
    const struct user_key *found = NULL;
    const struct user *user = owner_of(users, now_ms, key, &found);

    *use = (struct user_use){.user = 0};
    if (user != NULL) {
        peer->role = (uint8_t)role_of(user->role);
        peer->user = user->id;
        *use = (struct user_use){.user = user->id, .credential = found->id, .at_ms = now_ms};
    } else if (!heard) {
        peer->role = PEER_CLIENT; /* The least that it can be. */
        peer->user = PEER_PENDING;
    }
    return user != NULL || !heard;
}
