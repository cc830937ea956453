/* Takes a message apart into its fields, bends one, and puts it together with right lengths. */
#include "tests/support/fuzz_fields.h"

#include "tests/support/random.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 4096, FIELD_BYTES = 20 };

void fuzz_fields_add(struct field_bytes *out, const uint8_t *data, size_t size)
{
    if (size > 0 && size <= sizeof out->data - out->size) {
        memcpy(out->data + out->size, data, size);
        out->size += size;
    }
}

static void add_varint(struct field_bytes *out, uint64_t value)
{
    uint8_t bytes[CODEC_WIRE_VARINT_BYTES];

    fuzz_fields_add(out, bytes, codec_wire_put_varint(bytes, value));
}

void fuzz_fields_put(struct field_bytes *out, const struct codec_wire_field *field)
{
    uint8_t fixed[8];

    add_varint(out, codec_wire_tag(field->number, field->type));
    switch (field->type) {
    case WIRE_VARINT:
        add_varint(out, field->value);
        break;
    case WIRE_BYTES:
        if (field->bytes.size + FIELD_BYTES < sizeof out->data - out->size) {
            add_varint(out, field->bytes.size);
            fuzz_fields_add(out, field->bytes.data, field->bytes.size);
        } else {
            add_varint(out, 0);
        }
        break;
    case WIRE_FIXED64:
    case WIRE_FIXED32:
        for (unsigned i = 0; i < 8; i++) {
            fixed[i] = (uint8_t)(field->value >> (8 * i));
        }
        fuzz_fields_add(out, fixed, field->type == WIRE_FIXED64 ? 8 : 4);
        break;
    }
}

/* Values at the edges of something more often than any other. */
static uint64_t draw_value(uint64_t *random)
{
    static const uint64_t edges[] = {
        0,         1,         2,     3,     4,     5,         7,          8,
        9,         63,        64,    65,    127,   128,       255,        256,
        4096,      4097,      65535, 65536, 65537, INT32_MAX, UINT32_MAX, (uint64_t)1 << 32,
        INT64_MAX, UINT64_MAX};
    uint64_t value = edges[random_below(random, sizeof edges / sizeof edges[0])];

    return random_below(random, 4) == 0 ? random_next(random) >> random_below(random, 64) : value;
}

void fuzz_fields_bend_bytes(uint64_t *random, struct field_bytes *bytes)
{
    for (uint64_t n = random_below(random, 8); n > 0 && bytes->size > 0; n--) {
        size_t at = random_below(random, bytes->size);

        switch (random_below(random, 4)) {
        case 0:
            bytes->data[at] ^= (uint8_t)(1 << random_below(random, 8));
            break;
        case 1:
            bytes->data[at] = (uint8_t)draw_value(random);
            break;
        case 2:
            memmove(bytes->data + at, bytes->data + at + 1, bytes->size - at - 1);
            bytes->size--;
            break;
        default:
            bytes->size = random_below(random, 8) == 0 ? at : bytes->size;
            break;
        }
    }
}

static void mutate_field(uint64_t *random, struct codec_wire_field *field, unsigned depth,
                         struct field_bytes *scratch)
{
    scratch->size = 0;
    switch (random_below(random, 4)) {
    case 0:
        field->number = (uint32_t)random_below(random, 32) + 1;
        break;
    case 1:
        field->type = random_below(random, 2) == 0 ? WIRE_VARINT : WIRE_FIXED64;
        field->value = draw_value(random);
        break;
    default:
        field->value = draw_value(random);
        if (field->type == WIRE_BYTES && depth > 0 && random_below(random, 4) > 0) {
            fuzz_fields_bend(random, field->bytes, depth - 1, scratch);
            field->bytes = span_of(scratch->data, scratch->size);
        } else if (field->type == WIRE_BYTES) {
            fuzz_fields_add(scratch, field->bytes.data, field->bytes.size);
            fuzz_fields_bend_bytes(random, scratch);
            field->bytes = span_of(scratch->data, scratch->size);
        }
        break;
    }
}

static size_t split(struct span in, struct codec_wire_field *fields)
{
    size_t n = 0;

    while (in.size > 0 && n < MOST_FIELDS) {
        if (codec_wire_next(&in, &fields[n]) != STATUS_OK) {
            return 0;
        }
        n++;
    }
    return n;
}

void fuzz_fields_bend(uint64_t *random, struct span in, unsigned depth, struct field_bytes *out)
{
    struct codec_wire_field *fields = calloc(MOST_FIELDS, sizeof *fields);
    struct field_bytes *scratch = malloc(sizeof *scratch);
    size_t n = fields != NULL ? split(in, fields) : 0;
    size_t chosen = n > 0 ? random_below(random, n) : 0;
    uint64_t what = random_below(random, 10);

    if (fields == NULL || scratch == NULL) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        if (i == chosen && what == 0) {
            continue;
        }
        if (i == chosen && what == 1) {
            fuzz_fields_put(out, &fields[random_below(random, n)]);
        }
        if (i == chosen && what > 1) {
            mutate_field(random, &fields[i], depth, scratch);
        }
        fuzz_fields_put(out, &fields[i]);
    }
    if (n == 0) {
        fuzz_fields_add(out, in.data, in.size);
        fuzz_fields_bend_bytes(random, out);
    }
    free(scratch);
    free(fields);
}
