/* Does every frame arrive as it was sent, and in the form that proto/orbloom.proto lays down? */
#include "base/heap.h"
#include "proto/codec.h"
#include "proto/orbloom.pb-c.h"
#include "proto_compare.h"
#include "proto_samples.h"

#include <criterion/criterion.h>

static struct codec_arena *arena;
static struct buffer bytes;

static void setup(void)
{
    if (codec_arena_create(SAMPLE_ARENA_BYTES, &arena) != STATUS_OK) {
        abort();
    }
    buffer_init(&bytes, 2 * CODEC_MAX_FRAME_BYTES);
}

static void teardown(void)
{
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(codec, .init = setup, .fini = teardown);

#define FOR_ALL_SAMPLES(kind, size)                               \
    for (int kind = FRAME_NONE + 1; kind < SAMPLE_NKINDS; kind++) \
        for (int size = SAMPLE_EMPTY; size <= SAMPLE_LARGE; size++)

Test(codec, every_kind_of_frame_comes_back_field_by_field)
{
    static struct frame frame;
    static struct frame back;

    FOR_ALL_SAMPLES(kind, size)
    {
        sample_frame((enum frame_kind)kind, (enum sample_size)size, &frame);
        buffer_clear(&bytes);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK, "kind %d size %d", kind, size);
        cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK, "kind %d size %d",
                     kind, size);
        compare_frames(&frame, &back);
    }
}

/* Else parts that nobody says would be the same on both sides. */
Test(codec, parts_that_may_be_left_out_are_said_by_a_full_sample)
{
    static struct frame frame;
    unsigned parts = 0;

    for (int kind = FRAME_NONE + 1; kind < SAMPLE_NKINDS; kind++) {
        const struct binding_table *table = rows_table((enum frame_kind)kind);

        sample_frame((enum frame_kind)kind, SAMPLE_FULL, &frame);
        for (size_t i = 0; table != NULL && i < table->count; i++) {
            const struct binding *row = &table->rows[i];

            if (row->kind == BINDING_PART && row->sends != NULL && row->reads == NULL) {
                cr_assert(row->sends(&frame.body), "%s", rows_field(table, row)->name);
                parts++;
            }
        }
    }
    cr_assert_gt(parts, 0);
}

/* Parts belong to actions: those of each that the schema has come back, and no other is known. */
Test(codec, every_action_comes_back_field_by_field)
{
    static struct frame frame;
    static struct frame back;

    for (int action = 0; action <= ADMIN_PROCESS_KEYS + 1; action++) {
        bool known = action != 0 && protobuf_c_enum_descriptor_get_value(
                                        &orbloom__v1__admin_action__descriptor, action) != NULL;

        sample_frame(FRAME_ADMIN_REQUEST, SAMPLE_FULL, &frame);
        sample_action((enum admin_action)action, &frame.body.admin_request);
        buffer_clear(&bytes);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
        cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back),
                     known ? STATUS_OK : STATUS_MALFORMED, "action %d", action);
        if (known) {
            compare_frames(&frame, &back);
        }
    }
}

/* The envelope is written by hand: protobuf's own idea of a Frame must be byte for byte the same.
 */
Test(codec, protobuf_reads_and_writes_the_same_bytes)
{
    static struct frame frame;

    FOR_ALL_SAMPLES(kind, size)
    {
        Orbloom__V1__Frame *wire;
        uint8_t *packed;
        size_t packed_size;

        sample_frame((enum frame_kind)kind, (enum sample_size)size, &frame);
        buffer_clear(&bytes);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
        wire = orbloom__v1__frame__unpack(NULL, bytes.size, bytes.data);
        cr_assert_not_null(wire, "kind %d size %d", kind, size);
        cr_assert_eq(wire->base.n_unknown_fields, 0);
        cr_assert_neq(wire->body_case, ORBLOOM__V1__FRAME__BODY__NOT_SET);
        packed_size = orbloom__v1__frame__get_packed_size(wire);
        packed = malloc(packed_size);
        cr_assert_eq(orbloom__v1__frame__pack(wire, packed), packed_size);
        cr_assert(span_equal(buffer_span(&bytes), span_of(packed, packed_size)));
        free(packed);
        orbloom__v1__frame__free_unpacked(wire, NULL);
    }
}

Test(codec, encoding_appends)
{
    struct frame frame = {.kind = FRAME_HINT, .body.hint.change = 9};
    struct frame back;

    cr_assert_eq(buffer_append(&bytes, span_text("before")), STATUS_OK);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    cr_assert(span_equal(span_of(bytes.data, 6), span_text("before")));
    cr_assert_eq(codec_decode(arena, span_of(bytes.data + 6, bytes.size - 6), &back), STATUS_OK);
    cr_assert_eq(back.version, CODEC_VERSION, "0 means the version of this build");
    cr_assert_eq(back.body.hint.change, 9);
}

/* All-zero planes cost nothing, and read as planes of zeros. */
Test(codec, planes_of_zeros_are_left_out)
{
    static const uint64_t zeros[CODEC_MAX_KEYS / 64];
    struct frame frame = {.kind = FRAME_CLIENT_REPLY};
    struct frame back;

    frame.body.client_reply = (struct client_reply){
        .message = NULL, .count = CODEC_MAX_KEYS, .present = zeros, .absent = NULL};
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    cr_assert_lt(bytes.size, 16);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
    compare_plane(zeros, back.body.client_reply.present, CODEC_MAX_KEYS);
    compare_plane(zeros, back.body.client_reply.absent, CODEC_MAX_KEYS);
    cr_assert_str_eq(back.body.client_reply.message, "");
}

/* Every count from 1 to 130, so every position of the last bit. */
Test(codec, planes_of_any_length_keep_their_last_bit)
{
    for (size_t count = 1; count <= 130; count++) {
        uint64_t plane[3] = {0};
        struct frame frame = {.kind = FRAME_CLIENT_REPLY};
        struct frame back;

        plane[(count - 1) / 64] = (uint64_t)1 << ((count - 1) % 64);
        frame.body.client_reply = (struct client_reply){
            .message = "", .count = count, .present = plane};
        buffer_clear(&bytes);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
        cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
        compare_plane(plane, back.body.client_reply.present, count);
    }
}

/* What an operator should read must arrive, whatever a stranger's bytes did to it. */
Test(codec, messages_are_cleaned_and_cut_rather_than_refused)
{
    char text[CODEC_MAX_TEXT_BYTES + 100];
    struct frame frame = {.kind = FRAME_ERROR, .body.error = {STATUS_INVALID, "a\nb\x80\xc3\xa9"}};
    struct frame back;

    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
    cr_assert_str_eq(back.body.error.message, "a?b?\xc3\xa9");

    memset(text, 'y', sizeof text);
    text[sizeof text - 1] = '\0';
    memcpy(text + CODEC_MAX_TEXT_BYTES - 1, "\xc3\xa9", 2); /* must not be cut in two */
    frame.body.error.message = text;
    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
    cr_assert_eq(strlen(back.body.error.message), CODEC_MAX_TEXT_BYTES - 1);
}

Test(codec, names_that_no_peer_would_take_are_not_sent)
{
    char text[CODEC_MAX_TEXT_BYTES + 2];
    struct frame frame = {.kind = FRAME_INFO_REQUEST};

    frame.body.info_request.filter = "a\nb";
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_INVALID);
    memset(text, 'y', sizeof text);
    text[sizeof text - 1] = '\0';
    frame.body.info_request.filter = text;
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_TOO_LARGE);
    cr_assert_eq(bytes.size, 0);
}

/* Limits that are no row's: see tests/unit/proto_row_bounds.c. */
Test(codec, what_is_over_a_limit_is_not_sent)
{
    static uint8_t blob[CODEC_MAX_FRAME_BYTES];
    static uint32_t lengths[128];
    struct span documents[9];
    struct frame frame;

    sample_frame(FRAME_CLIENT_REQUEST, SAMPLE_LARGE, &frame);
    frame.body.client_request.count = CODEC_MAX_KEYS + 1;
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_TOO_LARGE);
    sample_frame(FRAME_NODE_REQUEST, SAMPLE_LARGE, &frame);
    frame.body.node_request.nsubrequests = CODEC_MAX_SUBREQUESTS + 1;
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_TOO_LARGE);
    sample_frame(FRAME_NODE_REPLY, SAMPLE_LARGE, &frame);
    frame.body.node_reply.nsubrequests = CODEC_MAX_SUBREQUESTS + 1;
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_TOO_LARGE);

    frame = (struct frame){.kind = FRAME_DOCUMENTS};
    for (size_t i = 0; i < 9; i++) { /* each within its limit, together more than a frame */
        documents[i] = span_of(blob, DOCUMENT_MAX_BYTES);
    }
    frame.body.documents = (struct documents){documents, 9};
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_TOO_LARGE);

    sample_frame(FRAME_CLIENT_REQUEST, SAMPLE_FULL, &frame);
    for (size_t i = 0; i < 128; i++) {
        lengths[i] = CODEC_MAX_KEY_BYTES;
    }
    frame.body.client_request.keys = span_of(blob, sizeof blob);
    frame.body.client_request.lengths = lengths;
    frame.body.client_request.count = 128;
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_TOO_LARGE);
    cr_assert_eq(bytes.size, 0);
}

/* A frame of exactly the largest size passes, one byte more does not. */
Test(codec, the_largest_frame_is_served)
{
    static uint8_t blob[CODEC_MAX_FRAME_BYTES];
    static uint32_t lengths[200];
    struct frame frame;
    struct frame back;
    size_t total = 0;

    sample_frame(FRAME_CLIENT_REQUEST, SAMPLE_EMPTY, &frame);
    for (size_t i = 0; i < 200; i++) {
        lengths[i] = 40000;
        total += lengths[i];
    }
    frame.body.client_request.lengths = lengths;
    frame.body.client_request.count = 200;
    frame.body.client_request.keys = span_of(blob, total);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    for (size_t i = 0; bytes.size < CODEC_MAX_FRAME_BYTES; i++) {
        size_t missing = CODEC_MAX_FRAME_BYTES - bytes.size;
        uint32_t more = missing > 20000 ? 20000 : (uint32_t)missing;

        lengths[i] += more;
        total += more;
        frame.body.client_request.keys = span_of(blob, total);
        buffer_clear(&bytes);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    }
    cr_assert_eq(bytes.size, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_decode(arena, buffer_span(&bytes), &back), STATUS_OK);
    lengths[199]++;
    frame.body.client_request.keys = span_of(blob, total + 1);
    buffer_clear(&bytes); /* the buffer has room: the frame is what is too large */
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_TOO_LARGE);
}

/* On failure nothing was appended and nothing leaks; given memory, it works. */
Test(codec, every_allocation_of_encoding_fails_once)
{
    static struct frame frame;

    FOR_ALL_SAMPLES(kind, size)
    {
        struct buffer out;
        size_t live = heap_live();
        enum status status = STATUS_NOMEM;
        unsigned n;

        sample_frame((enum frame_kind)kind, (enum sample_size)size, &frame);
        buffer_init(&out, 2 * CODEC_MAX_FRAME_BYTES);
        /* Of thousands of like ones, in lists of lists, a sample. */
        for (n = 0; status == STATUS_NOMEM; n += size == SAMPLE_LARGE ? 1 + n / 64 : 1) {
            heap_fault_after(n);
            status = codec_encode(&frame, &out);
            heap_fault_clear();
            if (status != STATUS_OK) {
                cr_assert_eq(status, STATUS_NOMEM);
                cr_assert_eq(out.size, 0);
                buffer_fini(&out);
                cr_assert_eq(heap_live(), live);
            }
        }
        cr_assert_geq(n, 2, "the loop proves nothing when nothing was allocated");
        buffer_fini(&out);
        cr_assert_eq(heap_live(), live);
    }
}

/* Decoding asks the heap for nothing: it works with no memory left. */
Test(codec, decoding_allocates_nothing)
{
    static struct frame frame;
    static struct frame back;

    FOR_ALL_SAMPLES(kind, size)
    {
        enum status status;

        sample_frame((enum frame_kind)kind, (enum sample_size)size, &frame);
        buffer_clear(&bytes);
        cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
        heap_fault_after(0);
        status = codec_decode(arena, buffer_span(&bytes), &back);
        heap_fault_clear();
        cr_assert_eq(status, STATUS_OK, "kind %d size %d", kind, size);
    }
}
