/* file_name.h - names of numbered files: a prefix and 16 hex digits, "run-00000000000000ff".
 *
 * One number has one name and no other text is one, so that a folder's files can be told apart.
 *
 * Threads: any; pure.
 */
#ifndef ORBLOOM_LOG_FILE_NAME_H
#define ORBLOOM_LOG_FILE_NAME_H

#include "base/disk.h"

#include <stdbool.h>

/* What is no file of ours and says such a number, or a higher one, is not counted on from. */
#define FILE_NUMBER_MAX (UINT64_C(1) << 62)

void file_name_put(const char *prefix, uint64_t number, char name[DISK_NAME_BYTES]);

/* Is it such a name? */
bool file_name_parse(const char *prefix, const char *name, uint64_t *number);

#endif
