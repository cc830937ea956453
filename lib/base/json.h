/* json.h - JSON, written member by member without a tree in memory.
 *
 * Numbers are plain; ids and incarnations that need all 64 bits are texts in hexadecimal or
 * decimal where a reader's doubles would round them. Texts may hold any bytes: what is no UTF-8 is
 * shown as U+FFFD, a byte each.
 *
 * Errors:  `status` is that of the first write that failed; nothing is written after it.
 * Threads: none.
 */
#ifndef ORBLOOM_BASE_JSON_H
#define ORBLOOM_BASE_JSON_H

#include "base/buffer.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum json_style {
    JSON_DENSE, /* no blanks */
    JSON_LINE,  /* blanks, on one line */
    JSON_TREE,  /* a member a line */
};

typedef enum status json_put_fn(void *context, struct span bytes);

struct json {
    json_put_fn *put;
    void *context;
    enum json_style style;
    enum status status;
    int depth;
    bool filled; /* something precedes on this level */
};

/* Dense, to a buffer, which is borrowed. */
struct json json_to(struct buffer *out);

/* '{' or '['; `name` is NULL inside an array. After the last end there is a newline. */
void json_begin(struct json *self, const char *name, char bracket);
void json_end(struct json *self, char bracket);

void json_text(struct json *self, const char *name, const char *text);
void json_count(struct json *self, const char *name, uint64_t value);
void json_number(struct json *self, const char *name, double value); /* not finite: null */
void json_bool(struct json *self, const char *name, bool value);
void json_none(struct json *self, const char *name); /* null; that name is libjansson's */

#endif
