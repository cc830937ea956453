/* kernel_batch.h - batches between sites, encoded and read again on one core.
 *
 * Keys are drawn evenly from the whole space and sorted in lists of one size; a list of more keys
 * than a batch may have becomes several, each of a part of the space. Each batch also tells
 * cursors: of three nodes whose logs were read to one place each, for eight slot groups.
 *
 * Units:   bytes a key; loops in keys a second.
 * Errors:  STATUS_NOMEM; STATUS_INTERNAL: what was read is not what was encoded.
 * Threads: none.
 */
#ifndef ORBLOOM_BENCH_KERNEL_BATCH_H
#define ORBLOOM_BENCH_KERNEL_BATCH_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { KERNEL_BATCH_SIZES = 5 };

struct kernel_batches {
    size_t list_keys; /* keys in a list */
    size_t nlists;
    size_t nbatches; /* of all lists */
    size_t room;     /* of one batch */
    uint64_t *keys;
    uint8_t *bytes; /* a room for each batch */
    size_t *sizes;
    uint64_t *read;
    double code_bytes;  /* a key: of the first fingerprint and the code */
    double batch_bytes; /* a key: of the whole batch */
};

/* `size` below KERNEL_BATCH_SIZES: 100, 1,000, 10,000, 65,536 and 1 M keys in a list. */
MUST_USE enum status kernel_batches_init(struct kernel_batches *self, size_t size);
void kernel_batches_fini(struct kernel_batches *self);

double kernel_batches_encode(struct kernel_batches *self);
double kernel_batches_decode(struct kernel_batches *self);

#endif
