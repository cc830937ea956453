/* acks.h - by how many sites an add is acknowledged: this one alone, so many that count, this one
 * too, or each that counts.
 *
 * Documents and requests have it as a number: 2 to 8 sites; 1 is this one alone, ACKS_EACH each.
 * 0 is this one alone in a document, which has no 1, and the filter's own in a request.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_ACKS_H
#define ORBLOOM_MAP_ACKS_H

#include "base/number.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ACKS_LOCAL = 1,
    ACKS_MAX = 8, /* of those that are counted one by one */
    ACKS_EACH = 255,
};

bool acks_valid(uint32_t acks);

/* As documents have it. */
uint32_t acks_stored(uint32_t acks);

/* Does `a` take more sites than `b`? Each is more than any number. */
bool acks_more(uint32_t a, uint32_t b);

/* The one that takes more, as documents have it: a request asks for more than its filter, never for
 * less. */
uint32_t acks_most(uint32_t a, uint32_t b);

/* "local", "1" to "8", "each". STATUS_INVALID: anything else; *out is as before then. */
MUST_USE enum status acks_parse(const char *text, uint32_t *out);

/* "local", "2", "each". Returns `text`. */
const char *acks_show(uint32_t acks, char text[NUMBER_TEXT_BYTES]);

#endif
