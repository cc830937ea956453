/* file.h - opening the SQLite file of a store: access, format, durability.
 *
 * Errors:  STATUS_IO with a logged reason that names the file and the remedy; STATUS_VERSION
 *          for a file of another format, also logged.
 * Owner:   the caller closes the connection, also after an error.
 */
#ifndef ORBLOOM_COORDINATOR_STORE_SQLITE_FILE_H
#define ORBLOOM_COORDINATOR_STORE_SQLITE_FILE_H

#include "base/status.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* Could it be opened, or made? Neither is done, and nobody who has it open is minded: it is looked
 * at as a file. */
MUST_USE enum status store_sqlite_file_check(const char *path);

MUST_USE enum status store_sqlite_file_open(const char *path, sqlite3 **connection);

/* Is one who finds the file locked to wait for a while, or to be refused at once? */
void store_sqlite_file_wait(sqlite3 *connection, bool waits);

/* Why the last call on the connection failed, and the remedy. */
void store_sqlite_file_explain(sqlite3 *connection, char *text, size_t size);

/* Log why the last call on the connection failed, with the remedy. Always STATUS_IO. */
enum status store_sqlite_file_refuse(const char *path, sqlite3 *connection, const char *doing);

#endif
