/* wanted.h - which filters are to be in a backup.
 *
 * Errors:  printed; the exit code is returned.
 * Owner:   wanted_fini().
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_WANTED_H
#define ORBLOOM_CLI_BACKUP_WANTED_H

#include "cli/backup/save.h"
#include "cli/flags.h"

struct wanted {
    bool all;           /* that the user sees */
    const char *except; /* ... but for these names, separated by commas; NULL: none */
    struct save_filter *items;
    size_t count;
    size_t room;
    size_t left_out; /* of all, for what they are */
};

/* The one of that name; or all. */
int wanted_list(struct wanted *self, const struct flags_common *common, const char *name);
void wanted_fini(struct wanted *self);

/* The name that one of all has now. NOT_FOUND: it is gone; else printed. */
MUST_USE enum status wanted_name_again(const struct flags_common *common,
                                       struct save_filter *filter);

/* One of all can't be backed up: that is said, and counted. */
void wanted_leave_out(struct wanted *self, const char *name, const char *why);

#endif
