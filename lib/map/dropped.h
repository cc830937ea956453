/* dropped.h - the record of filters that are dropped for good: one for the whole cluster, in place
 * of a tombstone a filter.
 *
 * Ids are given out in ascending order and never again, so what is dropped makes few intervals: at
 * most one more than there are filters between them. A filter comes into the record after its
 * drop is confirmed, by F fences of each of its slot groups, and never leaves it. Whoever holds
 * the record takes every document of a filter in it for one of a dropped filter, whatever that
 * says; so a node may forget the filter's document and fence once the record is in its own log. An
 * id that is neither in it nor known otherwise is unknown, and not dropped.
 *
 * Errors:  as said at each function.
 * Owner:   dropped_record_fini() frees what a record owns.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_DROPPED_H
#define ORBLOOM_MAP_DROPPED_H

#include "map/id_set.h"

/* In lists of what a process holds, the record goes by this id; no filter has it. */
#define DROPPED_RECORD_ID UINT64_MAX

struct dropped_record {
    uint64_t revision; /* counts every edit; 0: there is none */
    struct id_set ids;
};

void dropped_record_fini(struct dropped_record *self);

/* A revision, and valid intervals. STATUS_MALFORMED with *reason set to a constant text. */
MUST_USE enum status dropped_record_validate(const struct dropped_record *self,
                                             const char **reason);

#endif
