/* codec_field.h - private to proto/: the kinds of fields that many messages share.
 *
 * put: from our structs to protobuf-c's, which borrow. get: the way back, validated, into the
 * arena; what a get returns is never NULL, not even for nothing.
 *
 * Errors:  put STATUS_NOMEM, STATUS_TOO_LARGE, STATUS_INVALID (a text that may not travel);
 *          get STATUS_MALFORMED, STATUS_TOO_LARGE.
 */
#ifndef ORBLOOM_PROTO_CODEC_FIELD_H
#define ORBLOOM_PROTO_CODEC_FIELD_H

#include "proto/arena.h"
#include "proto/binding.h"
#include "proto/codec.h"
#include "proto/orbloom.pb-c.h"

/* Enums start at 1: 0 on the wire is a field left out. */
static inline bool codec_enum_known(int value, int last)
{
    return value >= 1 && value <= last;
}

static inline ProtobufCBinaryData codec_put_span(struct span bytes)
{
    return (ProtobufCBinaryData){.len = bytes.size, .data = (uint8_t *)bytes.data};
}

static inline struct span codec_get_span(ProtobufCBinaryData data)
{
    return span_of(data.len > 0 ? (const void *)data.data : "", data.len);
}

/* ---- texts: UTF-8 without control characters (C0, DEL, C1), so that one from a stranger can be
 * logged and shown on a terminal as it is. Source: RFC 3629, section 4. ---- */

bool codec_text_valid(struct span text);

/* Copy what fits into `size` bytes, '?' for each byte that may not travel; never cuts a
 * character. Returns how much was written. */
size_t codec_text_clean(struct span text, uint8_t *out, size_t size);

/* NULL reads as "". */
MUST_USE enum status codec_put_text(const char *text, ProtobufCBinaryData *out);

/* Never refused: an explanation is cleaned and cut rather than lost. */
MUST_USE enum status codec_put_message(struct codec_scratch *scratch, const char *text,
                                       ProtobufCBinaryData *out);

MUST_USE enum status codec_get_text(struct codec_arena *arena, ProtobufCBinaryData data,
                                    const char **out);

/* Copy a text into an array of `size` bytes; STATUS_MALFORMED when it holds a control byte or
 * does not fit with its NUL. */
MUST_USE enum status codec_get_chars(ProtobufCBinaryData data, char *out, size_t size);

/* ---- planes ---- */

/* NULL and all-zero planes are left out. */
ProtobufCBinaryData codec_put_plane(const uint64_t *words, size_t count);

MUST_USE enum status codec_get_plane(struct codec_arena *arena, ProtobufCBinaryData data,
                                     size_t count, const uint64_t **out);

/* ---- documents ---- */

/* Signed ones, at most CODEC_MAX_DOCUMENTS of at most DOCUMENT_MAX_BYTES. */
MUST_USE enum status codec_put_documents(struct codec_scratch *scratch, const struct span *items,
                                         size_t count, ProtobufCBinaryData **out);
MUST_USE enum status codec_get_documents(struct codec_arena *arena,
                                         const ProtobufCBinaryData *items, size_t count,
                                         const struct span **out);

#endif
