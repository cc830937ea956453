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

/* What a client is told who gets the new server's answers: of each key what `fresh` is sure of, in
 * the form of `old` (a number, or a boolean of RESP 3); else, and where the old one refused, what
 * `old` says. All of `old` where they are not of as many keys. Both are whole replies.
 * *in_place: `fresh` did not answer each key. */
MUST_USE enum status shadow_answers_merge(struct span old, struct span fresh, struct buffer *out,
                                          bool *in_place);

#endif
