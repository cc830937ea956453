/* node_folder.h - the folder that a node left behind: put back as it was, damaged, started on.
 *
 * One filter of 40,000 keys, in some sorted runs and some segments of the log. The process of
 * before was `incarnation`.
 *
 * Errors:  a failed cr_assert.
 * Owner:   node_folder_make()'s caller calls node_folder_drop(), which also looks for leaks.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_NODE_FOLDER_H
#define ORBLOOM_TESTS_SUPPORT_NODE_FOLDER_H

#include "tests/support/node_stage.h"

enum { FOLDER_COUNT = 1000, FOLDER_BATCHES = 40, FOLDER_KEYS = FOLDER_BATCHES * FOLDER_COUNT };

struct node_folder {
    struct node_stage stage;
    struct filter_document document;
    uint64_t keys[FOLDER_KEYS];
    uint32_t nkeys; /* the first of them, that must not be lost */
    uint64_t incarnation;
    struct memory_disk *disk; /* as the process left it */
    struct node_record record;
};

/* After a kill nothing tells that the last batch had been synced, so that a change of it looks like
 * a torn tail: it does not belong to `nkeys`. */
void node_folder_make(struct node_folder *self, enum stage_end how);

/* All of it in the log: background work had no room. */
void node_folder_make_unmerged(struct node_folder *self, enum stage_end how);
void node_folder_drop(struct node_folder *self);

/* End what runs, and have the folder back as it was. */
void node_folder_restore(struct node_folder *self);

/* Of the folder as it was: as node_stage_files() and _file(), and a file's bytes. */
unsigned node_folder_files(struct node_folder *self, const char *prefix);
bool node_folder_file(struct node_folder *self, const char *prefix, unsigned number,
                      char name[DISK_NAME_BYTES]);
struct span node_folder_bytes(struct node_folder *self, const char *name);

/* Do this to what the next start finds. */
void node_folder_remove(struct node_folder *self, const char *name);

/* Start, and see that the node is right about what it has: the same incarnation with all keys, or
 * another that is not FULL. `what`, `name` and `place` are for messages. */
enum stage_outcome node_folder_start(struct node_folder *self, const char *what, const char *name,
                                     uint64_t place);

/* Of another incarnation: no more than `lost` of the keys are absent where it counts. */
void node_folder_expect_rest(struct node_folder *self, uint64_t lost);

#endif
