/* load.h - filters that are being loaded from a dump, as `info` and `status` print them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_LOAD_H
#define ORBLOOM_CLI_SHOW_LOAD_H

#include "cli/output.h"
#include "proto/codec.h"

bool load_is_on(const struct filter_summary *filter);

/* A line, if it is. */
void load_info_text(const struct filter_summary *filter);

/* A paragraph for each filter that is; nothing else. */
void load_text(const struct admin_reply *reply);

/* Members of an open object. */
void load_json(struct json *json, const struct filter_summary *filter);

#endif
