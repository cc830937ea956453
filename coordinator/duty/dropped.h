/* dropped.h - filters whose drop is confirmed: into the record of dropped filters, and
 * out of the store; private to the coordinator. */
#ifndef ORBLOOM_COORDINATOR_DUTY_DROPPED_H
#define ORBLOOM_COORDINATOR_DUTY_DROPPED_H

#include "coordinator/private.h"

/* Move tombstones on, as far as that can be done now; resumes what another coordinator left. */
void coordinator_check_dropped(struct coordinator *self, uint64_t now_us);

/* When to look again; ACTOR_NEVER: nothing waits. */
uint64_t dropped_next_us(const struct coordinator *self);

#endif
