/* rename.h - other names for filters.
 *
 * What is decided, and why: map/rename.h. All that matters is in the store, so any coordinator
 * goes on after another one; with a coordinator dies only who waited there.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_RENAME_H
#define ORBLOOM_COORDINATOR_DUTY_RENAME_H

#include "coordinator/private.h"

/* The operator's `rename`. `created` of the answer: by this command. */
void coordinator_on_rename(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame);

/* Ask for fences, end what has them, answer who waits. Of all filters. */
void coordinator_check_renames(struct coordinator *self, uint64_t now_us);

/* Are fences of this filter's rename still being asked for? */
bool renames_wait(const struct coordinator *self, uint64_t filter_id);

#endif
