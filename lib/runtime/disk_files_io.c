/* Reading, writing and syncing open files for disk_files.h, and what an operator is told when
 * that fails. */
#include "base/log.h"
#include "runtime/disk_files_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum status disk_files_status(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return STATUS_NO_SPACE;
    case ENOMEM:
        return STATUS_NOMEM;
    default:
        return STATUS_IO;
    }
}

const char *disk_files_remedy(int error)
{
    switch (error) {
    case ENOENT:
        return "make its parent folder first, or correct the path";
    case EACCES:
    case EPERM:
        return "this process's user must own the folder and may enter those above";
    case EROFS:
        return "mount its file system for writing, or choose another folder";
    case ENOTDIR:
        return "choose a folder; the path, or a part of it, is a file";
    case ELOOP:
        return "remove the symbolic link that is there";
    case ENOSPC:
    case EDQUOT:
        return "make room on its disk";
    case EFBIG:
        return "raise the limit on the size of files (ulimit -f)";
    case EMFILE:
    case ENFILE:
        return "raise the limit of open files (ulimit -n)";
    case ENOLCK:
        return "choose a file system with locks";
    case ENAMETOOLONG:
        return "choose a shorter path";
    default:
        return "see the system log";
    }
}

/* What needs room is tried again and again: once a second is enough. */
static void complain_of_room(const char *doing, const char *path, const char *name, int error)
{
    static _Thread_local struct log_limit limit;
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    log_limited(&limit, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000, LOG_ERROR,
                "cannot %s %s/%s: %s; %s", doing, path, name, strerror(error),
                disk_files_remedy(error));
}

enum status disk_files_complain(const struct disk_files *self, const char *doing, const char *name,
                                int error)
{
    enum status status = disk_files_status(error);

    if (status == STATUS_NO_SPACE) {
        complain_of_room(doing, self->path, name, error);
    } else {
        log_line(LOG_ERROR, "cannot %s %s/%s: %s; %s", doing, self->path, name, strerror(error),
                 disk_files_remedy(error));
    }
    return status;
}

/* Of an open file, whose name the kernel knows. */
static enum status complain(const struct disk_files *self, const char *doing, int descriptor,
                            int error)
{
    char path[32];
    char name[PATH_MAX];
    const char *slash;
    ssize_t size;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    size = readlink(path, name, sizeof name - 1);
    name[size > 0 ? size : 0] = '\0';
    slash = strrchr(name, '/');
    return disk_files_complain(self, doing, slash != NULL ? slash + 1 : name, error);
}

enum status disk_files_read(void *context, uint32_t file, uint64_t offset, void *into, size_t size)
{
    struct disk_files *self = context;
    int descriptor = descriptor_table_get(&self->files, file);
    uint8_t *place = into;

    if (offset > INT64_MAX - size) {
        return STATUS_MALFORMED;
    }
    while (size > 0) {
        ssize_t got = pread(descriptor, place, size, (off_t)offset);

        if (got == 0) {
            return STATUS_MALFORMED;
        }
        if (got < 0 && errno != EINTR) {
            return complain(self, "read", descriptor, errno);
        }
        if (got > 0) {
            place += got;
            offset += (uint64_t)got;
            size -= (size_t)got;
        }
    }
    return STATUS_OK;
}

enum status disk_files_write(void *context, uint32_t file, uint64_t offset, struct span bytes)
{
    struct disk_files *self = context;
    int descriptor = descriptor_table_get(&self->files, file);

    if (offset > INT64_MAX - bytes.size) {
        return complain(self, "write", descriptor, EFBIG);
    }
    while (bytes.size > 0) {
        ssize_t put = pwrite(descriptor, bytes.data, bytes.size, (off_t)offset);

        if (put < 0 && errno != EINTR) {
            return complain(self, "write", descriptor, errno);
        }
        if (put > 0) {
            offset += (uint64_t)put;
            bytes = span_of(bytes.data + put, bytes.size - (size_t)put);
        }
    }
    return STATUS_OK;
}

/* Never tried again after an error: the kernel forgets what it could not write, and says yes. */
enum status disk_files_sync(void *context, uint32_t file)
{
    struct disk_files *self = context;
    int descriptor = descriptor_table_get(&self->files, file);
    int rc;

    do {
        rc = fdatasync(descriptor);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? STATUS_OK : complain(self, "sync", descriptor, errno);
}
