/* memory_disk.h - a disk in memory, with the contract of base/disk.h and no mercy beyond it.
 *
 * It is the one disk of tests: unit tests use it as it is, the simulator's machines (sim_disk.h)
 * through `watch`. A killed process leaves all that it wrote, synced or not; power loss leaves what
 * was synced and random parts of the rest (see memory_file.h, memory_folder.h).
 *
 * Faults:  of a watch's choice, or else those that memory_disk_fail_*() ask for. An operation that
 *          fails halfway leaves some of its effect: of a write its beginning, of a sync some of
 *          what was not durable, and the rest never will be. Names are changed, or not.
 * Chance:  from `random`, the state of random.h.
 * Owner:   whoever creates or initialises it destroys or finishes it.
 * Errors:  as asked for; a wrong use fails an assert, running out of memory aborts.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_MEMORY_DISK_H
#define ORBLOOM_TESTS_SUPPORT_MEMORY_DISK_H

#include "base/disk.h"
#include "tests/support/memory_file.h"
#include "tests/support/memory_folder.h"

enum { MEMORY_DISK_HANDLES = 256, MEMORY_DISK_NEVER = -1 };

enum memory_op {
    MEMORY_LIST = 1,
    MEMORY_CREATE,
    MEMORY_OPEN,
    MEMORY_READ,
    MEMORY_WRITE,
    MEMORY_SYNC,
    MEMORY_RENAME,
    MEMORY_REMOVE,
    MEMORY_SYNC_FOLDER,
    MEMORY_ROOM,
    MEMORY_CLOSE,
};

/* An operation; what it does not have is 0. */
struct memory_call {
    enum memory_op op;
    const char *name;
    const char *to;
    uint32_t file; /* of create and open: once they are done */
    uint64_t offset;
    size_t size;
    struct span bytes; /* of a write */
};

enum memory_course {
    MEMORY_GOES_WELL,
    MEMORY_FAILS_HALFWAY,
    MEMORY_FAILS, /* without any effect */
};

/* Somebody who says how each operation but close goes, and hears of those that had an effect. */
struct memory_watch {
    void *context;
    enum memory_course (*before)(void *context, const struct memory_call *call);
    void (*done)(void *context, const struct memory_call *call);
};

struct memory_disk {
    struct disk seam;
    struct memory_watch watch; /* zeros: nobody */
    uint64_t random;
    uint64_t size_bytes; /* room for files: UINT64_MAX is plenty */

    struct memory_folder folder;
    struct memory_file **files; /* number n at n - 1; NULL: unused */
    size_t nfiles;
    size_t capacity;
    uint32_t handles[MEMORY_DISK_HANDLES]; /* handle n + 1 is open on that file; 0: free */
    bool diverged; /* a failed sync has dropped something that is still seen: until power loss */

    /* Without a watch. */
    int64_t left; /* operations before one fails, or MEMORY_DISK_NEVER */
    bool once;
    enum status failure;
    uint64_t operations; /* that changed something */
    uint64_t syncs;
    uint64_t reads; /* bytes */
};

void memory_disk_init(struct memory_disk *self);
void memory_disk_fini(struct memory_disk *self);
struct memory_disk *memory_disk_create(void);
void memory_disk_destroy(struct memory_disk **disk);
struct disk *memory_disk_seam(struct memory_disk *self);

/* ---- what happens to it ---- */

/* Power fails: `random` draws which unsynced parts survive. No file is open any more. */
void memory_disk_crash(struct memory_disk *self, uint64_t *random);

/* kill -9: files are closed, all that was written stays, synced or not; no fault is left. */
void memory_disk_kill(struct memory_disk *self);

/* The system could not write back what was not synced: it can still be read, and no later sync
 * makes it durable. */
void memory_disk_lose_unsynced(struct memory_disk *self);

/* All files are gone for good; none is open. */
void memory_disk_wipe(struct memory_disk *self);

/* Let `count` operations that change something (create, write, sync, rename, remove, sync_folder)
 * succeed; the next fails with STATUS_IO, a write halfway, and all after it fail without effect,
 * until `count` is set anew. MEMORY_DISK_NEVER: none fails. */
void memory_disk_fail_after(struct memory_disk *self, int64_t count);

/* Fail only the next operation after those, with that status: without effect, but with STATUS_IO a
 * write and a sync fail halfway. */
void memory_disk_fail_once(struct memory_disk *self, int64_t count, enum status status);

/* Leave that much room; UINT64_MAX: plenty, as at first. */
void memory_disk_limit(struct memory_disk *self, uint64_t room);

/* A bit is another one, as if it had been synced that way. */
void memory_disk_flip(struct memory_disk *self, const char *name, uint64_t bit);

/* Put a file there, synced, in place of one that may be there. */
void memory_disk_put(struct memory_disk *self, const char *name, struct span bytes);

/* Another disk with the same files, as a copy of a folder has them, all synced; and such a copy in
 * place of all files, where none is open. */
struct memory_disk *memory_disk_copy(const struct memory_disk *self);
void memory_disk_restore(struct memory_disk *self, const struct memory_disk *copy);

/* ---- looking at it ---- */

uint64_t memory_disk_operations(const struct memory_disk *self); /* that changed something */
uint64_t memory_disk_syncs(const struct memory_disk *self);      /* of files */
uint64_t memory_disk_reads(const struct memory_disk *self);      /* bytes */
unsigned memory_disk_open_files(const struct memory_disk *self);

/* By its number, as names and handles have it; by name, NULL: there is none. */
struct memory_file *memory_disk_file(const struct memory_disk *self, uint32_t number);
struct memory_file *memory_disk_find(const struct memory_disk *self, const char *name);

/* The bytes of a file as a reader gets them; no bytes when there is none. Good until the disk is
 * changed. */
struct span memory_disk_bytes(const struct memory_disk *self, const char *name);

#endif
