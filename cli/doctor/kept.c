/* Each frame has the bytes that it was encoded to, and an arena of its own. */
#include "cli/doctor/kept.h"

#include "base/heap.h"

/* Address space counts where the kernel does not overcommit: doubled until it suffices, up to what
 * a session takes frames into. */
enum { ARENA_LEAST_BYTES = 64 << 10, ARENA_MOST_BYTES = 256 << 20 };

struct kept_frame {
    struct kept_frame *before;
    struct buffer bytes;
    struct codec_arena *arena;
    struct frame frame;
};

static void free_one(struct kept_frame *one)
{
    codec_arena_destroy(&one->arena);
    buffer_fini(&one->bytes);
    heap_free(one);
}

static enum status decode_within(struct kept_frame *one, size_t arena_bytes)
{
    enum status status;

    codec_arena_destroy(&one->arena);
    status = codec_arena_create(arena_bytes, &one->arena);
    return status == STATUS_OK ? codec_decode(one->arena, buffer_span(&one->bytes), &one->frame)
                               : status;
}

static enum status decode(struct kept_frame *one)
{
    enum status status = STATUS_TOO_LARGE;

    for (size_t bytes = ARENA_LEAST_BYTES; status == STATUS_TOO_LARGE && bytes <= ARENA_MOST_BYTES;
         bytes *= 2) {
        status = decode_within(one, bytes);
    }
    return status;
}

const struct frame *answers_keep(struct kept_answers *self, const struct frame *frame)
{
    struct kept_frame *one = heap_zalloc(1, sizeof *one);
    enum status status;

    if (one == NULL) {
        return NULL;
    }
    buffer_init(&one->bytes, CODEC_MAX_FRAME_BYTES);
    status = codec_encode(frame, &one->bytes);
    status = status == STATUS_OK ? decode(one) : status;
    if (status != STATUS_OK) {
        free_one(one);
        return NULL;
    }
    one->before = self->newest;
    self->newest = one;
    return &one->frame;
}

void answers_fini(struct kept_answers *self)
{
    while (self->newest != NULL) {
        struct kept_frame *one = self->newest;

        self->newest = one->before;
        free_one(one);
    }
}
