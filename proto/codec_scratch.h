/* codec_scratch.h - private to proto/: memory for the protobuf structs of one encoding.
 *
 * The first few kilobytes come from the caller's stack, which holds what hot messages need;
 * each piece beyond that is one heap allocation.
 *
 * Owner:   codec_scratch_init() and codec_scratch_fini() around each encoding.
 * Errors:  NULL when memory is out.
 */
#ifndef ORBLOOM_PROTO_CODEC_SCRATCH_H
#define ORBLOOM_PROTO_CODEC_SCRATCH_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

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
