/* memory_file.h - one file of a disk in memory: what programs see of it, and what power loss
 * leaves.
 *
 *   write -> seen at once, unsynced -> sync -> durable
 *
 * A write that is not durable yet keeps, at a power loss, a random subset of its sectors: it is
 * lost, torn, or outlived by a later write to another sector. Within one sector order holds: what
 * a sector shows was in it at some time. The same goes for a file's length.
 *
 * A sync that failed has written what it wrote, and forgets the rest: the next one succeeds and
 * makes nothing of it durable, as kernels do it.
 *
 * Units:   bytes.
 * Chance:  what is kept is drawn from `random`, the state of random.h.
 * Owner:   memory_file_free() frees it.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_MEMORY_FILE_H
#define ORBLOOM_TESTS_SUPPORT_MEMORY_FILE_H

#include "base/span.h"

#include <stdbool.h>

enum { MEMORY_SECTOR_BYTES = 512 };

/* A write, or an expansion with nothing in it, that a power loss may undo. */
struct memory_write {
    uint64_t offset;
    uint8_t *bytes;
    size_t size;
    uint64_t grown; /* the file's length after it */
};

struct memory_image {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

/* Whoever keeps what it has found in a file. */
struct memory_reader {
    void (*changed)(struct memory_reader *self, uint64_t from); /* from that byte on */
    void (*release)(struct memory_reader *self);                /* the file goes */
};

struct memory_file {
    struct memory_image seen;
    struct memory_image durable;
    struct memory_write *pending;
    size_t npending;
    size_t capacity;
    uint64_t settled; /* where what the newest sync made durable begins */
    bool synced;      /* with something to do */
    bool flipped;     /* some bit */

    struct memory_reader *reader; /* NULL: nobody */
};

struct memory_file *memory_file_create(uint64_t size);
void memory_file_free(struct memory_file **file);

/* As it is seen, all of it durable. */
struct memory_file *memory_file_copy(const struct memory_file *file);

void memory_file_write(struct memory_file *self, uint64_t offset, struct span bytes);

/* All that was written is durable. */
void memory_file_sync(struct memory_file *self);

/* A failed sync: some of it is durable, nothing is pending any more. */
void memory_file_fail_sync(struct memory_file *self, uint64_t *random);

/* Power loss: from now on the file is what was durable and some of the rest. */
void memory_file_lose(struct memory_file *self, uint64_t *random);

/* What was not synced never is, and is seen all the same. */
void memory_file_forget(struct memory_file *self);

/* Change one bit of what is seen and durable. */
void memory_file_flip(struct memory_file *self, uint64_t offset, unsigned bit);

#endif
