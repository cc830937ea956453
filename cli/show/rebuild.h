/* rebuild.h - rebuilds from a list that are open, as `info` and `status` print them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_REBUILD_H
#define ORBLOOM_CLI_SHOW_REBUILD_H

#include "cli/output.h"
#include "proto/codec.h"

/* A line, if one is open. */
void rebuild_info_text(const struct filter_summary *filter);

/* A paragraph for each filter with something to say; nothing else. */
void rebuild_text(const struct admin_reply *reply);

/* Members of an open object: what documents tell, and what only a coordinator knows. */
void rebuild_json(struct json *json, const struct filter_summary *filter);
void rebuild_coordinator_json(struct json *json, const struct filter_summary *filter);

#endif
