/* cursors.h - the newest cursors of a node: how far the logs of its peers are in its own.
 *
 * Found in the log at recovery, recorded as replicas keep up, repeated at checkpoints. A cursor of
 * a SYNC (epoch other than 0) and one of a delta are kept apart.
 *
 * Errors:  STATUS_NOMEM.
 * Owner:   node_cursors_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_SYNC_CURSORS_H
#define ORBLOOM_NODE_SYNC_CURSORS_H

#include "log/record.h"
#include "map/pull_message.h"

enum { NODE_CURSORS_NONE = UINT32_MAX };

/* Those of one filter are a chain. */
struct node_cursor {
    struct record_cursor cursor;
    uint32_t next; /* place of another one, maybe of another filter; NODE_CURSORS_NONE: the end */
};

/* How far the log of one node is known to have been. */
struct node_cursors_source {
    struct member who;
    uint64_t highest;
};

struct node_cursors {
    struct node_cursor *items; /* in no order */
    size_t count;
    size_t capacity;
    uint32_t *chains; /* by a hash of the filter's id: places of the first ones */
    size_t nchains;   /* a power of two, or 0 */
    struct node_cursors_source *sources;
    uint32_t nsources;
    size_t sources_room;
};

void node_cursors_fini(struct node_cursors *self);

/* A newer one replaces the older one of the same kind. */
MUST_USE enum status node_cursors_put(struct node_cursors *self,
                                      const struct record_cursor *cursor);

/* Has the source been taken over completely under this epoch? NULL: no. */
const struct record_cursor *node_cursors_sync(const struct node_cursors *self,
                                              const struct pull_scope *scope,
                                              const struct member *source);

/* From where to follow the source: the highest of any kind. NULL: nothing is known. */
const struct record_cursor *node_cursors_delta(const struct node_cursors *self,
                                               const struct pull_scope *scope,
                                               const struct member *source);

/* The highest offset of a node's log that any of them names, or has named. */
uint64_t node_cursors_highest(const struct node_cursors *self, const struct member *source);

/* Forget those of a filter that `keep` does not want. */
void node_cursors_prune(struct node_cursors *self, uint64_t filter_id,
                        bool (*keep)(const void *context, const struct record_cursor *cursor),
                        const void *context);

#endif
