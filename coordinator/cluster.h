/* cluster.h - which cluster this is: an id in the store, drawn once, and the nodes
 * whose data belong to another one.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_CLUSTER_H
#define ORBLOOM_COORDINATOR_CLUSTER_H

#include "coordinator/private.h"

#define CLUSTER_KEY "cluster"

/* The store's record, signed, for whoever is answered; empty: none was drawn yet. */
struct span cluster_record(const struct coordinator *self);

/* Why the store can't say which cluster this is, though it is in use; NULL: it can, or is empty. */
const char *cluster_lacking(const struct coordinator *self);

/* The id, drawn if the store is empty. Of several coordinators that draw, one wins. */
MUST_USE enum status cluster_ensure(struct coordinator *self, char *message);

/* STATUS_INVALID, and why: the node's data belong to another cluster. */
MUST_USE enum status cluster_check(const struct coordinator *self,
                                   const struct sync_request *request, char *message);

/* Of a restore that begins: the backup's record of which cluster it is of, as the store's. What it
 * is to be written over, with what else belongs to it. STATUS_OK with *swap unset: it is so
 * already. */
MUST_USE enum status cluster_restore(struct coordinator *self, const struct map_parameters *map,
                                     struct store_swap *swap, bool *writes, char *message);

/* A record of the backup, or a living node, that does not fit the store's id. */
MUST_USE enum status cluster_check_restore(const struct coordinator *self, uint64_t now_us,
                                           const struct cluster_id *cluster, char *message);

#endif
