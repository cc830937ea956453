/* span.h - borrowed bytes: valid for the call they are passed to, never kept.
 *
 * Keys may hold any byte, so nothing here ends at a NUL.
 */
#ifndef ORBLOOM_BASE_SPAN_H
#define ORBLOOM_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const uint8_t *data;
    size_t size;
};

static inline struct span span_of(const void *data, size_t size)
{
    return (struct span){.data = data, .size = size};
}

/* Borrow a C string without its NUL. */
static inline struct span span_text(const char *text)
{
    return span_of(text, strlen(text));
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Is it a blank, as in the C locale? A newline is one, too. */
static inline bool span_blank(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Without the blanks around it. */
static inline struct span span_trim(struct span text)
{
    while (text.size > 0 && span_blank(text.data[0])) {
        text = span_of(text.data + 1, text.size - 1);
    }
    while (text.size > 0 && span_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* The next line of `rest`, which begins behind it then; its newline is not in it, and may be
 * missing from the last one. False: nothing is left. */
static inline bool span_take_line(struct span *rest, struct span *line)
{
    const uint8_t *end = rest->size > 0 ? (const uint8_t *)memchr(rest->data, '\n', rest->size)
                                        : NULL;
    size_t size = end != NULL ? (size_t)(end - rest->data) : rest->size;
    size_t taken = size + (end != NULL);

    if (rest->size == 0) {
        return false;
    }
    *line = span_of(rest->data, size);
    *rest = span_of(rest->data + taken, rest->size - taken);
    return true;
}

#endif
