/* fuzz_fields.h - bend protobuf messages so that they stay messages: lengths are put right again,
 * at any depth, and what is tried gets past the outermost checks.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_FUZZ_FIELDS_H
#define ORBLOOM_TESTS_SUPPORT_FUZZ_FIELDS_H

#include "proto/codec_wire.h"

enum { FIELD_MOST_BYTES = 64 << 10 };

struct field_bytes {
    uint8_t data[FIELD_MOST_BYTES];
    size_t size;
};

/* Append; what has no room is left out. */
void fuzz_fields_add(struct field_bytes *out, const uint8_t *data, size_t size);
void fuzz_fields_put(struct field_bytes *out, const struct codec_wire_field *field);

/* Append `in` with one field dropped, repeated, moved or bent; what is no message is bent as bytes.
 */
void fuzz_fields_bend(uint64_t *random, struct span in, unsigned depth, struct field_bytes *out);

void fuzz_fields_bend_bytes(uint64_t *random, struct field_bytes *bytes);

#endif
