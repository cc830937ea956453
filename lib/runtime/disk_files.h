/* disk_files.h - a struct disk (base/disk.h) of real files: one folder, one process at a time.
 *
 * The folder is locked by flock() on its file "lock", which names the process; the lock ends with
 * the process, however that ends. Files are for their owner alone (mode 0600), and no name leads
 * out of the folder: symbolic links are not followed. What is no name of base/disk.h is left
 * alone and not listed, and so are folders, links and the lock.
 *
 * A file that is being created is called "NAME~" until it is whole: whoever is killed there leaves
 * nothing that is listed, and the next to open the folder removes it.
 *
 * Errors:  as base/disk.h; said in the log where the reason is known, apart from NOT_FOUND and
 *          EXISTS. No room is also what a quota or a limit on the size of files leaves none of.
 * Owner:   disk_files_open()'s caller calls disk_files_close(), which closes all files.
 * Threads: the disk's functions any; open and close one.
 */
#ifndef ORBLOOM_RUNTIME_DISK_FILES_H
#define ORBLOOM_RUNTIME_DISK_FILES_H

#include "base/disk.h"

struct disk_files;

/* Make the folder if there is none in its parent, lock it, see that it can be written to.
 * STATUS_EXISTS: another process uses it; STATUS_IO, STATUS_NO_SPACE, STATUS_NOMEM. All are
 * logged with the remedy. */
MUST_USE enum status disk_files_open(const char *path, struct disk_files **out);

/* Could it be opened, but for the lock? Nothing is made or written, and a process that uses it is
 * not minded. Errors as of disk_files_open(). */
MUST_USE enum status disk_files_check(const char *path);

void disk_files_close(struct disk_files **disk);

struct disk *disk_files_disk(struct disk_files *self);

#endif
