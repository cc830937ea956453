/* operation_list.h - the open operations of a session, oldest first, found by sequence.
 *
 * Owner:   the list links operations and owns none of them.
 * Threads: none.
 */
#ifndef ORBLOOM_CLIENT_OPERATION_LIST_H
#define ORBLOOM_CLIENT_OPERATION_LIST_H

#include "client/operation.h"

enum { OPERATION_LIST_BUCKETS = 1024 };

/* Zeroed is empty. */
struct operation_list {
    struct operation_state *first;
    struct operation_state *last;
    struct operation_state *buckets[OPERATION_LIST_BUCKETS];
    size_t count;
    uint64_t bytes; /* of their keys */
};

void operation_list_append(struct operation_list *self, struct operation_state *operation);
void operation_list_remove(struct operation_list *self, struct operation_state *operation);

/* NULL: not open (any more). */
struct operation_state *operation_list_find(const struct operation_list *self, uint64_t sequence);

#endif
