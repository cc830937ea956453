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

/* Prints what is done, or with `dry_run` would be. `prune`: users that are not in the file are
 * deleted; else left alone. */
int user_apply(const struct flags_common *common, const char *path, bool dry_run, bool prune);

#endif
