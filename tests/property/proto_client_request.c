/* Requests of clients are read without protobuf-c, and yet mean what they mean to it: for any
 * bytes the same outcome, and for all that is accepted the same content.
 *
 * The one difference that is meant: numbers of fields that no schema can have are refused.
 */
#include "proto/codec.h"
#include "proto/codec_field.h"
#include "proto/codec_wire.h"
#include "proto/orbloom.pb-c.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200000, MAX_BODY_BYTES = 4096, MAX_KEYS = 12, LAST_FIELD = 14 };

struct body {
    uint8_t bytes[MAX_BODY_BYTES];
    size_t size;
};

/* ---- what protobuf-c says ---- */

static enum status oracle_judge(const Orbloom__V1__ClientRequest *wire)
{
    struct span filter = span_of(wire->filter.len > 0 ? wire->filter.data : NULL, wire->filter.len);
    uint64_t sum = 0;

    for (size_t i = 0; i < wire->n_lengths; i++) {
        sum += wire->lengths[i];
        if (wire->lengths[i] > CODEC_MAX_KEY_BYTES) {
            return STATUS_TOO_LARGE;
        }
    }
    if (sum != wire->keys.len || (wire->operation < 1 || wire->operation > 3)) {
        return STATUS_MALFORMED;
    }
    if (filter.size > CODEC_MAX_TEXT_BYTES) {
        return STATUS_TOO_LARGE;
    }
    return codec_text_valid(filter) ? STATUS_OK : STATUS_MALFORMED;
}

static void compare(const Orbloom__V1__ClientRequest *wire, const struct client_request *request)
{
    cr_assert(span_equal(span_text(request->filter), span_of(wire->filter.data, wire->filter.len)));
    cr_assert_eq(request->filter_id, wire->filter_id);
    cr_assert_eq((int)request->operation, (int)wire->operation);
    cr_assert_eq(request->op.session[0], wire->session_high);
    cr_assert_eq(request->op.session[1], wire->session_low);
    cr_assert_eq(request->op.sequence, wire->sequence);
    cr_assert_eq(request->attempt, wire->attempt);
    cr_assert_eq(request->timeout_ms, wire->timeout_ms);
    cr_assert_eq(request->slots, wire->slots);
    cr_assert_eq(request->keyset, wire->keyset);
    cr_assert_eq(request->max_staleness, wire->max_staleness);
    cr_assert_eq(request->acks, wire->acks);
    cr_assert(span_equal(request->keys, span_of(wire->keys.data, wire->keys.len)));
    cr_assert_not_null(request->keys.data);
    cr_assert_eq(request->count, wire->n_lengths);
    for (size_t i = 0; i < request->count; i++) {
        cr_assert_eq(request->lengths[i], wire->lengths[i]);
    }
}

/* Does reading stop at the number of a field that only protobuf-c takes? */
static bool has_absurd_field(const struct body *body)
{
    struct span rest = span_of(body->bytes, body->size);
    struct codec_wire_field field;
    uint64_t tag = 0;

    while (rest.size > 0) {
        struct span before = rest;

        if (codec_wire_next(&rest, &field) != STATUS_OK) {
            return codec_wire_take_varint(&before, &tag) == STATUS_OK &&
                   (tag >> 3 == 0 || tag >> 3 >= UINT64_C(1) << 29);
        }
    }
    return false;
}

/* ---- what codec_decode() says ---- */

/* On the heap and of the exact size, so that reading past the end is seen. */
static struct span envelope_of(const struct body *body)
{
    uint8_t head[2 * CODEC_WIRE_VARINT_BYTES] = {0x08, CODEC_VERSION, 0x52};
    size_t size = 3 + codec_wire_put_varint(head + 3, body->size);
    uint8_t *bytes = malloc(size + body->size);

    cr_assert_not_null(bytes);
    memcpy(bytes, head, size);
    memcpy(bytes + size, body->bytes, body->size);
    return span_of(bytes, size + body->size);
}

static bool within(struct span part, struct span whole)
{
    return part.size == 0 ||
           (part.data >= whole.data && part.data + part.size <= whole.data + whole.size);
}

static enum status check(struct codec_arena *arena, const struct body *body, uint64_t seed)
{
    Orbloom__V1__ClientRequest *wire = orbloom__v1__client_request__unpack(NULL, body->size,
                                                                           body->bytes);
    enum status expected = wire != NULL ? oracle_judge(wire) : STATUS_MALFORMED;
    struct span bytes = envelope_of(body);
    struct frame frame = {0};
    enum status status = codec_decode(arena, bytes, &frame);

    if (status != expected && status == STATUS_MALFORMED && has_absurd_field(body)) {
        expected = status;
    }
    cr_assert_eq(status, expected, "seed %lu: %s, but protobuf-c: %s", seed, status_code(status),
                 status_code(expected));
    if (status == STATUS_OK) {
        compare(wire, &frame.body.client_request);
        cr_assert(within(frame.body.client_request.keys, bytes), "keys are not copied");
    }
    if (wire != NULL) {
        orbloom__v1__client_request__free_unpacked(wire, NULL);
    }
    free((void *)bytes.data);
    return status;
}

/* ---- messages ---- */

static void put(struct body *body, const void *bytes, size_t size)
{
    cr_assert_leq(size, sizeof body->bytes - body->size);
    memcpy(body->bytes + body->size, bytes, size);
    body->size += size;
}

/* Now and then longer than it need be, which protobuf allows up to `max_bytes`. */
static void put_varint(struct body *body, uint64_t *state, uint64_t value, size_t max_bytes)
{
    uint8_t bytes[CODEC_WIRE_VARINT_BYTES + 2];
    size_t size = codec_wire_put_varint(bytes, value);

    if (random_below(state, 16) == 0) {
        size_t wanted = size + random_below(state, max_bytes + 2 - size);

        for (; size < wanted; size++) {
            bytes[size - 1] |= 0x80;
            bytes[size] = 0;
        }
    }
    put(body, bytes, size);
}

static void put_tag(struct body *body, uint64_t *state, uint32_t number, uint32_t type)
{
    put_varint(body, state, (uint64_t)number << 3 | type, 5);
}

static void put_bytes(struct body *body, uint64_t *state, uint32_t number, const void *bytes,
                      size_t size)
{
    put_tag(body, state, number, WIRE_BYTES);
    put_varint(body, state, size, 5);
    put(body, bytes, size);
}

/* Of any size, beyond 32 bits too. */
static uint64_t any_value(uint64_t *state)
{
    return random_next(state) >> random_below(state, 64);
}

static void put_any(struct body *body, uint64_t *state, uint32_t number, uint32_t type)
{
    uint64_t value = any_value(state);

    if (type == WIRE_BYTES) {
        put_bytes(body, state, number, &value, random_below(state, sizeof value + 1));
        return;
    }
    put_tag(body, state, number, type);
    if (type == WIRE_VARINT) {
        put_varint(body, state, value, CODEC_WIRE_VARINT_BYTES);
    } else {
        put(body, &value, type == WIRE_FIXED64 ? 8 : 4);
    }
}

/* Fields of the schema other than those below, and some that it does not know. */
static void put_other(struct body *body, uint64_t *state)
{
    static const struct {
        uint32_t number;
        uint32_t type;
    } others[] = {
        {2, WIRE_FIXED64},  {4, WIRE_FIXED64},
        {5, WIRE_FIXED64},  {6, WIRE_VARINT},
        {7, WIRE_VARINT},   {8, WIRE_VARINT},
        {9, WIRE_VARINT},   {12, WIRE_VARINT},
        {13, WIRE_VARINT},  {14, WIRE_VARINT},
        {12, WIRE_FIXED32}, {15, WIRE_BYTES},
        {16, WIRE_FIXED64}, {(1 << 29) - 1, WIRE_BYTES},
    };
    size_t at = random_below(state, sizeof others / sizeof *others);

    put_any(body, state, others[at].number, others[at].type);
}

/* What spoils nearly every message: another type for a field, or no field at all. */
static void put_wrong(struct body *body, uint64_t *state)
{
    if (random_below(state, 4) == 0) {
        put_tag(body, state, (uint32_t)random_below(state, 2) << 29, WIRE_VARINT);
        put_varint(body, state, 1, 1);
    } else {
        put_any(body, state, 1 + (uint32_t)random_below(state, LAST_FIELD + 1),
                (uint32_t)random_below(state, 6));
    }
}

/* From lengths[*next] on: one by itself, or a pack of some or none. */
static void put_some_lengths(struct body *body, uint64_t *state, const uint32_t *lengths,
                             size_t count, size_t *next)
{
    struct body pack = {.size = 0};
    size_t some = random_below(state, count - *next + 1);

    if (*next < count && random_below(state, 3) == 0) {
        put_tag(body, state, 11, WIRE_VARINT);
        put_varint(body, state, lengths[(*next)++], CODEC_WIRE_VARINT_BYTES);
        return;
    }
    for (; some > 0; some--) {
        /* What is over 32 bits is cut off. */
        uint64_t high = random_below(state, 16) == 0 ? random_next(state) << 32 : 0;

        put_varint(&pack, state, high | lengths[(*next)++], CODEC_WIRE_VARINT_BYTES);
    }
    put_bytes(body, state, 11, pack.bytes, pack.size);
}

static void put_filter(struct body *body, uint64_t *state)
{
    static const char *const filters[] = {"urls", "", "a\nb", "\xff", "\xc3\xa9t\xc3\xa9"};
    const char *filter = filters[random_below(state, 20) == 0 ? random_below(state, 5) : 0];

    put_bytes(body, state, 1, filter, strlen(filter));
}

static void make(struct body *body, uint64_t *state)
{
    static uint8_t keys[MAX_KEYS * 200];
    uint32_t lengths[MAX_KEYS];
    size_t count = random_below(state, MAX_KEYS + 1);
    size_t size = 0;
    size_t next = 0;

    body->size = 0;
    for (size_t i = 0; i < count; i++) {
        lengths[i] = (uint32_t)random_below(state, random_below(state, 2) == 0 ? 10 : 200);
        size += lengths[i];
    }
    for (size_t i = 0; i < size; i++) {
        keys[i] = (uint8_t)random_next(state);
    }
    if (count > 0 && random_below(state, 40) == 0) {
        lengths[0] = (uint32_t)any_value(state);
    }
    for (size_t i = random_below(state, 6); i > 0; i--) {
        put_other(body, state);
        if (random_below(state, 8) == 0) { /* Replaced by what follows. */
            put_any(body, state, 10, WIRE_BYTES);
            put_any(body, state, 1, WIRE_BYTES);
            put_any(body, state, 3, WIRE_VARINT);
        }
        if (random_below(state, 40) == 0) {
            put_wrong(body, state);
        }
        put_some_lengths(body, state, lengths, count, &next);
    }
    put_filter(body, state);
    put_bytes(body, state, 10, keys, size + (random_below(state, 40) == 0 ? 1 : 0));
    put_tag(body, state, 3, WIRE_VARINT);
    put_varint(body, state, 1 + random_below(state, 2) + (random_below(state, 20) == 0 ? 2 : 0),
               CODEC_WIRE_VARINT_BYTES);
    while (next < count) {
        put_some_lengths(body, state, lengths, count, &next);
    }
}

/* Bytes changed, dropped or doubled, or the end cut off. */
static void bend(struct body *body, uint64_t *state)
{
    for (size_t n = 1 + random_below(state, 3); n > 0 && body->size > 0; n--) {
        size_t at = random_below(state, body->size);

        switch (random_below(state, 4)) {
        case 0:
            body->bytes[at] = (uint8_t)random_next(state);
            break;
        case 1:
            body->bytes[at] ^= (uint8_t)(1 << random_below(state, 8));
            break;
        case 2:
            memmove(body->bytes + at, body->bytes + at + 1, body->size - at - 1);
            body->size--;
            break;
        default:
            body->size = random_below(state, 8) == 0 ? at : body->size;
            break;
        }
    }
}

Test(client_request, means_what_it_means_to_protobuf)
{
    struct codec_arena *arena = NULL;
    static struct body body;
    size_t seen[2][STATUS_TOO_LARGE + 1] = {{0}};

    cr_assert_eq(codec_arena_create(16 << 20, &arena), STATUS_OK);
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        uint64_t state = seed;
        size_t bent = seed % 2;
        enum status status;

        make(&body, &state);
        if (bent == 1) {
            bend(&body, &state);
        }
        status = check(arena, &body, seed);
        cr_assert_leq((int)status, (int)STATUS_TOO_LARGE);
        seen[bent][status]++;
    }
    /* Neither all nor nothing: every outcome, from whole messages and from bent ones. */
    for (size_t bent = 0; bent < 2; bent++) {
        cr_assert_gt(seen[bent][STATUS_OK], ROUNDS / 20);
        cr_assert_gt(seen[bent][STATUS_MALFORMED], ROUNDS / 20);
        cr_assert_gt(seen[bent][STATUS_TOO_LARGE], ROUNDS / 1000);
    }
    codec_arena_destroy(&arena);
}
