/* tail_lists.h - lists of filters that links follow, by their names.
 *
 * A list is named by its content (site_tail_list()), so that any link may name one that another
 * link has sent. Those used least lately are forgotten when there is no room; who names one that is
 * not known is asked to send it.
 *
 * Errors:  tail_lists_put(): STATUS_NOMEM.
 * Owner:   tail_lists_fini(). A list stays as it is while it is used: each tail_list_use() is
 *          followed by a tail_list_leave().
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_TAIL_TAIL_LISTS_H
#define ORBLOOM_NODE_TAIL_TAIL_LISTS_H

#include "map/site_tail.h"

enum { TAIL_LISTS = 32 }; /* of SITE_TAIL_MAX_FILTERS filters at most: 3 MiB */

struct tail_list {
    uint64_t name; /* 0: free, or the list of none */
    uint32_t users;
    uint64_t used; /* when lately, in uses */
    size_t count;
    uint64_t *ids; /* ascending */
    struct site_tail_filter *filters;

    /* Whoever judges them remembers here that nothing of them was refused. */
    uint64_t clean; /* when that was, in changes + 1; 0: never */
    uint64_t clean_from;
    bool synced;
};

struct tail_lists {
    struct tail_list items[TAIL_LISTS];
    struct tail_list none; /* of no filters */
    uint64_t uses;
};

void tail_lists_fini(struct tail_lists *self);

/* NULL: not known. */
struct tail_list *tail_lists_find(struct tail_lists *self, uint64_t name);

/* *out: the one there, if it is known. Fewer than TAIL_LISTS are in use. */
MUST_USE enum status tail_lists_put(struct tail_lists *self, uint64_t name,
                                    const struct site_tail_filter *filters, size_t count,
                                    struct tail_list **out);

static inline void tail_list_use(struct tail_list *self)
{
    self->users++;
}

static inline void tail_list_leave(struct tail_list *self)
{
    self->users--;
}

#endif
