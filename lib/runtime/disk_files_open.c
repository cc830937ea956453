/* Opening a data folder for disk_files.h: it must be ours alone, so it is locked, and what a
 * crash left half made is removed. */
#include "base/heap.h"
#include "base/log.h"
#include "runtime/disk_files_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MODE = 0700, LOCK_MODE = 0600, PID_BYTES = 16 };

static enum status refuse(const struct disk_files *self, const char *doing, int error)
{
    enum status status = disk_files_status(error);

    log_line(LOG_ERROR, "data folder %s: cannot %s: %s; %s", self->path, doing, strerror(error),
             disk_files_remedy(error));
    return status == STATUS_NO_SPACE || status == STATUS_NOMEM ? status : STATUS_IO;
}

/* Not its parents: where a disk is not mounted, data must not go elsewhere. */
static enum status open_folder(struct disk_files *self)
{
    int parent;

    if (mkdir(self->path, FOLDER_MODE) != 0 && errno != EEXIST) {
        return refuse(self, "make it", errno);
    }
    self->folder = open(self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->folder < 0) {
        return refuse(self, "open it", errno);
    }
    if (faccessat(self->folder, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        return refuse(self, "write to it", errno);
    }
    /* What the folder will hold is durable only if its own name is; who may not read the parent
     * has not made the folder. */
    parent = openat(self->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0) {
        (void)fsync(parent);
        (void)close(parent);
    }
    return STATUS_OK;
}

static enum status refuse_shared(const struct disk_files *self)
{
    char text[PID_BYTES + 1] = "";
    ssize_t size = pread(self->lock, text, PID_BYTES, 0);
    long pid = size > 0 ? strtol(text, NULL, 10) : 0;

    if (pid > 0) {
        log_line(LOG_ERROR,
                 "data folder %s is in use by process %ld; stop it, or give each process a folder "
                 "of its own",
                 self->path, pid);
    } else {
        log_line(LOG_ERROR,
                 "data folder %s is in use by another process; find it with fuser and stop it, or "
                 "give each process a folder of its own",
                 self->path);
    }
    return STATUS_EXISTS;
}

/* The file stays when the lock ends: who removed it might remove another's. */
static enum status lock_folder(struct disk_files *self)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    char text[PID_BYTES];
    int size = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    self->lock = openat(self->folder, DISK_FILES_LOCK, flags, LOCK_MODE);
    if (self->lock < 0) {
        return refuse(self, "write to it", errno);
    }
    if (flock(self->lock, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? refuse_shared(self) : refuse(self, "lock it", errno);
    }
    /* The name is for people; a full disk may have no room for it. */
    if (ftruncate(self->lock, 0) != 0 || pwrite(self->lock, text, (size_t)size, 0) != size) {
        (void)ftruncate(self->lock, 0);
    }
    return STATUS_OK;
}

static void remove_half(void *context, const char *name)
{
    const struct disk_files *self = context;

    if (name[strlen(name) - 1] == DISK_FILES_HALF) {
        (void)unlinkat(self->folder, name, 0);
    }
}

enum status disk_files_open(const char *path, struct disk_files **out)
{
    struct disk_files *self = heap_zalloc(1, sizeof *self);
    enum status status;

    assert(*out == NULL);
    if (self == NULL) {
        log_line(LOG_ERROR, "data folder %s: out of memory", path);
        return STATUS_NOMEM;
    }
    self->folder = -1;
    self->lock = -1;
    descriptor_table_init(&self->files);
    disk_files_init(self);
    if ((size_t)snprintf(self->path, sizeof self->path, "%s", path) >= sizeof self->path) {
        status = refuse(self, "open it", ENAMETOOLONG);
        goto fail;
    }
    status = open_folder(self);
    if (status != STATUS_OK) {
        goto fail;
    }
    status = lock_folder(self);
    if (status != STATUS_OK) {
        goto fail;
    }
    status = disk_files_each(self, remove_half, self);
    if (status != STATUS_OK) {
        goto fail;
    }
    *out = self;
    return STATUS_OK;

fail:
    disk_files_close(&self);
    return status;
}

void disk_files_close(struct disk_files **disk)
{
    struct disk_files *self = *disk;

    *disk = NULL;
    if (self == NULL) {
        return;
    }
    descriptor_table_fini(&self->files);
    if (self->lock >= 0) {
        (void)close(self->lock);
    }
    if (self->folder >= 0) {
        (void)close(self->folder);
    }
    heap_free(self);
}

struct disk *disk_files_disk(struct disk_files *self)
{
    return &self->disk;
}
