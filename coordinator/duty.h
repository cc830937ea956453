/* duty.h - what a coordinator does about filters, of its own accord and at an operator's word.
 *
 * A duty sees one filter at a time, decides by its document and by what is remembered of it (see
 * notes.h), and proposes one edit: see records.h. Duties know nothing of each other: what one has
 * written another one finds in the document. coordinator.c walks the table at every event;
 * tools/check-layers.sh sees to it that no duty includes or calls another one's.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_DUTY_H
#define ORBLOOM_COORDINATOR_DUTY_H

#include "coordinator/private.h"

#include <assert.h>

/* Which filters a duty looks at now. */
enum duty_round {
    ROUND_NONE,
    ROUND_RESTLESS, /* those of rounds.h that it concerns */
    ROUND_NEWS,     /* those, and those with news; or all, where the news are of all */
    ROUND_ALL,
};

enum { TELLING_TEXTS = 8 };

/* What status tells of one filter, beyond its document. */
struct telling {
    struct filter_summary *summary;
    struct change_summary *change; /* to be filled with `changes` */
    bool changes;
    char (*texts)[COORDINATOR_MESSAGE_BYTES]; /* TELLING_TEXTS; what is filled points there */
    size_t ntexts;
};

/* One of its texts, empty. */
static inline char *telling_text(struct telling *self)
{
    assert(self->ntexts < TELLING_TEXTS);
    self->texts[self->ntexts][0] = '\0';
    return self->texts[self->ntexts++];
}

/* Any of these may be NULL. */
struct duty {
    /* The operator's command; a waiter of that kind is looked at in each turn, and ends it. */
    enum admin_action action;
    void (*command)(struct coordinator *self, uint64_t now_us, const struct peer *from,
                    const struct frame *frame);
    enum waiter_kind waiters;
    void (*wait)(struct coordinator *self, uint64_t now_us, struct waiter *waiter);

    /* Not while nothing may be changed. `round`, NULL: the restless ones; it may also see to what
     * is of no single filter. */
    enum duty_round (*round)(struct coordinator *self, uint64_t now_us);
    bool (*concerns)(const struct document_entry *entry);
    void (*look)(struct coordinator *self, uint64_t now_us, struct document_entry *entry);
    uint64_t (*due_us)(const struct coordinator *self); /* without news; ACTOR_NEVER: no need */

    /* A node answers what it was asked; it tells at once of a filter. */
    void (*hear)(struct coordinator *self, const struct fence_reply *reply);
    void (*wake)(struct coordinator *self, uint64_t filter_id);

    void (*describe)(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                     struct telling *out);
};

extern const struct duty duty_sites;
extern const struct duty duty_create;
extern const struct duty duty_load;
extern const struct duty duty_expiry;
extern const struct duty duty_drop;
extern const struct duty duty_dropped;
extern const struct duty duty_rename;
extern const struct duty duty_rebuild;
extern const struct duty duty_loss;
extern const struct duty duty_change;
extern const struct duty duty_expansion;
extern const struct duty duty_window;
extern const struct duty duty_rekey;
extern const struct duty duty_uses; /* users/uses.c */

/* All of them, in the order in which they look; after the last one NULL. */
extern const struct duty *const duties[];

#endif
