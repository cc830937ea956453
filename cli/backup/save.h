/* save.h - filters into a backup, page by page, as routers dump them.
 *
 * What is written stays valid as far as it goes: a backup that is interrupted between two pages is
 * gone on with behind the last one. A filter that is rebuilt from a list meanwhile is begun anew.
 *
 * Errors:  `reason` says why, or is "": the output failed, which is printed. STATUS_NOT_FOUND: no
 *          filter, or another one, has that name; STATUS_INVALID: it can't be backed up, being what
 *          it is: nothing is written then.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_SAVE_H
#define ORBLOOM_CLI_BACKUP_SAVE_H

#include "cli/backup/output.h"
#include "cli/progress.h"
#include "client/shell_channel.h"

enum { SAVE_REASON_BYTES = 640 };

/* A filter that is to be in it. */
struct save_filter {
    char name[DOCUMENT_NAME_BYTES];
    struct filter_uid uid;
    uint64_t max_staleness;
    uint32_t acks;
    enum durability durability;
    uint32_t expires_min; /* as of a backup */
};

struct save {
    struct channel *channel;
    uint64_t timeout_us; /* for each page */
    struct output *output;
    struct backup_writer writer;
    const struct backup_key *key; /* NULL: the cluster's */
    struct backup_mark whole;     /* behind filters that are whole: where the open one begins */
    struct backup_filter open;    /* the one whose chunks are written, or go on */
    bool rebuilt;                 /* its keys are others than when it was begun */
    uint64_t series;              /* of its pages: so each is as it was then, or later */
    struct progress progress;
    char reason[SAVE_REASON_BYTES];
};

/* All of it: `self->open` when the place of the writer is in a filter, else from its beginning. */
MUST_USE enum status save_filter(struct save *self, const struct save_filter *wanted);

/* Take back what is written of the open one. Not where the output is a pipe. */
MUST_USE enum status save_back(struct save *self);

#endif
