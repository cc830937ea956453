/* A file is taken for another one by what stat() tells, which follows links: so a link that is
 * turned elsewhere counts, too. It is looked at before it is read: what is written meanwhile shows
 * at the next look. */
#include "runtime/tls/source.h"

#include "base/log.h"

#include <string.h>
#include <sys/stat.h>

static void mark(const char *path, struct tls_mark *out)
{
    struct stat about;

    memset(out, 0, sizeof *out);
    if (path[0] != '\0' && stat(path, &about) == 0) {
        out->device = about.st_dev;
        out->inode = about.st_ino;
        out->size = about.st_size;
        out->changed = about.st_mtim;
        out->renamed = about.st_ctim;
    }
}

static void mark_all(const struct tls_files *files, struct tls_mark marks[TLS_SOURCE_FILES])
{
    mark(files->certificate, &marks[0]);
    mark(files->key, &marks[1]);
    mark(files->authority, &marks[2]);
}

static const char *wrong_time(const struct tls_identity *identity)
{
    return tls_identity_begins_s(identity) > 0 ? "is not valid yet" : "has expired";
}

/* Clients accept the one that is shown, and would refuse this. */
static bool is_worse(const struct tls_source *self, const struct tls_identity *fresh)
{
    return !tls_identity_is_valid(fresh) && self->identity != NULL &&
           tls_identity_is_valid(self->identity);
}

static void refuse(struct tls_source *self, const struct tls_identity *fresh)
{
    int64_t begins_s = tls_identity_begins_s(fresh);

    if (begins_s <= 0 && tls_identity_is_valid(fresh)) {
        begins_s = 1; /* It has begun since it was judged. */
    }
    self->again_s = begins_s > 0 ? (int64_t)time(NULL) + begins_s : 0;
    log_line(LOG_ERROR,
             "does not take the tls_cert_file of %s: it %s, so that clients would refuse it, and "
             "the one that is shown is valid: %s; put a valid one in its place",
             tls_identity_about(fresh), wrong_time(fresh), tls_identity_about(self->identity));
}

static void announce(const struct tls_identity *fresh)
{
    log_line(LOG_INFO, "shows TLS clients the certificate of %s", tls_identity_about(fresh));
    if (!tls_identity_is_valid(fresh)) {
        log_line(LOG_WARN,
                 "the tls_cert_file %s, and clients will refuse it: %s; put a valid one in its "
                 "place",
                 wrong_time(fresh), tls_identity_about(fresh));
    }
}

enum status tls_source_read(struct tls_source *self, const struct tls_files *files)
{
    struct tls_identity *fresh = NULL;
    struct tls_mark marks[TLS_SOURCE_FILES];
    enum status status;

    mark_all(files, marks);
    status = tls_identity_read(files, &fresh);
    if (status != STATUS_OK) {
        return status;
    }
    if (is_worse(self, fresh)) {
        refuse(self, fresh);
        tls_identity_destroy(&fresh);
        return STATUS_INVALID;
    }
    announce(fresh);
    tls_identity_destroy(&self->identity);
    self->identity = fresh;
    self->files = *files;
    self->again_s = 0;
    memcpy(self->marks, marks, sizeof marks);
    return STATUS_OK;
}

static bool is_due(const struct tls_source *self, const struct tls_mark marks[TLS_SOURCE_FILES])
{
    bool changed = memcmp(marks, self->marks, sizeof self->marks) != 0;

    return changed || (self->again_s != 0 && (int64_t)time(NULL) >= self->again_s);
}

bool tls_source_look(struct tls_source *self)
{
    struct tls_mark marks[TLS_SOURCE_FILES];

    mark_all(&self->files, marks);
    if (self->identity == NULL || !is_due(self, marks)) {
        return false;
    }
    self->again_s = 0;
    if (tls_source_read(self, &self->files) == STATUS_OK) {
        return true;
    }
    memcpy(self->marks, marks, sizeof marks); /* It is said once. */
    log_line(LOG_WARN,
             "goes on with the former certificate of %s; the files are looked at again "
             "when they change%s",
             tls_identity_about(self->identity),
             self->again_s != 0 ? ", or the new one becomes valid" : "");
    return false;
}

void tls_source_fini(struct tls_source *self)
{
    tls_identity_destroy(&self->identity);
}
