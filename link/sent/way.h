/* way.h - how much of a stream may be under way, by how long it takes until it is applied.
 *
 * What is under way holds up all that comes behind it by the same connection: marks, answers, and
 * what tells either side that the other one is there. So it is as much as gets there in about a
 * second by a fast line, and no more than WAY_LEAST_BYTES by a slow one. It is not less, as nodes
 * that take their time are no slow line. A batch is a small part of that, as nothing is heard while
 * one is coming.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_LINK_SENT_WAY_H
#define ORBLOOM_LINK_SENT_WAY_H

#include <stddef.h>
#include <stdint.h>

enum { WAY_LEAST_BYTES = 1 << 20, WAY_US = 1000000 };

struct way {
    uint64_t bytes; /* that may be under way */
};

/* Nothing is known of it yet. */
void way_begin(struct way *self);

/* A batch was applied: of so many bytes, so long after it was sent, when with it so many were under
 * way. There is room for `most`. */
void way_applied(struct way *self, uint64_t bytes, uint64_t took_us, uint64_t under_way,
                 uint64_t most);

/* Keys that a batch may have. */
size_t way_batch_keys(const struct way *self);

#endif
