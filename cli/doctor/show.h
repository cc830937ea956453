/* show.h - findings as people and programs read them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_DOCTOR_SHOW_H
#define ORBLOOM_CLI_DOCTOR_SHOW_H

#include "cli/doctor/findings.h"
#include "cli/doctor/gathered.h"
#include "cli/output.h"

/* A line a finding, a line for each thing that was not looked at, and one that sums up. */
void doctor_show_text(const struct gathered *gathered, const struct findings *findings);

/* An object, named where it is a member. */
void doctor_show_json(struct json *json, const char *name, const struct gathered *gathered,
                      const struct findings *findings);

#endif
