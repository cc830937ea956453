/* Each is remembered with what the other site told last; coordinator/make/newcomer.c makes it. */
#include "coordinator/site/newcomer.h"

#include "base/heap.h"
#include "coordinator/links.h"
#include "coordinator/make/newcomer.h"
#include "coordinator/records.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define RETRY_US     1000000u
#define FULL_LOG_US  60000000u
#define HAND_OVER_US 50000u

static const struct document_entry *find_filter(const struct coordinator *self,
                                                const struct filter_uid *uid)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        if (filter_uid_equal(&self->documents.by_id[i]->document.content.uid, uid)) {
            return self->documents.by_id[i];
        }
    }
    return NULL;
}

/* ---- who is to come ---- */

/* NULL: there is no memory. */
static struct newcomers *open(struct coordinator *self)
{
    if (self->newcomers == NULL) {
        self->newcomers = heap_zalloc(1, sizeof *self->newcomers);
    }
    return self->newcomers;
}

static struct newcomer *find(struct newcomers *all, const struct filter_uid *uid)
{
    for (size_t i = 0; i < all->count; i++) {
        if (filter_uid_equal(&all->items[i].told.uid, uid)) {
            return &all->items[i];
        }
    }
    return NULL;
}

/* Of those that can't be made the one that has waited longest; NULL: there is none. */
static struct newcomer *find_refused(struct newcomers *all)
{
    struct newcomer *oldest = NULL;

    for (size_t i = 0; i < all->count; i++) {
        struct newcomer *one = &all->items[i];

        if (one->reason[0] != '\0' && (oldest == NULL || one->since_us < oldest->since_us)) {
            oldest = one;
        }
    }
    return oldest;
}

static void log_full(struct newcomers *all, uint64_t now_us)
{
    if (now_us >= all->full_log_us) {
        all->full_log_us = now_us + FULL_LOG_US;
        log_line(LOG_WARN,
                 "more than %d filters of other sites are to be made here, and can't be: they are "
                 "tried in turns. `orbloom site` tells of some of them why",
                 NEWCOMERS_MAX);
    }
}

/* NULL: there is no room before those that hold it were tried. */
static struct newcomer *place_of(struct newcomers *all, uint64_t now_us,
                                 const struct filter_uid *uid)
{
    struct newcomer *one = find(all, uid);

    if (one != NULL) {
        return one;
    }
    if (all->count < NEWCOMERS_MAX) {
        one = &all->items[all->count++];
    } else {
        one = find_refused(all);
    }
    if (one != NULL && one->reason[0] != '\0') {
        log_full(all, now_us);
    }
    if (one != NULL) {
        *one = (struct newcomer){.since_us = now_us};
    }
    return one;
}

static void forget(struct newcomers *all, size_t at)
{
    all->items[at] = all->items[--all->count];
}

/* Named by one that counts, or did, and has fenced it: else it may not know of this site tomorrow.
 */
static bool is_named(const struct site_filter *told, const struct site_id *own)
{
    const struct site_entry *entry = told->is_fenced ? site_set_find(&told->fenced, own) : NULL;

    return entry != NULL && entry->state != SITE_GONE && entry->state != SITE_LEAVING &&
           (site_set_own(&told->fenced)->state == SITE_COUNTED || told->fenced.joins_anew);
}

/* Removed again before it was made. */
static bool is_gone(const struct site_filter *told, const struct site_id *own)
{
    const struct site_entry *entry = told->is_fenced ? site_set_find(&told->fenced, own) : NULL;

    return entry != NULL && entry->state == SITE_GONE;
}

/* ---- dropped ---- */

static size_t drops_kept(const struct newcomers *all)
{
    return all->ndrops < NEWCOMERS_MAX_DROPS ? all->ndrops : NEWCOMERS_MAX_DROPS;
}

/* Who is GONE has nothing to say about the others' filter. */
static bool drops(const struct newcomer_drop *drop, const struct site_filter *told)
{
    const struct site_entry *entry = filter_uid_equal(&drop->uid, &told->uid)
                                         ? site_set_find(&told->fenced, &drop->site)
                                         : NULL;

    return entry != NULL && site_drop_counts(entry, drop->last_return);
}

static bool is_dropped(const struct newcomers *all, const struct site_filter *told)
{
    for (size_t i = 0; i < drops_kept(all); i++) {
        if (drops(&all->drops[i], told)) {
            return true;
        }
    }
    return false;
}

static bool knows_drop(const struct newcomers *all, const struct newcomer_drop *drop)
{
    for (size_t i = 0; i < drops_kept(all); i++) {
        if (filter_uid_equal(&all->drops[i].uid, &drop->uid) &&
            site_id_equal(&all->drops[i].site, &drop->site) &&
            all->drops[i].last_return >= drop->last_return) {
            return true;
        }
    }
    return false;
}

void newcomers_note_drop(struct coordinator *self, const struct site_filter *told)
{
    const struct newcomer_drop drop = {
        .uid = told->uid, .site = told->site, .last_return = told->last_return};
    struct newcomers *all = open(self);
    struct newcomer *one = all != NULL ? find(all, &told->uid) : NULL;

    assert(told->dropped);
    if (one != NULL && drops(&drop, &one->told)) {
        forget(all, (size_t)(one - all->items));
    }
    if (all != NULL && !knows_drop(all, &drop)) {
        all->drops[all->ndrops++ % NEWCOMERS_MAX_DROPS] = drop;
    }
}

void newcomers_tell_drops(const struct coordinator *self, struct in_sites *note)
{
    const struct newcomers *all = self->newcomers;

    for (size_t i = 0; all != NULL && i < drops_kept(all); i++) {
        const struct site_filter tombstone = {.uid = note->uid,
                                              .filter = "",
                                              .site = all->drops[i].site,
                                              .dropped = true,
                                              .last_return = all->drops[i].last_return};

        if (filter_uid_equal(&all->drops[i].uid, &note->uid)) {
            note->news = in_sites_hear(note, &tombstone) || note->news;
        }
    }
}

/* ---- noted ---- */

/* The secret comes with some of what is told only. */
static void keep(struct newcomer *one, uint64_t now_us, const struct site_filter *told)
{
    struct span sealed = told->sealed_secret;
    size_t size = one->told.sealed_secret.size;

    if (sealed.size == sizeof one->secret) {
        memcpy(one->secret, sealed.data, sealed.size);
        size = sealed.size;
    }
    one->told = *told;
    one->told.sealed_secret = span_of(one->secret, size);
    (void)snprintf(one->name, sizeof one->name, "%s", told->filter);
    (void)snprintf(one->by, sizeof one->by, "%.*s", SITE_NAME_BYTES - 1,
                   site_set_own(&told->fenced)->name);
    one->told_us = now_us;
}

void newcomers_note(struct coordinator *self, uint64_t now_us, const struct site_filter *told,
                    const struct site_id *own)
{
    struct newcomers *all = open(self);
    struct newcomer *one = all != NULL ? find(all, &told->uid) : NULL;

    if (one != NULL && is_gone(told, own)) {
        forget(all, (size_t)(one - all->items));
    }
    if (all == NULL || !is_named(told, own) || is_dropped(all, told)) {
        return;
    }
    one = place_of(all, now_us, &told->uid);
    if (one != NULL) {
        keep(one, now_us, told);
    }
}

/* ---- making them ---- */

static void refuse(struct newcomer *one, const char *reason)
{
    if (strcmp(one->reason, reason) != 0) {
        log_line(LOG_WARN, "filter %s of site %s can't be made here: %s", one->name, one->by,
                 reason);
    }
    (void)snprintf(one->reason, sizeof one->reason, "%s", reason);
}

/* By a store from before it was in sites it is one that nobody else has, which says "absent" by
 * itself: it joins anew. */
static void join_anew(struct coordinator *self, uint64_t now_us, struct newcomer *one,
                      const struct document_entry *entry, const struct site_id *own)
{
    struct site_set sites = one->told.fenced;
    const struct site_entry *named = site_set_find(&sites, own);
    struct site_life life = {.tag = self->effects.random(self->effects.context)};

    if (named == NULL || site_life_next(named->life.number) == 0 ||
        !document_logs_keys(&entry->document)) {
        refuse(one, "a filter here has its uid, and is not that one: drop it here");
        return;
    }
    sites.own = (uint32_t)(named - sites.entries);
    sites.settled = false;
    site_set_forget_orders(&sites);
    life.number = site_life_next(named->life.number);
    site_set_begin_life(&sites, &life);
    if (records_edit_sites(self, now_us, entry, &sites) == STATUS_OK) {
        log_line(LOG_WARN,
                 "filter %s was put back here to before it was in sites: it joins them anew",
                 one->name);
    }
}

/* It is here: what the other site told need not be waited for once more. False: nothing is noted of
 * it yet. */
static bool hand_over(const struct coordinator *self, struct newcomer *one)
{
    struct in_sites *note = in_sites_of(self, &one->told.uid);

    one->reason[0] = '\0';
    if (note != NULL) {
        note->news = in_sites_hear(note, &one->told) || note->news;
    }
    return note != NULL;
}

/* True: it is here, or on its way out, or not to come any more. */
static bool try_one(struct coordinator *self, uint64_t now_us, struct newcomer *one)
{
    const struct document_entry *entry = find_filter(self, &one->told.uid);
    const struct link_heard *link = links_own(self, now_us);
    char reason[COORDINATOR_MESSAGE_BYTES] = "";
    enum status status;

    one->told.filter = one->name;
    one->told.sealed_secret.data = one->secret;
    if (entry != NULL &&
        (entry->document.content.state != FILTER_ACTIVE || document_has_sites(&entry->document))) {
        return entry->document.content.state != FILTER_ACTIVE || hand_over(self, one);
    }
    if (link == NULL) {
        refuse(one, "no link of this site lives, or they are of different sites");
        return false;
    }
    if (!is_named(&one->told, &link->report.id)) {
        return true; /* It was told to this site under another key, which its links had then. */
    }
    if (entry != NULL) {
        join_anew(self, now_us, one, entry, &link->report.id);
        return false;
    }
    status = newcomer_make(self, now_us, &one->told, &link->report.id, reason);
    if (status == STATUS_OK) {
        log_line(LOG_INFO, "made filter %s, which site %s has, and this one is to have, too",
                 one->name, one->by);
        one->next_us = now_us + HAND_OVER_US;
        coordinator_hint(self, now_us);
    } else if (status != STATUS_CONFLICT) {
        refuse(one, reason);
    }
    return false;
}

void newcomers_try(struct coordinator *self, uint64_t now_us)
{
    struct newcomers *all = self->newcomers;

    for (size_t i = all != NULL ? all->count : 0; i-- > 0;) {
        struct newcomer *one = &all->items[i];

        if (now_us > one->told_us && now_us - one->told_us > HEARD_FOR_US) {
            forget(all, i);
        } else if (now_us >= one->next_us) {
            one->next_us = now_us + RETRY_US;
            if (try_one(self, now_us, one)) {
                forget(all, i);
            }
        }
    }
}

uint64_t newcomers_next_us(const struct coordinator *self)
{
    uint64_t next_us = ACTOR_NEVER;

    for (size_t i = 0; self->newcomers != NULL && i < self->newcomers->count; i++) {
        uint64_t one_us = self->newcomers->items[i].next_us;

        next_us = one_us < next_us ? one_us : next_us;
    }
    return next_us;
}

const struct newcomer *newcomers_at(const struct coordinator *self, size_t at)
{
    return self->newcomers != NULL && at < self->newcomers->count &&
                   self->newcomers->items[at].reason[0] != '\0'
               ? &self->newcomers->items[at]
               : NULL;
}

bool newcomers_has(const struct coordinator *self, const struct filter_uid *uid)
{
    return self->newcomers != NULL && find(self->newcomers, uid) != NULL;
}

void newcomers_fini(struct coordinator *self)
{
    heap_free(self->newcomers);
    self->newcomers = NULL;
}
