/* sim_file.h - one file of a simulated disk: what programs see of it, and what power loss leaves.
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
 * Owner:   sim_file_free() frees it.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_FILE_H
#define ORBLOOM_TESTS_SIM_FILE_H

#include "base/span.h"
#include "tests/sim/sim_keys.h"
#include "tests/sim/sim_random.h"

enum { SIM_SECTOR_BYTES = 512 };

/* A write, or an expansion with nothing in it, that a power loss may undo. */
struct sim_write {
    uint64_t offset;
    uint8_t *bytes;
    size_t size;
    uint64_t grown; /* the file's length after it */
};

struct sim_image {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

struct sim_file {
    struct sim_image seen;
    struct sim_image durable;
    struct sim_write *pending;
    size_t npending;
    size_t capacity;
    uint64_t settled; /* where what the newest sync made durable begins */
    bool synced;      /* with something to do */
    bool flipped;     /* some bit */

    /* sim_log.c's: what was read of it, up to where; forgotten when it changes elsewhere. */
    struct sim_keys keys;
    uint64_t read_to;
};

struct sim_file *sim_file_create(uint64_t size);
void sim_file_free(struct sim_file **file);

/* As it is seen, all of it durable. */
struct sim_file *sim_file_copy(const struct sim_file *file);

void sim_file_write(struct sim_file *self, uint64_t offset, struct span bytes);

/* All that was written is durable. */
void sim_file_sync(struct sim_file *self);

/* A failed sync: some of it is durable, nothing is pending any more. */
void sim_file_fail_sync(struct sim_file *self, struct sim_random *random);

/* Power loss: from now on the file is what was durable and some of the rest. */
void sim_file_lose(struct sim_file *self, struct sim_random *random);

/* Change one bit of what is seen and durable. */
void sim_file_flip(struct sim_file *self, uint64_t offset, unsigned bit);

#endif
