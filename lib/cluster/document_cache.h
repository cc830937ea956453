/* document_cache.h - the newest valid documents that a process holds.
 *
 * The rule: a higher revision is taken; the same revision is ignored when it is the same and
 * a CONFLICT when it is not; a lower one is ignored. One epoch has one content: another hash
 * under a known epoch, or an epoch that goes back, is a CONFLICT too. What is in conflict is
 * never served again by this process.
 *
 * Errors:  STATUS_NOMEM, STATUS_CONFLICT, STATUS_TOO_LARGE (DOCUMENT_CACHE_MAX filters).
 * Owner:   the cache owns entries; pointers to them stay valid until document_cache_fini().
 *          Whoever attaches something to an entry frees it before that.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_CLUSTER_DOCUMENT_CACHE_H
#define ORBLOOM_CLUSTER_DOCUMENT_CACHE_H

#include "base/span.h"
#include "base/status.h"
#include "cluster/document.h"

#include <stdbool.h>

enum { DOCUMENT_CACHE_MAX = 65536 };

struct document_entry {
    struct filter_document document;
    uint8_t *signed_bytes; /* as received, to be handed on */
    size_t signed_size;
    uint64_t signed_hash; /* of those bytes: document_epoch_hash() */
    bool conflict;
    void *attachment; /* the holder's own state of this filter */
};

struct document_cache {
    struct document_entry **by_id;   /* ascending ids */
    struct document_entry **by_name; /* ascending names, then ids */
    size_t count;
    size_t capacity;
    struct node_list nodes;
    uint8_t *nodes_bytes; /* the node list as received */
    size_t nodes_size;
    uint64_t nodes_hash;
};

/* A zeroed cache is ready. */
void document_cache_fini(struct document_cache *self);

/* Take over `document` (moved and zeroed when *changed becomes true; else still the caller's). */
MUST_USE enum status document_cache_take(struct document_cache *self,
                                         struct filter_document *document, struct span signed_bytes,
                                         bool *changed);

/* The same for the node list; in a conflict the one held stays in use, a higher one ends it. */
MUST_USE enum status document_cache_take_nodes(struct document_cache *self, struct node_list *nodes,
                                               struct span signed_bytes, bool *changed);

/* NULL when there is none. */
struct document_entry *document_cache_find(const struct document_cache *self, uint64_t id);

/* The filter that the name is bound to now: never a dropped one. NULL when there is none. */
struct document_entry *document_cache_find_name(const struct document_cache *self,
                                                const char *name);

#endif
