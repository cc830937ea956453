/* Decoding: protobuf-c allocates from one stretch, and a frame that would take more than that is
 * refused as a whole. Encoding: pieces are cut off the caller's stack while they fit in, and come
 * from a list of heap blocks beyond that. */
#include "proto/arena.h"

#include "base/heap.h"
#include "proto/codec.h"

#include <assert.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, size)   ((void)(memory), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#endif

enum { ARENA_ALIGNMENT = 16 }; /* of the scratch, too */

static size_t aligned(size_t bytes)
{
    return (bytes + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
}

/* ---- decoding ---- */

/* Poison some way ahead of what is cut off, and not all that is reserved: each document that is
 * opened makes an arena of megabytes, and writing the shadow of these was half of what the
 * simulator took under AddressSanitizer. Steps end aligned, as part of a granule can't be poisoned.
 */
enum { POISON_AHEAD_BYTES = 64 * 1024 };

static void poison_ahead(struct codec_arena *self)
{
    size_t from = self->poisoned > self->used ? self->poisoned : self->used;
    size_t to = aligned(self->used) + POISON_AHEAD_BYTES;

    if (to > self->max) {
        to = self->max;
    }
    if (to > self->poisoned) {
        ASAN_POISON_MEMORY_REGION(self->memory + from, to - from);
        self->poisoned = to;
    }
}

static void *allocator_take(void *data, size_t size)
{
    return arena_take(data, 1, size);
}

static void allocator_free(void *data, void *pointer)
{
    (void)data;
    (void)pointer; /* Everything goes at once, in arena_reset(). */
}

enum status codec_arena_create(size_t max_bytes, struct codec_arena **out)
{
    struct codec_arena *self;

    assert(max_bytes > 0);
    assert(out != NULL && *out == NULL);

    self = heap_zalloc(1, sizeof *self);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->max = max_bytes;
    self->memory = heap_pages_alloc(max_bytes, false);
    if (self->memory == NULL) {
        heap_free(self);
        return STATUS_NOMEM;
    }
    self->allocator = (ProtobufCAllocator){
        .alloc = allocator_take, .free = allocator_free, .allocator_data = self};
    poison_ahead(self);
    *out = self;
    return STATUS_OK;
}

void codec_arena_destroy(struct codec_arena **arena)
{
    struct codec_arena *self = *arena;

    if (self != NULL) {
        ASAN_UNPOISON_MEMORY_REGION(self->memory, self->poisoned);
        heap_pages_free(self->memory, self->max);
        heap_free(self);
        *arena = NULL;
    }
}

void arena_reset(struct codec_arena *self)
{
    ASAN_POISON_MEMORY_REGION(self->memory, self->used);
    self->used = 0;
    self->exhausted = false;
}

void *arena_take(struct codec_arena *self, size_t count, size_t size)
{
    size_t start = aligned(self->used);
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || start > self->max ||
        bytes > self->max - start) {
        self->exhausted = true;
        return NULL;
    }
    self->used = start + bytes;
    ASAN_UNPOISON_MEMORY_REGION(self->memory + start, bytes);
    poison_ahead(self);
    return self->memory + start;
}

enum status arena_unpack(struct codec_arena *self, const ProtobufCMessageDescriptor *descriptor,
                         const uint8_t *data, size_t size, ProtobufCMessage **out)
{
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &self->allocator, size, data);

    if (message == NULL) {
        return self->exhausted ? STATUS_TOO_LARGE : STATUS_MALFORMED;
    }
    *out = message;
    return STATUS_OK;
}

/* ---- encoding ---- */

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
    bytes = aligned(bytes);
    if (bytes > sizeof self->stack - self->used) {
        return take_heap(self, bytes);
    }
    self->used += bytes;
    return piece;
}
