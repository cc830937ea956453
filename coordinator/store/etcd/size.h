/* size.h - what members of etcd say of the size of their database and of its quota. Pure.
 *
 *   /v3/maintenance/status   size and what is in use; the quota from etcd 3.6 on. Where users are
 *                            asked for, newer ones tell it to root alone
 *   /metrics                 all three, to whoever asks; not where it has an address of its own
 *
 * Units:   bytes.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_ETCD_SIZE_H
#define ORBLOOM_COORDINATOR_STORE_ETCD_SIZE_H

#include "base/span.h"
#include "coordinator/store/store.h"

#include <jansson.h>
#include <stdbool.h>

#define ETCD_DEFAULT_QUOTA (UINT64_C(2) << 30) /* of a member that was not told another one */
#define ETCD_FULL_SHARE    0.7                 /* of the quota: high time to do something */

/* One member. A zeroed one has said nothing. */
struct etcd_size {
    uint64_t bytes; /* what the quota is compared with; 0: not said */
    uint64_t in_use;
    bool quota_said;
    uint64_t quota; /* 0: it has none */
};

/* Take over what the answer says, and leave the rest. What makes no sense is not said. */
void etcd_size_read_status(struct etcd_size *self, const json_t *answer);
void etcd_size_read_metrics(struct etcd_size *self, struct span text);

/* Zeros where the size was not said; a quota that was not said is the default. */
struct store_room etcd_size_room(const struct etcd_size *self);

/* Of the quota; 0 where either is not known, or there is none. */
double etcd_room_share(const struct store_room *self);

#endif
