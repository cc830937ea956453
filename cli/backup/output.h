/* output.h - a backup as it is written: to standard output ("-"), or to FILE.part, which becomes
 * FILE once it is whole and on the disk.
 *
 * What was interrupted stays in FILE.part: what of it is whole is gone on with, if it is one backup
 * with what is wanted now.
 *
 * Errors:  printed; the status is returned.
 * Owner:   output_close() what output_open() was called on, whatever came of it.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_OUTPUT_H
#define ORBLOOM_CLI_BACKUP_OUTPUT_H

#include "backup/stream.h"

#include <limits.h>

struct output {
    const char *path;
    char part[PATH_MAX];
    int descriptor;
    bool locked; /* FILE.part is this one's */
    uint64_t bytes;
};

/* Nothing but a backup is written over; nobody else may be writing FILE.part. */
MUST_USE enum status output_open(struct output *self, const char *path);
void output_close(struct output *self);

/* What was written is not to be gone on with. */
void output_forget(struct output *self);

/* Nothing that was written to it can be taken back. */
bool output_is_pipe(const struct output *self);

/* Has it a part that was left? */
bool output_has_part(const struct output *self);

/* Keep so many bytes of it, and write behind these. */
MUST_USE enum status output_cut(struct output *self, uint64_t bytes);

/* What the writer has, which is cleared. */
MUST_USE enum status output_write(struct output *self, struct backup_writer *writer);

/* All of it is written. */
MUST_USE enum status output_finish(struct output *self);

#endif
