/* Cuts a typed line into words, where quotes and escapes are undone as Redis does it. */
#include "resp/words.h"

#include <string.h>

void words_begin(struct words *self, struct span line, struct buffer *room)
{
    *self = (struct words){.line = line, .room = room};
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == '\0';
}

static bool ends(const struct words *self)
{
    return self->at == self->line.size || is_space(self->line.data[self->at]);
}

static int hex(uint8_t digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* What follows a backslash in double quotes; self->at is past it afterwards. */
static uint8_t unescape(struct words *self)
{
    static const char names[] = "nrtba";
    static const char bytes[] = "\n\r\t\b\a";
    const uint8_t *line = self->line.data;
    uint8_t byte = line[self->at++];
    const char *name = byte != '\0' ? strchr(names, byte) : NULL;

    if (byte == 'x' && self->at + 2 <= self->line.size && hex(line[self->at]) >= 0 &&
        hex(line[self->at + 1]) >= 0) {
        byte = (uint8_t)(16 * hex(line[self->at]) + hex(line[self->at + 1]));
        self->at += 2;
        return byte;
    }
    return name != NULL ? (uint8_t)bytes[name - names] : byte;
}

/* The next byte of a quoted part; false: the quote is closed here. */
static bool quoted_byte(struct words *self, uint8_t quote, uint8_t *byte)
{
    const uint8_t *line = self->line.data;
    bool more = self->at + 1 < self->line.size;

    *byte = line[self->at++];
    if (*byte == quote) {
        return false;
    }
    if (*byte == '\\' && more && quote == '"') {
        *byte = unescape(self);
    } else if (*byte == '\\' && more && line[self->at] == quote) {
        *byte = line[self->at++];
    }
    return true;
}

static enum words_progress read_quoted(struct words *self, uint8_t quote)
{
    uint8_t byte;

    while (self->at < self->line.size) {
        if (!quoted_byte(self, quote, &byte)) {
            return ends(self) ? WORDS_ONE : WORDS_UNBALANCED;
        }
        if (buffer_append(self->room, span_of(&byte, 1)) != STATUS_OK) {
            return WORDS_NOMEM;
        }
    }
    return WORDS_UNBALANCED;
}

static enum words_progress read_word(struct words *self)
{
    while (!ends(self)) {
        uint8_t byte = self->line.data[self->at++];

        if (byte == '"' || byte == '\'') {
            return read_quoted(self, byte);
        }
        if (buffer_append(self->room, span_of(&byte, 1)) != STATUS_OK) {
            return WORDS_NOMEM;
        }
    }
    return WORDS_ONE;
}

enum words_progress words_next(struct words *self, struct word *word)
{
    enum words_progress progress;

    while (self->at < self->line.size && is_space(self->line.data[self->at])) {
        self->at++;
    }
    if (self->at == self->line.size) {
        return WORDS_END;
    }
    word->offset = self->room->size;
    progress = read_word(self);
    word->size = self->room->size - word->offset;
    return progress;
}
