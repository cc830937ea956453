/* keygen.h - making a cluster key, for `orbloom keygen` and the playground.
 *
 * Errors:  STATUS_IO; errno tells (EEXIST: the file is there and stays as it is).
 */
#ifndef ORBLOOM_CLI_KEYGEN_H
#define ORBLOOM_CLI_KEYGEN_H

#include "base/status.h"

/* A new file of mode 600 with 32 random bytes in hexadecimal. */
MUST_USE enum status keygen_write(const char *path);

#endif
