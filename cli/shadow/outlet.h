/* outlet.h - text for a reader who may have stopped reading, whom nobody else is to wait for.
 *
 * Errors:  those of the stream stay in it (ferror).
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHADOW_OUTLET_H
#define ORBLOOM_CLI_SHADOW_OUTLET_H

#include "base/span.h"

#include <stdbool.h>
#include <stdio.h>

/* Waits so long at most until there is room. False: what found none is dropped, of a text that a
 * pipe takes at once (4 KiB) all. */
bool outlet_put(FILE *out, struct span text, int wait_ms);

#endif
