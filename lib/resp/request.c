/* A state machine over bytes that may end anywhere: it keeps offsets rather than pointers, and
 * looks at no byte twice. */
#include "resp/request.h"

#include "base/heap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_HEAD = 32, /* "*1048576\r\n" and longer ones that are wrong */
    LINE_END = 2,
};

void resp_request_init(struct resp_request *self)
{
    *self = (struct resp_request){0};
    buffer_init(&self->words, SIZE_MAX / 2);
}

void resp_request_fini(struct resp_request *self)
{
    heap_free(self->arguments);
    buffer_fini(&self->words);
    *self = (struct resp_request){0};
}

__attribute__((format(printf, 2, 3))) static enum resp_progress broken(struct resp_request *self,
                                                                       const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(self->error, sizeof self->error, format, list);
    va_end(list);
    return RESP_BROKEN;
}

static void begin(struct resp_request *self)
{
    self->count = 0;
    self->size = 0;
    self->counted = false;
    self->measured = false;
    self->at = 0;
    self->looked = 0;
}

/* Where the arguments are is kept as offsets until all are there, as the input may move. */
static bool keep(struct resp_request *self, size_t offset, size_t size)
{
    if (!heap_grow(&self->arguments, &self->capacity, (size_t)self->count + 1,
                   sizeof *self->arguments)) {
        return false;
    }
    self->arguments[self->count++] = span_of((const uint8_t *)(uintptr_t)offset, size);
    return true;
}

static enum resp_progress complete(struct resp_request *self, const uint8_t *base, size_t size)
{
    for (uint32_t i = 0; i < self->count; i++) {
        self->arguments[i].data = base + (uintptr_t)self->arguments[i].data;
    }
    self->size = size;
    return RESP_REQUEST;
}

/* ---- arrays ---- */

/* "*12\r\n" at `at`: its number, or false if that is none. */
static bool read_number(const uint8_t *digits, size_t size, int64_t *number)
{
    bool negative = size > 0 && digits[0] == '-';
    int64_t value = 0;

    if (size == negative || size > 18) {
        return false;
    }
    for (size_t i = negative; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9') {
            return false;
        }
        value = 10 * value + (digits[i] - '0');
    }
    *number = negative ? -value : value;
    return true;
}

/* The line that begins at self->at with a sign. RESP_REQUEST: *number is its number. */
static enum resp_progress read_head(struct resp_request *self, struct span input, const char *what,
                                    int64_t *number)
{
    const uint8_t *head = input.data + self->at;
    size_t left = input.size - self->at;
    size_t size = 1;

    while (size < left && size < MAX_HEAD && head[size] != '\r') { /* Few: memchr() takes longer. */
        size++;
    }
    if (size == MAX_HEAD) {
        return broken(self, "Protocol error: too big %s string",
                      what[0] == 'm' ? "mbulk count" : "bulk count");
    }
    if (size + 1 >= left) {
        return RESP_MORE;
    }
    if (head[size + 1] != '\n' || !read_number(head + 1, size - 1, number)) {
        return broken(self, "Protocol error: invalid %s length", what);
    }
    self->at += size + LINE_END;
    return RESP_REQUEST;
}

static enum resp_progress read_count(struct resp_request *self, const struct resp_limits *limits,
                                     struct span input)
{
    int64_t number = 0;
    enum resp_progress progress = read_head(self, input, "multibulk", &number);

    if (progress != RESP_REQUEST) {
        return progress;
    }
    if (number > (int64_t)limits->max_arguments) {
        return broken(self, "Protocol error: %s multibulk length",
                      limits->stranger ? "unauthenticated" : "invalid");
    }
    self->wanted = number > 0 ? (uint32_t)number : 0;
    self->counted = true;
    return RESP_REQUEST;
}

static enum resp_progress read_length(struct resp_request *self, const struct resp_limits *limits,
                                      struct span input)
{
    uint8_t sign = input.data[self->at];
    int64_t number = 0;
    enum resp_progress progress;

    if (sign != '$') {
        return broken(self,
                      sign >= ' ' && sign < 127 ? "Protocol error: expected '$', got '%c'"
                                                : "Protocol error: expected '$', got \\x%02x",
                      sign);
    }
    progress = read_head(self, input, "bulk", &number);
    if (progress != RESP_REQUEST) {
        return progress;
    }
    if (number < 0 || (uint64_t)number > limits->max_bulk) {
        return broken(self, "Protocol error: %s bulk length",
                      limits->stranger && number >= 0 ? "unauthenticated" : "invalid");
    }
    if (self->at + (size_t)number + LINE_END > limits->max_request) {
        return broken(self, "Protocol error: request of more than %zu bytes", limits->max_request);
    }
    self->length = (size_t)number;
    self->measured = true;
    return RESP_REQUEST;
}

static enum resp_progress read_bulk(struct resp_request *self, struct span input)
{
    const uint8_t *end;

    if (input.size - self->at < self->length + LINE_END) {
        return RESP_MORE;
    }
    end = input.data + self->at + self->length;
    if (end[0] != '\r' || end[1] != '\n') {
        return broken(self, "Protocol error: no line end after a bulk of %zu bytes", self->length);
    }
    if (!keep(self, self->at, self->length)) {
        return RESP_NOMEM;
    }
    self->at += self->length + LINE_END;
    self->measured = false;
    return RESP_REQUEST;
}

static enum resp_progress read_array(struct resp_request *self, const struct resp_limits *limits,
                                     struct span input)
{
    enum resp_progress progress = self->counted ? RESP_REQUEST : read_count(self, limits, input);

    while (progress == RESP_REQUEST && self->count < self->wanted) {
        if (self->at == input.size) {
            return RESP_MORE;
        }
        progress = self->measured ? RESP_REQUEST : read_length(self, limits, input);
        if (progress == RESP_REQUEST) {
            progress = read_bulk(self, input);
        }
    }
    return progress == RESP_REQUEST ? complete(self, input.data, self->at) : progress;
}

/* ---- a typed line: quotes and escapes are undone as Redis does it ---- */

/* The words of a line, as a client types them, parted by white space. In "double quotes" \n \r \t
 * \b \a \" \\ and \xHH stand for one byte, in 'single quotes' only \' does; a closing quote ends
 * the word. Source: how Redis splits inline requests. Line and room are borrowed. */
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

/* UNBALANCED: a quote is not closed, or something follows it. */
enum words_progress { WORDS_ONE, WORDS_END, WORDS_UNBALANCED, WORDS_NOMEM };

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

/* The next word of the line, undone into the room. */
static enum words_progress next_word(struct words *self, struct word *word)
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

/* ---- lines ---- */

static enum resp_progress read_line(struct resp_request *self, const struct resp_limits *limits,
                                    struct span input)
{
    const uint8_t *end = memchr(input.data + self->looked, '\n', input.size - self->looked);
    struct span line = span_of(input.data, end != NULL ? (size_t)(end - input.data) : input.size);
    struct words words;

    self->looked = line.size;
    if (line.size > limits->max_line) {
        return broken(self, "Protocol error: too big inline request");
    }
    if (end == NULL) {
        return RESP_MORE;
    }
    buffer_clear(&self->words);
    words = (struct words){.line = line, .room = &self->words};
    for (;;) {
        struct word word = {0};

        switch (next_word(&words, &word)) {
        case WORDS_ONE:
            if (self->count == limits->max_arguments) {
                return broken(self, "Protocol error: too big inline request");
            }
            if (!keep(self, word.offset, word.size)) {
                return RESP_NOMEM;
            }
            break;
        case WORDS_END:
            /* Words that are all empty had no room made for them. */
            return complete(self, self->words.data != NULL ? self->words.data : input.data,
                            line.size + 1);
        case WORDS_UNBALANCED:
            return broken(self, "Protocol error: unbalanced quotes in request");
        case WORDS_NOMEM:
            return RESP_NOMEM;
        }
    }
}

enum resp_progress resp_request_read(struct resp_request *self, const struct resp_limits *limits,
                                     struct span input)
{
    enum resp_progress progress;

    if (self->size > 0) {
        begin(self);
    }
    if (input.size == 0) {
        return RESP_MORE;
    }
    progress = input.data[0] == '*' ? read_array(self, limits, input)
                                    : read_line(self, limits, input);
    return progress;
}
