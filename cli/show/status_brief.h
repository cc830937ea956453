/* status_brief.h - `status` of a cluster with many filters: sums, and those that need
 * attention.
 *
 * Errors:  STATUS_NOMEM.
 * Owner:   whoever made a brief reply frees it; it borrows the whole one.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_STATUS_BRIEF_H
#define ORBLOOM_CLI_SHOW_STATUS_BRIEF_H

#include "proto/codec.h"

/* Up to so many filters are all shown; of more, at most so many. */
enum { STATUS_BRIEF_FILTERS = 10 };

/* The same with those filters, and their changes, that need attention most: the worst first. Before
 * it is made, *brief is zeroed. */
MUST_USE enum status status_brief_make(const struct admin_reply *reply, struct admin_reply *brief);
void status_brief_free(struct admin_reply *brief);

/* How many filters need attention. */
size_t status_brief_concerns(const struct admin_reply *reply);

/* How many filters there are, with how many keys and replicas; how many need attention, by why; and
 * how to see them all. */
void status_sums_text(const struct admin_reply *reply);

#endif
