/* buffer.h - growable bytes with a named maximum.
 *
 * Errors:  STATUS_NOMEM, or STATUS_TOO_LARGE past the maximum; the content is untouched.
 * Owner:   whoever called buffer_init() calls buffer_fini(); a fini'd buffer may be inited again.
 * Threads: none.
 */
#ifndef ORBLOOM_BASE_BUFFER_H
#define ORBLOOM_BASE_BUFFER_H

#include "base/span.h"
#include "base/status.h"

struct buffer {
    uint8_t *data;
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes allocated */
    size_t max;      /* never more than this */
};

void buffer_init(struct buffer *self, size_t max_bytes);
void buffer_fini(struct buffer *self);

/* Forget the content, keep the memory. */
void buffer_clear(struct buffer *self);

/* Append `size` uninitialised bytes; *out points at them until the next append. */
MUST_USE enum status buffer_extend(struct buffer *self, size_t size, uint8_t **out);

MUST_USE enum status buffer_append(struct buffer *self, struct span bytes);

static inline struct span buffer_span(const struct buffer *self)
{
    return span_of(self->data, self->size);
}

#endif
