/* shell_credential.h - a user's credential as a file: see map/access/credential.h for what it
 * holds.
 *
 * A file that anyone but its owner may use is refused, whichever bit of its mode it is.
 *
 * Errors:  STATUS_IO, STATUS_INVALID (its mode), STATUS_MALFORMED, STATUS_TOO_LARGE, STATUS_NOMEM;
 *          `why` says what is wrong and what to do.
 * Owner:   credential_wipe() when what was read is used up.
 * Threads: any.
 */
#ifndef ORBLOOM_CLIENT_SHELL_CREDENTIAL_H
#define ORBLOOM_CLIENT_SHELL_CREDENTIAL_H

#include "map/access/credential.h"
#include "runtime/file.h"

#define CREDENTIAL_VARIABLE "ORBLOOM_CREDENTIAL"

MUST_USE enum status credential_file_read(const char *path, struct credential *out,
                                          char why[FILE_REASON_BYTES]);

/* Of mode 600. `fresh`: there must be no such file yet; else it is replaced atomically, also one
 * that a symbolic link leads to. */
MUST_USE enum status credential_file_write(const char *path, bool fresh,
                                           const struct credential *credential,
                                           char why[FILE_REASON_BYTES]);

#endif
