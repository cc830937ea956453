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

struct input {
    const char *path;
    int descriptor;
    struct backup_reader reader;
    const char *reason;
    uint64_t bytes; /* that were read */

    /* Called before a wait for bytes that have not come yet; set by the caller, or NULL. */
    void (*idle)(void *context);
    void *context;
};

MUST_USE enum status input_open(struct input *self, const char *path);
void input_close(struct input *self);

/* The next record; NOT_FOUND: that was all, and whole. */
MUST_USE enum status input_next(struct input *self, struct backup_record *out);

/* So many bytes are whole records. */
uint64_t input_told(const struct input *self);

#endif
