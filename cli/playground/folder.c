/* The folder: locked while it is in use, its key and its daemons' folders made, and removed if
 * it was temporary. */
#include "cli/playground/folder.h"

#include "cli/cmd.h"
#include "cli/keygen.h"
#include "runtime/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    NAME_ROOM = 64,     /* for "/coordinator/data/store.sqlite" behind the folder's path */
    SHOWN_BYTES = 4096, /* of a log */
    SHOWN_LINES = 8,
    OPEN_FOLDERS = 8,
    LOCK_PAUSE_MS = 20,
    LOCK_PAUSES = 100,
};

static enum status complain(const char *path, const char *remedy)
{
    (void)cmd_fail(STATUS_IO, "%s: %s; %s", path, strerror(errno), remedy);
    return STATUS_IO;
}

/* The path goes into configuration files and shell exports between quotes. */
static enum status check_path(const char *path)
{
    for (const char *c = path; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || strchr("\"\\'", *c) != NULL) {
            (void)cmd_fail(
                STATUS_INVALID,
                "--dir: a path with quotes, backslashes or control bytes; choose another");
            return STATUS_INVALID;
        }
    }
    if (strlen(path) + NAME_ROOM >= PLAYGROUND_PATH_BYTES) {
        (void)cmd_fail(STATUS_INVALID, "--dir: the path is too long; choose a shorter one");
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

static enum status make_temporary(struct playground_folder *self)
{
    const char *parent = getenv("TMPDIR");

    (void)snprintf(self->path, sizeof self->path, "%s/orbloom-playground-XXXXXX",
                   parent != NULL && parent[0] == '/' ? parent : "/tmp");
    if (mkdtemp(self->path) == NULL) {
        return complain(self->path, "give --dir DIR or set TMPDIR");
    }
    self->temporary = true;
    return STATUS_OK;
}

static enum status make_named(struct playground_folder *self, const char *dir)
{
    if (file_make_folder(dir) != STATUS_OK || realpath(dir, self->path) == NULL) {
        return complain(dir, "choose a folder that you may write to");
    }
    return STATUS_OK;
}

static enum status refuse_shared(const struct playground_folder *self)
{
    (void)cmd_fail(STATUS_EXISTS,
                   "%s is in use by another playground (process %ld); stop it, or choose another "
                   "--dir",
                   self->path, playground_pid(self, NULL));
    return STATUS_EXISTS;
}

/* Two playgrounds in one folder would share a store. The daemons of one that was killed have the
 * lock too, and are gone in a moment. */
static enum status lock_folder(struct playground_folder *self)
{
    char text[32];

    self->lock = open(self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (self->lock < 0) {
        return complain(self->path, "choose a folder that you may read");
    }
    for (unsigned i = 0; flock(self->lock, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK) {
            return complain(self->path, "choose a folder on a file system with locks");
        }
        if (i == LOCK_PAUSES) {
            return refuse_shared(self);
        }
        (void)poll(NULL, 0, LOCK_PAUSE_MS);
    }
    self->locked = true;
    (void)snprintf(text, sizeof text, "%ld\n", (long)getpid());
    return playground_write(self, NULL, "pid", text);
}

static enum status make_key(const struct playground_folder *self, const char *site,
                            const char *name, enum status (*make)(const char *path))
{
    char path[PLAYGROUND_PATH_BYTES];

    playground_path(self, site, name, path);
    if (make(path) != STATUS_OK && errno != EEXIST) {
        return complain(path, "choose a folder that you may write to");
    }
    return STATUS_OK;
}

enum status playground_make_keys(const struct playground_folder *self, const char *site)
{
    enum status status = make_key(self, site, "key", keygen_write);

    return status == STATUS_OK && site != NULL ? make_key(self, site, "site.key", keygen_write_site)
                                               : status;
}

enum status playground_folder_open(struct playground_folder *self, const char *dir)
{
    enum status status;

    *self = (struct playground_folder){.lock = -1};
    status = dir != NULL ? make_named(self, dir) : make_temporary(self);
    if (status == STATUS_OK) {
        status = check_path(self->path);
    }
    if (status == STATUS_OK) {
        status = lock_folder(self);
    }
    if (status == STATUS_OK) {
        playground_remove(self, NULL, "env");
    }
    if (status != STATUS_OK) {
        playground_folder_close(self);
    }
    return status;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void playground_folder_close(struct playground_folder *self)
{
    if (self->locked) {
        playground_remove(self, NULL, "pid");
        self->locked = false;
    }
    if (self->lock >= 0) {
        (void)close(self->lock);
        self->lock = -1;
    }
    if (self->temporary) {
        (void)nftw(self->path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
        self->temporary = false;
    }
}

void playground_path(const struct playground_folder *self, const char *process, const char *file,
                     char path[PLAYGROUND_PATH_BYTES])
{
    size_t size = strlen(self->path) + strlen(file) + 2 + (process != NULL ? strlen(process) : 0);
    char *end;

    assert(size < PLAYGROUND_PATH_BYTES); /* check_path() left room. */

    end = stpcpy(path, self->path);
    *end++ = '/';
    if (process != NULL) {
        end = stpcpy(end, process);
        *end++ = '/';
    }
    (void)stpcpy(end, file);
}

enum status playground_folder_make(const struct playground_folder *self, const char *process)
{
    char path[PLAYGROUND_PATH_BYTES];

    playground_path(self, process, "data", path);
    return file_make_folder(path) == STATUS_OK
               ? STATUS_OK
               : complain(path, "choose a folder that you may write to");
}

enum status playground_write(const struct playground_folder *self, const char *process,
                             const char *file, const char *text)
{
    char path[PLAYGROUND_PATH_BYTES];

    playground_path(self, process, file, path);
    return file_write(path, 0600, span_text(text)) == STATUS_OK
               ? STATUS_OK
               : complain(path, "is the disk full?");
}

long playground_pid(const struct playground_folder *self, const char *process)
{
    char path[PLAYGROUND_PATH_BYTES];
    long pid = 0;
    FILE *file;

    playground_path(self, process, "pid", path);
    file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%ld", &pid) != 1) {
            pid = 0;
        }
        (void)fclose(file);
    }
    return pid;
}

void playground_remove(const struct playground_folder *self, const char *process, const char *file)
{
    char path[PLAYGROUND_PATH_BYTES];

    playground_path(self, process, file, path);
    (void)unlink(path);
}

/* The start of the last lines of `text`. */
static const char *last_lines(const char *text, size_t size)
{
    const char *at = text + size;
    unsigned lines = 0;

    while (at > text && (at[-1] != '\n' || lines < SHOWN_LINES)) {
        at--;
        lines += at > text && at[-1] == '\n';
    }
    return at;
}

void playground_show_log(const struct playground_folder *self, const char *process)
{
    char path[PLAYGROUND_PATH_BYTES];
    char text[SHOWN_BYTES + 1];
    FILE *log;
    size_t size;

    playground_path(self, process, "log", path);
    log = fopen(path, "re");
    if (log == NULL) {
        return;
    }
    if (fseek(log, -SHOWN_BYTES, SEEK_END) != 0) {
        rewind(log);
    }
    size = fread(text, 1, SHOWN_BYTES, log);
    text[size] = '\0';
    (void)fclose(log);
    (void)fprintf(stderr, "last lines of %s:\n%s", path, last_lines(text, size));
}
