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

#endif
