/* A few lists, looked through one by one. */
#include "node/tail/tail_lists.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

void tail_lists_fini(struct tail_lists *self)
{
    for (unsigned i = 0; i < TAIL_LISTS; i++) {
        heap_free(self->items[i].ids);
        heap_free(self->items[i].filters);
    }
}

struct tail_list *tail_lists_find(struct tail_lists *self, uint64_t name)
{
    if (name == 0) {
        return &self->none;
    }
    for (unsigned i = 0; i < TAIL_LISTS; i++) {
        if (self->items[i].name == name) {
            self->items[i].used = ++self->uses;
            return &self->items[i];
        }
    }
    return NULL;
}

static struct tail_list *oldest(struct tail_lists *self)
{
    struct tail_list *found = NULL;

    for (unsigned i = 0; i < TAIL_LISTS; i++) {
        struct tail_list *one = &self->items[i];

        if (one->users == 0 && (found == NULL || one->used < found->used)) {
            found = one;
        }
    }
    assert(found != NULL);
    return found;
}

enum status tail_lists_put(struct tail_lists *self, uint64_t name,
                           const struct site_tail_filter *filters, size_t count,
                           struct tail_list **out)
{
    struct tail_list *known = tail_lists_find(self, name);
    struct tail_list *place;
    uint64_t *ids;
    struct site_tail_filter *copy;

    if (known != NULL) {
        *out = known;
        return STATUS_OK;
    }
    ids = heap_alloc(count, sizeof *ids);
    copy = heap_alloc(count, sizeof *copy);
    if (ids == NULL || copy == NULL) {
        heap_free(ids);
        heap_free(copy);
        return STATUS_NOMEM;
    }
    memcpy(copy, filters, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        ids[i] = filters[i].filter_id;
    }
    place = oldest(self);
    heap_free(place->ids);
    heap_free(place->filters);
    *place = (struct tail_list){
        .name = name, .used = ++self->uses, .count = count, .ids = ids, .filters = copy};
    *out = place;
    return STATUS_OK;
}
