/* Pieces are cut off the caller's stack while they fit in, and come from a list of heap blocks
 * beyond that. */
#include "proto/codec_scratch.h"

#include "base/heap.h"

enum { SCRATCH_ALIGNMENT = 16 };

struct codec_scratch_block {
    struct codec_scratch_block *next;
    _Alignas(16) uint8_t bytes[];
};

void codec_scratch_init(struct codec_scratch *self)
{
    self->blocks = NULL; /* The stack part stays as it is: clearing it costs more than encoding. */
    self->used = 0;
}

void codec_scratch_fini(struct codec_scratch *self)
{
    struct codec_scratch_block *block = self->blocks;

    while (block != NULL) {
        struct codec_scratch_block *next = block->next;

        heap_free(block);
        block = next;
    }
    self->blocks = NULL;
}

static void *take_heap(struct codec_scratch *self, size_t bytes)
{
    struct codec_scratch_block *block = heap_alloc(1, sizeof *block + bytes);

    if (block == NULL) {
        return NULL;
    }
    block->next = self->blocks;
    self->blocks = block;
    return block->bytes;
}

void *codec_scratch_take(struct codec_scratch *self, size_t count, size_t size)
{
    void *piece = self->stack + self->used;
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = (bytes + SCRATCH_ALIGNMENT - 1) & ~(size_t)(SCRATCH_ALIGNMENT - 1);
    if (bytes > sizeof self->stack - self->used) {
        return take_heap(self, bytes);
    }
    self->used += bytes;
    return piece;
}
