/* codec_wire.h - private to proto/: protobuf's wire form, one level deep.
 *
 * Envelopes (Frame, SignedDocument) are read by walking their fields: the version of a frame
 * must be readable even when nothing else is, and a document's content must be verified as
 * received before it is decoded. Client requests are read this way for speed. All other content
 * goes through protobuf-c.
 *
 * What is read and what is refused is as in protobuf-c, stricter where it takes numbers of
 * fields that no schema can have: 0, and 2^29 and more.
 *
 * Errors:  STATUS_MALFORMED.
 * Owner:   spans point into what is walked.
 */
#ifndef ORBLOOM_PROTO_CODEC_WIRE_H
#define ORBLOOM_PROTO_CODEC_WIRE_H

#include "base/span.h"
#include "base/status.h"

enum codec_wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

enum { CODEC_WIRE_VARINT_BYTES = 10 };

struct codec_wire_field {
    uint32_t number;
    enum codec_wire_type type;
    uint64_t value;    /* of varints and fixed ones */
    struct span bytes; /* of WIRE_BYTES */
};

/* Take the first field off `rest`, which is not empty. */
MUST_USE enum status codec_wire_next(struct span *rest, struct codec_wire_field *field);

/* Take a varint off the front of `rest`. */
MUST_USE enum status codec_wire_take_varint(struct span *rest, uint64_t *value);

/* Write and return the bytes used; `out` has room for CODEC_WIRE_VARINT_BYTES. */
size_t codec_wire_put_varint(uint8_t *out, uint64_t value);

static inline uint64_t codec_wire_tag(uint32_t number, enum codec_wire_type type)
{
    return (uint64_t)number << 3 | (uint64_t)type;
}

#endif
