/* memory_folder.h - the names of a disk in memory: as seen, as durable, and the edits between.
 *
 * An edit (create, rename, remove) is seen at once and durable once the folder was synced. At a
 * power loss each of the others has happened or not: often a prefix of them, as with a
 * journal, sometimes any subset.
 *
 * Owner:   names refer to files by number and own none.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_MEMORY_FOLDER_H
#define ORBLOOM_TESTS_SUPPORT_MEMORY_FOLDER_H

#include "base/disk.h"

#include <stdbool.h>

struct memory_name_entry {
    char name[DISK_NAME_BYTES];
    uint32_t file;
};

struct memory_names {
    struct memory_name_entry *entries;
    size_t count;
    size_t capacity;
};

/* `file` moves from `from` ("": it is new) to `to` ("": it is removed). */
struct memory_edit {
    char from[DISK_NAME_BYTES];
    char to[DISK_NAME_BYTES];
    uint32_t file;
};

struct memory_folder {
    struct memory_names seen;
    struct memory_names durable;
    struct memory_edit *pending;
    size_t npending;
    size_t capacity;
};

void memory_folder_fini(struct memory_folder *self);

/* The file of a name as it is seen; 0: none. */
uint32_t memory_folder_find(const struct memory_folder *self, const char *name);

/* Does any name, seen, durable or pending, lead to the file? */
bool memory_folder_refers(const struct memory_folder *self, uint32_t file);

void memory_folder_edit(struct memory_folder *self, const char *from, const char *to,
                        uint32_t file);
void memory_folder_sync(struct memory_folder *self);
void memory_folder_lose(struct memory_folder *self, uint64_t *random);

/* A failed sync_folder(): some edits are durable, none is pending any more. */
void memory_folder_fail_sync(struct memory_folder *self, uint64_t *random);

/* Durable at once: another folder takes its place. */
void memory_folder_put(struct memory_folder *self, const char *name, uint32_t file);

#endif
