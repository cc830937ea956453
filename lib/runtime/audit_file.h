/* audit_file.h - the file that the audit log is written to.
 *
 * Lines are appended, each by one write(), to a file of mode 600, which is made where there is
 * none. A pipe or device that would block takes no line.
 *
 * Errors:  STATUS_IO, STATUS_INVALID, STATUS_NOMEM: logged with the remedy. A line that can't be
 *          written is logged, at most once a second.
 * Owner:   audit_file_open()'s caller calls audit_file_close().
 * Threads: the loop's, but for the sink's write(), which may run on a lane's at the same time.
 */
#ifndef ORBLOOM_RUNTIME_AUDIT_FILE_H
#define ORBLOOM_RUNTIME_AUDIT_FILE_H

#include "base/telemetry/audit_log.h"

struct audit_file;

/* `path` is borrowed. */
MUST_USE enum status audit_file_open(const char *path, struct audit_file **out);

/* Could it be opened? Nothing is made or written. */
MUST_USE enum status audit_file_check(const char *path);

/* What is there under its path by now, as after a rotation. On error all goes on as before. */
MUST_USE enum status audit_file_reopen(struct audit_file *self);
void audit_file_close(struct audit_file **file);

const struct audit_sink *audit_file_sink(const struct audit_file *self);

#endif
