/* Links in order of submission, and a hash by sequence beside them, so that an answer finds its
 * operation among thousands. */
#include "client/operation_list.h"

void operation_list_append(struct operation_list *self, struct operation_state *operation)
{
    struct operation_state **bucket = &self->buckets[operation->sequence % OPERATION_LIST_BUCKETS];

    operation->previous = self->last;
    operation->next = NULL;
    *(self->last != NULL ? &self->last->next : &self->first) = operation;
    self->last = operation;
    operation->chain = *bucket;
    *bucket = operation;
    self->count++;
    self->bytes += operation->bytes;
}

void operation_list_remove(struct operation_list *self, struct operation_state *operation)
{
    struct operation_state **link = &self->buckets[operation->sequence % OPERATION_LIST_BUCKETS];

    while (*link != operation) {
        link = &(*link)->chain;
    }
    *link = operation->chain;
    *(operation->previous != NULL ? &operation->previous->next : &self->first) = operation->next;
    *(operation->next != NULL ? &operation->next->previous : &self->last) = operation->previous;
    self->count--;
    self->bytes -= operation->bytes;
}

struct operation_state *operation_list_find(const struct operation_list *self, uint64_t sequence)
{
    struct operation_state *operation = self->buckets[sequence % OPERATION_LIST_BUCKETS];

    while (operation != NULL && operation->sequence != sequence) {
        operation = operation->chain;
    }
    return operation;
}
