/* document_cache.h - the newest valid documents that a process holds.
 *
 * The rule: a higher revision is taken; the same revision is ignored when it is the same and
 * a CONFLICT when it is not; a lower one is ignored. One epoch has one content: another hash
 * under a known epoch, an epoch that goes back, or another uid is a CONFLICT too. What is in
 * conflict is never served again by this process.
 *
 * Errors:  STATUS_NOMEM, STATUS_CONFLICT, STATUS_TOO_LARGE (DOCUMENT_CACHE_MAX filters).
 * Owner:   the cache owns entries; pointers to them stay valid until document_cache_fini(), or a
 *          document_cache_sweep() that removes them. Whoever attaches something to an entry frees
 *          it before that.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_DOCUMENT_CACHE_H
#define ORBLOOM_MAP_DOCUMENT_CACHE_H

#include "base/span.h"
#include "base/status.h"
#include "map/access/users.h"
#include "map/document.h"
#include "map/dropped.h"

#include <stdbool.h>

/* Filters that may live at once, and with them those that are dropped and not yet forgotten. */
enum { DOCUMENT_MAX_LIVING = 65536, DOCUMENT_CACHE_MAX = 2 * DOCUMENT_MAX_LIVING };

struct document_entry {
    struct filter_document document;
    uint8_t *signed_bytes; /* as received, to be handed on */
    size_t signed_size;
    uint64_t signed_hash; /* of those bytes: document_epoch_hash() */
    bool conflict;
    bool gone;        /* in the record of dropped filters: DROPPED, whatever the signed bytes say */
    bool released;    /* by the sweep that is under way */
    void *attachment; /* the holder's own state of this filter */
};

struct document_cache {
    struct document_entry **by_id;   /* ascending ids */
    struct document_entry **by_name; /* ascending names, then ids */
    size_t count;
    size_t capacity;
    uint64_t inserted; /* entries, so far */
    uint64_t removed;
    uint64_t changes; /* rises whenever an entry may have become another, or gone; above 0 once
                         there is one */
    struct node_list nodes;
    uint8_t *nodes_bytes; /* the node list as received */
    size_t nodes_size;
    uint64_t nodes_hash;
    struct dropped_record dropped;
    uint8_t *dropped_bytes; /* as received */
    size_t dropped_size;
    uint64_t dropped_hash;
    struct user_list users; /* revision 0: none was ever made */
    uint8_t *users_bytes;   /* as received */
    size_t users_size;
    uint64_t users_hash;
    size_t ngone; /* entries that wait for document_cache_sweep() */
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

/* ... for the record of users. */
MUST_USE enum status document_cache_take_users(struct document_cache *self, struct user_list *users,
                                               struct span signed_bytes, bool *changed);

/* The same for the record of dropped filters; one that lacks ids of the one held is a CONFLICT,
 * too. Entries of filters that are in it are gone from now on, and documents of those are not
 * taken. */
MUST_USE enum status document_cache_take_dropped(struct document_cache *self,
                                                 struct dropped_record *record,
                                                 struct span signed_bytes, bool *changed);

/* Is the filter in the record that is held? */
bool document_cache_is_dropped(const struct document_cache *self, uint64_t id);

/* Remove the entries that are gone and that `release` lets go of, having freed what is attached. */
typedef bool (*document_release_fn)(void *context, struct document_entry *entry);
void document_cache_sweep(struct document_cache *self, document_release_fn release, void *context);

/* NULL when there is none. */
struct document_entry *document_cache_find(const struct document_cache *self, uint64_t id);

/* The first place in by_id whose filter's id is not below `id`; `count` if there is none. */
size_t document_cache_from(const struct document_cache *self, uint64_t id);

/* Of all filters that have, or had at the end, that name: the one with the lowest id above `after`.
 * NULL when there is none. */
struct document_entry *document_cache_next_named(const struct document_cache *self,
                                                 const char *name, uint64_t after);

/* The filter that the name is bound to now: never a dropped one. NULL when there is none. */
struct document_entry *document_cache_find_name(const struct document_cache *self,
                                                const char *name);

#endif
