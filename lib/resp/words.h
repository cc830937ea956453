/* words.h - the words of a line, as a client types them.
 *
 * Words are parted by white space. In "double quotes" \n \r \t \b \a \" \\ and \xHH stand for one
 * byte, in 'single quotes' only \' does; a closing quote ends the word.
 *
 * Source:  how Redis splits inline requests.
 * Errors:  WORDS_UNBALANCED: a quote is not closed, or something follows it; WORDS_NOMEM.
 * Owner:   line and room are borrowed until the last word was read.
 * Threads: none.
 */
#ifndef ORBLOOM_RESP_WORDS_H
#define ORBLOOM_RESP_WORDS_H

#include "base/buffer.h"
#include "base/span.h"

struct words {
    struct span line;
    size_t at;
    struct buffer *room;
};

/* Where it is in `room`: that may move while words are added. */
struct word {
    size_t offset;
    size_t size;
};

enum words_progress { WORDS_ONE, WORDS_END, WORDS_UNBALANCED, WORDS_NOMEM };

void words_begin(struct words *self, struct span line, struct buffer *room);
enum words_progress words_next(struct words *self, struct word *word);

#endif
