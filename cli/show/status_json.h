/* status_json.h - what a coordinator tells of nodes and filters, as programs read it.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_STATUS_JSON_H
#define ORBLOOM_CLI_SHOW_STATUS_JSON_H

#include "cli/output.h"
#include "proto/codec.h"

/* An object, named where it is a member. */
void status_json(struct json *json, const char *name, const struct admin_reply *reply);

#endif
