/* A disk of real files: the folder's names, the bytes in its files, and the opening of a folder
 * that must be ours alone. What the kernel refuses is said here, where the path and the reason are
 * known, with what an operator can do about it. */
#include "runtime/disk_files.h"

#include "base/heap.h"
#include "base/log.h"
#include "runtime/descriptor_table.h"
#include "runtime/file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { FOLDER_MODE = 0700, FILE_MODE = 0600, LOCK_MODE = 0600, PID_BYTES = 16 };

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789.-"
#define LOCK_NAME       "lock"
#define HALF_MARK       '~' /* the end of the name of a file that is not whole */

struct disk_files {
    struct disk disk;
    struct descriptor_table files;
    int folder; /* -1: not open */
    int lock;
    char path[PATH_MAX];
};

/* ---- what went wrong ---- */

static enum status status_of(int error)
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

static const char *remedy(int error)
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
                "cannot %s %s/%s: %s; %s", doing, path, name, strerror(error), remedy(error));
}

static enum status complain(const struct disk_files *self, const char *doing, const char *name,
                            int error)
{
    enum status status = status_of(error);

    if (status == STATUS_NO_SPACE) {
        complain_of_room(doing, self->path, name, error);
    } else {
        log_line(LOG_ERROR, "cannot %s %s/%s: %s; %s", doing, self->path, name, strerror(error),
                 remedy(error));
    }
    return status;
}

/* Of an open file, whose name the kernel knows. */
static enum status complain_of_file(const struct disk_files *self, const char *doing,
                                    int descriptor, int error)
{
    char path[32];
    char name[PATH_MAX];
    const char *slash;
    ssize_t size;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    size = readlink(path, name, sizeof name - 1);
    name[size > 0 ? size : 0] = '\0';
    slash = strrchr(name, '/');
    return complain(self, doing, slash != NULL ? slash + 1 : name, error);
}

/* ---- names in the folder ---- */

static bool name_valid(const char *name)
{
    size_t size = strlen(name);

    return size > 0 && size < DISK_NAME_BYTES && strspn(name, NAME_CHARACTERS) == size &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, LOCK_NAME) != 0;
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

static enum status each_file(struct disk_files *self,
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
        return complain(self, "list", ".", error);
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
    return error == 0 ? STATUS_OK : complain(self, "list", ".", error);
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

    return each_file(context, list_one, &listing);
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

    (void)snprintf(half, sizeof half, "%s%c", name, HALF_MARK);
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
        return complain(self, "create", name, errno);
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
        return errno == ENOENT ? STATUS_NOT_FOUND : complain(self, "open", name, errno);
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
    return errno == ENOENT ? STATUS_NOT_FOUND : complain(self, doing, name, errno);
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

    return fsync(self->folder) == 0 ? STATUS_OK : complain(self, "sync", ".", errno);
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
        return complain(self, "look for room in", ".", errno);
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
    assert(n > 0); /* 0 would shift by a negative number. */
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* ---- bytes of an open file ---- */

static enum status read_bytes(void *context, uint32_t file, uint64_t offset, void *into,
                              size_t size)
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
            return complain_of_file(self, "read", descriptor, errno);
        }
        if (got > 0) {
            place += got;
            offset += (uint64_t)got;
            size -= (size_t)got;
        }
    }
    return STATUS_OK;
}

/* A hint: refused means that reading takes longer. */
static void read_ahead(void *context, uint32_t file, uint64_t offset, uint64_t size)
{
    struct disk_files *self = context;

    if (offset <= INT64_MAX - size) {
        (void)posix_fadvise(descriptor_table_get(&self->files, file), (off_t)offset, (off_t)size,
                            POSIX_FADV_WILLNEED);
    }
}

static enum status write_bytes(void *context, uint32_t file, uint64_t offset, struct span bytes)
{
    struct disk_files *self = context;
    int descriptor = descriptor_table_get(&self->files, file);

    if (offset > INT64_MAX - bytes.size) {
        return complain_of_file(self, "write", descriptor, EFBIG);
    }
    while (bytes.size > 0) {
        ssize_t put = pwrite(descriptor, bytes.data, bytes.size, (off_t)offset);

        if (put < 0 && errno != EINTR) {
            return complain_of_file(self, "write", descriptor, errno);
        }
        if (put > 0) {
            offset += (uint64_t)put;
            bytes = span_of(bytes.data + put, bytes.size - (size_t)put);
        }
    }
    return STATUS_OK;
}

/* Never tried again after an error: the kernel forgets what it could not write, and says yes. */
static enum status sync_bytes(void *context, uint32_t file)
{
    struct disk_files *self = context;
    int descriptor = descriptor_table_get(&self->files, file);
    int rc;

    do {
        rc = fdatasync(descriptor);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? STATUS_OK : complain_of_file(self, "sync", descriptor, errno);
}

/* ---- opening the folder ---- */

static void init_disk(struct disk_files *self)
{
    self->disk = (struct disk){
        .context = self,
        .list = list,
        .create = create,
        .open = open_file,
        .close = close_file,
        .read = read_bytes,
        .write = write_bytes,
        .sync = sync_bytes,
        .rename = rename_file,
        .remove = remove_file,
        .sync_folder = sync_folder,
        .room = room,
        .ahead = read_ahead,
        .pause = pause_before,
    };
}

static enum status refuse(const char *path, const char *doing, int error)
{
    enum status status = status_of(error);

    log_line(LOG_ERROR, "data folder %s: cannot %s: %s; %s", path, doing, strerror(error),
             remedy(error));
    return status == STATUS_NO_SPACE || status == STATUS_NOMEM ? status : STATUS_IO;
}

/* Not its parents: where a disk is not mounted, data must not go elsewhere. */
static enum status open_folder(struct disk_files *self)
{
    int parent;

    if (mkdir(self->path, FOLDER_MODE) != 0 && errno != EEXIST) {
        return refuse(self->path, "make it", errno);
    }
    self->folder = open(self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->folder < 0) {
        return refuse(self->path, "open it", errno);
    }
    if (faccessat(self->folder, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        return refuse(self->path, "write to it", errno);
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

    self->lock = openat(self->folder, LOCK_NAME, flags, LOCK_MODE);
    if (self->lock < 0) {
        return refuse(self->path, "write to it", errno);
    }
    if (flock(self->lock, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? refuse_shared(self) : refuse(self->path, "lock it", errno);
    }
    /* The name is for people; a full disk may have no room for it. */
    if (ftruncate(self->lock, 0) != 0 || pwrite(self->lock, text, (size_t)size, 0) != size) {
        (void)!ftruncate(self->lock, 0);
    }
    return STATUS_OK;
}

static void remove_half(void *context, const char *name)
{
    const struct disk_files *self = context;

    if (name[strlen(name) - 1] == HALF_MARK) {
        (void)unlinkat(self->folder, name, 0);
    }
}

/* Its parent must be there: as in open_folder(). */
static enum status check_parent(const char *path)
{
    return file_check_writable(path) == STATUS_OK ? STATUS_OK : refuse(path, "make it", errno);
}

enum status disk_files_check(const char *path)
{
    char plain[PATH_MAX];
    size_t size = strlen(path);
    struct stat about;

    if (size == 0 || size >= sizeof plain) {
        return refuse(path, "open it", size == 0 ? ENOENT : ENAMETOOLONG);
    }
    memcpy(plain, path, size + 1);
    while (size > 1 && plain[size - 1] == '/') { /* Else its parent would be itself. */
        plain[--size] = '\0';
    }
    if (stat(plain, &about) != 0) {
        return errno == ENOENT ? check_parent(plain) : refuse(path, "open it", errno);
    }
    if (!S_ISDIR(about.st_mode)) {
        return refuse(path, "open it", ENOTDIR);
    }
    return faccessat(AT_FDCWD, plain, R_OK | W_OK | X_OK, AT_EACCESS) == 0
               ? STATUS_OK
               : refuse(path, "write to it", errno);
}

enum status disk_files_open(const char *path, struct disk_files **out)
{
    struct disk_files *self = heap_zalloc(1, sizeof *self);
    enum status status;

    assert(path != NULL && path[0] != '\0' && *out == NULL);
    if (self == NULL) {
        log_line(LOG_ERROR, "data folder %s: out of memory", path);
        return STATUS_NOMEM;
    }
    self->folder = -1;
    self->lock = -1;
    descriptor_table_init(&self->files);
    init_disk(self);
    if ((size_t)snprintf(self->path, sizeof self->path, "%s", path) >= sizeof self->path) {
        status = refuse(self->path, "open it", ENAMETOOLONG);
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
    status = each_file(self, remove_half, self);
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
