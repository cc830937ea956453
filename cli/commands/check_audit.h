/* check_audit.h - every key through every router and every set of replica slots.
 *
 * An acknowledged key must be found whichever replicas are asked: W + R > N. An audit asks all
 * of them and prints each answer "absent" with the set and the router that gave it. A set with
 * a replica that is not FULL, or does not answer, is not sure: counted as unknown. One that has
 * not answered anything for some batches is not asked again, so that it costs little.
 *
 * Errors:  printed; the exit code is returned: CMD_OK when every answer was "present".
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_COMMANDS_CHECK_AUDIT_H
#define ORBLOOM_CLI_COMMANDS_CHECK_AUDIT_H

#include "cli/commands/check_sets.h"
#include "cli/stream.h"

/* `sets` is filled when it says "all". */
int audit_run(const struct stream *stream, struct check_sets *sets, char *const *files,
              size_t nfiles);

#endif
