/* site_order.h - pausing, resuming and comparing another site: orders that stand until they are
 * taken back, or done.
 *
 * Errors:  printed; the exit code is returned.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_COMMANDS_SITE_ORDER_H
#define ORBLOOM_CLI_COMMANDS_SITE_ORDER_H

#include "cli/commands/site_change.h"
#include "cli/site_lag.h"

/* The step that a word of the command line means; 0: none of these. */
enum site_step site_order_step(const char *word);

/* A name of "" means all filters. A comparison is watched until it is done, unless `detach`; Ctrl-C
 * ends the watch alone. */
int site_order(const struct flags_common *common, const struct site_wish *wish, bool detach);

/* How far a comparison is, by what links tell of the filter and the site. Of a site that is in its
 * set no more, or paused, it won't be done now: SITE_OVERTAKEN. */
enum site_progress site_order_progress(const struct filter_sites *filter, const char *site,
                                       const struct site_lags *lags, char text[SITE_LINE_BYTES]);

#endif
