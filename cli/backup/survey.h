/* survey.h - a whole backup, looked through: is it good, and what is in it?
 *
 * Errors:  printed; the status is returned.
 * Owner:   survey_fini() what survey_make() was called on, whatever came of it.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_SURVEY_H
#define ORBLOOM_CLI_BACKUP_SURVEY_H

#include "backup/record.h"
#include "cli/backup/passphrase.h"

struct survey_filter {
    struct backup_filter filter;
    uint64_t keys;
    uint64_t bytes; /* of all its records */
};

struct survey {
    struct backup_head head;
    struct survey_filter *filters;
    size_t nfilters;
    size_t room;
    uint64_t keys;
    uint64_t bytes;
    bool opened; /* by what was given its secrets can be opened */
};

/* What secrets are opened with, if anything is known. */
struct survey_keys {
    const struct passphrase *passphrase; /* NULL: none */
    const struct cluster_key *cluster;   /* ... */
};

MUST_USE enum status survey_make(struct survey *self, const char *path,
                                 const struct survey_keys *keys);
void survey_fini(struct survey *self);

/* The secret of a filter. */
MUST_USE enum status survey_open(const struct survey_keys *keys, const struct backup_key *key,
                                 const struct backup_filter *filter, struct hash_secret *secret);

#endif
