/* cluster_id.h - which cluster something belongs to: 128 bits, drawn at random once.
 *
 * The store has it, signed, as have each data folder and each backup of the store. It is no
 * secret, and does not follow from the cluster key, which may change while files stay what they
 * are.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BASE_CLUSTER_ID_H
#define ORBLOOM_BASE_CLUSTER_ID_H

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLUSTER_ID_BYTES = 16, CLUSTER_ID_TEXT_BYTES = 2 * CLUSTER_ID_BYTES + 1 };

/* All zeros: none is known. */
struct cluster_id {
    uint8_t bytes[CLUSTER_ID_BYTES];
};

bool cluster_id_known(const struct cluster_id *id);
bool cluster_id_equal(const struct cluster_id *a, const struct cluster_id *b);

/* Both are known, and are not the same. */
bool cluster_id_differ(const struct cluster_id *a, const struct cluster_id *b);

/* Of two random numbers. */
struct cluster_id cluster_id_make(uint64_t a, uint64_t b);

/* False, *out is zeroed: it has not the size of one, or is all zeros. */
bool cluster_id_get(struct span bytes, struct cluster_id *out);

struct span cluster_id_span(const struct cluster_id *id);

/* What headers of files have of it. */
uint64_t cluster_id_tag(const struct cluster_id *id);

/* 32 hexadecimal digits; returns `text`. */
const char *cluster_id_show(const struct cluster_id *id, char text[CLUSTER_ID_TEXT_BYTES]);

#endif
