/* The part is locked while it is written, so that of two that are started one ends at once. */
#include "cli/backup/output.h"

#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE = 0600, ALL_MODES = 07777 };

bool output_is_pipe(const struct output *self)
{
    return self->part[0] == '\0';
}

static bool is_empty(FILE *file)
{
    struct stat about;

    return fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0;
}

/* What is there is a backup, or a file without anything in it as mktemp makes, or nothing is. */
static enum status check_place(const char *path)
{
    uint8_t head[BACKUP_MAGIC_BYTES] = {0};
    FILE *file = fopen(path, "rb");
    bool empty;
    size_t size;

    if (file == NULL && errno == ENOENT) {
        return STATUS_OK;
    }
    if (file == NULL) {
        (void)cmd_fail(STATUS_IO, "%s: %s; choose another file", path, strerror(errno));
        return STATUS_IO;
    }
    size = fread(head, 1, sizeof head, file);
    empty = is_empty(file);
    (void)fclose(file);
    if (empty) {
        return STATUS_OK;
    }
    if (size == sizeof head && memcmp(head, backup_magic, sizeof head - 1) == 0) {
        return STATUS_OK;
    }
    (void)cmd_fail(STATUS_EXISTS,
                   "%s exists and is not written over, as it is no backup of filters; choose "
                   "another file",
                   path);
    return STATUS_EXISTS;
}

/* Who had the lock until now may have given it its other name. */
static bool is_named(const struct output *self)
{
    struct stat ours;
    struct stat there;

    return fstat(self->descriptor, &ours) == 0 && stat(self->part, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* Nobody else can have written it, nor can write it. */
static enum status check_owner(const struct output *self)
{
    struct stat about;

    if (fstat(self->descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
        about.st_uid == geteuid() && (about.st_mode & ALL_MODES & ~(mode_t)MODE) == 0) {
        return STATUS_OK;
    }
    (void)cmd_fail(STATUS_EXISTS,
                   "%s is not a file of this user's own with mode 600, so others may have written "
                   "it; remove it, and choose a folder that others can't write to",
                   self->part);
    return STATUS_EXISTS;
}

static enum status open_part(struct output *self)
{
    self->descriptor = open(self->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, MODE);
    if (self->descriptor < 0) {
        (void)cmd_fail(STATUS_IO, "%s: %s; choose a folder that you may write to", self->part,
                       strerror(errno));
        return STATUS_IO;
    }
    if (check_owner(self) != STATUS_OK) {
        return STATUS_EXISTS;
    }
    self->locked = flock(self->descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!self->locked || !is_named(self)) {
        (void)cmd_fail(STATUS_CONFLICT, "%s: another backup into this file is under way",
                       self->part);
        return STATUS_CONFLICT;
    }
    return STATUS_OK;
}

enum status output_open(struct output *self, const char *path)
{
    enum status status;
    int size;

    *self = (struct output){.path = path, .descriptor = -1};
    if (strcmp(path, "-") == 0) {
        self->descriptor = STDOUT_FILENO;
        return STATUS_OK;
    }
    if (path[0] == '\0') {
        (void)cmd_fail(STATUS_USAGE, "FILE is empty: name the file to write, or - for a pipe");
        return STATUS_USAGE;
    }
    size = snprintf(self->part, sizeof self->part, "%s.part", path);
    if (size < 0 || (size_t)size >= sizeof self->part) {
        (void)cmd_fail(STATUS_USAGE, "%.60s...: the name is too long", path);
        return STATUS_USAGE;
    }
    status = check_place(path);
    return status == STATUS_OK ? open_part(self) : status;
}

bool output_has_part(const struct output *self)
{
    struct stat about;

    return !output_is_pipe(self) && fstat(self->descriptor, &about) == 0 && about.st_size > 0;
}

void output_forget(struct output *self)
{
    if (self->locked && is_named(self)) {
        (void)unlink(self->part);
    }
}

void output_close(struct output *self)
{
    if (self->descriptor >= 0 && !output_is_pipe(self)) {
        if (!output_has_part(self)) {
            output_forget(self); /* Nothing came of it. */
        }
        (void)close(self->descriptor);
    }
    self->descriptor = -1;
}

static enum status explain(const struct output *self)
{
    if (output_is_pipe(self)) {
        (void)cmd_fail(STATUS_IO, "standard output: %s", strerror(errno));
    } else {
        (void)cmd_fail(STATUS_IO,
                       "%s: %s; what is whole of it stays, and the same command goes on with that "
                       "once there is room",
                       self->part, strerror(errno));
    }
    return STATUS_IO;
}

enum status output_cut(struct output *self, uint64_t bytes)
{
    self->bytes = bytes;
    return output_is_pipe(self) || (ftruncate(self->descriptor, (off_t)bytes) == 0 &&
                                    lseek(self->descriptor, (off_t)bytes, SEEK_SET) == (off_t)bytes)
               ? STATUS_OK
               : explain(self);
}

enum status output_write(struct output *self, struct backup_writer *writer)
{
    struct span rest = buffer_span(&writer->out);

    while (rest.size > 0) {
        ssize_t written = write(self->descriptor, rest.data, rest.size);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return explain(self);
        }
        rest = span_of(rest.data + written, rest.size - (size_t)written);
        self->bytes += (uint64_t)written;
    }
    buffer_clear(&writer->out);
    return STATUS_OK;
}

/* A rename is durable only when the folder that holds the name is. */
static bool sync_folder(const char *path)
{
    char copy[PATH_MAX];
    int folder;
    bool good;

    (void)snprintf(copy, sizeof copy, "%s", path);
    folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = folder >= 0 && fsync(folder) == 0;
    if (folder >= 0) {
        (void)close(folder);
    }
    return good;
}

enum status output_finish(struct output *self)
{
    if (output_is_pipe(self)) {
        return STATUS_OK;
    }
    return fsync(self->descriptor) == 0 && rename(self->part, self->path) == 0 &&
                   sync_folder(self->path)
               ? STATUS_OK
               : explain(self);
}
