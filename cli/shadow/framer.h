/* framer.h - where values of the Redis protocol end, in bytes that are passed on as they come.
 *
 * Nothing is kept but counts, so a value may be as large as it likes. Of RESP 2 and 3: what a
 * server sends (streamed strings and aggregates aside, which no server sends); or what a client
 * sends, which is an array of bulk strings, or a line.
 *
 * Errors:  FRAMER_BROKEN: nothing can be told of the bytes from there on; the framer is not used
 *          any more.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHADOW_FRAMER_H
#define ORBLOOM_CLI_SHADOW_FRAMER_H

#include "base/span.h"

enum { FRAMER_DEPTH = 32, FRAMER_HEAD_BYTES = 32 };

enum framer_verdict {
    FRAMER_MORE, /* the value goes on */
    FRAMER_VALUE,
    FRAMER_BROKEN,
};

struct framer {
    bool requests;
    char kind;     /* its first byte, of the value that began last */
    int64_t count; /* elements of it, where it is an aggregate, not nested; else 0 */

    /* Private. */
    bool inside;
    bool inline_request;
    uint64_t bulk; /* bytes to skip, with the line end */
    char head[FRAMER_HEAD_BYTES];
    size_t head_size; /* it may be longer than is kept */
    struct {
        uint64_t left;
        bool attribute; /* what it is about follows */
    } nest[FRAMER_DEPTH];
    size_t depth;
};

void framer_init(struct framer *self, bool requests);

/* Take bytes until a value ends. Returns how many. */
size_t framer_take(struct framer *self, struct span bytes, enum framer_verdict *verdict);

/* The next element of `rest`, whole values one behind the other. False: there is none. */
bool framer_split(struct span *rest, struct span *value);

/* The elements of an aggregate that is whole: behind its head. */
struct span framer_elements(struct span value);

#endif
