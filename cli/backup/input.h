/* input.h - a backup as it is read: from a file, or from standard input ("-").
 *
 * Errors:  printed, but for input_next(): there `reason` says why, and the status is the reader's,
 *          or STATUS_IO.
 * Owner:   input_close() what input_open() was called on, whatever came of it.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_INPUT_H
#define ORBLOOM_CLI_BACKUP_INPUT_H

#include "backup/stream.h"

#include <stdio.h>

struct input {
    const char *path;
    FILE *file;
    struct backup_reader reader;
    const char *reason;
    uint64_t bytes; /* that were read */
};

MUST_USE enum status input_open(struct input *self, const char *path);
void input_close(struct input *self);

/* The next record; NOT_FOUND: that was all, and whole. */
MUST_USE enum status input_next(struct input *self, struct backup_record *out);

/* So many bytes are whole records. */
uint64_t input_told(const struct input *self);

#endif
