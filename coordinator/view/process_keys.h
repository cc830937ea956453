/* process_keys.h - what a credential has to hold of the cluster, told to its user. */
#ifndef ORBLOOM_COORDINATOR_VIEW_PROCESS_KEYS_H
#define ORBLOOM_COORDINATOR_VIEW_PROCESS_KEYS_H

#include "coordinator/private.h"

void coordinator_on_process_keys(struct coordinator *self, uint64_t now_us, const struct peer *from,
                                 const struct frame *frame);

#endif
