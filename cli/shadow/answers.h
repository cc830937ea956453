/* answers.h - what a server says of the keys of one command. Pure.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHADOW_ANSWERS_H
#define ORBLOOM_CLI_SHADOW_ANSWERS_H

#include "base/buffer.h"
#include "base/span.h"

enum shadow_answer {
    SHADOW_NO,      /* ":0", "#f" */
    SHADOW_YES,     /* ":1", "#t" */
    SHADOW_UNKNOWN, /* anything else, and what is missing */
};

/* `count` answers of a whole reply: one alone, or those of an array. */
void shadow_answers_read(struct span reply, uint8_t *answers, size_t count);

bool shadow_is_error(struct span reply);

/* The same reply as a server sends it to a client of RESP 3: booleans in place of numbers. */
MUST_USE enum status shadow_answers_as_resp3(struct span reply, struct buffer *out);

#endif
