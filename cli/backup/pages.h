/* pages.h - a channel for pages of filters, each of which may take a while.
 *
 * Errors:  printed; the exit code is returned.
 * Owner:   channel_close().
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_PAGES_H
#define ORBLOOM_CLI_BACKUP_PAGES_H

#include "cli/flags.h"

int pages_dial(const struct flags_common *common, struct channel **out);

#endif
