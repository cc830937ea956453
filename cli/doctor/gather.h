/* gather.h - asks all processes of a cluster that can be known of how they are.
 *
 * Questions only: nothing is changed. They are asked one after the other, so a process that does
 * not answer costs its time-out.
 *
 * Errors:  what was not answered says why. gather() itself: those of channel_open(), such as of a
 *          credential that can't be read, and STATUS_NOMEM; `reason` says more.
 * Owner:   gather_fini() frees; what was gathered points into it.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_DOCTOR_GATHER_H
#define ORBLOOM_CLI_DOCTOR_GATHER_H

#include "cli/doctor/gathered.h"
#include "cli/doctor/kept.h"
#include "cli/flags.h"

struct gather {
    const struct flags_common *common;
    const char *backup; /* of the store, on this machine; NULL: none is known of */
    uint64_t look_us;   /* between the first and the last of three statuses; 0: one is enough */
    uint64_t told_us;   /* when the first one was told */
    enum status status; /* not OK: nothing more is asked */
    char reason[CHANNEL_REASON_BYTES];
    struct kept_answers kept;
    size_t room; /* of processes */
    struct gathered gathered;
};

/* `self` has common, backup and look_us, and else begins as zeros. */
MUST_USE enum status gather(struct gather *self);
void gather_fini(struct gather *self);

#endif
