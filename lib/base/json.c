/* Each member is put behind a comma, a name and what the style wants; texts in the runs between
 * what has to be escaped. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DELETE = 0x7f, NUMBER_BYTES = 32, INDENT = 2 };

/* ---- putting ---- */

static enum status put_to_buffer(void *context, struct span bytes)
{
    return buffer_append(context, bytes);
}

struct json json_to(struct buffer *out)
{
    return (struct json){.put = put_to_buffer, .context = out, .style = JSON_DENSE};
}

static void put(struct json *self, struct span bytes)
{
    if (self->status == STATUS_OK) {
        self->status = self->put(self->context, bytes);
    }
}

static void put_text(struct json *self, const char *text)
{
    put(self, span_text(text));
}

static void break_line(struct json *self)
{
    if (self->style == JSON_TREE) {
        put_text(self, "\n");
        for (int i = 0; i < self->depth * INDENT; i++) {
            put_text(self, " ");
        }
    }
}

static void separate(struct json *self, const char *name)
{
    if (self->depth > 0) {
        put_text(self, !self->filled ? "" : self->style == JSON_LINE ? ", " : ",");
        break_line(self);
    }
    self->filled = true;
    if (name != NULL) {
        put_text(self, "\"");
        put_text(self, name);
        put_text(self, self->style == JSON_DENSE ? "\":" : "\": ");
    }
}

/* ---- texts ---- */

static bool follows(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* How many bytes the character takes that the text, which ends with 0, begins with; 0: it is none
 * of UTF-8. Neither longer forms than there need be, nor surrogates, nor what is beyond Unicode. */
static size_t character_size(const uint8_t *text)
{
    if (text[0] < 0x80) {
        return 1;
    }
    if (text[0] >= 0xc2 && text[0] < 0xe0) {
        return follows(text[1]) ? 2 : 0;
    }
    if (text[0] >= 0xe0 && text[0] < 0xf0) {
        bool fits = text[0] == 0xe0 ? text[1] >= 0xa0 : text[0] == 0xed ? text[1] < 0xa0 : true;

        return fits && follows(text[1]) && follows(text[2]) ? 3 : 0;
    }
    if (text[0] >= 0xf0 && text[0] < 0xf5) {
        bool fits = text[0] == 0xf0 ? text[1] >= 0x90 : text[0] == 0xf4 ? text[1] < 0x90 : true;

        return fits && follows(text[1]) && follows(text[2]) && follows(text[3]) ? 4 : 0;
    }
    return 0;
}

static bool is_plain(uint8_t byte)
{
    return byte >= ' ' && byte != '"' && byte != '\\' && byte != DELETE;
}

/* What is to stand for the byte. */
static void put_escaped(struct json *self, uint8_t byte)
{
    char text[8];

    if (byte == '"' || byte == '\\') {
        (void)snprintf(text, sizeof text, "\\%c", byte);
    } else {
        (void)snprintf(text, sizeof text, "\\u%04x", byte < 0x80 ? byte : 0xfffd);
    }
    put_text(self, text);
}

void json_text(struct json *self, const char *name, const char *text)
{
    const uint8_t *at = (const uint8_t *)text;
    const uint8_t *run = at;

    separate(self, name);
    put_text(self, "\"");
    while (*at != '\0') {
        size_t size = is_plain(*at) ? character_size(at) : 0;

        if (size > 0) {
            at += size;
            continue;
        }
        put(self, span_of(run, (size_t)(at - run)));
        put_escaped(self, *at++);
        run = at;
    }
    put(self, span_of(run, (size_t)(at - run)));
    put_text(self, "\"");
}

/* ---- everything else ---- */

void json_begin(struct json *self, const char *name, char bracket)
{
    separate(self, name);
    put(self, span_of(&bracket, 1));
    self->depth++;
    self->filled = false;
}

void json_end(struct json *self, char bracket)
{
    self->depth--;
    if (self->filled) {
        break_line(self);
    }
    put(self, span_of(&bracket, 1));
    self->filled = true;
    if (self->depth == 0) {
        put_text(self, "\n");
    }
}

static void put_value(struct json *self, const char *name, const char *value)
{
    separate(self, name);
    put_text(self, value);
}

void json_count(struct json *self, const char *name, uint64_t value)
{
    char text[NUMBER_BYTES];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    put_value(self, name, text);
}

void json_number(struct json *self, const char *name, double value)
{
    char text[NUMBER_BYTES];

    (void)snprintf(text, sizeof text, "%.9g", value);
    put_value(self, name, isfinite(value) ? text : "null");
}

void json_bool(struct json *self, const char *name, bool value)
{
    put_value(self, name, value ? "true" : "false");
}

void json_none(struct json *self, const char *name)
{
    put_value(self, name, "null");
}
