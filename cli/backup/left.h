/* left.h - what is left of a backup that was interrupted.
 *
 * Errors:  none: what can't be gone on with is begun anew.
 * Owner:   left_fini().
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_LEFT_H
#define ORBLOOM_CLI_BACKUP_LEFT_H

#include "cli/backup/input.h"
#include "cli/backup/passphrase.h"
#include "cli/backup/wanted.h"

/* What it has to fit. */
struct left_wish {
    const struct wanted *wanted;
    uint64_t within_us; /* it was begun no longer ago */
    const struct passphrase
        *passphrase; /* its secrets are sealed with this; NULL: the cluster key */
};

struct left {
    struct backup_head head;
    struct backup_key key;   /* of the passphrase */
    struct filter_uid *uids; /* of filters in it; the last one may be open */
    size_t count;
    size_t room;
    struct backup_filter open; /* the last one */
    struct backup_mark whole;  /* behind the last filter that is whole, or the head */
    size_t nwhole;             /* filters before it */
    struct backup_mark end;    /* behind this it is gone on with */
};

/* Reads all whole records of it. With a passphrase those behind the last filter that is whole are
 * left out: nothing says who has written them. False: it is not gone on with. */
bool left_read(struct left *self, struct input *input, const struct left_wish *wish);
void left_fini(struct left *self);

bool left_has(const struct left *self, const struct filter_uid *uid);

#endif
