/* apply.h - make the users of the cluster what a file says, tokens and keys aside, in one step.
 *
 * Errors:  a CMD_ code; what was wrong is printed.
 * Owner:   all is borrowed for the call.
 * Threads: one.
 */
#ifndef ORBLOOM_CLI_USERS_APPLY_H
#define ORBLOOM_CLI_USERS_APPLY_H

#include "cli/flags.h"

#include <stdbool.h>

struct user_application {
    const char *path;
    bool dry_run;       /* only tell what would be done */
    bool prune;         /* users that are not in the file are deleted; else left alone */
    bool without_admin; /* also where no admin who can come in would be left */
};

/* Prints what is done. */
int user_apply(const struct flags_common *common, const struct user_application *asked);

#endif
