/* Each frame has the bytes that it was encoded to, and an arena of its own. */
#include "cli/doctor/kept.h"

#include "base/heap.h"

enum { ARENA_BYTES = 64 << 20 /* address space, backed as it is used */ };

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

const struct frame *kept_add(struct kept *self, const struct frame *frame)
{
    struct kept_frame *one = heap_zalloc(1, sizeof *one);
    enum status status;

    if (one == NULL) {
        return NULL;
    }
    buffer_init(&one->bytes, CODEC_MAX_FRAME_BYTES);
    status = codec_arena_create(ARENA_BYTES, &one->arena);
    status = status == STATUS_OK ? codec_encode(frame, &one->bytes) : status;
    status = status == STATUS_OK ? codec_decode(one->arena, buffer_span(&one->bytes), &one->frame)
                                 : status;
    if (status != STATUS_OK) {
        free_one(one);
        return NULL;
    }
    one->before = self->newest;
    self->newest = one;
    return &one->frame;
}

void kept_fini(struct kept *self)
{
    while (self->newest != NULL) {
        struct kept_frame *one = self->newest;

        self->newest = one->before;
        free_one(one);
    }
}
