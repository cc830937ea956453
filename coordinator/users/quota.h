/* quota.h - what a user may have: filters that it has made, and bytes of their arrays.
 *
 * A filter's document names the user who made it, for good. What counts are filters that are not
 * dropped, and of each the arrays of one replica as they are wanted: of each keyset and slice, of a
 * chain all generations. Looked at where a filter is made, where it grows, and where a rebuild
 * begins; a user who is gone, or has no limits, is held to nothing, and what is there already is
 * never taken away.
 *
 * It is looked at in what was read of the store. Whatever takes more is written together with the
 * number of the last filter, so that of two coordinators which let something pass at the same time
 * one writes, and the other one looks again (records_write.c).
 *
 * Errors:  STATUS_OVER_QUOTA with cause and remedy in `message`, of COORDINATOR_MESSAGE_BYTES.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_USERS_QUOTA_H
#define ORBLOOM_COORDINATOR_USERS_QUOTA_H

#include "coordinator/private.h"

struct quota_used {
    uint64_t filters;
    uint64_t bytes;
};

/* What each user has, in the order of the record; `out` begins as zeros. STATUS_NOMEM. */
MUST_USE enum status quota_sum(const struct coordinator *self, struct quota_used *out);

/* One more filter, as this document says. */
MUST_USE enum status quota_allow_filter(const struct coordinator *self,
                                        const struct filter_document *document, char *message);

/* A filter that is there gets this generation. */
MUST_USE enum status quota_allow_expansion(const struct coordinator *self,
                                           const struct filter_document *document,
                                           const struct generation *next, char *message);

/* ... another keyset beside the one that it has. */
MUST_USE enum status quota_allow_keyset(const struct coordinator *self,
                                        const struct filter_document *document, char *message);

/* Has the user who made the filter more by this edit of its document? False where nobody is named.
 */
bool quota_takes_more(const struct filter_document *before, const struct filter_document *after);

#endif
