/* The descriptor keeps its number for good: a reopened file takes its place in one step, while
 * another thread may be writing. */
#include "runtime/audit_file.h"

#include "base/heap.h"
#include "base/log.h"
#include "runtime/file.h"
#include "runtime/hub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct audit_file {
    struct audit_sink sink;
    const char *path;
    int descriptor;
    atomic_bool torn; /* the last line is there in part */
    struct log_limit limit;
};

static enum status refuse(const char *path, const char *reason, const char *remedy,
                          enum status status)
{
    log_line(LOG_ERROR, "cannot use audit_log %s: %s; %s", path, reason, remedy);
    return status;
}

static enum status check(const char *path, int descriptor)
{
    struct stat about;

    if (fstat(descriptor, &about) != 0) {
        return refuse(path, strerror(errno), "name another file", STATUS_IO);
    }
    if (S_ISREG(about.st_mode) && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return refuse(path, "others than its owner may use it", "chmod 600 it", STATUS_INVALID);
    }
    return STATUS_OK;
}

static int open_for_lines(const char *path, int more)
{
    return open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | more,
                S_IRUSR | S_IWUSR);
}

static enum status refuse_path(const char *path)
{
    return refuse(path, strerror(errno),
                  "name a file in a folder that is there and that this program's user may "
                  "write to, or leave the option out",
                  STATUS_IO);
}

enum status audit_file_check(const char *path)
{
    int descriptor = open_for_lines(path, 0);
    enum status status;

    if (descriptor < 0) {
        return errno == ENOENT && file_check_writable(path) == STATUS_OK ? STATUS_OK
                                                                         : refuse_path(path);
    }
    status = check(path, descriptor);
    (void)close(descriptor);
    return status;
}

/* The path as it is now. */
static enum status open_path(const char *path, int *out)
{
    int descriptor = open_for_lines(path, O_CREAT);
    enum status status;

    if (descriptor < 0) {
        return refuse_path(path);
    }
    status = check(path, descriptor);
    if (status != STATUS_OK) {
        (void)close(descriptor);
        return status;
    }
    *out = descriptor;
    return STATUS_OK;
}

/* A short one stays short: its rest must not come behind somebody else's line. */
static bool write_once(const struct audit_file *self, struct span bytes, ssize_t *written)
{
    do {
        *written = write(self->descriptor, bytes.data, bytes.size);
    } while (*written < 0 && errno == EINTR);
    return *written == (ssize_t)bytes.size;
}

static enum status write_line(void *context, struct span line)
{
    struct audit_file *self = context;
    ssize_t written = 0;

    if (atomic_load(&self->torn) && write_once(self, span_of("\n", 1), &written)) {
        atomic_store(&self->torn, false);
    }
    if (!atomic_load(&self->torn) && write_once(self, line, &written)) {
        return STATUS_OK;
    }
    if (written > 0) {
        atomic_store(&self->torn, true);
    }
    log_limited(&self->limit, hub_now_us(), LOG_ERROR,
                "cannot write to audit_log %s: %s; a line is lost: see to the room on its disk, or "
                "move it and send SIGHUP",
                self->path, written < 0 ? strerror(errno) : "only a part of the line fits");
    return STATUS_IO;
}

enum status audit_file_open(const char *path, struct audit_file **out)
{
    struct audit_file *self = heap_zalloc(1, sizeof *self);
    enum status status;

    if (self == NULL) {
        return refuse(path, "out of memory", "start again", STATUS_NOMEM);
    }
    self->path = path;
    self->sink = (struct audit_sink){.context = self, .write = write_line};
    status = open_path(path, &self->descriptor);
    if (status != STATUS_OK) {
        heap_free(self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

enum status audit_file_reopen(struct audit_file *self)
{
    int descriptor;
    enum status status = open_path(self->path, &descriptor);

    if (status != STATUS_OK) {
        return status;
    }
    if (dup3(descriptor, self->descriptor, O_CLOEXEC) < 0) {
        status = refuse(self->path, strerror(errno), "send SIGHUP again", STATUS_IO);
    } else {
        atomic_store(&self->torn, false);
        log_line(LOG_INFO, "audit_log %s is open anew", self->path);
    }
    (void)close(descriptor);
    return status;
}

void audit_file_close(struct audit_file **file)
{
    struct audit_file *self = *file;

    *file = NULL;
    if (self != NULL) {
        (void)close(self->descriptor);
        heap_free(self);
    }
}

const struct audit_sink *audit_file_sink(const struct audit_file *self)
{
    return &self->sink;
}
