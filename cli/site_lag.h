/* site_lag.h - how far sites are from each other, as the links of one of them tell.
 *
 * What several of them know of one filter and site is put together: see proto/site/lag.h.
 *
 * Errors:  a link that does not answer is told on stderr, and left out.
 * Owner:   site_lags_ask()'s caller calls site_lags_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SITE_LAG_H
#define ORBLOOM_CLI_SITE_LAG_H

#include "cli/ask.h"
#include "cli/output.h"
#include "proto/codec.h"
#include "proto/site/lag.h"

struct site_lags {
    struct site_lag *items; /* each filter and site once */
    size_t count;
    size_t room;
};

/* All that live, of the filters of the page. Where that is one a mark is waited for, for a moment,
 * so that its age tells the lag; else ages are those of the marks that there are. */
void site_lags_ask(const struct flags_common *common, const struct site_page *page,
                   struct site_lags *out);

/* One alone, at link->routers, also of all filters (0); to what is there already. What became of it
 * is not told. */
void site_lags_ask_link(const struct flags_common *link, uint64_t filter_id, struct site_lags *out,
                        struct cmd_outcome *outcome);

void site_lags_fini(struct site_lags *self);

/* NULL: no link tells of it. */
const struct site_lag *site_lags_find(const struct site_lags *self, uint64_t filter_id,
                                      const struct site_id *id);

enum { SITE_LAG_TEXT_BYTES = 256 };

/* "all up to 300ms ago, 1.2 MiB/s"; returns `text`. */
const char *site_lag_show_in(const struct site_lag *self, char text[SITE_LAG_TEXT_BYTES]);

/* "200ms behind, about 3,100 keys at risk, 1.2 MiB/s" */
const char *site_lag_show_out(const struct site_lag *self, char text[SITE_LAG_TEXT_BYTES]);

#endif
