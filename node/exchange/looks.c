#include "node/exchange/looks.h"

#include "base/heap.h"

#include <string.h>

enum { FIRST_ROOM = 64 };

void looks_fini(struct looks *self)
{
    heap_free(self->items);
    *self = (struct looks){0};
}

/* The first one whose id is not below `id`. */
static size_t find(const struct looks *self, uint64_t id)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->items[middle].filter_id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static enum status make_room(struct looks *self, size_t count)
{
    size_t room = self->room > 0 ? self->room : FIRST_ROOM;
    struct look *grown;

    if (count <= self->room) {
        return STATUS_OK;
    }
    while (room < count) {
        room *= 2;
    }
    grown = heap_realloc(self->items, room, sizeof *grown);
    if (grown == NULL) {
        return STATUS_NOMEM;
    }
    self->items = grown;
    self->room = room;
    return STATUS_OK;
}

/* None has gone, and the last one is in its place: those that have come are above it. */
static bool only_grows(const struct looks *self, const struct document_cache *documents)
{
    size_t last = self->count - 1;

    return self->removed == documents->removed &&
           (self->count == 0 || self->items[last].filter_id == documents->by_id[last]->document.id);
}

static void append_new(struct looks *self, const struct document_cache *documents)
{
    while (self->count < documents->count) {
        self->items[self->count] = (struct look){
            .filter_id = documents->by_id[self->count]->document.id};
        self->count++;
    }
}

/* Some have come or gone in between: what is known of those that stay is kept. */
static enum status merge(struct looks *self, const struct document_cache *documents)
{
    struct looks merged = {0};
    size_t from = 0;
    enum status status = make_room(&merged, documents->count);

    if (status != STATUS_OK) {
        return status;
    }
    for (; merged.count < documents->count; merged.count++) {
        uint64_t id = documents->by_id[merged.count]->document.id;

        while (from < self->count && self->items[from].filter_id < id) {
            from++;
        }
        merged.items[merged.count] = from < self->count && self->items[from].filter_id == id
                                         ? self->items[from]
                                         : (struct look){.filter_id = id};
    }
    looks_fini(self);
    *self = merged;
    return STATUS_OK;
}

enum status looks_follow(struct looks *self, const struct document_cache *documents)
{
    enum status status = STATUS_OK;

    if (self->inserted == documents->inserted && self->removed == documents->removed) {
        return STATUS_OK;
    }
    if (!only_grows(self, documents)) {
        status = merge(self, documents);
    } else {
        status = make_room(self, documents->count);
        if (status == STATUS_OK) {
            append_new(self, documents);
        }
    }
    if (status == STATUS_OK) {
        self->inserted = documents->inserted;
        self->removed = documents->removed;
    }
    return status;
}

void looks_now(struct looks *self, uint64_t filter_id)
{
    size_t at = find(self, filter_id);

    if (at < self->count && self->items[at].filter_id == filter_id) {
        self->items[at].due_us = 0;
    }
}

uint64_t looks_next_us(const struct looks *self)
{
    uint64_t next_us = UINT64_MAX;

    for (size_t i = 0; i < self->count; i++) {
        next_us = self->items[i].due_us < next_us ? self->items[i].due_us : next_us;
    }
    return next_us;
}

bool looks_any_waits(const struct looks *self, unsigned waits)
{
    for (size_t i = 0; i < self->count; i++) {
        if ((self->items[i].waits & waits) != 0) {
            return true;
        }
    }
    return false;
}
