/* machine.h - the settings of the machine that this process runs on, as its kernel tells them.
 *
 * Errors:  what is not told has a value of its own, see struct machine.
 * Threads: any.
 */
#ifndef ORBLOOM_CLI_DOCTOR_MACHINE_H
#define ORBLOOM_CLI_DOCTOR_MACHINE_H

#include "cli/doctor/gathered.h"

void machine_look(struct machine *out);

/* The marked word of "always [madvise] never"; "" without one. Returns `choice`. */
const char *machine_choice(const char *line, char choice[MACHINE_TEXT_BYTES]);

#endif
