/* An ordered array of pointers. */
#include "node/site_cursors.h"

#include "base/heap.h"
#include "site/cursor.h"

#include <string.h>

void site_cursors_fini(struct site_cursors *self)
{
    for (size_t i = 0; i < self->count; i++) {
        heap_free(self->items[i]);
    }
    heap_free(self->items);
    *self = (struct site_cursors){0};
}

/* The first one that is not below. */
static size_t place_of(const struct site_cursors *self, const struct record_site_cursor *cursor)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (site_cursor_compare(self->items[middle], cursor) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct record_site_cursor *find(const struct site_cursors *self,
                                       const struct record_site_cursor *cursor)
{
    size_t place = place_of(self, cursor);

    return place < self->count && site_cursor_compare(self->items[place], cursor) == 0
               ? self->items[place]
               : NULL;
}

struct record_site_cursor site_cursors_joined(const struct site_cursors *self,
                                              const struct record_site_cursor *cursor,
                                              bool *changed)
{
    const struct record_site_cursor *kept = find(self, cursor);
    struct record_site_cursor joined = kept != NULL ? *kept : *cursor;

    site_cursor_join(&joined, cursor);
    *changed = kept == NULL || !site_cursor_equal(&joined, kept);
    return joined;
}

enum status site_cursors_room(const struct site_cursors *self,
                              const struct record_site_cursor *cursor)
{
    return self->count < NODE_SITE_CURSORS || find(self, cursor) != NULL ? STATUS_OK
                                                                         : STATUS_OVERLOADED;
}

static enum status insert(struct site_cursors *self, const struct record_site_cursor *cursor)
{
    size_t place = place_of(self, cursor);
    struct record_site_cursor *item;

    if (!heap_grow(&self->items, &self->capacity, self->count + 1, sizeof(void *))) {
        return STATUS_NOMEM;
    }
    item = heap_alloc(1, sizeof *item);
    if (item == NULL) {
        return STATUS_NOMEM;
    }
    *item = *cursor;
    memmove(&self->items[place + 1], &self->items[place], (self->count - place) * sizeof(void *));
    self->items[place] = item;
    self->count++;
    return STATUS_OK;
}

enum status site_cursors_put(struct site_cursors *self, const struct record_site_cursor *cursor)
{
    struct record_site_cursor *kept = find(self, cursor);
    enum status status = site_cursors_room(self, cursor);

    if (kept != NULL) {
        site_cursor_join(kept, cursor);
        return STATUS_OK;
    }
    return status == STATUS_OK ? insert(self, cursor) : status;
}

size_t site_cursors_find(const struct site_cursors *self, uint64_t filter_id, uint32_t group,
                         size_t *count)
{
    const struct record_site_cursor first = {.filter_id = filter_id, .group = group};
    size_t place = place_of(self, &first);

    *count = 0;
    while (place + *count < self->count && self->items[place + *count]->filter_id == filter_id &&
           self->items[place + *count]->group == group) {
        (*count)++;
    }
    return place;
}

void site_cursors_forget(struct site_cursors *self, uint64_t filter_id)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i]->filter_id == filter_id) {
            heap_free(self->items[i]);
        } else {
            self->items[kept++] = self->items[i];
        }
    }
    self->count = kept;
}
