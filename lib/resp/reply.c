/* One function for each type of answer, in RESP 2 or 3 as the connection speaks; each appends
 * all of itself or nothing. */
#include "resp/reply.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>

enum { NUMBER_BYTES = 40, BOOLEAN_BYTES = 4 };

static void put(struct resp_writer *self, struct span bytes)
{
    self->failed = self->failed || buffer_append(self->out, bytes) != STATUS_OK;
}

/* Sign, number, line end. */
static void put_head(struct resp_writer *self, char sign, int64_t number)
{
    char head[NUMBER_BYTES];
    int size = snprintf(head, sizeof head, "%c%" PRId64 "\r\n", sign, number);

    put(self, span_of(head, (size_t)size));
}

/* One append, so that a full buffer never holds half an answer's piece. */
static void put_line(struct resp_writer *self, char sign, const char *text)
{
    size_t size = strlen(text);
    uint8_t *room;

    if (self->failed || buffer_extend(self->out, size + 3, &room) != STATUS_OK) {
        self->failed = true;
        return;
    }
    room[0] = (uint8_t)sign;
    for (size_t i = 0; i < size; i++) {
        room[i + 1] = text[i] == '\r' || text[i] == '\n' ? ' ' : (uint8_t)text[i];
    }
    memcpy(room + size + 1, "\r\n", 2);
}

void resp_simple(struct resp_writer *self, const char *text)
{
    put_line(self, '+', text);
}

void resp_error(struct resp_writer *self, const char *text)
{
    put_line(self, '-', text);
}

void resp_integer(struct resp_writer *self, int64_t value)
{
    if (value == 0 || value == 1) { /* Nearly all answers are one of them. */
        put(self, span_of(value == 0 ? ":0\r\n" : ":1\r\n", 4));
    } else {
        put_head(self, ':', value);
    }
}

void resp_boolean(struct resp_writer *self, bool value)
{
    if (self->resp3) {
        put(self, span_of(value ? "#t\r\n" : "#f\r\n", 4));
    } else {
        resp_integer(self, value);
    }
}

void resp_booleans(struct resp_writer *self, const uint64_t *bits, size_t first, size_t count)
{
    static const char texts[2][2][BOOLEAN_BYTES + 1] = {{":0\r\n", ":1\r\n"}, {"#f\r\n", "#t\r\n"}};
    uint8_t *room;

    if (self->failed || buffer_extend(self->out, count * BOOLEAN_BYTES, &room) != STATUS_OK) {
        self->failed = true;
        return;
    }
    for (size_t i = first; i < first + count; i++, room += BOOLEAN_BYTES) {
        bool set = bits != NULL && bits_has(bits, i);

        memcpy(room, texts[self->resp3][set], BOOLEAN_BYTES);
    }
}

void resp_double(struct resp_writer *self, double value)
{
    char text[NUMBER_BYTES];

    (void)snprintf(text, sizeof text, "%.17g", value);
    if (self->resp3) {
        put_line(self, ',', text);
    } else {
        resp_text(self, text);
    }
}

void resp_bulk(struct resp_writer *self, struct span bytes)
{
    put_head(self, '$', (int64_t)bytes.size);
    put(self, bytes);
    put(self, span_of("\r\n", 2));
}

void resp_text(struct resp_writer *self, const char *text)
{
    resp_bulk(self, span_text(text));
}

void resp_null(struct resp_writer *self)
{
    put(self, self->resp3 ? span_of("_\r\n", 3) : span_of("$-1\r\n", 5));
}

void resp_array(struct resp_writer *self, size_t count)
{
    put_head(self, '*', (int64_t)count);
}

void resp_set(struct resp_writer *self, size_t count)
{
    put_head(self, self->resp3 ? '~' : '*', (int64_t)count);
}

void resp_push(struct resp_writer *self, size_t count)
{
    put_head(self, self->resp3 ? '>' : '*', (int64_t)count);
}

void resp_map(struct resp_writer *self, size_t pairs)
{
    put_head(self, self->resp3 ? '%' : '*', (int64_t)(self->resp3 ? pairs : 2 * pairs));
}
