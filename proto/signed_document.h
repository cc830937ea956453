/* signed_document.h - documents as they are stored and handed on: bytes, signed with the cluster
 * key.
 *
 * A signed document is never encoded again on its way; whoever takes it verifies these bytes.
 *
 * Errors:  sign: what the peers would refuse, that is the outcomes of document_validate(),
 *          node_list_validate(), dropped_record_validate() or user_list_validate(), STATUS_NOMEM,
 *          STATUS_TOO_LARGE. open: STATUS_UNAUTHENTIC, STATUS_MALFORMED, STATUS_VERSION,
 *          STATUS_NOMEM, STATUS_TOO_LARGE; *out is zeroed then.
 * Owner:   an opened document owns its memory: document_fini().
 * Threads: any; no state.
 */
#ifndef ORBLOOM_PROTO_SIGNED_DOCUMENT_H
#define ORBLOOM_PROTO_SIGNED_DOCUMENT_H

#include "base/buffer.h"
#include "base/cluster_id.h"
#include "base/span.h"
#include "map/access/seal.h"
#include "map/access/users.h"
#include "map/document.h"
#include "map/dropped.h"
#include "map/feature.h"

enum document_kind {
    DOCUMENT_FILTER = 1,
    DOCUMENT_NODE_LIST = 2,
    DOCUMENT_DROPPED = 3,
    DOCUMENT_CLUSTER = 4,
    DOCUMENT_FEATURES = 5,
    DOCUMENT_USERS = 6,
};

/* Append the signed form. Fills epoch_bytes and epoch_hash when they are missing; uses
 * epoch_bytes as they are otherwise. */
MUST_USE enum status codec_filter_document_sign(struct filter_document *document,
                                                const struct cluster_key *key, struct buffer *out);
MUST_USE enum status codec_node_list_sign(const struct node_list *list,
                                          const struct cluster_key *key, struct buffer *out);
MUST_USE enum status codec_dropped_sign(const struct dropped_record *record,
                                        const struct cluster_key *key, struct buffer *out);
MUST_USE enum status codec_cluster_sign(const struct cluster_id *id, const struct cluster_key *key,
                                        struct buffer *out);
MUST_USE enum status codec_features_sign(const struct cluster_features *record,
                                         const struct cluster_key *key, struct buffer *out);

MUST_USE enum status codec_users_sign(const struct user_list *users, const struct cluster_key *key,
                                      struct buffer *out);

/* What helps against a document that was refused so: "" or "; ...", to follow what happened. */
const char *codec_document_remedy(enum status status);

/* Which kind of document, by its envelope alone; STATUS_MALFORMED. */
MUST_USE enum status codec_document_kind(struct span bytes, enum document_kind *kind);

/* Did the first key of the ring sign it? One that was verified, and is none of its, is by another
 * one of the ring. */
bool codec_document_by_first(struct span bytes, const struct cluster_key *key);

/* What a document says of itself that nobody vouches for: good for no decision but whether another
 * one, which was verified, has taken its place. */
struct document_claim {
    enum document_kind kind;
    uint64_t id; /* of a filter; else 0 */
    uint64_t revision;
};

/* Of filters, the node list, dropped filters, users; STATUS_MALFORMED. */
MUST_USE enum status codec_document_claim(struct span bytes, struct document_claim *out);

/* Verify the MAC, decode, document_validate(). */
MUST_USE enum status codec_filter_document_open(struct span bytes, const struct cluster_key *key,
                                                struct filter_document *out);
MUST_USE enum status codec_node_list_open(struct span bytes, const struct cluster_key *key,
                                          struct node_list *out);
MUST_USE enum status codec_dropped_open(struct span bytes, const struct cluster_key *key,
                                        struct dropped_record *out);
MUST_USE enum status codec_cluster_open(struct span bytes, const struct cluster_key *key,
                                        struct cluster_id *out);
MUST_USE enum status codec_features_open(struct span bytes, const struct cluster_key *key,
                                         struct cluster_features *out);
MUST_USE enum status codec_users_open(struct span bytes, const struct cluster_key *key,
                                      struct user_list *out);

#endif
