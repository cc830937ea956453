/* expiry.h - when filters are dropped by themselves, as `info` and `status` print it.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_EXPIRY_H
#define ORBLOOM_CLI_SHOW_EXPIRY_H

#include "cli/output.h"
#include "proto/codec.h"

/* A line, if it has an expiry. */
void expiry_info_text(const struct filter_summary *filter);

/* A line for each filter that has one; nothing else. */
void expiry_text(const struct admin_reply *reply);

/* Members of an open object: what documents tell, and what only a coordinator knows. */
void expiry_json(struct json *json, const struct filter_summary *filter);
void expiry_coordinator_json(struct json *json, const struct filter_summary *filter);

#endif
