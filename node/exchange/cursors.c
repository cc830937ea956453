#include "node/exchange/cursors.h"

#include "base/heap.h"

void node_cursors_fini(struct node_cursors *self)
{
    heap_free(self->items);
    *self = (struct node_cursors){0};
}

static bool same_place(const struct record_cursor *a, const struct record_cursor *b)
{
    return a->filter_id == b->filter_id && a->group == b->group && a->lineage == b->lineage &&
           a->slice == b->slice && a->source == b->source &&
           a->source_incarnation == b->source_incarnation;
}

static bool same_kind(const struct record_cursor *a, const struct record_cursor *b)
{
    return (a->epoch == 0) == (b->epoch == 0);
}

enum status node_cursors_put(struct node_cursors *self, const struct record_cursor *cursor)
{
    for (size_t i = 0; i < self->count; i++) {
        if (same_place(&self->items[i], cursor) && same_kind(&self->items[i], cursor)) {
            self->items[i] = *cursor;
            return STATUS_OK;
        }
    }
    if (self->count == self->capacity) {
        size_t capacity = self->capacity > 0 ? 2 * self->capacity : 16;
        struct record_cursor *grown = heap_realloc(self->items, capacity, sizeof *grown);

        if (grown == NULL) {
            return STATUS_NOMEM;
        }
        self->items = grown;
        self->capacity = capacity;
    }
    self->items[self->count++] = *cursor;
    return STATUS_OK;
}

static struct record_cursor wanted(const struct pull_scope *scope, const struct member *source)
{
    return (struct record_cursor){
        .filter_id = scope->filter_id,
        .group = scope->group,
        .lineage = scope->lineage,
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

    for (size_t i = 0; i < self->count; i++) {
        if (same_place(&self->items[i], &key) && self->items[i].epoch == scope->epoch) {
            return &self->items[i];
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

    for (size_t i = 0; i < self->count; i++) {
        const struct record_cursor *item = &self->items[i];

        if (same_place(item, &key) && (highest == NULL || item->offset > highest->offset)) {
            highest = item;
        }
    }
    return highest;
}

void node_cursors_prune(struct node_cursors *self, uint64_t filter_id,
                        bool (*keep)(const void *context, const struct record_cursor *cursor),
                        const void *context)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].filter_id != filter_id || keep(context, &self->items[i])) {
            self->items[kept++] = self->items[i];
        }
    }
    self->count = kept;
}

uint64_t node_cursors_highest(const struct node_cursors *self, const struct member *source)
{
    uint64_t highest = 0;

    for (size_t i = 0; i < self->count; i++) {
        const struct record_cursor *cursor = &self->items[i];

        if (cursor->source == source->node && cursor->source_incarnation == source->incarnation &&
            cursor->offset > highest) {
            highest = cursor->offset;
        }
    }
    return highest;
}
