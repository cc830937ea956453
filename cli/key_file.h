/* key_file.h - the cluster key file as an operator changes it: a ring, a key a line.
 *
 * Comments and blank lines stay where they are. A change replaces the file atomically, also one
 * that a symbolic link leads to; it stays of mode 600 and its owner's.
 *
 * Errors:  printed; STATUS_IO, STATUS_INVALID, STATUS_MALFORMED, STATUS_NOMEM, and of changes what
 *          stands there.
 * Owner:   key_file_close() wipes and frees what key_file_open() has read; text is borrowed.
 */
#ifndef ORBLOOM_CLI_KEY_FILE_H
#define ORBLOOM_CLI_KEY_FILE_H

#include "base/buffer.h"
#include "map/access/seal.h"

struct key_file {
    const char *path;
    struct buffer text;
    struct cluster_key key;
    size_t begin[CLUSTER_KEY_MAX]; /* of the lines with keys, in the text */
    size_t end[CLUSTER_KEY_MAX];   /* ... behind their line end */
};

MUST_USE enum status key_file_open(struct key_file *self, const char *path);
void key_file_close(struct key_file *self);

/* A new random key, the last one. STATUS_TOO_LARGE: the ring is full. */
MUST_USE enum status key_file_add(struct key_file *self);

/* The last key is the first one now; what it is of one key. */
MUST_USE enum status key_file_promote(struct key_file *self);

/* The last key is gone. There must be another one. */
MUST_USE enum status key_file_retire(struct key_file *self);

#endif
