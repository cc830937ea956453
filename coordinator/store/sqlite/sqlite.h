/* sqlite.h - a store in one SQLite file: full synchronous, one host.
 *
 * Errors:  STATUS_IO with a logged reason that names the file and the remedy; STATUS_VERSION
 *          for a file of another format; STATUS_NOMEM.
 * Owner:   store_sqlite_open()'s caller calls store_sqlite_close().
 */
#ifndef ORBLOOM_COORDINATOR_STORE_SQLITE_SQLITE_H
#define ORBLOOM_COORDINATOR_STORE_SQLITE_SQLITE_H

#include "coordinator/store/store.h"

/* `path`: created with its tables when it does not exist. */
MUST_USE enum status store_sqlite_open(const char *path, struct store **out);

void store_sqlite_close(struct store **store);

#endif
