/* source.h - certificates in files that change: renewed by rename, or behind a symbolic link.
 *
 * Bad ones never take the place of good ones: neither those that can't be read, nor one that has
 * expired or is not valid yet that of one which clients accept. Such a one is taken where there is
 * nothing better: at the start, or in the place of one that is no better; with a warning.
 *
 * Errors:  said where they are known.
 * Owner:   a zeroed source holds nothing; tls_source_fini() ends it. Paths are borrowed for as
 * long. Threads: one at a time.
 */
#ifndef ORBLOOM_RUNTIME_TLS_SOURCE_H
#define ORBLOOM_RUNTIME_TLS_SOURCE_H

#include "runtime/tls/tls.h"

#include <sys/types.h>
#include <time.h>

enum { TLS_SOURCE_FILES = 3 };

/* What tells a file from the one that was there before. */
struct tls_mark {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    struct timespec renamed;
};

struct tls_source {
    struct tls_files files;
    struct tls_identity *identity; /* NULL: nothing was read yet */
    struct tls_mark marks[TLS_SOURCE_FILES];
    int64_t again_s; /* one that was too early is good from then on, since 1970; 0: there is none */
};

/* Read them now, whether they have changed or not. Not OK, INVALID for the wrong time, too: what
 * was read before stays, and goes on being looked at. */
MUST_USE enum status tls_source_read(struct tls_source *self, const struct tls_files *files);

/* Read them if they are others than at the last look, or one that was too early no longer is. True:
 * there is another identity. */
bool tls_source_look(struct tls_source *self);

void tls_source_fini(struct tls_source *self);

#endif
