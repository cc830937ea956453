/* memory_disk.h - a disk in memory that crashes as base/disk.h allows, for unit tests.
 *
 * Each file has what was synced and a list of writes that were not; the folder likewise. A crash
 * keeps any of the sectors and names that were not synced, drawn at random, and closes all files.
 *
 * Owner:   memory_disk_create()'s caller destroys it.
 * Errors:  as injected; running out of memory aborts.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_MEMORY_DISK_H
#define ORBLOOM_TESTS_SUPPORT_MEMORY_DISK_H

#include "base/disk.h"

#include <stdbool.h>

enum { MEMORY_DISK_SECTOR_BYTES = 512, MEMORY_DISK_NEVER = -1 };

struct memory_disk;

struct memory_disk *memory_disk_create(void);
void memory_disk_destroy(struct memory_disk **disk);
struct disk *memory_disk_seam(struct memory_disk *self);

/* Power fails: `random` draws what of the unsynced survives. */
void memory_disk_crash(struct memory_disk *self, uint64_t *random);

/* kill -9: files are closed, all that was written stays, synced or not. */
void memory_disk_kill(struct memory_disk *self);

/* The system could not write back what was not synced: it can still be read, and no later sync
 * makes it durable. So it is after a sync that failed. */
void memory_disk_lose_unsynced(struct memory_disk *self);

/* Let `count` operations that change something (create, write, sync, rename, remove, sync_folder)
 * succeed; the next fails with STATUS_IO, as do all after it until `count` is set anew. A write
 * that fails may be found in part after a crash that follows. MEMORY_DISK_NEVER: none fails. */
void memory_disk_fail_after(struct memory_disk *self, int64_t count);

/* Fail only the next operation after those, with that status. */
void memory_disk_fail_once(struct memory_disk *self, int64_t count, enum status status);

/* What create may still use; UINT64_MAX at first. */
void memory_disk_limit(struct memory_disk *self, uint64_t room);

/* Operations that changed something so far. */
uint64_t memory_disk_operations(const struct memory_disk *self);
uint64_t memory_disk_syncs(const struct memory_disk *self);
uint64_t memory_disk_reads(const struct memory_disk *self); /* bytes */
unsigned memory_disk_open_files(const struct memory_disk *self);

/* The bytes of a file as a reader gets them; no bytes when there is none. Good until the disk is
 * changed. */
struct span memory_disk_bytes(struct memory_disk *self, const char *name);

/* A bit is another one, as if it had been synced that way. */
void memory_disk_flip(struct memory_disk *self, const char *name, uint64_t bit);

/* Put a file there, synced, in place of one that may be there. */
void memory_disk_put(struct memory_disk *self, const char *name, struct span bytes);

/* Another disk with the same files, as a copy of a folder has them, all synced. */
struct memory_disk *memory_disk_copy(struct memory_disk *self);

#endif
