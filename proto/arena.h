/* arena.h - private to proto/: memory for one decoding, and for one encoding.
 *
 * An arena is one stretch of memory from which a decoded frame is cut. All of it is address space
 * reserved at creation and backed by memory when first touched, so decoding never asks the heap,
 * and whether a frame fits does not depend on the frames before it. Under AddressSanitizer what was
 * reset is poisoned, and so are 64 KiB behind what is cut off.
 *
 * A scratch holds the protobuf structs of one encoding. The first few kilobytes come from the
 * caller's stack, which holds what hot messages need; each piece beyond that is one heap
 * allocation.
 *
 * Units:   sizes in bytes; cuts are aligned to 16.
 * Errors:  arena: NULL past the maximum, and `exhausted` tells why an unpacking failed.
 *          scratch: NULL when memory is out.
 * Owner:   codec_arena_destroy(), see codec.h. Cuts are freed all at once by arena_reset().
 *          codec_scratch_init() and codec_scratch_fini() around each encoding.
 * Threads: none.
 */
#ifndef ORBLOOM_PROTO_ARENA_H
#define ORBLOOM_PROTO_ARENA_H

#include "base/status.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codec_arena {
    ProtobufCAllocator allocator; /* for protobuf-c: cuts from this arena, frees nothing */
    uint8_t *memory;
    size_t max;
    size_t used;
    size_t poisoned; /* up to here, what is not cut off can't be touched under AddressSanitizer */
    bool exhausted;
};

void arena_reset(struct codec_arena *self);

/* Uninitialised; a size of 0 gives a pointer to nothing, not NULL. */
MUST_USE void *arena_take(struct codec_arena *self, size_t count, size_t size);

/* Unpack one message of the type described; STATUS_MALFORMED, STATUS_TOO_LARGE. */
MUST_USE enum status arena_unpack(struct codec_arena *self,
                                  const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                                  size_t size, ProtobufCMessage **out);

enum { CODEC_SCRATCH_STACK_BYTES = 8192 };

struct codec_scratch {
    struct codec_scratch_block *blocks;
    size_t used;
    _Alignas(16) uint8_t stack[CODEC_SCRATCH_STACK_BYTES];
};

void codec_scratch_init(struct codec_scratch *self);
void codec_scratch_fini(struct codec_scratch *self);

/* Uninitialised, aligned to 16. */
MUST_USE void *codec_scratch_take(struct codec_scratch *self, size_t count, size_t size);

#endif
