/* Small files read and written whole: under a name only when they are durable, and secrets only
 * from files that no one else may read. */
#include "runtime/file.h"

#include "base/heap.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 4096, KEY_FILE_MAX_BYTES = 16384, REASON_BYTES = 160, FOLDER_MODE = 0700 };

/* Close without losing the reason of what failed before. */
static void close_quietly(int descriptor)
{
    int reason = errno;

    (void)close(descriptor);
    errno = reason;
}

static ssize_t read_chunk(int descriptor, uint8_t chunk[CHUNK_BYTES])
{
    ssize_t size;

    do {
        size = read(descriptor, chunk, CHUNK_BYTES);
    } while (size < 0 && errno == EINTR);
    return size;
}

static enum status read_all(int descriptor, struct buffer *out)
{
    uint8_t chunk[CHUNK_BYTES];
    enum status status = STATUS_OK;
    ssize_t size = 1;

    while (status == STATUS_OK && size > 0) {
        size = read_chunk(descriptor, chunk);
        if (size < 0) {
            return STATUS_IO;
        }
        status = buffer_append(out, span_of(chunk, (size_t)size));
    }
    return status;
}

/* A pipe in the place of a file would hang us: O_NONBLOCK opens it, and then it is refused. */
static int open_regular(const char *path, struct stat *about)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (descriptor < 0) {
        return -1;
    }
    if (fstat(descriptor, about) != 0) {
        close_quietly(descriptor);
        return -1;
    }
    if (!S_ISREG(about->st_mode)) {
        errno = S_ISDIR(about->st_mode) ? EISDIR : EINVAL;
        close_quietly(descriptor);
        return -1;
    }
    return descriptor;
}

enum status file_read(const char *path, struct buffer *out)
{
    size_t before = out->size;
    enum status status;
    struct stat about;
    int descriptor = open_regular(path, &about);

    if (descriptor < 0) {
        return STATUS_IO;
    }
    /* Before memory is taken for it. It may grow meanwhile. */
    status = (uint64_t)about.st_size <= out->max - before ? read_all(descriptor, out)
                                                          : STATUS_TOO_LARGE;
    close_quietly(descriptor);
    if (status != STATUS_OK) {
        out->size = before;
    }
    return status;
}

static bool write_all(int descriptor, struct span content)
{
    while (content.size > 0) {
        ssize_t size = write(descriptor, content.data, content.size);

        if (size < 0 && errno != EINTR) {
            return false;
        }
        if (size > 0) {
            content = span_of(content.data + size, content.size - (size_t)size);
        }
    }
    return true;
}

/* False: it is too long; errno tells. */
static bool folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);

    if (size >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(folder, slash == NULL ? "." : path, size > 0 ? size : 1);
    folder[size > 0 ? size : 1] = '\0';
    return true;
}

/* A rename is durable only when the folder that holds the name is. */
static enum status sync_folder_of(const char *path)
{
    char folder[PATH_MAX];
    int descriptor;
    int rc;

    if (!folder_of(path, folder)) {
        return STATUS_IO;
    }
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        return STATUS_IO;
    }
    rc = fsync(descriptor);
    close_quietly(descriptor);
    return rc == 0 ? STATUS_OK : STATUS_IO;
}

static bool is_everybodys(const char *path)
{
    char folder[PATH_MAX];
    struct stat about;

    return !folder_of(path, folder) || stat(folder, &about) != 0 || (about.st_mode & S_IWOTH) != 0;
}

/* Root replaces a user's file for that user, who has to read it still; but where everybody may have
 * put it there, nobody gets what is written. Who may not give files away has made it anew for
 * itself.
 */
static bool keep_owner(int descriptor, const char *path)
{
    struct stat old;

    return stat(path, &old) != 0 || old.st_uid == geteuid() || is_everybodys(path) ||
           fchown(descriptor, old.st_uid, old.st_gid) == 0 || errno == EPERM;
}

static bool fill(int descriptor, const char *path, unsigned mode, struct span content)
{
    bool filled = keep_owner(descriptor, path) && fchmod(descriptor, (mode_t)mode) == 0 &&
                  write_all(descriptor, content) && fsync(descriptor) == 0;

    close_quietly(descriptor);
    return filled;
}

/* A link, unlike a rename, fails where the name is taken. */
static bool give_name(const char *temporary, const char *path, bool replace)
{
    if (replace) {
        return rename(temporary, path) == 0;
    }
    if (link(temporary, path) != 0) {
        return false;
    }
    (void)unlink(temporary);
    return true;
}

static enum status put(const char *path, unsigned mode, struct span content, bool replace)
{
    char temporary[PATH_MAX];
    int size = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int descriptor;
    int reason;

    if (size < 0 || (size_t)size >= sizeof temporary) {
        errno = ENAMETOOLONG;
        return STATUS_IO;
    }
    descriptor = mkostemp(temporary, O_CLOEXEC);
    if (descriptor < 0) {
        return STATUS_IO;
    }
    if (!fill(descriptor, path, mode, content) || !give_name(temporary, path, replace)) {
        reason = errno;
        (void)unlink(temporary);
        errno = reason;
        return STATUS_IO;
    }
    return sync_folder_of(path);
}

/* A rename would put the file in the place of a link, and leave what it leads to as it was. A link
 * that leads nowhere is no file that could be lost. The kernel follows it first: it knows which
 * links in a folder of everybody's are not to be trusted, as realpath() does not. */
enum status file_write(const char *path, unsigned mode, struct span content)
{
    char real[PATH_MAX];
    struct stat about;

    if (stat(path, &about) == 0 && realpath(path, real) != NULL) {
        path = real;
    } else if (errno != ENOENT) {
        return STATUS_IO;
    }
    return put(path, mode, content, true);
}

enum status file_make(const char *path, unsigned mode, struct span content)
{
    return put(path, mode, content, false);
}

/* As who it acts for, which need not be who has started it. */
static enum status may(const char *path, int mode)
{
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 ? STATUS_OK : STATUS_IO;
}

enum status file_check_replaceable(const char *path)
{
    char folder[PATH_MAX];
    struct stat about;

    if (!folder_of(path, folder) || stat(folder, &about) != 0) {
        return STATUS_IO;
    }
    if (!S_ISDIR(about.st_mode)) {
        errno = ENOTDIR;
        return STATUS_IO;
    }
    if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        return STATUS_IO;
    }
    return may(folder, W_OK | X_OK);
}

enum status file_check_writable(const char *path)
{
    struct stat about;

    if (stat(path, &about) == 0) {
        errno = EISDIR;
        return S_ISDIR(about.st_mode) ? STATUS_IO : may(path, W_OK);
    }
    return errno == ENOENT ? file_check_replaceable(path) : STATUS_IO;
}

static enum status make_one_folder(const char *path)
{
    struct stat about;

    if (mkdir(path, FOLDER_MODE) == 0) {
        return STATUS_OK;
    }
    if (errno != EEXIST || stat(path, &about) != 0) {
        return STATUS_IO;
    }
    if (!S_ISDIR(about.st_mode)) {
        errno = ENOTDIR;
        return STATUS_IO;
    }
    return STATUS_OK;
}

enum status file_make_folder(const char *path)
{
    char prefix[PATH_MAX];
    size_t size = strlen(path);
    enum status status;

    if (size == 0 || size >= sizeof prefix) {
        errno = size == 0 ? ENOENT : ENAMETOOLONG;
        return STATUS_IO;
    }
    memcpy(prefix, path, size + 1);
    for (char *slash = strchr(prefix + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one_folder(prefix);
        *slash = '/';
        if (status != STATUS_OK) {
            return status;
        }
    }
    return make_one_folder(prefix);
}

const struct file_secret file_cluster_key = {
    .what = "the cluster key file",
    .form = "it must hold 1 to 8 keys of 64 hexadecimal digits, one a line",
    .remedy = "make one with: orbloom keygen FILE",
};

const struct file_secret file_site_key = {
    .what = "the site_key_file",
    .form = "it must hold the secret key of a site's links, on one line",
    .remedy = "make one with: orbloom keygen --site FILE",
};

/* ---- who may use a secret ---- */

static bool is_own_group(gid_t group)
{
    int count = getgroups(0, NULL);
    gid_t *groups = count > 0 ? heap_zalloc((size_t)count, sizeof *groups) : NULL;
    bool found = group == getegid();

    count = groups != NULL ? getgroups(count, groups) : 0;
    for (int i = 0; i < count && !found; i++) {
        found = groups[i] == group;
    }
    heap_free(groups);
    return found;
}

/* What systemd has put where this process alone gets in: root's, and the process may read it by an
 * access list, which shows as the group's right. */
static bool is_handed(const struct stat *about, const char *path)
{
    const char *folder = secure_getenv("CREDENTIALS_DIRECTORY");
    size_t size = folder != NULL ? strlen(folder) : 0;

    return size > 0 && strncmp(path, folder, size) == 0 && path[size] == '/' &&
           about->st_uid == 0 && about->st_gid == 0;
}

/* Root, who has given a file of its own to a group, as to that of the units, goes on using it. */
static bool is_given_by_root(const struct stat *about)
{
    return about->st_uid == 0 && geteuid() == 0;
}

/* The group may read it where that is the process' own, as volumes of Kubernetes have it. */
static bool is_secret(const struct stat *about, const char *path)
{
    if ((about->st_mode & (S_IWGRP | S_IXGRP | S_IRWXO)) != 0) {
        return false;
    }
    return (about->st_mode & S_IRGRP) == 0 || is_own_group(about->st_gid) ||
           is_given_by_root(about) || is_handed(about, path);
}

static enum status refuse_secret(const struct file_secret *secret, const char *path,
                                 const char *reason, enum status status,
                                 char why[FILE_REASON_BYTES])
{
    bool may_lack = status != STATUS_INVALID;

    (void)snprintf(why, FILE_REASON_BYTES, "cannot use %s %.200s: %s%s%s", secret->what, path,
                   reason, may_lack ? "; " : "", may_lack ? secret->remedy : "");
    return status;
}

/* Keys leave no copies behind in freed memory. */
static void wipe(struct buffer *secret)
{
    if (secret->data != NULL) {
        explicit_bzero(secret->data, secret->capacity);
    }
    buffer_fini(secret);
}

static enum status parse_secret(int descriptor, file_parse_fn parse, void *context, char *reason)
{
    enum status status;
    struct buffer text;

    buffer_init(&text, KEY_FILE_MAX_BYTES);
    status = read_all(descriptor, &text);
    if (status == STATUS_OK) {
        status = parse(context, buffer_span(&text), reason, REASON_BYTES);
    }
    wipe(&text);
    return status;
}

enum status file_read_secret_quietly(const struct file_secret *secret, const char *path,
                                     file_parse_fn parse, void *context,
                                     char why[FILE_REASON_BYTES])
{
    char reason[REASON_BYTES] = "";
    enum status status;
    struct stat about;
    int descriptor = open_regular(path, &about);

    why[0] = '\0';
    if (descriptor < 0) {
        return refuse_secret(secret, path, strerror(errno), STATUS_IO, why);
    }
    if (!is_secret(&about, path)) {
        close_quietly(descriptor);
        return refuse_secret(secret, path,
                             "others than its owner may use it; chmod 600 it, or 640 where its "
                             "group is one of this process' own",
                             STATUS_INVALID, why);
    }
    status = parse_secret(descriptor, parse, context, reason);
    if (status == STATUS_IO) {
        (void)snprintf(reason, sizeof reason, "%s", strerror(errno));
    } else if (status == STATUS_TOO_LARGE) {
        (void)snprintf(reason, sizeof reason, "it has more than %d bytes", KEY_FILE_MAX_BYTES);
    }
    if (status != STATUS_OK) {
        (void)refuse_secret(secret, path, reason[0] != '\0' ? reason : secret->form, status, why);
    }
    close_quietly(descriptor);
    return status;
}

enum status file_read_secret(const struct file_secret *secret, const char *path,
                             file_parse_fn parse, void *context)
{
    char why[FILE_REASON_BYTES];
    enum status status = file_read_secret_quietly(secret, path, parse, context, why);

    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "%s", why);
    }
    return status;
}

/* file_parse_fn */
static enum status parse_password(void *password, struct span text, char *reason, size_t size)
{
    (void)reason;
    (void)size;
    return password_read(password, text);
}

enum status file_read_password(const char *what, const char *path, struct password *password)
{
    const struct file_secret secret = {
        .what = what,
        .form = "it must hold one line of 1 to 512 bytes",
        .remedy = "make one with: (umask 077; openssl rand -hex 32 > FILE)",
    };

    return file_read_secret(&secret, path, parse_password, password);
}
