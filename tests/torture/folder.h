/* folder.h - folders of data, copied, removed and put back.
 *
 * Work on big folders is a child process, so that nobody waits for it.
 *
 * Threads: the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_FOLDER_H
#define ORBLOOM_TESTS_TORTURE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A child at work; 0: none. */
typedef pid_t folder_job;

/* Make `to` a copy of `from`; both are paths of folders, `to` is replaced. */
folder_job folder_copy(const char *from, const char *to);

/* Empty a folder. */
folder_job folder_wipe(const char *path);

/* Has it ended? *good: with success. Waits for it, if told so. */
bool folder_done(folder_job *job, bool wait, bool *good);

void folder_remove(const char *path);
bool folder_is_empty(const char *path);
bool folder_absolute(const char *path, char *out, size_t size);

/* Bytes on the disk that a folder's file system has left. */
uint64_t folder_room(const char *path);

#endif
