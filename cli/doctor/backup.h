/* backup.h - a backup of the store, as it lies on this machine.
 *
 * Errors:  none: what is wrong with it is what is told.
 * Threads: any.
 */
#ifndef ORBLOOM_CLI_DOCTOR_BACKUP_H
#define ORBLOOM_CLI_DOCTOR_BACKUP_H

#include "cli/doctor/gathered.h"

/* `path` is borrowed by *out. */
void backup_look(const char *path, struct backup *out);

#endif
