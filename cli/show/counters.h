/* counters.h - what a process counts, as programs read it.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_COUNTERS_H
#define ORBLOOM_CLI_SHOW_COUNTERS_H

#include "cli/output.h"
#include "proto/codec.h"

/* A member "counters" of an open object. */
void counters_json(struct json *json, const struct stats_reply *reply);

#endif
