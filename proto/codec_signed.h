/* codec_signed.h - private to proto/: the envelope of documents, and their decoding.
 *
 * Errors:  STATUS_MALFORMED, STATUS_TOO_LARGE (over DOCUMENT_MAX_BYTES), STATUS_UNAUTHENTIC,
 *          STATUS_VERSION (the document says that this version would misread it).
 */
#ifndef ORBLOOM_PROTO_CODEC_SIGNED_H
#define ORBLOOM_PROTO_CODEC_SIGNED_H

#include "proto/binding.h"
#include "proto/codec.h"
#include "proto/signed_document.h"

/* Decodes a document of this kind into its struct, which the table is of, once its MAC is found
 * right. What is built until a failure stays in `out`. */
MUST_USE enum status codec_signed_open(struct span bytes, enum document_kind kind,
                                       const struct binding_table *table,
                                       const struct cluster_key *key, void *out);

/* Encodes the struct of that kind, signs it, appends the document to `out`. */
MUST_USE enum status codec_signed_put(const void *document, enum document_kind kind,
                                      const struct binding_table *table,
                                      const struct cluster_key *key, struct buffer *out);

/* Pack `content`, sign it, append the document to `out`. */
MUST_USE enum status codec_signed_append(const ProtobufCMessage *content, enum document_kind kind,
                                         const struct cluster_key *key, struct buffer *out);

/* Encode document->content into epoch_bytes and epoch_hash. */
MUST_USE enum status codec_epoch_encode(struct filter_document *document);

/* Decode epoch_bytes into document->content. What is built until a failure stays owned by the
 * document. */
MUST_USE enum status codec_epoch_decode(struct codec_arena *arena,
                                        struct filter_document *document);

/* What is in documents. */
binding_table_fn binding_filter_document;
binding_table_fn binding_epoch_content;
binding_table_fn binding_node_list;
binding_table_fn binding_dropped_record;
binding_table_fn binding_cluster_id;
binding_table_fn binding_cluster_features;
binding_table_fn binding_user_list;

#endif
