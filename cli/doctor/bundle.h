/* bundle.h - all that was gathered and judged as one file, for whoever is asked for help.
 *
 * It holds what `status`, `site` and `stats` show: names, addresses, sizes and counts. No key, no
 * password or token, no credential is ever gathered.
 *
 * Errors:  printed; STATUS_EXISTS: there is such a file; STATUS_IO, STATUS_NOMEM.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_DOCTOR_BUNDLE_H
#define ORBLOOM_CLI_DOCTOR_BUNDLE_H

#include "cli/doctor/findings.h"
#include "cli/doctor/gathered.h"

/* Could it be written? Nothing is made. */
MUST_USE enum status bundle_check(const char *path);

/* A new file of mode 600. */
MUST_USE enum status bundle_write(const char *path, const struct gathered *gathered,
                                  const struct findings *findings);

#endif
