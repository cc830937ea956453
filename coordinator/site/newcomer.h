/* newcomer.h - filters of other sites that are to come here: one that counts has named this site in
 * its set, and has fenced that. They are made with this site's own nodes.
 *
 * What can't be made is left whole, at both sites: it is tried again as long as the other site
 * tells it, and `orbloom site` says why it can't.
 *
 * Bounds:  NEWCOMERS_MAX at once; of more they take turns: one that can't be made makes room, and
 *          comes again as it is told again.
 *          NEWCOMERS_MAX_DROPS tombstones; links repeat those that were forgotten.
 * Owner:   newcomers_fini() frees. None is remembered beyond the process.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_SITE_NEWCOMER_H
#define ORBLOOM_COORDINATOR_SITE_NEWCOMER_H

#include "coordinator/private.h"
#include "coordinator/site/heard.h"
#include "proto/site/state.h"

enum { NEWCOMERS_MAX = 32, NEWCOMERS_MAX_DROPS = 1024 };

struct newcomer {
    struct site_filter told; /* with this name and secret */
    char name[DOCUMENT_NAME_BYTES];
    uint8_t secret[SEAL_SECRET_BYTES];
    char by[SITE_NAME_BYTES]; /* the site that told it */
    uint64_t since_us;        /* it has this place */
    uint64_t told_us;
    uint64_t next_us;                       /* to be tried */
    char reason[COORDINATOR_MESSAGE_BYTES]; /* why it can't be made; "": it was not tried yet */
};

/* That site has dropped the filter everywhere: nothing comes of it where that site is in the set.
 */
struct newcomer_drop {
    struct filter_uid uid;
    struct site_id site;
    uint64_t last_return;
};

struct newcomers {
    struct newcomer items[NEWCOMERS_MAX];
    size_t count;
    uint64_t full_log_us; /* that there are more is logged again then */
    struct newcomer_drop drops[NEWCOMERS_MAX_DROPS];
    size_t ndrops; /* all that there were: the newest ones are kept */
};

/* A filter that is not here, without faults. */
void newcomers_note(struct coordinator *self, uint64_t now_us, const struct site_filter *told,
                    const struct site_id *own);

/* A tombstone of a filter that is not here, without faults. */
void newcomers_note_drop(struct coordinator *self, const struct site_filter *told);

/* Tombstones that came before the filter's note was there. */
void newcomers_tell_drops(const struct coordinator *self, struct in_sites *note);

/* Make what can be made now. */
void newcomers_try(struct coordinator *self, uint64_t now_us);

/* ACTOR_NEVER: none is to be tried. */
uint64_t newcomers_next_us(const struct coordinator *self);

/* The one at `at`, that can't be made; NULL: there are no more of them, or it was not tried yet. */
const struct newcomer *newcomers_at(const struct coordinator *self, size_t at);

/* Does another site tell of it? */
bool newcomers_has(const struct coordinator *self, const struct filter_uid *uid);

void newcomers_fini(struct coordinator *self);

#endif
