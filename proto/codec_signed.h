/* codec_signed.h - private to proto/: the envelope of documents, and their decoding.
 *
 * Errors:  STATUS_MALFORMED, STATUS_TOO_LARGE (over DOCUMENT_MAX_BYTES), STATUS_UNAUTHENTIC,
 *          STATUS_VERSION (the document says that this version would misread it).
 */
#ifndef ORBLOOM_PROTO_CODEC_SIGNED_H
#define ORBLOOM_PROTO_CODEC_SIGNED_H

#include "proto/arena.h"
#include "proto/codec.h"
#include "proto/signed_document.h"

/* Builds a document from its content; what is built until a failure stays in `out`. */
typedef enum status (*codec_signed_decode_fn)(struct codec_arena *arena, struct span content,
                                              void *out);

/* Decodes a document of this kind, once its MAC is found right. */
MUST_USE enum status codec_signed_open(struct span bytes, enum document_kind kind,
                                       const struct cluster_key *key, codec_signed_decode_fn decode,
                                       void *out);

/* Pack `content`, sign it, append the document to `out`. */
MUST_USE enum status codec_signed_append(const ProtobufCMessage *content, enum document_kind kind,
                                         const struct cluster_key *key, struct buffer *out);

/* Copy a text into an array of `size` bytes; STATUS_MALFORMED when it holds a control byte or
 * does not fit with its NUL. */
MUST_USE enum status codec_signed_text(ProtobufCBinaryData data, char *out, size_t size);

/* Encode document->content into epoch_bytes and epoch_hash. */
MUST_USE enum status codec_epoch_encode(struct filter_document *document);

/* Decode epoch_bytes into document->content. What is built until a failure stays owned by the
 * document. */
MUST_USE enum status codec_epoch_decode(struct codec_arena *arena,
                                        struct filter_document *document);

#endif
