/* News of filters, and the list of restless ones, edited as documents change. */
#include "coordinator/rounds.h"

#include "base/heap.h"
#include "coordinator/sites.h"

#include <assert.h>
#include <string.h>

bool rounds_is_moving(const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            if (slot_is_pair(&document->content.groups[group].slots[i])) {
                return true;
            }
        }
    }
    return false;
}

/* ---- news ---- */

void rounds_want_all(struct coordinator *self)
{
    self->rounds.all = true;
}

/* Where replicas move, what one filter does gives another one its turn: then all are looked at. */
static void note_news(struct rounds *self, uint64_t id, bool moves)
{
    if (moves || self->nmoving > 0 || self->nnews == COORDINATOR_NEWS) {
        self->all = true;
    } else {
        self->news[self->nnews++] = id;
    }
}

size_t rounds_take_news(struct coordinator *self, uint64_t ids[COORDINATOR_NEWS], bool *all)
{
    struct rounds *rounds = &self->rounds;
    size_t count = rounds->all ? 0 : rounds->nnews;

    memcpy(ids, rounds->news, count * sizeof ids[0]);
    *all = rounds->all;
    rounds->all = false;
    rounds->nnews = 0;
    return count;
}

/* ---- the restless ones: a list sorted by ids ---- */

static bool is_restless(const struct filter_document *document, bool moving)
{
    if (document->content.state != FILTER_ACTIVE) {
        return document->content.state == FILTER_DROPPING || sites_dropped_everywhere(document);
    }
    return moving || document_has_sites(document) || rename_is_open(document) ||
           document->nslices > 0 || document->expiry.number != 0 || document_is_loading(document);
}

/* The first one whose id is not below `id`. */
static size_t find(const struct rounds *self, uint64_t id)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->items[middle].entry->document.id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct rounds *self, size_t at, const struct document_entry *entry)
{
    return at < self->count && self->items[at].entry == entry;
}

static enum status insert(struct rounds *self, size_t at, const struct restless *item)
{
    if (!heap_grow(&self->items, &self->room, self->count + 1, sizeof *self->items)) {
        return STATUS_NOMEM;
    }
    memmove(&self->items[at + 1], &self->items[at], (self->count - at) * sizeof *self->items);
    self->items[at] = *item;
    self->count++;
    self->nmoving += item->moving;
    return STATUS_OK;
}

static void remove_at(struct rounds *self, size_t at)
{
    assert(self->nmoving >= self->items[at].moving);
    self->nmoving -= self->items[at].moving;
    self->count--;
    memmove(&self->items[at], &self->items[at + 1], (self->count - at) * sizeof *self->items);
}

enum status rounds_note(struct coordinator *self, struct document_entry *entry)
{
    struct rounds *all = &self->rounds;
    const struct filter_document *document = &entry->document;
    /* Only of an ACTIVE one: a drop ends what moves. */
    const struct restless item = {.entry = entry,
                                  .moving = document->content.state == FILTER_ACTIVE &&
                                            rounds_is_moving(document)};
    size_t at = find(all, document->id);

    note_news(all, document->id, item.moving);
    if (is_at(all, at, entry)) {
        remove_at(all, at);
    }
    return is_restless(document, item.moving) ? insert(all, at, &item) : STATUS_OK;
}

void rounds_forget(struct coordinator *self, const struct document_entry *entry)
{
    size_t at = find(&self->rounds, entry->document.id);

    if (is_at(&self->rounds, at, entry)) {
        remove_at(&self->rounds, at);
    }
}

struct document_entry *rounds_next(const struct coordinator *self, uint64_t after)
{
    size_t at = find(&self->rounds, after + 1);

    return at < self->rounds.count ? self->rounds.items[at].entry : NULL;
}

void rounds_fini(struct coordinator *self)
{
    heap_free(self->rounds.items);
    self->rounds = (struct rounds){0};
}
