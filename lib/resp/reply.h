/* reply.h - answers in RESP 2 or 3, appended to a buffer.
 *
 * What RESP 2 has no type for goes as Redis sends it there: a boolean as :1 or :0, a map as an
 * array of twice as many, a set and a push as an array, null as an empty bulk of length -1, a
 * double as text.
 *
 * Errors:  none here; a buffer that is full or out of memory stays as it was, and `failed` is set:
 *          the connection can't be served any more.
 * Threads: none.
 */
#ifndef ORBLOOM_RESP_REPLY_H
#define ORBLOOM_RESP_REPLY_H

#include "base/buffer.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

struct resp_writer {
    struct buffer *out;
    bool resp3;
    bool failed;
};

void resp_simple(struct resp_writer *self, const char *text);

/* With its code ("ERR ..."); line ends in it become spaces. */
void resp_error(struct resp_writer *self, const char *text);
void resp_integer(struct resp_writer *self, int64_t value);
void resp_boolean(struct resp_writer *self, bool value);

/* resp_boolean() of `count` bits (LSB first) from `first` on, all of them or none;
 * NULL: none is set. */
void resp_booleans(struct resp_writer *self, const uint64_t *bits, size_t first, size_t count);
void resp_double(struct resp_writer *self, double value);
void resp_bulk(struct resp_writer *self, struct span bytes);
void resp_text(struct resp_writer *self, const char *text); /* a bulk */
void resp_null(struct resp_writer *self);

/* So many elements, or pairs, follow. */
void resp_array(struct resp_writer *self, size_t count);
void resp_map(struct resp_writer *self, size_t pairs);
void resp_set(struct resp_writer *self, size_t count);

/* ... of what is no answer, but is told by the way. */
void resp_push(struct resp_writer *self, size_t count);

#endif
