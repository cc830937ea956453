/* Tags, varints and lengths, with each length checked before it is used. */
#include "proto/codec_wire.h"

enum {
    WIRE_TYPE_BITS = 3,
    WIRE_MAX_NUMBER = (1 << 29) - 1,
    WIRE_HEAD_BYTES = 5, /* tags and lengths have 32 bits */
};

static enum status take_varint(struct span *rest, size_t max_bytes, uint64_t *value)
{
    uint64_t result = 0;
    size_t i;

    for (i = 0; i < rest->size && i < max_bytes; i++) {
        result |= (uint64_t)(rest->data[i] & 0x7f) << (7 * i);
        if (rest->data[i] < 0x80) {
            *rest = span_of(rest->data + i + 1, rest->size - i - 1);
            *value = result;
            return STATUS_OK;
        }
    }
    return STATUS_MALFORMED;
}

enum status codec_wire_take_varint(struct span *rest, uint64_t *value)
{
    return take_varint(rest, CODEC_WIRE_VARINT_BYTES, value);
}

static enum status take_bytes(struct span *rest, uint64_t size, struct span *bytes)
{
    if (size > rest->size) {
        return STATUS_MALFORMED;
    }
    *bytes = span_of(rest->data, (size_t)size);
    *rest = span_of(rest->data + size, rest->size - (size_t)size);
    return STATUS_OK;
}

static enum status take_fixed(struct span *rest, size_t size, uint64_t *value)
{
    struct span bytes;
    enum status status = take_bytes(rest, size, &bytes);
    size_t i;

    if (status == STATUS_OK) {
        *value = 0;
        for (i = 0; i < size; i++) {
            *value |= (uint64_t)bytes.data[i] << (8 * i);
        }
    }
    return status;
}

enum status codec_wire_next(struct span *rest, struct codec_wire_field *field)
{
    enum status status;
    uint64_t tag;

    *field = (struct codec_wire_field){0};
    status = take_varint(rest, WIRE_HEAD_BYTES, &tag);
    if (status != STATUS_OK || tag >> WIRE_TYPE_BITS == 0 ||
        tag >> WIRE_TYPE_BITS > WIRE_MAX_NUMBER) {
        return STATUS_MALFORMED;
    }
    field->number = (uint32_t)(tag >> WIRE_TYPE_BITS);
    switch (tag & ((1 << WIRE_TYPE_BITS) - 1)) {
    case WIRE_VARINT:
        field->type = WIRE_VARINT;
        return codec_wire_take_varint(rest, &field->value);
    case WIRE_FIXED64:
        field->type = WIRE_FIXED64;
        return take_fixed(rest, 8, &field->value);
    case WIRE_FIXED32:
        field->type = WIRE_FIXED32;
        return take_fixed(rest, 4, &field->value);
    case WIRE_BYTES:
        field->type = WIRE_BYTES;
        status = take_varint(rest, WIRE_HEAD_BYTES, &field->value);
        return status == STATUS_OK ? take_bytes(rest, field->value, &field->bytes) : status;
    default: /* Groups, which proto3 has not, and numbers that are no type. */
        return STATUS_MALFORMED;
    }
}

size_t codec_wire_put_varint(uint8_t *out, uint64_t value)
{
    size_t size = 0;

    while (value >= 0x80) {
        out[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[size++] = (uint8_t)value;
    return size;
}
