/* folder.h - what a playground keeps on disk.
 *
 *   DIR/key                               the cluster key; the same of each site
 *   DIR/env                               shell exports, once everything answers
 *   DIR/pid                               the playground's, while it runs
 *   DIR/SITE/site.key                     of several sites: the key of its link
 *   DIR/{coordinator,router,node-I}/conf  as the daemon was given it, with its real port; of
 * several sites DIR/SITE/{coordinator,router,node-I,link}/conf /log   its stderr /pid   while it
 * runs /data  the coordinator's store, a node's log and runs
 *
 * The folder is locked by whoever runs there: the playground and its daemons. When a playground
 * was killed, the next one waits for its daemons, which the kernel is ending.
 *
 * Errors:  printed as "orbloom: CODE: cause; remedy", then STATUS_IO or STATUS_INVALID.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_PLAYGROUND_FOLDER_H
#define ORBLOOM_CLI_PLAYGROUND_FOLDER_H

#include "base/status.h"
#include "map/document.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

enum { PLAYGROUND_PATH_BYTES = PATH_MAX };

struct playground_folder {
    char path[PLAYGROUND_PATH_BYTES]; /* absolute */
    bool temporary;
    int lock; /* the folder, open; -1: not */
    bool locked;
};

/* `dir` NULL: a new temporary folder. */
MUST_USE enum status playground_folder_open(struct playground_folder *self, const char *dir);

/* Removes a temporary folder with all it holds. */
void playground_folder_close(struct playground_folder *self);

/* "DIR/NAME/FILE"; STATUS_TOO_LARGE never happens after open. */
void playground_path(const struct playground_folder *self, const char *process, const char *file,
                     char path[PLAYGROUND_PATH_BYTES]);

/* Makes the cluster key in DIR, or in DIR/SITE, where there is none; with a site its own one, too.
 * That folder must be there. */
MUST_USE enum status playground_make_keys(const struct playground_folder *self, const char *site);

/* Make DIR/PROCESS and its data folder. */
MUST_USE enum status playground_folder_make(const struct playground_folder *self,
                                            const char *process);

/* Replace DIR/PROCESS/FILE (or DIR/FILE when `process` is NULL) atomically. */
MUST_USE enum status playground_write(const struct playground_folder *self, const char *process,
                                      const char *file, const char *text);

/* What DIR/PROCESS/pid says, or DIR/pid; 0: nothing. */
long playground_pid(const struct playground_folder *self, const char *process);

/* Remove DIR/PROCESS/FILE if it is there. */
void playground_remove(const struct playground_folder *self, const char *process, const char *file);

/* The last lines of DIR/PROCESS/log on stderr. */
void playground_show_log(const struct playground_folder *self, const char *process);

#endif
