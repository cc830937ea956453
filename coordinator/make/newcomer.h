/* newcomer.h - making a filter that another site has: the same keys, hash and shards, and arrays,
 * replicas and nodes of this site's own.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_MAKE_NEWCOMER_H
#define ORBLOOM_COORDINATOR_MAKE_NEWCOMER_H

#include "coordinator/private.h"
#include "proto/site/state.h"

/* What was told has no faults, and its fenced set has `own`, this site. Nothing is made unless
 * STATUS_OK; STATUS_CONFLICT: another coordinator was first, or the store has changed meanwhile;
 * else `reason` (COORDINATOR_MESSAGE_BYTES) says why, and what helps. */
MUST_USE enum status newcomer_make(struct coordinator *self, uint64_t now_us,
                                   const struct site_filter *told, const struct site_id *own,
                                   char *reason);

#endif
