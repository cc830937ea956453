/* features.h - which features the cluster uses, and who does not know them.
 *
 * The one gate: what is not in use is refused to operators, and who does not know what is in use is
 * refused at its coordinator.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_FEATURES_H
#define ORBLOOM_COORDINATOR_FEATURES_H

#include "coordinator/private.h"

#define FEATURES_KEY "cluster_features"

/* That of a new cluster: all that this coordinator knows. */
MUST_USE enum status features_begin(const struct coordinator *self, struct buffer *out);

/* That of a cluster of which a backup will tell. */
MUST_USE enum status features_blank(const struct coordinator *self, struct buffer *out);

/* A backup's record, joined with the store's, is to be written as *out; nothing if it is so
 * already. STATUS_VERSION: it has what this coordinator does not know. */
MUST_USE enum status features_join(const struct coordinator *self, struct span record,
                                   struct span held, struct buffer *out);

/* STATUS_VERSION, and why: not all of them, a bit each, are in use yet. */
MUST_USE enum status features_allow(const struct coordinator *self, uint64_t features,
                                    char *message);

/* Does this coordinator know all of them? */
bool features_are_known(const struct coordinator *self, uint64_t features);

/* STATUS_VERSION, and why: the process does not know what is in use. */
MUST_USE enum status features_check(const struct coordinator *self,
                                    const struct sync_request *request, char *message);

/* Why this coordinator must not change anything: it does not know what is in use. NULL: it does. */
const char *features_lacking(struct coordinator *self);

void coordinator_on_upgrade(struct coordinator *self, uint64_t now_us, const struct peer *from,
                            const struct frame *frame);

#endif
