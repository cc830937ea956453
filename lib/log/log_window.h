/* log_window.h - a buffered look at one file of a disk, which reads ahead for who reads on.
 *
 * Errors:  STATUS_IO, STATUS_NOMEM; opening also STATUS_NOT_FOUND.
 * Owner:   spans are borrowed until the next call. log_window_fini() may be called at any time.
 * Threads: none; one at a time.
 */
#ifndef ORBLOOM_LOG_LOG_WINDOW_H
#define ORBLOOM_LOG_LOG_WINDOW_H

#include "base/disk.h"

#include <stdbool.h>

struct log_window {
    const struct disk *disk;
    uint8_t *bytes;
    size_t capacity;
    uint64_t start; /* of what is buffered, in the file */
    size_t filled;
    size_t ahead;  /* that was read at once */
    uint64_t size; /* of the file */
    uint32_t file;
    bool open;
};

void log_window_init(struct log_window *self, const struct disk *disk);
void log_window_fini(struct log_window *self);

/* Look at another file; the memory is kept. */
MUST_USE enum status log_window_open(struct log_window *self, const char *name);
void log_window_close(struct log_window *self);

/* What there is from `place` on: `wanted` bytes or more, fewer only at the file's end. */
MUST_USE enum status log_window_at(struct log_window *self, uint64_t place, size_t wanted,
                                   struct span *bytes);

#endif
