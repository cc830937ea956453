/* A file is taken for another one by what stat() tells, which follows links: so a link that is
 * turned elsewhere counts, too. It is looked at before it is read: what is written meanwhile shows
 * at the next look. */
#include "runtime/tls_source.h"

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
    log_line(LOG_INFO, "shows TLS clients the certificate of %s", tls_identity_about(fresh));
    tls_identity_destroy(&self->identity);
    self->identity = fresh;
    self->files = *files;
    memcpy(self->marks, marks, sizeof marks);
    return STATUS_OK;
}

bool tls_source_look(struct tls_source *self)
{
    struct tls_mark marks[TLS_SOURCE_FILES];

    mark_all(&self->files, marks);
    if (self->identity == NULL || memcmp(marks, self->marks, sizeof marks) == 0) {
        return false;
    }
    if (tls_source_read(self, &self->files) == STATUS_OK) {
        return true;
    }
    memcpy(self->marks, marks, sizeof marks); /* It is said once. */
    log_line(LOG_WARN,
             "goes on with the former certificate of %s; the files are looked at again "
             "when they change",
             tls_identity_about(self->identity));
    return false;
}

void tls_source_fini(struct tls_source *self)
{
    tls_identity_destroy(&self->identity);
}
