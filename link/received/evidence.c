/* What is heard of fenced sets is kept with its time. A mark or copy that began at some time proves
 * what had been heard before that; so whoever asks for marks, or copies, need not know of sets.
 * They are kept short, as most of 32 places are empty, and shared. */
#include "link/received/evidence.h"

#include "base/heap.h"
#include "link/private.h"
#include "link/states.h"

#include <assert.h>
#include <string.h>

enum {
    MARKS_US = 1000000,      /* for so long marks are asked for at a time */
    SAY_AGAIN_US = 10000000, /* to coordinators */
    PAGE_EVIDENCE = 32,
    HEARD_MOST = 8, /* sets that are remembered; what began before them proves nothing */
};

/* A set that was fenced. */
struct noted_set {
    uint32_t users;
    uint32_t count;
    uint32_t own;
    bool takes_adds;
    bool says_absent;
    bool settled;
    struct site_entry entries[];
};

/* Fenced at both sites, by what had been heard then; NULL: it was not known. */
struct heard {
    struct noted_set *there;
    struct noted_set *here;
    uint64_t heard_us;
};

struct proof {
    uint64_t version;               /* of the states that it was looked at with; 0: look again */
    struct heard heard[HEARD_MOST]; /* the oldest first */
    size_t nheard;
    bool held;        /* nothing is to be received yet */
    bool wants_copy;  /* one that begins now would prove what is awaited */
    bool wants_marks; /* ... a mark */

    /* What is proved, and when began what proves it. */
    struct noted_set *marked;
    uint64_t marked_us;
    struct noted_set *compared;
    struct noted_set *compared_here;
    uint64_t compared_us;

    uint64_t copy_us; /* since then it is to be copied; 0: it is not, or that is proved */

    bool told; /* coordinators have heard what is proved ... */
    bool filled;
    uint64_t told_us;
};

/* ---- sets ---- */

/* NULL: no memory. */
static struct noted_set *note(const struct site_set *set)
{
    size_t size = set->count * sizeof set->entries[0];
    struct noted_set *noted = heap_alloc(1, sizeof *noted + size);

    if (noted != NULL) {
        *noted = (struct noted_set){
            .users = 1,
            .count = set->count,
            .own = set->own,
            .takes_adds = set->takes_adds,
            .says_absent = set->says_absent,
            .settled = set->settled,
        };
        memcpy(noted->entries, set->entries, size);
    }
    return noted;
}

static void forget(struct noted_set **noted)
{
    if (*noted != NULL && --(*noted)->users == 0) {
        heap_free(*noted);
    }
    *noted = NULL;
}

static bool is_same(const struct noted_set *a, const struct noted_set *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return a->count == b->count && a->own == b->own && a->takes_adds == b->takes_adds &&
           a->says_absent == b->says_absent && a->settled == b->settled &&
           memcmp(a->entries, b->entries, a->count * sizeof a->entries[0]) == 0;
}

/* `of` may be NULL. */
static void become(struct noted_set **noted, struct noted_set *of)
{
    if (of != NULL) {
        of->users++;
    }
    forget(noted);
    *noted = of;
}

static void expand(const struct noted_set *noted, struct site_set *set)
{
    memset(set, 0, sizeof *set);
    if (noted == NULL) {
        return;
    }
    set->count = noted->count;
    set->own = noted->own;
    set->takes_adds = noted->takes_adds;
    set->says_absent = noted->says_absent;
    set->settled = noted->settled;
    memcpy(set->entries, noted->entries, noted->count * sizeof set->entries[0]);
}

/* NULL: nothing is covered by it. */
static bool covers(const struct noted_set *noted, const struct noted_set *other)
{
    struct site_set a;
    struct site_set b;

    if (noted == NULL) {
        return false;
    }
    expand(noted, &a);
    expand(other, &b);
    return site_set_covers(&a, &b);
}

/* Does it have all sites as GONE that the document has so? */
static bool knows_gone(const struct noted_set *noted, const struct site_set *document)
{
    struct site_set set;

    expand(noted, &set);
    return noted != NULL && site_set_knows_gone(&set, document);
}

/* Does it have each site in its present life? */
static bool knows_lives(const struct noted_set *noted, const struct site_set *document)
{
    struct site_set set;

    expand(noted, &set);
    for (uint32_t i = 0; noted != NULL && i < document->count; i++) {
        const struct site_entry *entry = &document->entries[i];
        const struct site_entry *known = site_set_find(&set, &entry->id);

        if (entry->state != SITE_GONE &&
            (known == NULL || site_life_compare(&known->life, &entry->life) != 0)) {
            return false;
        }
    }
    return noted != NULL;
}

/* ---- what was heard ---- */

static const struct heard *last_heard(const struct proof *self)
{
    static const struct heard nothing;

    return self->nheard > 0 ? &self->heard[self->nheard - 1] : &nothing;
}

/* Before what began then; at that very time may be after it. */
static const struct heard *heard_before(const struct proof *self, uint64_t at_us)
{
    static const struct heard nothing;

    for (size_t i = self->nheard; i > 0; i--) {
        if (self->heard[i - 1].heard_us < at_us) {
            return &self->heard[i - 1];
        }
    }
    return &nothing;
}

static void forget_oldest(struct proof *self)
{
    forget(&self->heard[0].there);
    forget(&self->heard[0].here);
    self->nheard--;
    memmove(&self->heard[0], &self->heard[1], self->nheard * sizeof self->heard[0]);
}

/* Takes both sets over; NULL: nobody says what is fenced. That stays what it was as long as the
 * life of that site, and so the inflow: a coordinator that has just started does not know it yet.
 */
static void hear(struct proof *self, uint64_t now_us, struct noted_set *there,
                 struct noted_set *here)
{
    if (there == NULL) {
        become(&there, last_heard(self)->there);
    }
    if (here == NULL) {
        become(&here, last_heard(self)->here);
    }
    if (is_same(there, last_heard(self)->there) && is_same(here, last_heard(self)->here)) {
        forget(&there);
        forget(&here);
        return;
    }
    if (self->nheard == HEARD_MOST) {
        forget_oldest(self);
    }
    self->heard[self->nheard++] = (struct heard){there, here, now_us};
}

/* ---- life ---- */

void evidence_free(struct link *link, struct inflow *inflow)
{
    struct proof *self = inflow->proof;

    if (link->evidence_last == inflow) {
        link->evidence_last = TAILQ_PREV(inflow, inflow_list, link);
    }
    if (self == NULL) {
        return;
    }
    while (self->nheard > 0) {
        forget_oldest(self);
    }
    forget(&self->marked);
    forget(&self->compared);
    forget(&self->compared_here);
    heap_free(self);
    inflow->proof = NULL;
    link->nproofs--;
}

/* Coordinators hear of it once more is proved; until then they have what was told before. */
void evidence_void(struct inflow *inflow)
{
    struct proof *self = inflow->proof;

    if (self == NULL) {
        return;
    }
    forget(&self->marked);
    forget(&self->compared);
    forget(&self->compared_here);
    self->marked_us = self->compared_us = 0;
    self->told = self->filled = false;
    self->version = 0;
}

bool evidence_may_open(const struct inflow *inflow)
{
    return inflow->proof == NULL || (!inflow->proof->held && !inflow->proof->wants_copy);
}

/* ---- what is to be proved ---- */

/* Only of the life that the stream is of. NULL: it is not known, or memory is out. */
static struct noted_set *fenced_of(const struct site_filter *state, const struct site_life *life)
{
    const struct site_entry *own = site_set_own(&state->fenced);

    return state->is_fenced && own != NULL && site_life_compare(&own->life, life) == 0
               ? note(&state->fenced)
               : NULL;
}

/* Of a site that was named since, what had been fenced before is no proof: it does not have it. */
static struct noted_set *fenced_here(const struct link *link, const struct inflow *inflow,
                                     const struct site_filter *state)
{
    const struct site_id *other = &link->config.peers[inflow->peer].id;

    return site_set_find(&state->fenced, other) != NULL ? fenced_of(state, &inflow->own_life)
                                                        : NULL;
}

/* What the present copy, or the last one, does not prove, and one that begins now would. */
static bool copy_helps(const struct proof *self, const struct site_set *document)
{
    const struct heard *now = last_heard(self);
    const struct heard *begun = heard_before(self, self->copy_us);
    const struct noted_set *there = self->copy_us != 0 ? begun->there : self->compared;
    const struct noted_set *here = self->copy_us != 0 ? begun->here : self->compared_here;

    if (now->there == NULL || now->here == NULL || self->held) {
        return false;
    }
    if (site_set_own(document)->state == SITE_JOINING && now->here->takes_adds &&
        (here == NULL || !here->takes_adds)) {
        return true;
    }
    if (site_set_heals(document) && knows_lives(now->there, document) &&
        !knows_lives(there, document)) {
        return true;
    }
    return !document->settled && !(knows_gone(there, document) && knows_gone(here, document)) &&
           knows_gone(now->there, document) && knows_gone(now->here, document);
}

static bool mark_helps(const struct proof *self)
{
    const struct noted_set *there = last_heard(self)->there;

    return there != NULL && (self->copy_us != 0 || !covers(self->marked, there));
}

/* A filter that is dropped here, or not known, has nothing to prove. */
static void judge(struct link *link, uint64_t now_us, struct inflow *inflow,
                  struct noted_set *there)
{
    struct proof *self = inflow->proof;
    struct site_filter state;
    const struct noted_set *here;
    bool joins;

    self->held = self->wants_copy = self->wants_marks = false;
    if (!states_own(link, &inflow->uid, &state) || state.dropped) {
        hear(self, now_us, there, NULL);
        return;
    }
    hear(self, now_us, there, fenced_here(link, inflow, &state));
    here = last_heard(self)->here;
    joins = site_set_own(&state.document)->state == SITE_JOINING;
    self->held = joins && (here == NULL || !here->takes_adds);
    self->wants_copy = copy_helps(self, &state.document);
    self->wants_marks = mark_helps(self);
}

static void look(struct link *link, uint64_t now_us, struct inflow *inflow)
{
    struct proof *self = inflow->proof;
    uint64_t version = states_version(link, inflow->peer, &inflow->uid);
    struct noted_set *there = NULL;
    struct site_filter state;

    if (version == self->version) {
        return;
    }
    self->version = version;
    if (states_of_peer(link, inflow->peer, &inflow->uid, &state)) {
        there = fenced_of(&state, &inflow->source_life);
    }
    judge(link, now_us, inflow, there);
}

/* ---- what is proved ---- */

static void news(struct link *link, struct proof *self)
{
    self->told = self->filled = false;
    self->version = 0;
    link->evidence_news = true;
}

/* All that was acknowledged there before that time is here, with W replicas. */
static void marked_since(struct link *link, struct proof *self, uint64_t at_us)
{
    const struct heard *heard = heard_before(self, at_us);

    if (at_us > self->marked_us && heard->there != NULL) {
        self->marked_us = at_us;
        become(&self->marked, heard->there);
        news(link, self);
    }
}

/* All that R replicas of each slot group had there, too. */
static void copied_since(struct link *link, struct proof *self, uint64_t at_us)
{
    const struct heard *heard = heard_before(self, at_us);

    if (at_us > self->compared_us && heard->there != NULL && heard->here != NULL) {
        self->compared_us = at_us;
        become(&self->compared, heard->there);
        become(&self->compared_here, heard->here);
        news(link, self);
    }
}

/* A mark that is noted stands for a copy that was done when it was begun, as well. */
static void take_proof(struct link *link, struct inflow *inflow)
{
    const struct inflow_evidence *evidence = &inflow->evidence;
    struct proof *self = inflow->proof;

    marked_since(link, self, evidence->known_us);
    if (evidence->whole_us != 0 && evidence->noted_us > evidence->whole_us) {
        copied_since(link, self, evidence->whole_us);
    }
    if (self->copy_us != 0 && self->compared_us >= self->copy_us) {
        self->copy_us = 0;
    }
}

/* ---- what is to be done for it ---- */

static void begin_copy(struct link *link, uint64_t now_us, struct inflow *inflow)
{
    inflow->proof->wants_copy = false;
    inflow->proof->copy_us = now_us;
    inflow->proof->wants_marks = true; /* It takes one, whatever is proved. */
    inflow_copy_anew(link, inflow);
}

/* Its places were taken from nodes meanwhile: of these nobody knows what they were copied with. */
static bool is_broken(const struct inflow *inflow)
{
    return inflow->proof->copy_us != 0 && inflow->stream != 0 &&
           inflow->from_nothing_us < inflow->proof->copy_us;
}

static void carry_on(struct link *link, uint64_t now_us, struct inflow *inflow)
{
    struct proof *self = inflow->proof;

    take_proof(link, inflow);
    look(link, now_us, inflow);
    if (last_heard(self)->heard_us == now_us) {
        return; /* What begins now would not prove it. */
    }
    if (self->wants_copy || is_broken(inflow)) {
        begin_copy(link, now_us, inflow);
    } else if (self->wants_marks && now_us >= inflow->marked.wanted_until_us) {
        (void)inflow_want_marks(link, inflow->filter_id, inflow->peer, now_us + MARKS_US);
    }
}

void evidence_turn(struct link *self, uint64_t now_us)
{
    struct inflow *inflow;

    if (self->nproofs == 0) {
        return;
    }
    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->proof != NULL) {
            carry_on(self, now_us, inflow);
        }
    }
}

static bool is_news(const struct proof *self)
{
    return self != NULL && !self->told && (self->marked != NULL || self->compared != NULL);
}

static void make(struct link *self, struct inflow *inflow)
{
    inflow->proof = heap_zalloc(1, sizeof *inflow->proof);
    self->nproofs += inflow->proof != NULL;
}

/* Of filters that wait for sites. */
void evidence_tick(struct link *self, uint64_t now_us)
{
    struct inflow *inflow;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        bool wanted = states_unsettled(self, &inflow->uid);

        if (!wanted) {
            evidence_free(self, inflow);
        } else if (inflow->proof == NULL) {
            make(self, inflow);
        }
        if (inflow->proof != NULL) {
            inflow->proof->told &= now_us - inflow->proof->told_us < SAY_AGAIN_US;
            self->evidence_news |= is_news(inflow->proof);
            look(self, now_us, inflow);
        }
    }
}

/* ---- to coordinators ---- */

bool evidence_has_news(const struct link *self)
{
    return self->evidence_news || put_back_has_news(self);
}

static void say(const struct link *link, const struct inflow *inflow, struct site_evidence *out)
{
    *out = (struct site_evidence){.uid = inflow->uid,
                                  .site = link->config.peers[inflow->peer].id,
                                  .source_life = inflow->source_life,
                                  .own_life = inflow->own_life};
    expand(inflow->proof->marked, &out->marked);
    expand(inflow->proof->compared, &out->compared);
    expand(inflow->proof->compared_here, &out->compared_here);
}

/* Behind the last one comes the first. NULL: there is none. */
static struct inflow *following(const struct link *self, const struct inflow *inflow)
{
    struct inflow *next = inflow != NULL ? TAILQ_NEXT(inflow, link) : NULL;

    return next != NULL ? next : TAILQ_FIRST(&self->inflows);
}

static void empty_page(struct link *self)
{
    struct inflow *inflow;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->proof != NULL) {
            inflow->proof->filled = false;
        }
    }
    if (self->evidence_page == NULL) {
        self->evidence_page = heap_alloc(PAGE_EVIDENCE, sizeof *self->evidence_page);
    }
}

/* Behind the first `count` of the page; returns how many there are then. */
static size_t fill_page(struct link *self, size_t count)
{
    struct inflow *first = following(self, self->evidence_last);
    struct inflow *inflow = first;
    bool around = false;

    for (; !around && count < PAGE_EVIDENCE; around = inflow == first) {
        if (is_news(inflow->proof)) {
            inflow->proof->filled = true;
            say(self, inflow, &self->evidence_page[count++]);
            self->evidence_last = inflow;
        }
        inflow = following(self, inflow);
    }
    return count;
}

/* They take turns: each is told again now and then, and those at the end would never be told, were
 * it begun with the first one each time. */
void evidence_fill(struct link *self, struct sync_request *request)
{
    size_t count = 0;

    self->put_backs.telling = false;
    if (self->nproofs > 0 || put_back_has_news(self)) {
        empty_page(self);
    }
    if (self->evidence_page != NULL && put_back_has_news(self)) {
        count = put_back_fill(self, self->evidence_page, PAGE_EVIDENCE / 2);
    }
    if (self->evidence_page != NULL && self->nproofs > 0) {
        count = fill_page(self, count);
    }
    request->evidence = self->evidence_page;
    request->nevidence = count;
}

void evidence_heard(struct link *self, uint64_t now_us)
{
    struct inflow *inflow;

    self->evidence_news = false;
    put_back_heard(self, now_us);
    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        struct proof *proof = inflow->proof;

        if (proof != NULL && proof->filled) {
            proof->told = true;
            proof->filled = false;
            proof->told_us = now_us;
        }
        self->evidence_news |= is_news(proof);
    }
}

void evidence_tell_anew(struct link *self)
{
    struct inflow *inflow;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->proof != NULL) {
            inflow->proof->told = false;
            self->evidence_news |= is_news(inflow->proof);
        }
    }
}
