/* Expansion by doubling, clipped to the maximum; a failed step leaves what is there as it was. */
#include "base/buffer.h"

#include "base/heap.h"

#include <assert.h>

enum { BUFFER_FIRST_BYTES = 256 };

void buffer_init(struct buffer *self, size_t max_bytes)
{
    *self = (struct buffer){.max = max_bytes};
}

void buffer_fini(struct buffer *self)
{
    heap_free(self->data);
    *self = (struct buffer){.max = self->max};
}

void buffer_clear(struct buffer *self)
{
    self->size = 0;
}

static enum status grow(struct buffer *self, size_t needed)
{
    size_t capacity = self->capacity > 0 ? self->capacity : BUFFER_FIRST_BYTES;
    uint8_t *data;

    while (capacity < needed) {
        capacity *= 2;
    }
    capacity = capacity > self->max ? self->max : capacity;
    data = heap_realloc(self->data, capacity, 1);
    if (data == NULL) {
        return STATUS_NOMEM;
    }
    self->data = data;
    self->capacity = capacity;
    return STATUS_OK;
}

enum status buffer_extend(struct buffer *self, size_t size, uint8_t **out)
{
    enum status status;

    assert(self->size <= self->max);
    if (size > self->max - self->size) {
        return STATUS_TOO_LARGE;
    }
    if (self->size + size > self->capacity) {
        status = grow(self, self->size + size);
        if (status != STATUS_OK) {
            return status;
        }
    }
    *out = self->data + self->size;
    self->size += size;
    return STATUS_OK;
}

enum status buffer_append(struct buffer *self, struct span bytes)
{
    uint8_t *out = NULL;
    enum status status = buffer_extend(self, bytes.size, &out);

    if (status == STATUS_OK && bytes.size > 0) {
        memcpy(out, bytes.data, bytes.size);
    }
    return status;
}
