/* A head is a line that says what it is and how much follows; a stack counts the elements that
 * aggregates still want. */
#include "cli/shadow/framer.h"

enum { MOST_DIGITS = 15 };

void framer_init(struct framer *self, bool requests)
{
    *self = (struct framer){.requests = requests};
}

static void begin(struct framer *self, char kind)
{
    self->inside = true;
    self->kind = kind;
    self->count = 0;
    self->depth = 0;
    self->inline_request = self->requests && kind != '*';
}

/* A value has ended; does that end those around it? */
static enum framer_verdict complete(struct framer *self)
{
    while (self->depth > 0) {
        size_t top = self->depth - 1;

        if (--self->nest[top].left > 0) {
            return FRAMER_MORE;
        }
        self->depth--;
        if (self->nest[top].attribute) {
            return FRAMER_MORE;
        }
    }
    self->inside = false;
    return FRAMER_VALUE;
}

/* "*12", "$-1": the number. False: it is none. */
static bool read_number(const struct framer *self, int64_t *number)
{
    bool negative = self->head_size > 1 && self->head[1] == '-';
    size_t first = negative ? 2 : 1;
    int64_t value = 0;

    if (self->head_size <= first || self->head_size - first > MOST_DIGITS) {
        return false;
    }
    for (size_t i = first; i < self->head_size; i++) {
        if (self->head[i] < '0' || self->head[i] > '9') {
            return false;
        }
        value = 10 * value + (self->head[i] - '0');
    }
    *number = negative ? -value : value;
    return true;
}

static enum framer_verdict begin_bulk(struct framer *self, int64_t size)
{
    if (size < 0) {
        return self->requests ? FRAMER_BROKEN : complete(self);
    }
    self->bulk = (uint64_t)size + 2;
    return FRAMER_MORE;
}

static enum framer_verdict begin_aggregate(struct framer *self, char kind, int64_t count)
{
    bool attribute = kind == '|';

    if (self->depth == 0 && !attribute) {
        self->count = count;
    }
    if (count <= 0) {
        return attribute ? FRAMER_MORE : complete(self);
    }
    if (self->depth == FRAMER_DEPTH) {
        return FRAMER_BROKEN;
    }
    self->nest[self->depth].left = (uint64_t)count * (kind == '%' || attribute ? 2 : 1);
    self->nest[self->depth++].attribute = attribute;
    return FRAMER_MORE;
}

/* A head is whole. */
static enum framer_verdict take_head(struct framer *self)
{
    char kind = self->head[0];
    bool nested = self->depth > 0;
    int64_t number = 0;

    if (self->head_size == 0 || (self->requests && kind != (nested ? '$' : '*'))) {
        return FRAMER_BROKEN;
    }
    if (strchr("$=!*~>%|", kind) != NULL && !read_number(self, &number)) {
        return FRAMER_BROKEN;
    }
    if (!nested && kind != '|') {
        self->kind = kind;
    }
    switch (kind) {
    case '+':
    case '-':
    case ':':
    case ',':
    case '#':
    case '_':
    case '(':
        return complete(self);
    case '$':
    case '=':
    case '!':
        return begin_bulk(self, number);
    case '*':
    case '~':
    case '>':
    case '%':
    case '|':
        return begin_aggregate(self, kind, number);
    default:
        return FRAMER_BROKEN;
    }
}

/* Up to the end of a line, or all. */
static size_t take_line(struct framer *self, struct span bytes, enum framer_verdict *verdict)
{
    const uint8_t *end = memchr(bytes.data, '\n', bytes.size);
    size_t size = end != NULL ? (size_t)(end - bytes.data) : bytes.size;

    for (size_t i = 0; i < size && self->head_size + i < FRAMER_HEAD_BYTES; i++) {
        self->head[self->head_size + i] = (char)bytes.data[i];
    }
    self->head_size += size;
    if (end == NULL) {
        return size;
    }
    if (self->inline_request) {
        self->inside = false;
        *verdict = FRAMER_VALUE;
    } else {
        size_t last = self->head_size - 1;
        bool returned = self->head_size > 0 &&
                        (last >= FRAMER_HEAD_BYTES || self->head[last] == '\r');

        self->head_size -= returned ? 1 : 0;
        *verdict = returned ? take_head(self) : FRAMER_BROKEN;
    }
    self->head_size = 0;
    return size + 1;
}

size_t framer_take(struct framer *self, struct span bytes, enum framer_verdict *verdict)
{
    size_t taken = 0;

    *verdict = FRAMER_MORE;
    while (taken < bytes.size && *verdict == FRAMER_MORE) {
        struct span rest = span_of(bytes.data + taken, bytes.size - taken);

        if (!self->inside) {
            begin(self, (char)rest.data[0]);
        }
        if (self->bulk > 0) {
            size_t size = rest.size < self->bulk ? rest.size : (size_t)self->bulk;

            self->bulk -= size;
            taken += size;
            *verdict = self->bulk == 0 ? complete(self) : FRAMER_MORE;
        } else {
            taken += take_line(self, rest, verdict);
        }
    }
    return taken;
}

bool framer_split(struct span *rest, struct span *value)
{
    struct framer framer;
    enum framer_verdict verdict;
    size_t size;

    framer_init(&framer, false);
    size = framer_take(&framer, *rest, &verdict);
    if (verdict != FRAMER_VALUE) {
        return false;
    }
    *value = span_of(rest->data, size);
    *rest = span_of(rest->data + size, rest->size - size);
    return true;
}

struct span framer_elements(struct span value)
{
    struct span line;

    return span_take_line(&value, &line) ? value : span_of(NULL, 0);
}
