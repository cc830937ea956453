/* sim_folder.h - the names of a simulated disk: as seen, as durable, and the edits between.
 *
 * An edit (create, rename, remove) is seen at once and durable once the folder was synced. At a
 * power loss each of the others has happened or not: often a prefix of them, as with a
 * journal, sometimes any subset.
 *
 * Owner:   names refer to files by number and own none.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_FOLDER_H
#define ORBLOOM_TESTS_SIM_FOLDER_H

#include "base/disk.h"
#include "tests/sim/sim_random.h"

struct sim_name_entry {
    char name[DISK_NAME_BYTES];
    uint32_t file;
};

struct sim_names {
    struct sim_name_entry *entries;
    size_t count;
    size_t capacity;
};

/* `file` moves from `from` ("": it is new) to `to` ("": it is removed). */
struct sim_edit {
    char from[DISK_NAME_BYTES];
    char to[DISK_NAME_BYTES];
    uint32_t file;
};

struct sim_folder {
    struct sim_names seen;
    struct sim_names durable;
    struct sim_edit *pending;
    size_t npending;
    size_t capacity;
};

void sim_folder_fini(struct sim_folder *self);

/* The file of a name as it is seen; 0: none. */
uint32_t sim_folder_find(const struct sim_folder *self, const char *name);

/* Does any name, seen, durable or pending, lead to the file? */
bool sim_folder_refers(const struct sim_folder *self, uint32_t file);

void sim_folder_edit(struct sim_folder *self, const char *from, const char *to, uint32_t file);
void sim_folder_sync(struct sim_folder *self);
void sim_folder_lose(struct sim_folder *self, struct sim_random *random);

/* A failed sync_folder(): some edits are durable, none is pending any more. */
void sim_folder_fail_sync(struct sim_folder *self, struct sim_random *random);

/* Durable at once: another folder takes its place. */
void sim_folder_put(struct sim_folder *self, const char *name, uint32_t file);

#endif
