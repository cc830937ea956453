/* process_keys.h - keys of processes: what a credential has to hold of the cluster, told to its
 * user, and who has not got the newest cluster key, told to operators. */
#ifndef ORBLOOM_COORDINATOR_VIEW_PROCESS_KEYS_H
#define ORBLOOM_COORDINATOR_VIEW_PROCESS_KEYS_H

#include "coordinator/private.h"

enum { PROCESS_KEYS_MOST = DOCUMENT_MAX_NODES + COORDINATOR_MAX_PEERS };

/* Who was heard of lately and signs with another key than this coordinator; how many, at most
 * PROCESS_KEYS_MOST. Names are borrowed. */
size_t process_keys_behind(const struct coordinator *self, uint64_t now_us, struct key_use *out);

void coordinator_on_process_keys(struct coordinator *self, uint64_t now_us, const struct peer *from,
                                 const struct frame *frame);

#endif
