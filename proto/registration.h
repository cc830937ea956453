/* registration.h - a node proves that it holds the cluster key before anything is placed on it.
 *
 * The MAC covers who the node says it is (name, host, zone, endpoint, incarnation, boots, memory
 * limit, whether it has a disk, whether it speaks CURVE, which cluster its data belong to, which
 * site it says it is of, which features it knows), all that it says of its replicas, and which
 * documents it holds: whoever has seen a signed request can't make a copy complete with it. Its
 * number rises within a boot; what is not above the last one heard is a repeat, or was overtaken.
 * `since` asks only, and `key` is told to people only (older coordinators don't know it): neither
 * is covered; documents sent along are signed themselves.
 *
 * Errors:  STATUS_UNAUTHENTIC when the MAC is not the cluster key's.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_REGISTRATION_H
#define ORBLOOM_PROTO_REGISTRATION_H

#include "proto/codec.h"

/* Fill request->mac. */
void registration_sign(const struct cluster_key *key, struct sync_request *request);

MUST_USE enum status registration_verify(const struct cluster_key *key,
                                         const struct sync_request *request);

#endif
