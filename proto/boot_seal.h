/* boot_seal.h - what nodes say of a start, vouched for by the cluster key.
 *
 * Whoever could forge it might have a node give its data up, or two copies of a folder confirmed.
 * The MAC covers everything but the node list, which has its own.
 *
 * Errors:  STATUS_UNAUTHENTIC when the MAC is not the cluster key's.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_PROTO_BOOT_SEAL_H
#define ORBLOOM_PROTO_BOOT_SEAL_H

#include "proto/codec.h"

/* Fill ->mac. */
void boot_request_sign(const struct cluster_key *key, struct boot_request *request);
void boot_reply_sign(const struct cluster_key *key, struct boot_reply *reply);

MUST_USE enum status boot_request_verify(const struct cluster_key *key,
                                         const struct boot_request *request);
MUST_USE enum status boot_reply_verify(const struct cluster_key *key,
                                       const struct boot_reply *reply);

#endif
