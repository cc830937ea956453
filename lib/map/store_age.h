/* store_age.h - is the store older than what a node holds?
 *
 * Every document comes from the store, so no node can hold one that is newer than the store's, or
 * another one of the same number. Where one does, the store was lost and begun anew, or an older
 * copy of it was put back. Whoever writes to it then gives numbers away a second time.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_STORE_AGE_H
#define ORBLOOM_MAP_STORE_AGE_H

#include "map/document_cache.h"

#include <stdbool.h>
#include <stdint.h>

/* A document that a node holds. */
struct held_document {
    uint64_t filter_id; /* 0: the node list; DROPPED_RECORD_ID, USER_LIST_ID: those records */
    uint64_t revision;
    uint64_t fence; /* the lowest epoch still accepted */
    uint64_t hash;  /* of the signed bytes, as document_epoch_hash() */
};

enum store_age {
    STORE_CURRENT = 0, /* nothing speaks against it */
    STORE_LACKS,       /* it does not know the filter */
    STORE_BEHIND,      /* its document is older, or below the fence */
    STORE_DIFFERS,     /* another content under the same number */
};

/* `documents`: all that the store holds, read after the node said this. */
enum store_age store_age_judge(const struct document_cache *documents,
                               const struct held_document *held);

/* All of them; *first (NULL is fine) is the first one that is not STORE_CURRENT. */
enum store_age store_age_judge_all(const struct document_cache *documents,
                                   const struct held_document *held, size_t count,
                                   const struct held_document **first);

/* Is it one of the records that there are one of, and no filter? */
static inline bool store_age_is_record(uint64_t id)
{
    return id == 0 || id == DROPPED_RECORD_ID || id == USER_LIST_ID;
}

/* What a process says that it holds, a page of it: the node list, the records of dropped filters
 * and of users, and the filters above `after` in order of their ids, all in all at most `max`,
 * which is more than STORE_AGE_RECORDS. *to: the last filter's id; 0: none is beyond. Fences are
 * left 0. Returns how many were written. */
enum { STORE_AGE_RECORDS = 3 };
size_t store_age_list(const struct document_cache *documents, uint64_t after,
                      struct held_document *out, size_t max, uint64_t *to);

/* How many there are, on all pages; the records once. */
size_t store_age_count(const struct document_cache *documents);

#endif
