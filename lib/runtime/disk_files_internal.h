/* disk_files_internal.h - what the files of disk_files share; no one else includes it. */
#ifndef ORBLOOM_RUNTIME_DISK_FILES_INTERNAL_H
#define ORBLOOM_RUNTIME_DISK_FILES_INTERNAL_H

#include "runtime/descriptor_table.h"
#include "runtime/disk_files.h"

#include <limits.h>
#include <stdbool.h>

#define DISK_FILES_LOCK "lock"
#define DISK_FILES_HALF '~' /* the end of the name of a file that is not whole */

struct disk_files {
    struct disk disk;
    struct descriptor_table files;
    int folder; /* -1: not open */
    int lock;
    char path[PATH_MAX];
};

/* Fill self->disk. */
void disk_files_init(struct disk_files *self);

/* Tell each plain file's name, of whatever form. `visit` may remove it. */
MUST_USE enum status disk_files_each(struct disk_files *self,
                                     void (*visit)(void *argument, const char *name),
                                     void *argument);

/* NO_SPACE, NOMEM or IO. */
enum status disk_files_status(int error);

const char *disk_files_remedy(int error);

/* Say "cannot DOING PATH/NAME: ERROR; REMEDY"; returns its status. */
enum status disk_files_complain(const struct disk_files *self, const char *doing, const char *name,
                                int error);

/* As struct disk has them. */
MUST_USE enum status disk_files_read(void *context, uint32_t file, uint64_t offset, void *into,
                                     size_t size);
MUST_USE enum status disk_files_write(void *context, uint32_t file, uint64_t offset,
                                      struct span bytes);
MUST_USE enum status disk_files_sync(void *context, uint32_t file);

#endif
