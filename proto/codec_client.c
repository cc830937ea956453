/* The client's conversation with a router.
 *
 * Requests are read without protobuf-c: they are most of what a router receives, and protobuf-c
 * would copy all keys and read each length three times. The keys stay where they are in the
 * frame. Accepted and refused is what protobuf-c does (tests/property/proto_client_request.c),
 * except for numbers of fields that no schema can have: codec_wire.h refuses those.
 */
#include "proto/codec_body.h"
#include "proto/codec_wire.h"

/* ---- the request, written ---- */

enum status codec_put_client_request(const struct frame *frame, struct codec_scratch *scratch,
                                     ProtobufCMessage **out)
{
    const struct client_request *request = &frame->body.client_request;
    Orbloom__V1__ClientRequest *wire = codec_scratch_take(scratch, 1, sizeof *wire);

    if (wire == NULL) {
        return STATUS_NOMEM;
    }
    if (request->count > CODEC_MAX_KEYS) {
        return STATUS_TOO_LARGE;
    }
    *wire = (Orbloom__V1__ClientRequest)ORBLOOM__V1__CLIENT_REQUEST__INIT;
    wire->filter_id = request->filter_id;
    wire->operation = (Orbloom__V1__Operation)request->operation;
    wire->session_high = request->op.session[0];
    wire->session_low = request->op.session[1];
    wire->sequence = request->op.sequence;
    wire->attempt = request->attempt;
    wire->timeout_ms = request->timeout_ms;
    wire->slots = request->slots;
    wire->keys = codec_put_span(request->keys);
    wire->n_lengths = request->count;
    wire->lengths = (uint32_t *)request->lengths;
    wire->keyset = request->keyset;
    wire->max_staleness = request->max_staleness;
    wire->acks = request->acks;
    *out = &wire->base;
    return codec_put_text(request->filter, &wire->filter);
}

/* ---- the request, read ---- */

enum field {
    FIELD_FILTER = 1,
    FIELD_FILTER_ID,
    FIELD_OPERATION,
    FIELD_SESSION_HIGH,
    FIELD_SESSION_LOW,
    FIELD_SEQUENCE,
    FIELD_ATTEMPT,
    FIELD_TIMEOUT_MS,
    FIELD_SLOTS,
    FIELD_KEYS,
    FIELD_LENGTHS,
    FIELD_KEYSET,
    FIELD_MAX_STALENESS,
    FIELD_ACKS,
    FIELD_LAST = FIELD_ACKS,
};

struct lengths {
    uint32_t *items; /* the first CODEC_MAX_KEYS */
    size_t count;
    uint64_t sum;
    uint32_t longest;
};

struct reading {
    struct client_request *request;
    struct span filter;
    size_t room; /* of lengths: no more of them can be in the message */
    struct lengths lengths;
};

typedef enum status take_fn(struct reading *self, const struct codec_wire_field *field);

static enum status each_field(struct span body, struct reading *self, take_fn *take)
{
    enum status status = STATUS_OK;

    while (body.size > 0 && status == STATUS_OK) {
        struct codec_wire_field field;

        status = codec_wire_next(&body, &field);
        if (status == STATUS_OK) {
            status = take(self, &field);
        }
    }
    return status;
}

static bool type_fits(const struct codec_wire_field *field)
{
    static const enum codec_wire_type types[] = {
        [FIELD_FILTER] = WIRE_BYTES,         [FIELD_FILTER_ID] = WIRE_FIXED64,
        [FIELD_OPERATION] = WIRE_VARINT,     [FIELD_SESSION_HIGH] = WIRE_FIXED64,
        [FIELD_SESSION_LOW] = WIRE_FIXED64,  [FIELD_SEQUENCE] = WIRE_VARINT,
        [FIELD_ATTEMPT] = WIRE_VARINT,       [FIELD_TIMEOUT_MS] = WIRE_VARINT,
        [FIELD_SLOTS] = WIRE_VARINT,         [FIELD_KEYS] = WIRE_BYTES,
        [FIELD_LENGTHS] = WIRE_BYTES,        [FIELD_KEYSET] = WIRE_VARINT,
        [FIELD_MAX_STALENESS] = WIRE_VARINT, [FIELD_ACKS] = WIRE_VARINT,
    };

    if (field->number > FIELD_LAST) {
        return true; /* Of a later version: skipped. */
    }
    return field->type == types[field->number] ||
           (field->number == FIELD_LENGTHS && field->type == WIRE_VARINT);
}

/* Everything but the lengths, of which it learns how many there may be. The last one of a
 * field counts, numbers are cut to their size: by the rules of protobuf. */
static enum status take_scalar(struct reading *self, const struct codec_wire_field *field)
{
    struct client_request *request = self->request;

    if (!type_fits(field)) {
        return STATUS_MALFORMED;
    }
    switch (field->number) {
    case FIELD_FILTER:
        self->filter = field->bytes;
        break;
    case FIELD_FILTER_ID:
        request->filter_id = field->value;
        break;
    case FIELD_OPERATION:
        request->operation = (enum operation)(uint32_t)field->value;
        break;
    case FIELD_SESSION_HIGH:
        request->op.session[0] = field->value;
        break;
    case FIELD_SESSION_LOW:
        request->op.session[1] = field->value;
        break;
    case FIELD_SEQUENCE:
        request->op.sequence = field->value;
        break;
    case FIELD_ATTEMPT:
        request->attempt = (uint32_t)field->value;
        break;
    case FIELD_TIMEOUT_MS:
        request->timeout_ms = (uint32_t)field->value;
        break;
    case FIELD_SLOTS:
        request->slots = (uint32_t)field->value;
        break;
    case FIELD_KEYS:
        request->keys = field->bytes;
        break;
    case FIELD_KEYSET:
        request->keyset = (uint32_t)field->value;
        break;
    case FIELD_MAX_STALENESS:
        request->max_staleness = field->value;
        break;
    case FIELD_ACKS:
        request->acks = (uint32_t)field->value;
        break;
    case FIELD_LENGTHS:
        self->room += field->type == WIRE_BYTES ? field->bytes.size : 1;
        break;
    default:
        break;
    }
    return STATUS_OK;
}

static inline void lengths_add(struct lengths *self, uint32_t length)
{
    if (self->count < CODEC_MAX_KEYS) {
        self->items[self->count] = length;
    }
    self->count++;
    self->sum += length;
    self->longest = length > self->longest ? length : self->longest;
}

/* One by one or packed, in any number of pieces. */
static enum status take_lengths(struct reading *self, const struct codec_wire_field *field)
{
    struct lengths lengths = self->lengths; /* A copy can stay in registers. */
    struct span rest = field->bytes;
    enum status status = STATUS_OK;
    uint64_t value;

    if (field->number != FIELD_LENGTHS) {
        return STATUS_OK;
    }
    if (field->type == WIRE_VARINT) {
        lengths_add(&lengths, (uint32_t)field->value);
    }
    while (rest.size > 0 && status == STATUS_OK) {
        if (rest.data[0] < 0x80) { /* Most keys are shorter than 128 bytes. */
            lengths_add(&lengths, rest.data[0]);
            rest = span_of(rest.data + 1, rest.size - 1);
            continue;
        }
        status = codec_wire_take_varint(&rest, &value);
        if (status == STATUS_OK) {
            lengths_add(&lengths, (uint32_t)value);
        }
    }
    self->lengths = lengths;
    return status;
}

static enum status judge(const struct client_request *request, const struct lengths *lengths)
{
    if (lengths->count > CODEC_MAX_KEYS || lengths->longest > CODEC_MAX_KEY_BYTES) {
        return STATUS_TOO_LARGE;
    }
    if (lengths->sum != request->keys.size ||
        !codec_enum_known((int)request->operation, OPERATION_FEED)) {
        return STATUS_MALFORMED;
    }
    return STATUS_OK;
}

enum status codec_read_client_request(struct span body, struct codec_arena *arena,
                                      struct frame *frame)
{
    struct client_request *request = &frame->body.client_request;
    struct reading reading = {.request = request, .filter = span_text("")};
    struct lengths *lengths = &reading.lengths;
    enum status status;

    *request = (struct client_request){.keys = span_text("")};
    /* Twice through all of it: how many lengths there are is known after the first time. */
    status = each_field(body, &reading, take_scalar);
    if (status != STATUS_OK) {
        return status;
    }
    lengths->items = arena_take(
        arena, reading.room < CODEC_MAX_KEYS ? reading.room : CODEC_MAX_KEYS, sizeof(uint32_t));
    if (lengths->items == NULL) {
        return STATUS_TOO_LARGE;
    }
    status = each_field(body, &reading, take_lengths);
    if (status == STATUS_OK) {
        status = judge(request, lengths);
    }
    if (status == STATUS_OK) {
        request->lengths = lengths->items;
        request->count = lengths->count;
        status = codec_get_text(arena, codec_put_span(reading.filter), &request->filter);
    }
    return status;
}

/* ---- the reply ---- */

#define WIRE_client_reply Orbloom__V1__ClientReply
static const struct binding client_reply_rows[] = {
    COUNT(client_reply, count, CODEC_MAX_KEYS),
    ROW_AS(client_reply, op.session[0], session_high, UINT64),
    ROW_AS(client_reply, op.session[1], session_low, UINT64),
    ROW_AS(client_reply, op.sequence, sequence, UINT64),
    ROW(client_reply, attempt, UINT32),
    ROW(client_reply, status, STATUS),
    ROW(client_reply, filter_id, UINT64),
    ROW(client_reply, epoch, UINT64),
    ROW(client_reply, copies, UINT32),
    ROW(client_reply, message, MESSAGE),
    ROW(client_reply, site, TEXT),
    ROW_AS(client_reply, site_id.high, site_high, UINT64),
    ROW_AS(client_reply, site_id.low, site_low, UINT64),
    PLANE(client_reply, present, count),
    PLANE(client_reply, absent, count),
};
BINDING_TABLE(client_reply, client_reply, NULL);
