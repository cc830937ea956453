/* A sorted list of ids, edited as documents change: loops go through these instead of all
 * filters. */
#include "coordinator/rounds.h"

#include "base/heap.h"

#include <string.h>

static bool is_restless(const struct filter_document *document)
{
    if (document->content.state != FILTER_ACTIVE) {
        return document->content.state == FILTER_DROPPING;
    }
    return rename_is_open(document) || document->nslices > 0 || document->expiry.number != 0 ||
           document_is_loading(document);
}

/* The first one whose id is not below `id`. */
static size_t find(const struct restless *self, uint64_t id)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->items[middle]->document.id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static enum status make_room(struct restless *self)
{
    return heap_grow(&self->items, &self->room, self->count + 1, sizeof(struct document_entry *))
               ? STATUS_OK
               : STATUS_NOMEM;
}

static enum status insert(struct restless *self, size_t at, struct document_entry *entry)
{
    enum status status = make_room(self);

    if (status == STATUS_OK) {
        memmove(&self->items[at + 1], &self->items[at],
                (self->count - at) * sizeof(struct document_entry *));
        self->items[at] = entry;
        self->count++;
    }
    return status;
}

static void remove_at(struct restless *self, size_t at)
{
    self->count--;
    memmove(&self->items[at], &self->items[at + 1],
            (self->count - at) * sizeof(struct document_entry *));
}

enum status restless_note(struct coordinator *self, struct document_entry *entry)
{
    struct restless *all = &self->restless;
    size_t at = find(all, entry->document.id);
    bool known = at < all->count && all->items[at] == entry;

    if (known == is_restless(&entry->document)) {
        return STATUS_OK;
    }
    if (!known) {
        return insert(all, at, entry);
    }
    remove_at(all, at);
    return STATUS_OK;
}

void restless_forget(struct coordinator *self, const struct document_entry *entry)
{
    size_t at = find(&self->restless, entry->document.id);

    if (at < self->restless.count && self->restless.items[at] == entry) {
        remove_at(&self->restless, at);
    }
}

void restless_fini(struct coordinator *self)
{
    heap_free(self->restless.items);
    self->restless = (struct restless){0};
}
