/* window.h - time windows of filters, as `info` and `status` print them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_WINDOW_H
#define ORBLOOM_CLI_SHOW_WINDOW_H

#include "cli/output.h"
#include "proto/codec.h"

/* A line, if it has a window. */
void window_info_text(const struct filter_summary *filter);

/* A line for each filter that has one; nothing else. */
void window_text(const struct admin_reply *reply);

/* Members of an open object: what documents tell, and what only a coordinator knows. */
void window_json(struct json *json, const struct filter_summary *filter);
void window_coordinator_json(struct json *json, const struct filter_summary *filter);

#endif
