/* Is decoding total? Whatever bytes come, it ends with a status and harms nothing.
 *
 * Worth most under AddressSanitizer, which poisons what the arena has not handed out.
 */
#include "proto/codec.h"
#include "proto/signed_document.h"
#include "proto_document_samples.h"
#include "proto_samples.h"

#include <criterion/criterion.h>

enum { GARBAGE_ROUNDS = 200000, GARBAGE_MAX_BYTES = 300, FLIPS_EACH = 3000 };

static struct codec_arena *arena;
static struct buffer bytes;
static struct buffer again;
static struct frame frame;

static void setup(void)
{
    if (codec_arena_create(SAMPLE_ARENA_BYTES, &arena) != STATUS_OK) {
        abort();
    }
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    buffer_init(&again, 2 * CODEC_MAX_FRAME_BYTES);
}

static void teardown(void)
{
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
    buffer_fini(&again);
}

TestSuite(hostile, .init = setup, .fini = teardown);

/* Decode; what is accepted must be whole: encoding it again touches every byte of it. */
static enum status decode(struct span input)
{
    enum status status = codec_decode(arena, input, &frame);

    if (status == STATUS_OK) {
        buffer_clear(&again);
        cr_assert_eq(codec_encode(&frame, &again), STATUS_OK);
    } else {
        cr_assert(status == STATUS_MALFORMED || status == STATUS_TOO_LARGE ||
                  status == STATUS_VERSION);
        cr_assert_eq(frame.kind, FRAME_NONE);
    }
    return status;
}

/* An exact copy on the heap, so that reading one byte too far is seen. */
static enum status decode_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    enum status status;

    if (size > 0) {
        memcpy(copy, data, size);
    }
    status = decode(span_of(copy, size));
    free(copy);
    return status;
}

/* A small sample of a kind: a full one without its long keys and documents. */
static void encode_small(int kind)
{
    sample_frame((enum frame_kind)kind, SAMPLE_FULL, &frame);
    if (kind == FRAME_CLIENT_REQUEST) {
        static const uint32_t lengths[] = {3, 0, 2, 1, 4};

        frame.body.client_request.lengths = lengths;
        frame.body.client_request.keys.size = 10;
    }
    if (kind == FRAME_DOCUMENTS) {
        frame.body.documents.count = 1;
    }
    if (kind == FRAME_SYNC_REPLY) {
        frame.body.sync_reply.ndocuments = 1;
    }
    buffer_clear(&bytes);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    cr_assert_lt(bytes.size, 4000);
}

/* A prefix is never the whole frame, as the length of the body comes first. */
Test(hostile, frames_cut_at_any_byte_are_refused)
{
    for (int kind = FRAME_NONE + 1; kind < SAMPLE_NKINDS; kind++) {
        encode_small(kind);
        for (size_t size = 0; size < bytes.size; size++) {
            cr_assert_neq(decode_copy(bytes.data, size), STATUS_OK, "kind %d cut at %zu", kind,
                          size);
        }
        cr_assert_eq(decode_copy(bytes.data, bytes.size), STATUS_OK);
    }
}

/* Every bit of every kind flipped once, and random bytes overwritten. */
Test(hostile, flipped_frames_end_with_a_status)
{
    uint64_t seed = 42;

    for (int kind = FRAME_NONE + 1; kind < SAMPLE_NKINDS; kind++) {
        encode_small(kind);
        for (size_t bit = 0; bit < bytes.size * 8; bit++) {
            bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            (void)decode_copy(bytes.data, bytes.size);
            bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (int i = 0; i < FLIPS_EACH; i++) {
            size_t at = sample_random(&seed) % bytes.size;
            uint8_t kept = bytes.data[at];

            bytes.data[at] = (uint8_t)sample_random(&seed);
            (void)decode_copy(bytes.data, bytes.size);
            bytes.data[at] = kept;
        }
    }
}

/* Half of it wears a right envelope, to come past the first check. */
Test(hostile, garbage_ends_with_a_status)
{
    static const uint8_t numbers[] = {10, 11, 12, 13, 20, 21, 22, 23, 24, 25,
                                      40, 41, 50, 51, 52, 53, 59, 60, 61};
    uint8_t input[GARBAGE_MAX_BYTES + 16];
    uint64_t seed = 7;

    for (int i = 0; i < GARBAGE_ROUNDS; i++) {
        size_t size = sample_random(&seed) % GARBAGE_MAX_BYTES;
        size_t head = 0;

        if (i % 2 == 0) {
            uint64_t tag = (uint64_t)numbers[sample_random(&seed) % sizeof numbers] << 3 | 2;

            input[head++] = 0x08;
            input[head++] = 1;
            while (tag >= 0x80) {
                input[head++] = (uint8_t)(tag | 0x80);
                tag >>= 7;
            }
            input[head++] = (uint8_t)tag;
            input[head++] = (uint8_t)(size % 0x80 | 0x80);
            input[head++] = (uint8_t)(size >> 7);
        }
        for (size_t k = 0; k < size; k++) {
            uint64_t random = sample_random(&seed);

            input[head + k] = (uint8_t)(random % 4 == 0 ? random >> 8 : (random >> 8) % 0x80);
        }
        (void)decode_copy(input, head + size);
    }
}

/* The same for documents: no random bytes may open, as that would take a forged MAC. */
Test(hostile, garbage_is_no_document)
{
    struct cluster_key key = sample_key(1);
    struct filter_document document;
    struct node_list nodes;
    enum document_kind kind;
    uint8_t input[GARBAGE_MAX_BYTES];
    uint64_t seed = 8;

    for (int i = 0; i < GARBAGE_ROUNDS; i++) {
        size_t size = sample_random(&seed) % sizeof input;
        uint8_t *copy = malloc(size + 1);

        for (size_t k = 0; k < size; k++) {
            copy[k] = (uint8_t)sample_random(&seed);
        }
        if (size > 1 && i % 2 == 0) {
            copy[0] = 0x08;
            copy[1] = (uint8_t)(1 + i % 4 / 2);
        }
        if (codec_document_kind(span_of(copy, size), &kind) == STATUS_OK) {
            cr_assert(kind == DOCUMENT_FILTER || kind == DOCUMENT_NODE_LIST);
        }
        cr_assert_neq(codec_filter_document_open(span_of(copy, size), &key, &document), STATUS_OK);
        cr_assert_neq(codec_node_list_open(span_of(copy, size), &key, &nodes), STATUS_OK);
        free(copy);
    }
}
