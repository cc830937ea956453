/* Between single records and the disk: how much to read at once, so that reading on is fast and
 * a single look is cheap. */
#include "log/log_window.h"

#include "base/heap.h"
#include "log/read_again.h"

/* Who reads on gets twice as much each time, up to what stays in a core's own cache between reading
 * and hashing; who wants a record here and there does not pay for its surroundings. */
enum { FIRST_BYTES = 16 << 10, WINDOW_BYTES = 256 << 10 };

void log_window_init(struct log_window *self, const struct disk *disk)
{
    *self = (struct log_window){.disk = disk};
}

void log_window_fini(struct log_window *self)
{
    log_window_close(self);
    heap_free(self->bytes);
    self->bytes = NULL;
    self->capacity = 0;
}

enum status log_window_open(struct log_window *self, const char *name)
{
    enum status status;

    log_window_close(self);
    status = self->disk->open(self->disk->context, name, &self->file, &self->size);
    self->open = status == STATUS_OK;
    return status;
}

void log_window_close(struct log_window *self)
{
    if (self->open) {
        self->disk->close(self->disk->context, self->file);
    }
    self->open = false;
    self->start = 0;
    self->filled = 0;
    self->ahead = 0;
    self->size = 0;
}

static enum status grow(struct log_window *self, size_t capacity)
{
    uint8_t *bytes;

    if (capacity <= self->capacity) {
        return STATUS_OK;
    }
    bytes = heap_realloc(self->bytes, capacity, 1);
    if (bytes == NULL) {
        return STATUS_NOMEM;
    }
    self->bytes = bytes;
    self->capacity = capacity;
    return STATUS_OK;
}

static size_t next_ahead(const struct log_window *self, uint64_t place)
{
    bool goes_on = self->filled > 0 && place >= self->start && place <= self->start + self->filled;

    if (!goes_on) {
        return FIRST_BYTES;
    }
    return 2 * self->ahead < WINDOW_BYTES ? 2 * self->ahead : WINDOW_BYTES;
}

static enum status fill(struct log_window *self, uint64_t place, size_t wanted)
{
    size_t ahead = next_ahead(self, place);
    size_t size = wanted > ahead ? wanted : ahead;
    enum status status = grow(self, size);

    if (status != STATUS_OK) {
        return status;
    }
    size = self->size - place < size ? (size_t)(self->size - place) : size;
    self->filled = 0;
    status = read_again(self->disk, self->file, place, self->bytes, size);
    if (status == STATUS_OK) {
        self->start = place;
        self->filled = size;
        self->ahead = ahead;
    }
    return status;
}

enum status log_window_at(struct log_window *self, uint64_t place, size_t wanted,
                          struct span *bytes)
{
    uint64_t left = place < self->size ? self->size - place : 0;
    enum status status;

    wanted = wanted < left ? wanted : (size_t)left;
    if (wanted == 0) {
        *bytes = span_of(NULL, 0);
        return STATUS_OK;
    }
    if (place < self->start || place + wanted > self->start + self->filled) {
        status = fill(self, place, wanted);
        if (status != STATUS_OK) {
            return status;
        }
    }
    *bytes = span_of(self->bytes + (place - self->start), self->filled - (place - self->start));
    return STATUS_OK;
}
