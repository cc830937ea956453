/* Each step is a function that says whether it is this site's to take, and what it waits for; the
 * first one that waits for nothing is written. */
#include "coordinator/plan/sites.h"

#include "base/mutant.h"

#include <assert.h>
#include <string.h>

/* Goes through the other sites of the document that are not gone. */
struct others {
    const struct sites_view *view;
    uint32_t at;
};

static const struct site_entry *next_other(struct others *self)
{
    const struct site_set *document = self->view->document;

    while (self->at < document->count) {
        const struct site_entry *entry = &document->entries[self->at++];

        if (entry != site_set_own(document) && entry->state != SITE_GONE) {
            return entry;
        }
    }
    return NULL;
}

static const struct sites_peer *peer_of(const struct sites_view *view, const struct site_id *id)
{
    for (uint32_t i = 0; i < view->npeers; i++) {
        if (site_id_equal(&view->peers[i].id, id)) {
            return &view->peers[i];
        }
    }
    return NULL;
}

/* Nothing is known of who was never heard of. */
static struct sites_peer peer_or_none(const struct sites_view *view, const struct site_id *id)
{
    const struct sites_peer *peer = peer_of(view, id);

    return peer != NULL ? *peer : (struct sites_peer){.id = *id};
}

/* The state that a set, if there is one, gives to that life; 0: none. */
static uint32_t state_in(const struct site_set *set, const struct site_entry *entry)
{
    return set != NULL ? site_set_state_of(set, entry) : 0;
}

/* Does a site count, this one and `but` left out? NULL: nobody else is left out. */
static bool another_counts(const struct sites_view *view, const struct site_entry *but)
{
    struct others others = {.view = view};
    const struct site_entry *other;

    while ((other = next_other(&others)) != NULL) {
        if (other != but && other->state == SITE_COUNTED) {
            return true;
        }
    }
    return false;
}

static void wait_for(struct sites_decision *out, enum sites_wait wait, const struct site_id *who)
{
    out->wait = wait;
    out->who = *who;
}

/* ---- join anew ---- */

/* Does it count, or leave, there, and not here? It was for this site to say so first. */
static bool is_further_there(const struct site_entry *own, const struct site_entry *there)
{
    return there->state > own->state && site_life_compare(&own->life, &there->life) == 0;
}

static bool knows_return(const struct site_set *document, const struct site_entry *there)
{
    const struct site_entry *held = site_set_find(document, &there->id);

    return held != NULL &&
           site_life_return(held->life.number) >= site_life_return(there->life.number);
}

/* Nobody takes adds or counts before all sites have fenced that it joins. A newcomer has still to
 * hear of them. */
static bool has_forgotten_one(const struct site_set *document, const struct site_set *there)
{
    for (uint32_t i = 0; document->takes_adds && i < there->count; i++) {
        bool known_to_all = there->entries[i].state == SITE_COUNTED ||
                            (i == there->own && there->takes_adds);

        if (known_to_all && !knows_return(document, &there->entries[i])) {
            return true;
        }
    }
    return false;
}

/* By the document; one that tells of a later return is not, nor one that was never heard of. */
static bool is_gone(const struct site_set *document, const struct sites_peer *peer)
{
    return site_set_state_of(document, site_set_own(peer->fenced)) == SITE_GONE;
}

/* What a site says that is gone is no reason. */
static bool accuses(const struct site_set *document, const struct sites_peer *peer)
{
    const struct site_entry *own = site_set_own(document);
    const struct site_entry *there = peer->fenced != NULL ? site_set_find(peer->fenced, &own->id)
                                                          : NULL;

    if (there == NULL || there->state == SITE_GONE || is_gone(document, peer)) {
        return false;
    }
    return site_life_compare(&there->life, &own->life) > 0 || is_further_there(own, there) ||
           has_forgotten_one(document, peer->fenced);
}

/* Is it one of those that the document knows? */
static bool is_live(const struct site_set *document, const struct sites_peer *peer)
{
    uint32_t state = site_set_state_of(document, site_set_own(peer->fenced));

    return state != 0 && state != SITE_GONE;
}

/* A site that counts has it back. A stranger may say so to one that is gone, and so knows not who
 * the others are by now; one that is gone itself to nobody. */
static bool calls_back(const struct site_set *document, const struct sites_peer *peer)
{
    const struct site_entry *own = site_set_own(document);
    const struct site_entry *there = peer->fenced != NULL ? site_set_find(peer->fenced, &own->id)
                                                          : NULL;

    return there != NULL && there->state <= SITE_COUNTED &&
           site_life_return(there->life.number) > site_life_return(own->life.number) &&
           (own->state == SITE_GONE ? !is_gone(document, peer) : is_live(document, peer)) &&
           (site_set_own(peer->fenced)->state == SITE_COUNTED || peer->fenced->joins_anew);
}

/* Above every one heard of; 0: there is none. */
static uint64_t next_life(const struct sites_view *view)
{
    const struct site_entry *own = site_set_own(view->document);
    uint64_t number = own->life.number;

    for (uint32_t i = 0; i < view->npeers; i++) {
        const struct site_entry *there = view->peers[i].fenced != NULL
                                             ? site_set_find(view->peers[i].fenced, &own->id)
                                             : NULL;

        number = there != NULL && there->life.number > number ? there->life.number : number;
    }
    return site_life_next(number);
}

static bool step_anew(const struct sites_view *view, struct sites_decision *out)
{
    const struct site_entry *own = site_set_own(view->document);
    const struct site_life life = {.number = next_life(view), .tag = view->tag};
    bool put_back = view->put_back;

    for (uint32_t i = 0; i < view->npeers && !put_back; i++) {
        put_back = accuses(view->document, &view->peers[i]);
    }
    if (view->put_back && own->state == SITE_LEAVING) {
        out->step = SITES_JOIN_ANEW;
        wait_for(out, SITES_WAIT_LIFE, &own->id);
        return true;
    }
    if (MUTANT(SITE_PUT_BACK_UNHEEDED) || !put_back || own->state > SITE_COUNTED ||
        life.number == 0) {
        return false;
    }
    out->step = SITES_JOIN_ANEW;
    site_set_begin_life(&out->next, &life);
    return true;
}

/* It had left, or was removed, and is to have the filter again. What it has kept others may lack.
 */
static bool step_back(const struct sites_view *view, struct sites_decision *out)
{
    const struct site_life life = {.number = next_life(view), .tag = view->tag};

    for (uint32_t i = 0; i < view->npeers && life.number != 0; i++) {
        out->next = *view->document;
        if (calls_back(view->document, &view->peers[i]) &&
            site_set_merge(&out->next, view->peers[i].fenced) == STATUS_OK &&
            sites_fault(&out->next) == NULL) {
            out->step = SITES_COME_BACK;
            out->next.settled = false;
            site_set_begin_life(&out->next, &life);
            return true;
        }
    }
    return false;
}

/* Nobody counts; but one that joins anew may be the only one that ever did. What somebody had who
 * was removed since may be with nobody. */
static bool may_lead(const struct site_set *document)
{
    return document->joins_anew && document->settled;
}

/* ---- merge ---- */

/* A newcomer hears of the set by who is in it for all others, too; later everybody only by its own
 * set. */
static bool may_hear(const struct sites_view *view, const struct sites_peer *peer)
{
    const struct site_entry *held = site_set_find(view->document, &peer->id);
    const struct site_entry *itself = site_set_own(peer->fenced);
    const struct site_entry *own = site_set_own(view->document);

    if (held != NULL && knows_return(view->document, itself)) {
        return held->state != SITE_GONE;
    }
    return own->state == SITE_JOINING && !view->document->takes_adds &&
           (itself->state == SITE_COUNTED || peer->fenced->takes_adds || peer->fenced->joins_anew);
}

/* Who left in order leaves nothing behind for those that were done with it. What becomes of this
 * site itself takes nothing from what it has: it can be dumped. */
static bool left_in_order(const struct sites_view *view, const struct site_set *after)
{
    const struct site_set *document = view->document;

    for (uint32_t i = 0; i < document->count; i++) {
        const struct site_entry *before = &document->entries[i];

        if (i != document->own && before->state != SITE_GONE &&
            site_set_state_of(after, before) == SITE_GONE && !sites_done(view, &before->id)) {
            return false;
        }
    }
    return true;
}

static void merge(const struct sites_view *view, const struct sites_peer *peer,
                  struct sites_decision *out)
{
    const struct site_entry *own = site_set_own(view->document);
    const struct site_entry *there = site_set_find(peer->fenced, &own->id);
    const char *fault = NULL;

    out->step = SITES_MERGE;
    out->next = *view->document;
    if (there != NULL && there->state != SITE_GONE &&
        site_life_compare(&there->life, &own->life) > 0) {
        wait_for(out, SITES_WAIT_LIFE, &peer->id);
        return;
    }
    if (site_set_merge(&out->next, peer->fenced) != STATUS_OK) {
        wait_for(out, SITES_WAIT_ROOM, &peer->id);
        return;
    }
    fault = sites_fault(&out->next);
    if (fault != NULL) { /* All else that may be wrong was refused when it was decoded. */
        wait_for(out, SITES_WAIT_NAME, &peer->id);
        return;
    }
    if (view->document->settled && left_in_order(view, &out->next) &&
        site_life_compare(&site_set_own(&out->next)->life, &own->life) == 0) {
        out->next.settled = true;
    }
}

/* Of several the first that can be merged, else the first: what one knows may be what removes the
 * fault of another. */
static bool step_merge(const struct sites_view *view, struct sites_decision *out)
{
    bool any = false;

    for (uint32_t i = 0; i < view->npeers; i++) {
        const struct sites_peer *peer = &view->peers[i];
        struct sites_decision trial = {0};

        if (peer->fenced == NULL || peer->fenced->count == 0 || !may_hear(view, peer) ||
            site_set_covers(view->document, peer->fenced)) {
            continue;
        }
        merge(view, peer, &trial);
        if (!any || trial.wait == SITES_WAIT_NONE) {
            *out = trial;
        }
        any = true;
        if (out->wait == SITES_WAIT_NONE) {
            break;
        }
    }
    return any;
}

/* ---- join ---- */

/* Has that one fenced the very set? */
static bool is_named(const struct sites_peer *peer, const struct site_entry *other,
                     const struct site_set *document)
{
    if (MUTANT(SITE_OPEN_UNNAMED) ||
        (MUTANT(SITE_OPEN_TWO_NEWCOMERS) && other->state == SITE_JOINING)) {
        return true;
    }
    return peer->fenced != NULL &&
           (MUTANT(SITE_OPEN_SAME_IDS) ? peer->fenced->count == document->count
                                       : site_set_agrees(peer->fenced, document));
}

static bool step_open(const struct sites_view *view, struct sites_decision *out)
{
    const struct site_set *document = view->document;
    const struct site_entry *own = site_set_own(document);
    struct others others = {.view = view};
    const struct site_entry *other;

    if (own->state != SITE_JOINING || document->takes_adds) {
        return false;
    }
    out->step = SITES_OPEN;
    out->next.takes_adds = true;
    if (view->fenced == NULL || !site_set_agrees(view->fenced, document)) {
        wait_for(out, SITES_WAIT_FENCE, &own->id);
        return true;
    }
    while ((other = next_other(&others)) != NULL) {
        struct sites_peer peer = peer_or_none(view, &other->id);

        if (!is_named(&peer, other, document)) {
            wait_for(out, SITES_WAIT_NAMED, &other->id);
            return true;
        }
    }
    if (!another_counts(view, NULL) && !may_lead(document)) {
        wait_for(out, SITES_WAIT_COUNTING, &own->id);
    }
    return true;
}

/* Is each site in its present life in that set? What one had in a former life comes to nobody any
 * more who knows that. */
static bool knows_lives(const struct site_set *document, const struct site_set *set)
{
    for (uint32_t i = 0; i < document->count; i++) {
        const struct site_entry *entry = &document->entries[i];

        if (entry->state != SITE_GONE && state_in(set, entry) == 0) {
            return false;
        }
    }
    return true;
}

static bool step_count(const struct sites_view *view, struct sites_decision *out)
{
    const struct site_entry *own = site_set_own(view->document);
    struct others others = {.view = view};
    const struct site_entry *other;

    if (own->state != SITE_JOINING || !view->document->takes_adds) {
        return false;
    }
    out->step = SITES_COUNT;
    out->next.entries[out->next.own].state = SITE_COUNTED;
    if (!another_counts(view, NULL) && !may_lead(view->document)) {
        wait_for(out, SITES_WAIT_COUNTING, &own->id);
        return true;
    }
    while ((other = next_other(&others)) != NULL) {
        struct sites_peer peer = peer_or_none(view, &other->id);

        if (!MUTANT(SITE_COUNT_UNCOPIED) &&
            (peer.compared_here == NULL || !peer.compared_here->takes_adds ||
             (view->document->joins_anew && !knows_lives(view->document, peer.compared)))) {
            wait_for(out, SITES_WAIT_COPY, &other->id);
            return true;
        }
    }
    return true;
}

static bool step_absent(const struct sites_view *view, struct sites_decision *out)
{
    const struct site_set *document = view->document;
    const struct site_entry *own = site_set_own(document);
    struct others others = {.view = view};
    const struct site_entry *other;

    if (own->state != SITE_COUNTED || document->says_absent || !document->settled) {
        return false;
    }
    out->step = SITES_SAY_ABSENT;
    out->next.says_absent = true;
    out->next.joins_anew = false;
    if (state_in(view->fenced, own) != SITE_COUNTED) {
        wait_for(out, SITES_WAIT_FENCE, &own->id);
        return true;
    }
    while ((other = next_other(&others)) != NULL) {
        struct sites_peer peer = peer_or_none(view, &other->id);

        if (state_in(peer.fenced, own) != SITE_COUNTED) {
            wait_for(out, SITES_WAIT_COUNTED, &other->id);
            return true;
        }
        if (!MUTANT(SITE_ABSENT_UNMARKED) && state_in(peer.marked, own) != SITE_COUNTED) {
            wait_for(out, SITES_WAIT_MARK, &other->id);
            return true;
        }
    }
    return true;
}

/* ---- what is left of others ---- */

/* Nobody to be compared with makes nobody whole but who was so before. */
static bool step_settle(const struct sites_view *view, struct sites_decision *out)
{
    const struct site_entry *own = site_set_own(view->document);
    struct others others = {.view = view};
    const struct site_entry *other;

    if (view->document->settled) {
        return false;
    }
    out->step = SITES_SETTLE;
    out->next.settled = true;
    if (own->state != SITE_COUNTED && !another_counts(view, NULL)) {
        wait_for(out, SITES_WAIT_COUNTING, &own->id);
        return true;
    }
    while ((other = next_other(&others)) != NULL) {
        struct sites_peer peer = peer_or_none(view, &other->id);

        if (!MUTANT(SITE_SETTLE_EARLY) &&
            (peer.compared == NULL || !site_set_knows_gone(peer.compared, view->document) ||
             !site_set_knows_gone(peer.compared_here, view->document))) {
            wait_for(out, SITES_WAIT_COMPARE, &other->id);
            return true;
        }
    }
    return true;
}

/* Whose mark it does without, in a mutant. */
static bool is_optional(const struct site_entry *other, const struct site_entry *leaving)
{
    return MUTANT(SITE_LEAVE_UNMARKED) || (MUTANT(SITE_LEAVE_OTHERS_LACK) && other != leaving);
}

bool sites_done(const struct sites_view *view, const struct site_id *leaver)
{
    const struct site_entry *leaving = site_set_find(view->document, leaver);
    struct others others = {.view = view};
    const struct site_entry *other;

    if (leaving == NULL || leaving->state != SITE_LEAVING || !view->document->settled ||
        site_set_heals(view->document)) {
        return false;
    }
    while ((other = next_other(&others)) != NULL) {
        if (!is_optional(other, leaving) &&
            state_in(peer_or_none(view, &other->id).marked, leaving) < SITE_LEAVING) {
            return false;
        }
    }
    return true;
}

static bool said_done(const struct sites_peer *peer, const struct site_id *leaver)
{
    for (uint32_t i = 0; i < peer->ndone; i++) {
        if (site_id_equal(&peer->done[i], leaver)) {
            return true;
        }
    }
    return false;
}

static void gone(const struct sites_view *view, const struct site_entry *leaving,
                 struct sites_decision *out)
{
    const struct site_entry *own = site_set_own(view->document);
    struct others others = {.view = view};
    const struct site_entry *other;

    assert(leaving->state == SITE_LEAVING);
    out->step = SITES_GONE;
    out->leaver = leaving->id;
    out->next.entries[leaving - view->document->entries].state = SITE_GONE;
    if (state_in(view->fenced, leaving) < SITE_LEAVING) {
        wait_for(out, SITES_WAIT_LEAVING, &own->id);
    } else if (!sites_done(view, &leaving->id)) {
        wait_for(out, SITES_WAIT_DONE, &own->id);
    }
    while ((other = next_other(&others)) != NULL && out->wait == SITES_WAIT_NONE) {
        struct sites_peer peer = peer_or_none(view, &other->id);

        if (other == leaving) {
            continue;
        }
        if (state_in(peer.fenced, leaving) < SITE_LEAVING) {
            wait_for(out, SITES_WAIT_LEAVING, &other->id);
        } else if (!said_done(&peer, &leaving->id)) {
            wait_for(out, SITES_WAIT_DONE, &other->id);
        }
    }
    if (out->wait == SITES_WAIT_NONE && own->state != SITE_COUNTED &&
        !another_counts(view, leaving)) {
        wait_for(out, SITES_WAIT_STAYING, &own->id);
    }
}

/* Of several leavers the first one that waits for nothing, else the first. */
static bool step_gone(const struct sites_view *view, struct sites_decision *out)
{
    struct others others = {.view = view};
    const struct site_entry *other;
    bool any = false;

    while ((other = next_other(&others)) != NULL) {
        struct sites_decision trial = {.next = *view->document};

        if (other->state != SITE_LEAVING) {
            continue;
        }
        gone(view, other, &trial);
        if (!any || trial.wait == SITES_WAIT_NONE) {
            *out = trial;
        }
        any = true;
        if (out->wait == SITES_WAIT_NONE) {
            break;
        }
    }
    return any;
}

void sites_decide(const struct sites_view *view, struct sites_decision *out)
{
    static bool (*const steps[])(const struct sites_view *, struct sites_decision *) = {
        step_back,  step_anew,   step_merge,  step_open,
        step_count, step_settle, step_absent, step_gone,
    };
    const struct site_entry *own = site_set_own(view->document);
    size_t nsteps = own != NULL && own->state == SITE_GONE ? 1 : sizeof steps / sizeof steps[0];

    *out = (struct sites_decision){.action = SITES_NOTHING, .next = *view->document};
    for (size_t i = 0; own != NULL && i < nsteps; i++) {
        struct sites_decision trial = {.next = *view->document};

        if (!steps[i](view, &trial)) {
            continue;
        }
        trial.action = trial.wait == SITES_WAIT_NONE ? SITES_WRITE : SITES_AWAIT;
        if (trial.action == SITES_WRITE || out->action == SITES_NOTHING) {
            *out = trial;
        }
        if (trial.action == SITES_WRITE || trial.step == SITES_MERGE) {
            return; /* nothing else before what others know is known here */
        }
    }
}
