/* lives.h - --confirmed-off: from the names of nodes to the lives that they have now.
 *
 * Errors:  printed; the exit code is returned.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_LIVES_H
#define ORBLOOM_CLI_LIVES_H

#include "cli/flags.h"
#include "cli/life_names.h"

/* How help calls the value of such a flag. */
#define CMD_LIVES_RANGE "NODE[@INCARNATION],..."

/* Ask a coordinator which lives the nodes of `text` have, tell on stderr which ones are vouched
 * for, and put them into the request, which borrows them from `out`. NULL or "": none, and nobody
 * is asked. */
int cmd_lives_vouch(const struct flags_common *common, const char *text, struct life_names *out,
                    struct admin_request *request);

#endif
