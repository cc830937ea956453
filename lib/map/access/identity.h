/* identity.h - public keys: which processes have by the cluster key, and whose a user's is by the
 * record of users.
 *
 * Owner:   no pointers; the record is borrowed for the call.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_MAP_ACCESS_IDENTITY_H
#define ORBLOOM_MAP_ACCESS_IDENTITY_H

#include "base/actor.h"
#include "map/access/seal.h"
#include "map/access/users.h"

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

/* Has any kind of process a key of both? Of rings without a common key none has. */
bool process_keys_meet(const struct process_keys *a, const struct process_keys *b);

/* Whose is that key, which a peer has proved to own? Sets role and user of the peer, by the record
 * as it is known here; of one that is nobody's, while `heard` is false, to PEER_PENDING. *use
 * says with which of its keys, and when, for who tells when keys were last used; of user 0:
 * nobody's is used. The time of day is that of `effects`. False: it is nobody's, or has expired;
 * then the peer is as before. */
bool identity_judge(const struct effects *effects, const struct user_list *users, bool heard,
                    const uint8_t key[CURVE_KEY_BYTES], struct peer *peer, struct user_use *use);

#endif
