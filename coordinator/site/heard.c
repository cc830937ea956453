/* Two short lists for a filter, looked through from one end to the other. */
#include "coordinator/site/heard.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "coordinator/links.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void in_sites_fini(struct in_sites *self)
{
    heap_free(self->sites);
    heap_free(self->evidence);
    *self = (struct in_sites){0};
}

struct in_sites *in_sites_of(const struct coordinator *self, const struct filter_uid *uid)
{
    for (size_t i = 0; i < notes_count(&self->notes, NOTE_SITES); i++) {
        struct in_sites *note = notes_at(&self->notes, NOTE_SITES, i)->about;

        if (filter_uid_equal(&note->uid, uid)) {
            return note;
        }
    }
    return NULL;
}

/* ---- what sites tell ---- */

static struct site_heard *find(const struct in_sites *self, const struct site_id *id)
{
    for (size_t i = 0; i < self->nsites; i++) {
        if (site_id_equal(&self->sites[i].id, id)) {
            return &self->sites[i];
        }
    }
    return NULL;
}

const struct site_heard *in_sites_find(const struct in_sites *self, const struct site_id *id)
{
    return find(self, id);
}

static struct site_heard *open(struct in_sites *self, const struct site_id *id)
{
    struct site_heard *held = find(self, id);

    if (held != NULL) {
        return held;
    }
    if (self->nsites == SITE_SET_MAX ||
        !heap_grow(&self->sites, &self->sites_room, self->nsites + 1, sizeof *self->sites)) {
        return NULL;
    }
    held = &self->sites[self->nsites++];
    *held = (struct site_heard){.id = *id};
    return held;
}

/* Several coordinators of that site may tell it, and each knows of fences what it has asked for
 * itself: the later one of two sets covers the other. */
static bool take_fenced(struct site_heard *held, const struct site_filter *told)
{
    if (!told->is_fenced || (held->is_fenced && (!site_set_covers(&told->fenced, &held->fenced) ||
                                                 site_set_covers(&held->fenced, &told->fenced)))) {
        return false;
    }
    held->is_fenced = true;
    held->fenced = told->fenced;
    return true;
}

static bool is_done(const struct site_heard *held, const struct site_entry *leaver)
{
    for (uint32_t i = 0; i < held->ndone; i++) {
        if (site_id_equal(&held->done[i].leaver, &leaver->id) &&
            site_life_compare(&held->done[i].life, &leaver->life) == 0) {
            return true;
        }
    }
    return false;
}

/* Done once is done for good. */
static bool take_done(struct site_heard *held, const struct site_filter *told)
{
    bool news = false;

    for (uint32_t i = 0; i < told->ndone; i++) {
        const struct site_entry *leaver = site_set_find(&told->document, &told->done[i]);

        if (leaver != NULL && held->ndone < SITE_SET_MAX_LIVE && !is_done(held, leaver)) {
            held->done[held->ndone++] = (struct done_with){leaver->id, leaver->life};
            news = true;
        }
    }
    return news;
}

/* Who is GONE needs no place any more. */
static void forget_done(struct site_heard *held)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < held->ndone; i++) {
        const struct site_entry leaver = {.id = held->done[i].leaver, .life = held->done[i].life};

        if (site_set_state_of(&held->fenced, &leaver) != SITE_GONE) {
            held->done[kept++] = held->done[i];
        }
    }
    held->ndone = kept;
}

static bool take_drop(struct site_heard *held, uint64_t last_return)
{
    bool news = !held->dropped || last_return > held->last_return;

    held->dropped = true;
    held->last_return = last_return > held->last_return ? last_return : held->last_return;
    return news;
}

bool in_sites_hear(struct in_sites *self, const struct site_filter *told)
{
    struct site_heard *held = open(self, &told->site);
    struct site_life life;
    bool news;
    int order;

    assert(site_filter_fault(told) == NULL);
    if (held == NULL) {
        return false;
    }
    if (told->dropped) {
        return take_drop(held, told->last_return);
    }
    if (held->dropped) {
        return false; /* A tombstone is the last word. */
    }
    life = site_filter_life(told);
    order = site_life_compare(&life, &held->life);
    if (order < 0 && (held->is_fenced || !told->is_fenced || MUTANT(SITE_LOST_LIFE_STANDS))) {
        return false; /* Else see proto/site/state.h: the newer one may never be fenced. */
    }
    news = order != 0;
    if (news) {
        *held = (struct site_heard){.id = told->site, .life = life};
    }
    if (told->revision >= held->revision) {
        held->revision = told->revision;
        held->takes_adds = told->document.takes_adds;
        held->says_absent = told->document.says_absent;
        held->settled = told->document.settled;
        held->keys = told->keys;
    }
    news = take_fenced(held, told) || news;
    forget_done(held);
    return take_done(held, told) || news;
}

/* ---- what links tell ---- */

/* Of that link about that site; else a new place, or that of the oldest. */
static struct link_evidence *place_of(struct in_sites *self, const char *link,
                                      const struct site_id *site)
{
    struct link_evidence *oldest = NULL;

    for (size_t i = 0; i < self->nevidence; i++) {
        struct link_evidence *one = &self->evidence[i];

        if (site_id_equal(&one->what.site, site) && strcmp(one->link, link) == 0) {
            return one;
        }
        oldest = oldest == NULL || one->told_us < oldest->told_us ? one : oldest;
    }
    if (self->nevidence == HEARD_MAX_EVIDENCE) {
        return oldest;
    }
    return heap_grow(&self->evidence, &self->evidence_room, self->nevidence + 1,
                     sizeof *self->evidence)
               ? &self->evidence[self->nevidence++]
               : NULL;
}

/* True of that life for good, whatever becomes of the link. */
static bool take_put_back(struct in_sites *self, const struct site_life *own_life)
{
    bool news = site_life_compare(&self->put_back, own_life) != 0;

    self->put_back = *own_life;
    return news;
}

bool in_sites_witness(struct in_sites *self, uint64_t now_us, const char *link,
                      const struct site_evidence *told)
{
    struct link_evidence *one;

    assert(site_evidence_fault(told) == NULL);
    if (told->put_back) {
        return take_put_back(self, &told->own_life);
    }
    one = place_of(self, link, &told->site);
    if (one == NULL) {
        return false;
    }
    *one = (struct link_evidence){.told_us = now_us, .what = *told};
    (void)snprintf(one->link, sizeof one->link, "%s", link);
    return true;
}

/* ---- together ---- */

static bool is_of(const struct site_set *document, const struct site_evidence *what)
{
    const struct site_entry *other = site_set_find(document, &what->site);

    return other != NULL && site_life_compare(&other->life, &what->source_life) == 0 &&
           site_life_compare(&site_set_own(document)->life, &what->own_life) == 0;
}

static bool counts(const struct coordinator *coordinator, uint64_t now_us,
                   const struct site_set *document, const struct link_evidence *one)
{
    return is_of(document, &one->what) && links_lives(coordinator, now_us, one->link) &&
           (now_us <= one->told_us || now_us - one->told_us <= HEARD_FOR_US);
}

/* Of two with the same sites the one in which that site takes adds: it had opened by then. */
static bool says_more(const struct site_set *set, const struct site_set *than)
{
    return than == NULL || (site_set_covers(set, than) &&
                            (!site_set_covers(than, set) || set->takes_adds || !than->takes_adds));
}

static void join(struct sites_peer *peer, const struct site_evidence *what)
{
    if (what->marked.count > 0 && says_more(&what->marked, peer->marked)) {
        peer->marked = &what->marked;
    }
    if (what->compared.count > 0 && says_more(&what->compared, peer->compared) &&
        says_more(&what->compared_here, peer->compared_here)) {
        peer->compared = &what->compared;
        peer->compared_here = &what->compared_here;
    }
}

static struct sites_peer *peer_of(struct sites_peer *peers, uint32_t *count,
                                  const struct site_id *id)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (site_id_equal(&peers[i].id, id)) {
            return &peers[i];
        }
    }
    if (*count == SITE_SET_MAX) {
        return NULL;
    }
    peers[*count] = (struct sites_peer){.id = *id};
    return &peers[(*count)++];
}

static bool is_of_that_life(const struct site_set *document, const struct site_heard *held)
{
    const struct site_entry *entry = site_set_find(document, &held->id);

    return entry == NULL || site_life_compare(&entry->life, &held->life) == 0;
}

/* Of leavers in the lives that the document knows. */
static void put_done(const struct site_set *document, const struct site_heard *held,
                     struct sites_peer *peer)
{
    for (uint32_t i = 0; i < document->count; i++) {
        if (is_done(held, &document->entries[i])) {
            peer->done[peer->ndone++] = document->entries[i].id;
        }
    }
}

/* What it told in another life than the document knows counts for nothing but to be merged, which
 * comes before all else: so it is left out once that would change nothing. */
static void put_heard(const struct site_set *document, const struct site_heard *held,
                      struct sites_peer *peer)
{
    bool same = is_of_that_life(document, held);

    if (held->is_fenced && (same || !site_set_covers(document, &held->fenced))) {
        peer->fenced = &held->fenced;
    }
    if (same) {
        put_done(document, held, peer);
    }
}

struct sites_view in_sites_view(const struct coordinator *coordinator, uint64_t now_us,
                                const struct in_sites *self, const struct site_set *document,
                                struct sites_peer out[SITE_SET_MAX])
{
    struct sites_view view = {.document = document, .peers = out};

    if (self == NULL) {
        return view;
    }
    view.fenced = self->is_fenced ? &self->fenced : NULL;
    view.put_back = site_life_compare(&self->put_back, &site_set_own(document)->life) == 0;
    for (size_t i = 0; i < self->nsites; i++) {
        put_heard(document, &self->sites[i], peer_of(out, &view.npeers, &self->sites[i].id));
    }
    for (size_t i = 0; i < self->nevidence; i++) {
        const struct link_evidence *one = &self->evidence[i];
        struct sites_peer *peer = counts(coordinator, now_us, document, one)
                                      ? peer_of(out, &view.npeers, &one->what.site)
                                      : NULL;

        if (peer != NULL) {
            join(peer, &one->what);
        }
    }
    return view;
}
