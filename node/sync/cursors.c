/* The newest cursors in one array, linked by source, so that what belongs to one peer is found
 * without a look at the others. */
#include "node/sync/cursors.h"

#include "base/heap.h"

#include <assert.h>

enum { FIRST_CAPACITY = 16 };

void node_cursors_fini(struct node_cursors *self)
{
    heap_free(self->items);
    heap_free(self->chains);
    heap_free(self->sources);
    *self = (struct node_cursors){0};
}

/* ---- chains ---- */

/* Ids are numbers that follow each other. */
static uint32_t *chain_of(const struct node_cursors *self, uint64_t filter_id)
{
    return &self->chains[filter_id & (self->nchains - 1)];
}

static uint32_t first_of(const struct node_cursors *self, uint64_t filter_id)
{
    return self->nchains > 0 ? *chain_of(self, filter_id) : NODE_CURSORS_NONE;
}

static void link_item(struct node_cursors *self, uint32_t at)
{
    uint32_t *chain = chain_of(self, self->items[at].cursor.filter_id);

    self->items[at].next = *chain;
    *chain = at;
}

/* What leads to the item at that place. */
static uint32_t *way_to(struct node_cursors *self, uint32_t at)
{
    uint32_t *way = chain_of(self, self->items[at].cursor.filter_id);

    while (*way != at) {
        assert(*way != NODE_CURSORS_NONE); /* Each item is in the chain of its filter. */
        way = &self->items[*way].next;
    }
    return way;
}

/* The last one takes its place. */
static void remove_item(struct node_cursors *self, uint32_t at)
{
    uint32_t last = (uint32_t)--self->count;

    assert(at <= last);
    *way_to(self, at) = self->items[at].next;
    if (at != last) {
        *way_to(self, last) = at;
        self->items[at] = self->items[last];
    }
}

static enum status grow(struct node_cursors *self)
{
    size_t capacity = self->capacity > 0 ? 2 * self->capacity : FIRST_CAPACITY;
    uint32_t *chains = heap_alloc(capacity, sizeof *chains);
    struct node_cursor *items = chains != NULL ? heap_realloc(self->items, capacity, sizeof *items)
                                               : NULL;

    if (items == NULL) {
        heap_free(chains);
        return STATUS_NOMEM;
    }
    heap_free(self->chains);
    self->items = items;
    self->capacity = capacity;
    self->chains = chains;
    self->nchains = capacity;
    for (size_t i = 0; i < capacity; i++) {
        chains[i] = NODE_CURSORS_NONE;
    }
    for (size_t i = 0; i < self->count; i++) {
        link_item(self, (uint32_t)i);
    }
    return STATUS_OK;
}

/* ---- sources ---- */

static bool is_source(const struct node_cursors_source *source, const struct member *who)
{
    return source->who.node == who->node && source->who.incarnation == who->incarnation;
}

static struct node_cursors_source *find_source(const struct node_cursors *self,
                                               const struct member *who)
{
    for (uint32_t i = 0; i < self->nsources; i++) {
        if (is_source(&self->sources[i], who)) {
            return &self->sources[i];
        }
    }
    return NULL;
}

static struct node_cursors_source *open_source(struct node_cursors *self, const struct member *who)
{
    struct node_cursors_source *source = find_source(self, who);

    if (source != NULL) {
        return source;
    }
    if (!heap_grow(&self->sources, &self->sources_room, self->nsources + 1,
                   sizeof *self->sources)) {
        return NULL;
    }
    source = &self->sources[self->nsources++];
    *source = (struct node_cursors_source){.who = *who};
    return source;
}

/* ---- what is kept ---- */

static bool same_place(const struct record_cursor *a, const struct record_cursor *b)
{
    return a->filter_id == b->filter_id && a->group == b->group && a->keyset == b->keyset &&
           a->slice == b->slice && a->source == b->source &&
           a->source_incarnation == b->source_incarnation;
}

static bool same_kind(const struct record_cursor *a, const struct record_cursor *b)
{
    return (a->epoch == 0) == (b->epoch == 0);
}

static enum status store(struct node_cursors *self, const struct record_cursor *cursor)
{
    for (uint32_t at = first_of(self, cursor->filter_id); at != NODE_CURSORS_NONE;
         at = self->items[at].next) {
        struct record_cursor *one = &self->items[at].cursor;

        if (same_place(one, cursor) && same_kind(one, cursor)) {
            *one = *cursor;
            return STATUS_OK;
        }
    }
    if (self->count == self->capacity && grow(self) != STATUS_OK) {
        return STATUS_NOMEM;
    }
    assert(self->count < self->capacity && self->nchains == self->capacity);
    self->items[self->count].cursor = *cursor;
    link_item(self, (uint32_t)self->count++);
    return STATUS_OK;
}

enum status node_cursors_put(struct node_cursors *self, const struct record_cursor *cursor)
{
    const struct member who = {.node = cursor->source, .incarnation = cursor->source_incarnation};
    struct node_cursors_source *source = open_source(self, &who);
    enum status status = source != NULL ? store(self, cursor) : STATUS_NOMEM;

    if (status == STATUS_OK && cursor->offset > source->highest) {
        source->highest = cursor->offset;
    }
    return status;
}

static struct record_cursor wanted(const struct pull_scope *scope, const struct member *source)
{
    return (struct record_cursor){
        .filter_id = scope->filter_id,
        .group = scope->group,
        .keyset = scope->keyset,
        .slice = scope->slice,
        .source = source->node,
        .source_incarnation = source->incarnation,
    };
}

const struct record_cursor *node_cursors_sync(const struct node_cursors *self,
                                              const struct pull_scope *scope,
                                              const struct member *source)
{
    struct record_cursor key = wanted(scope, source);

    for (uint32_t at = first_of(self, scope->filter_id); at != NODE_CURSORS_NONE;
         at = self->items[at].next) {
        const struct record_cursor *one = &self->items[at].cursor;

        if (same_place(one, &key) && one->epoch == scope->epoch) {
            return one;
        }
    }
    return NULL;
}

const struct record_cursor *node_cursors_delta(const struct node_cursors *self,
                                               const struct pull_scope *scope,
                                               const struct member *source)
{
    struct record_cursor key = wanted(scope, source);
    const struct record_cursor *highest = NULL;

    for (uint32_t at = first_of(self, scope->filter_id); at != NODE_CURSORS_NONE;
         at = self->items[at].next) {
        const struct record_cursor *one = &self->items[at].cursor;

        if (same_place(one, &key) && (highest == NULL || one->offset > highest->offset)) {
            highest = one;
        }
    }
    return highest;
}

/* Each step may move the chain's items: so it begins anew. */
static bool prune_one(struct node_cursors *self, uint64_t filter_id,
                      bool (*keep)(const void *context, const struct record_cursor *cursor),
                      const void *context)
{
    for (uint32_t at = first_of(self, filter_id); at != NODE_CURSORS_NONE;
         at = self->items[at].next) {
        const struct record_cursor *one = &self->items[at].cursor;

        if (one->filter_id == filter_id && !keep(context, one)) {
            remove_item(self, at);
            return true;
        }
    }
    return false;
}

void node_cursors_prune(struct node_cursors *self, uint64_t filter_id,
                        bool (*keep)(const void *context, const struct record_cursor *cursor),
                        const void *context)
{
    while (prune_one(self, filter_id, keep, context)) {
    }
}

uint64_t node_cursors_highest(const struct node_cursors *self, const struct member *source)
{
    const struct node_cursors_source *found = find_source(self, source);

    return found != NULL ? found->highest : 0;
}
