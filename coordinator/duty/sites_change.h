/* sites_change.h - an operator's edits of a filter's set of sites: to name a newcomer, to leave,
 * and to remove one that is off for good; see coordinator/plan/sites.h.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_SITES_CHANGE_H
#define ORBLOOM_COORDINATOR_DUTY_SITES_CHANGE_H

#include "coordinator/private.h"

void sites_change_command(struct coordinator *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame);

#endif
