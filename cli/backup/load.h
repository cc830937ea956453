/* load.h - a filter of a backup, on its way into a cluster.
 *
 *   load_begin()  the filter is made, and serves nobody; or one that a former try has left goes on
 *   load_chunk()  several are under way; the store is told how far all before them are there
 *   load_end()    all is there: with the store's word for that it serves
 *
 * Whatever is interrupted is begun again, from the same backup, and goes on where it was.
 *
 * Errors:  printed; the status is returned. After one load_close() is all that may follow.
 * Owner:   load_close() what load_begin() was called on, whatever came of it.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_LOAD_H
#define ORBLOOM_CLI_BACKUP_LOAD_H

#include "backup/record.h"
#include "cli/progress.h"
#include "client/shell_channel.h"

enum { LOAD_JOBS = 2, LOAD_REASON_BYTES = 640 };

/* A chunk under way. */
struct load_job {
    struct load *load;
    bool used;
    bool done;
    bool again; /* the filter has to grow first */
    uint64_t until_us;
    uint64_t number; /* of the chunk */
    uint64_t to;
    uint64_t keys;
    struct buffer bytes;
};

struct load {
    struct channel *channel;
    uint64_t timeout_us; /* for each chunk */
    char name[DOCUMENT_NAME_BYTES];
    uint64_t source;
    bool grows; /* where it is full */
    uint64_t filter_id;
    uint64_t found; /* a former try, or another one, has brought all before this iterator */
    uint64_t moved; /* as the store knows it */
    uint64_t there; /* all before this iterator is acknowledged */
    uint64_t begun; /* chunks */
    uint64_t ended; /* ... so many of them, from the first on, are there */
    uint64_t told;  /* ... so many of these when it was moved on last */
    bool moving;
    uint64_t moving_to;
    uint64_t keys;
    enum status status; /* of what went wrong first */
    char reason[LOAD_REASON_BYTES];
    struct load_job jobs[LOAD_JOBS];
    struct progress progress;
};

/* `secret`: NULL: as the filter has it, sealed. */
MUST_USE enum status load_begin(struct load *self, struct channel *channel, uint64_t timeout_us,
                                const char *name, const struct backup_filter *filter,
                                const struct hash_secret *secret);
void load_close(struct load *self);

/* It was restored before, from this very backup. */
bool load_is_done(const struct load *self);

MUST_USE enum status load_chunk(struct load *self, const struct backup_chunk *chunk);
/* Wait for all that is under way, as before a pause: what is answered meanwhile would be heard too
 * late. What went wrong is told by the next call. */
void load_settle(struct load *self);
MUST_USE enum status load_end(struct load *self);

#endif
