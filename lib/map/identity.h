/* identity.h - whose public key that is: a process', by the cluster key, or a user's, by the record
 * of users.
 *
 * Owner:   no pointers; the record is borrowed for the call.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_MAP_IDENTITY_H
#define ORBLOOM_MAP_IDENTITY_H

#include "base/actor.h"
#include "map/seal.h"
#include "map/users.h"

/* Public keys of one kind of process, one of each key of the ring: the one that serves first. */
struct public_keys {
    uint8_t keys[CLUSTER_KEY_MAX][CURVE_KEY_BYTES];
    uint32_t count;
};

struct process_keys {
    struct public_keys of[CURVE_NKINDS];
};

void process_keys_derive(const struct cluster_key *ring, struct process_keys *out);

/* The same keys in the same order? */
bool process_keys_equal(const struct process_keys *a, const struct process_keys *b);

/* Set role and user of the peer that has proved to own `key`. Any key of the ring will do, as
 * processes change theirs one after the other. False: it is nobody's, or has expired at `now_ms`,
 * since 1970; then the peer is as before. `users` may be NULL. */
bool identity_of(const struct process_keys *processes, const struct user_list *users,
                 uint64_t now_ms, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer);

#endif
