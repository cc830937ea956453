/* site_cursors.h - how far other sites' logs have been applied, as a node keeps it: what each
 * cursor that was put has come to.
 *
 * Bounds:  NODE_SITE_CURSORS.
 * Errors:  STATUS_OVERLOADED (there are so many), STATUS_NOMEM.
 * Owner:   site_cursors_fini(); a zeroed one is empty.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_SITE_CURSORS_H
#define ORBLOOM_NODE_SITE_CURSORS_H

#include "base/site_cursor.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { NODE_SITE_CURSORS = 65536 };

struct site_cursors {
    struct record_site_cursor **items; /* in order of what they are about */
    size_t count;
    size_t capacity;
};

void site_cursors_fini(struct site_cursors *self);

/* What `cursor` and what is kept about the same come to; *changed: is it more than is kept? */
struct record_site_cursor site_cursors_joined(const struct site_cursors *self,
                                              const struct record_site_cursor *cursor,
                                              bool *changed);

/* May another one be kept about that? */
MUST_USE enum status site_cursors_room(const struct site_cursors *self,
                                       const struct record_site_cursor *cursor);
MUST_USE enum status site_cursors_put(struct site_cursors *self,
                                      const struct record_site_cursor *cursor);

/* The first one of a slot group, and how many follow each other there. */
size_t site_cursors_find(const struct site_cursors *self, uint64_t filter_id, uint32_t group,
                         size_t *count);

void site_cursors_forget(struct site_cursors *self, uint64_t filter_id);

#endif
