/* operator.h - the command line, used as an operator would: `orbloom ...` as a process of its own.
 *
 * What it says goes to DIR/operator, of all commands.
 *
 * Errors:  the command's exit status; said in the journal when it could not be started.
 * Threads: any; it waits for the command's end.
 */
#ifndef ORBLOOM_TESTS_TORTURE_OPERATOR_H
#define ORBLOOM_TESTS_TORTURE_OPERATOR_H

#include "tests/torture/cluster.h"

enum { OPERATOR_MAX_WORDS = 16 };

/* `words` after the program's name, up to a NULL. Returns the exit status. */
int operator_run(const struct cluster *cluster, const char *const words[OPERATOR_MAX_WORDS]);

#endif
