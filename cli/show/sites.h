/* sites.h - sites and the filters that are in several, as programs read them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_SITES_H
#define ORBLOOM_CLI_SHOW_SITES_H

#include "cli/output.h"
#include "cli/site_lag.h"
#include "proto/codec.h"

/* An object, named where it is a member. */
void sites_json(struct json *json, const char *name, const struct site_page *page,
                const struct site_lags *lags);

/* What the other site has told of itself; NULL: it is not in the list. */
const struct site_standing *sites_standing_of(const struct filter_sites *filter,
                                              const struct site_id *id);

#endif
