/* file.h - whole small files, and folders.
 *
 * Errors:  STATUS_IO (errno tells), STATUS_TOO_LARGE, STATUS_NOMEM.
 * Threads: any.
 */
#ifndef ORBLOOM_RUNTIME_FILE_H
#define ORBLOOM_RUNTIME_FILE_H

#include "base/buffer.h"
#include "base/password.h"
#include "base/status.h"

/* Append the whole file to `out`, within its maximum. */
MUST_USE enum status file_read(const char *path, struct buffer *out);

/* Replace the file atomically: temporary, sync, rename, sync of the folder. A symbolic link stays,
 * and what it leads to is replaced; where root does it the file's owner stays, too, unless its
 * folder is everybody's. */
MUST_USE enum status file_write(const char *path, unsigned mode, struct span content);

/* The same for a file that must not exist yet: STATUS_IO with EEXIST if it does. */
MUST_USE enum status file_make(const char *path, unsigned mode, struct span content);

/* Could this process write to the file, or make it where there is none? Nothing is made or changed.
 * Not so: STATUS_IO. */
MUST_USE enum status file_check_writable(const char *path);

/* Could it put another file, or a socket, in the place of what is there, if anything? */
MUST_USE enum status file_check_replaceable(const char *path);

/* mkdir -p, mode 0700. */
MUST_USE enum status file_make_folder(const char *path);

/* Makes something of a file's content, which is wiped afterwards. Not OK: it may say what is wrong
 * in `reason`, of `size` bytes, and must not quote a secret there; else file_secret.form tells. */
typedef enum status (*file_parse_fn)(void *context, struct span content, char *reason, size_t size);

/* What a secret file is, for those who read what is wrong with it. */
struct file_secret {
    const char *what;   /* "the cluster key file" */
    const char *form;   /* "it must hold ..." */
    const char *remedy; /* how to make one */
};

extern const struct file_secret file_cluster_key;
extern const struct file_secret file_site_key; /* of a site's links: see map/site_key.h */

enum { FILE_REASON_BYTES = 512 };

/* Read a secret; logs what is wrong and how to make one. A file that anyone but its owner may use
 * is refused: STATUS_INVALID; but one of the process' own groups may read it, and so may whom
 * systemd has handed it to ($CREDENTIALS_DIRECTORY). */
MUST_USE enum status file_read_secret(const struct file_secret *secret, const char *path,
                                      file_parse_fn parse, void *context);

/* ... a password, in "the resp_password_file". Not OK: `password` is as it was. */
MUST_USE enum status file_read_password(const char *what, const char *path,
                                        struct password *password);

/* The same as file_read_secret() for a library, which logs nothing: what would be logged is in
 * `why`. */
MUST_USE enum status file_read_secret_quietly(const struct file_secret *secret, const char *path,
                                              file_parse_fn parse, void *context,
                                              char why[FILE_REASON_BYTES]);

#endif
