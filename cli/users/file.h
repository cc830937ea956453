/* file.h - users as an operator describes them in a file:
 *
 *     users = ({ name = "crawler"; rights = ("rw crawl:*", "r shared:*"); create = "on";
 *                limits = { keys_per_s = "2M"; filters = 100; bytes = "8GiB"; connections = 500;
 *                           in_flight = "16MiB"; };
 *                tls_subject = "CN=crawler"; role = "client"; });
 *
 * What is left out is what it is without: no rights, no limits, role client. Tokens and keys are no
 * part of it.
 *
 * Errors:  printed; STATUS_INVALID, STATUS_IO, STATUS_NOMEM, STATUS_TOO_LARGE.
 * Owner:   user_list_fini() frees what a file gives.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_USERS_FILE_H
#define ORBLOOM_CLI_USERS_FILE_H

#include "map/access/users.h"

/* In order of names; ids are 0. */
MUST_USE enum status user_file_read(const char *path, struct user_list *out);

/* One setting of a user, as the file names it ("rights", "limits.bytes"), whose value is `text`.
 * `reason`: of USER_REASON_BYTES. */
enum { USER_REASON_BYTES = 512 };
MUST_USE enum status user_file_set(struct user *user, const char *name, const char *text,
                                   char *reason);

#endif
