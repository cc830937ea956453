/* The folder's side of a disk of real files: making, opening, renaming, removing, and when to
 * try again where a disk fails. Bytes: disk_files_io.c. */
#include "runtime/disk_files_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FILE_MODE = 0600 };

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789.-"

static bool name_valid(const char *name)
{
    size_t size = strlen(name);

    return size > 0 && size < DISK_NAME_BYTES && strspn(name, NAME_CHARACTERS) == size &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, DISK_FILES_LOCK) != 0;
}

static bool is_plain(int folder, const struct dirent *entry)
{
    struct stat about;

    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type == DT_REG;
    }
    return fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(about.st_mode);
}

enum status disk_files_each(struct disk_files *self,
                            void (*visit)(void *argument, const char *name), void *argument)
{
    /* A description of its own: places in a folder are shared by duplicates. */
    int descriptor = openat(self->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    const struct dirent *entry;
    int error;

    if (folder == NULL) {
        error = errno;
        if (descriptor >= 0) {
            (void)close(descriptor);
        }
        return disk_files_complain(self, "list", ".", error);
    }
    errno = 0;
    while ((entry = readdir(folder)) != NULL) {
        if (is_plain(self->folder, entry)) {
            visit(argument, entry->d_name);
        }
        errno = 0;
    }
    error = errno;
    (void)closedir(folder);
    return error == 0 ? STATUS_OK : disk_files_complain(self, "list", ".", error);
}

struct listing {
    void (*visit)(void *argument, const char *name);
    void *argument;
};

static void list_one(void *context, const char *name)
{
    const struct listing *listing = context;

    if (name_valid(name)) {
        listing->visit(listing->argument, name);
    }
}

static enum status list(void *context, void (*visit)(void *argument, const char *name),
                        void *argument)
{
    struct listing listing = {.visit = visit, .argument = argument};

    return disk_files_each(context, list_one, &listing);
}

/* Synced: what a crash leaves under the name has its size. 0 or an errno. */
static int reserve(int descriptor, uint64_t size)
{
    int error = 0;

    if (size > INT64_MAX) {
        return EFBIG;
    }
    if (size > 0) {
        do {
            error = posix_fallocate(descriptor, 0, (off_t)size);
        } while (error == EINTR);
    }
    return error == 0 && fsync(descriptor) != 0 ? errno : error;
}

/* It gets its name when it is whole. -1: errno tells. */
static int make_file(struct disk_files *self, const char *name, uint64_t size)
{
    const int flags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    char half[DISK_NAME_BYTES + 1];
    int descriptor;
    int error;

    (void)snprintf(half, sizeof half, "%s%c", name, DISK_FILES_HALF);
    descriptor = openat(self->folder, half, flags, FILE_MODE);
    if (descriptor < 0) {
        return -1;
    }
    error = reserve(descriptor, size);
    if (error == 0 && renameat(self->folder, half, self->folder, name) != 0) {
        error = errno;
    }
    if (error != 0) {
        (void)unlinkat(self->folder, half, 0);
        (void)close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

static enum status create(void *context, const char *name, uint64_t size, uint32_t *file)
{
    struct disk_files *self = context;
    struct stat about;
    enum status status;
    int descriptor;

    if (!name_valid(name)) {
        return STATUS_INVALID;
    }
    /* Nobody else makes this name between this look and the rename. */
    if (fstatat(self->folder, name, &about, AT_SYMLINK_NOFOLLOW) == 0) {
        return STATUS_EXISTS;
    }
    descriptor = make_file(self, name, size);
    if (descriptor < 0) {
        return disk_files_complain(self, "create", name, errno);
    }
    status = descriptor_table_put(&self->files, descriptor, file);
    if (status != STATUS_OK) {
        (void)unlinkat(self->folder, name, 0);
        (void)close(descriptor);
    }
    return status;
}

/* A pipe in the place of a file would hang us: O_NONBLOCK opens it, and then it is refused. */
static int open_plain(int folder, const char *name, uint64_t *size)
{
    int descriptor = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat about;
    int error = 0;

    if (descriptor < 0) {
        return -1;
    }
    if (fstat(descriptor, &about) != 0) {
        error = errno;
    } else if (!S_ISREG(about.st_mode)) {
        error = EINVAL;
    }
    if (error != 0) {
        (void)close(descriptor);
        errno = error;
        return -1;
    }
    *size = (uint64_t)about.st_size;
    return descriptor;
}

static enum status open_file(void *context, const char *name, uint32_t *file, uint64_t *size)
{
    struct disk_files *self = context;
    uint64_t found = 0;
    enum status status;
    int descriptor;

    if (!name_valid(name)) {
        return STATUS_INVALID;
    }
    descriptor = open_plain(self->folder, name, &found);
    if (descriptor < 0) {
        return errno == ENOENT ? STATUS_NOT_FOUND : disk_files_complain(self, "open", name, errno);
    }
    status = descriptor_table_put(&self->files, descriptor, file);
    if (status != STATUS_OK) {
        (void)close(descriptor);
        return status;
    }
    *size = found;
    return STATUS_OK;
}

static void close_file(void *context, uint32_t file)
{
    struct disk_files *self = context;

    (void)close(descriptor_table_take(&self->files, file));
}

static enum status renamed(const struct disk_files *self, int rc, const char *doing,
                           const char *name)
{
    if (rc == 0) {
        return STATUS_OK;
    }
    return errno == ENOENT ? STATUS_NOT_FOUND : disk_files_complain(self, doing, name, errno);
}

static enum status rename_file(void *context, const char *from, const char *to)
{
    struct disk_files *self = context;

    if (!name_valid(from) || !name_valid(to)) {
        return STATUS_INVALID;
    }
    return renamed(self, renameat(self->folder, from, self->folder, to), "rename", from);
}

static enum status remove_file(void *context, const char *name)
{
    struct disk_files *self = context;

    if (!name_valid(name)) {
        return STATUS_INVALID;
    }
    return renamed(self, unlinkat(self->folder, name, 0), "remove", name);
}

static enum status sync_folder(void *context)
{
    struct disk_files *self = context;

    return fsync(self->folder) == 0 ? STATUS_OK : disk_files_complain(self, "sync", ".", errno);
}

static enum status room(void *context, uint64_t *bytes)
{
    struct disk_files *self = context;
    struct statvfs about;
    int rc;

    do {
        rc = fstatvfs(self->folder, &about);
    } while (rc != 0 && errno == EINTR);
    if (rc != 0) {
        return disk_files_complain(self, "look for room in", ".", errno);
    }
    if (__builtin_mul_overflow((uint64_t)about.f_bavail, (uint64_t)about.f_frsize, bytes)) {
        *bytes = UINT64_MAX;
    }
    return STATUS_OK;
}

/* 0.1 s, and twice as long each further time, at most 10 s. */
static void pause_before(void *context, unsigned n)
{
    unsigned tenths = n < 7 ? 1u << (n - 1) : 100;
    struct timespec left = {.tv_sec = tenths / 10, .tv_nsec = tenths % 10 * 100000000L};

    (void)context;
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void disk_files_init(struct disk_files *self)
{
    self->disk = (struct disk){
        .context = self,
        .list = list,
        .create = create,
        .open = open_file,
        .close = close_file,
        .read = disk_files_read,
        .write = disk_files_write,
        .sync = disk_files_sync,
        .rename = rename_file,
        .remove = remove_file,
        .sync_folder = sync_folder,
        .room = room,
        .pause = pause_before,
    };
}
