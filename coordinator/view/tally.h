/* tally.h - what the replicas of one filter have told, together: what there is of it, how far its
 * growth is, and how many of its shards lack replicas. Nodes that are silent tell nothing of now.
 *
 * Errors:  STATUS_NOMEM.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_VIEW_TALLY_H
#define ORBLOOM_COORDINATOR_VIEW_TALLY_H

#include "coordinator/private.h"

struct tally {
    struct report_sum sum;
    double grown;      /* of all replicas, as far as they serve what is wanted; 0 to 1 */
    double progress;   /* of those that are not FULL; 0 to 1 */
    uint32_t nlacking; /* shards with fewer than N FULL replicas */
    uint32_t fewest;   /* that any shard has */
};

MUST_USE enum status tally_filter(const struct coordinator *self, uint64_t now_us,
                                  const struct filter_document *document, struct tally *out);

/* With fewer FULL replicas than this a shard is not served. */
uint32_t tally_needed(const struct quorum_rule *rule);

#endif
