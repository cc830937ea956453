/* secret_file.h - secrets that commands read from files: cluster keys, tokens.
 *
 * Errors:  printed as those of commands are; the status is returned.
 * Owner:   what the parser has taken is the caller's to wipe.
 */
#ifndef ORBLOOM_CLI_SECRET_FILE_H
#define ORBLOOM_CLI_SECRET_FILE_H

#include "runtime/file.h"

MUST_USE enum status secret_file_read(const struct file_secret *secret, const char *path,
                                      file_parse_fn parse, void *context);

#endif
