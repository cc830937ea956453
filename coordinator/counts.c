/* The newest count of each node; a lower one replaces a higher one, as a node that has restarted
 * counts anew. */
#include "coordinator/counts.h"

#include "base/heap.h"

enum { LOOK_US = 10000000 }; /* a node that has restarted counts anew: not noticed much later */

void counts_note(struct node_counts *self, uint32_t node, uint64_t counted_us)
{
    const struct window_count count = {.node = node, .counted_us = counted_us};
    struct window_count *grown;

    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].node == node) {
            self->items[i] = count;
            return;
        }
    }
    grown = self->count < DOCUMENT_MAX_NODES
                ? heap_realloc(self->items, self->count + 1, sizeof *grown)
                : NULL;
    if (grown != NULL) {
        self->items = grown;
        grown[self->count++] = count;
    }
}

void counts_forget(struct node_counts *self)
{
    heap_free(self->items);
    *self = (struct node_counts){0};
}

uint64_t counts_wait_us(uint64_t left_us, uint64_t retry_us)
{
    if (left_us == WINDOW_UNKNOWN || left_us < retry_us) {
        return retry_us;
    }
    return left_us < LOOK_US ? left_us : LOOK_US;
}
