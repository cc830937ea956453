/* backup_verify.h - `orbloom backup verify`: is a backup good, and what is in it?
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_COMMANDS_BACKUP_VERIFY_H
#define ORBLOOM_CLI_COMMANDS_BACKUP_VERIFY_H

#include <stdbool.h>

/* The exit code. Files with a passphrase, or a cluster key, that are to open its secrets: NULL:
 * none. */
int backup_verify(const char *path, const char *passphrase_file, const char *cluster_key,
                  bool json);

#endif
