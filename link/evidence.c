/* Sets are kept short, as most of 32 places are empty, and shared: what is noted when a mark begins
 * is what was heard, and becomes what is proved. */
#include "link/evidence.h"

#include "base/heap.h"
#include "link/private.h"
#include "link/states.h"

#include <assert.h>
#include <string.h>

enum {
    MARK_AGAIN_US = 10000000, /* one that is not answered is asked for anew */
    MARK_PAUSE_US = 250000,   /* marks of one stream follow each other no faster */
    SAY_AGAIN_US = 10000000,  /* to coordinators */
    PAGE_EVIDENCE = 32,
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

struct evidence {
    uint64_t version;        /* of the states that it was looked at with; 0: look again */
    struct noted_set *there; /* fenced, as heard last; NULL: it is not known */
    struct noted_set *here;
    bool held;        /* nothing is to be received yet */
    bool wants_copy;  /* one that begins now would prove what is awaited */
    bool wants_marks; /* ... a mark */

    struct noted_set *marked; /* what is proved */
    struct noted_set *compared;
    struct noted_set *compared_here;

    bool copying; /* since these were noted: */
    struct noted_set *copy_there;
    struct noted_set *copy_here;

    uint64_t mark;     /* under way; 0: none is */
    uint64_t stream;   /* on which */
    uint64_t asked_us; /* that one, or the last one */
    bool answered;
    uint64_t batch; /* ... it is applied with this one */
    struct noted_set *mark_there;

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
    for (uint32_t i = 0; noted != NULL && i < document->count; i++) {
        const struct site_entry *known = site_set_find(&set, &document->entries[i].id);

        if (document->entries[i].state == SITE_GONE &&
            (known == NULL || known->state != SITE_GONE)) {
            return false;
        }
    }
    return noted != NULL;
}

/* ---- life ---- */

void evidence_void(struct inflow *inflow)
{
    struct evidence *self = inflow->evidence;

    if (self == NULL) {
        return;
    }
    self->copying = false;
    self->mark = 0;
    self->version = 0;
    forget(&self->copy_there);
    forget(&self->copy_here);
    forget(&self->mark_there);
}

void evidence_free(struct link *link, struct inflow *inflow)
{
    struct evidence *self = inflow->evidence;

    if (self == NULL) {
        return;
    }
    evidence_void(inflow);
    forget(&self->there);
    forget(&self->here);
    forget(&self->marked);
    forget(&self->compared);
    forget(&self->compared_here);
    heap_free(self);
    inflow->evidence = NULL;
    link->nevidence--;
}

bool evidence_may_open(const struct inflow *inflow)
{
    return inflow->evidence == NULL || !inflow->evidence->held;
}

/* ---- what is to be proved ---- */

/* Only of the life that the stream is of. */
static void note_fenced(struct noted_set **noted, const struct site_filter *state,
                        const struct site_life *life)
{
    const struct site_entry *own = site_set_own(&state->fenced);
    struct noted_set *fenced = NULL;

    if (state->is_fenced && own != NULL && site_life_compare(&own->life, life) == 0) {
        fenced = note(&state->fenced);
    }
    forget(noted);
    *noted = fenced;
}

/* What the present copy, or the last one, does not prove, and one that begins now would. */
static bool copy_helps(const struct evidence *self, const struct site_set *document)
{
    const struct noted_set *there = self->copying ? self->copy_there : self->compared;
    const struct noted_set *here = self->copying ? self->copy_here : self->compared_here;

    if (self->there == NULL || self->here == NULL || self->held) {
        return false;
    }
    if (site_set_own(document)->state == SITE_JOINING && self->here->takes_adds &&
        (here == NULL || !here->takes_adds)) {
        return true;
    }
    return !document->settled && !(knows_gone(there, document) && knows_gone(here, document)) &&
           knows_gone(self->there, document) && knows_gone(self->here, document);
}

static bool mark_helps(const struct evidence *self)
{
    return self->there != NULL && (self->copying || !covers(self->marked, self->there));
}

static void look(struct link *link, struct inflow *inflow)
{
    struct evidence *self = inflow->evidence;
    uint64_t version = states_version(link, inflow->peer, &inflow->uid);
    struct site_filter state;
    struct site_set document;
    const struct site_entry *own;

    if (version == self->version) {
        return;
    }
    self->version = version;
    forget(&self->there);
    if (states_of_peer(link, inflow->peer, &inflow->uid, &state)) {
        note_fenced(&self->there, &state, &inflow->source_life);
    }
    self->held = self->wants_copy = self->wants_marks = false;
    forget(&self->here);
    if (!states_own(link, &inflow->uid, &state) || state.dropped) {
        return;
    }
    note_fenced(&self->here, &state, &inflow->own_life);
    document = state.document;
    own = site_set_own(&document);
    self->held = own->state == SITE_JOINING && (self->here == NULL || !self->here->takes_adds);
    self->wants_copy = copy_helps(self, &document);
    self->wants_marks = mark_helps(self);
}

/* ---- copies ---- */

static void begin_copy(struct link *link, struct inflow *inflow)
{
    struct evidence *self = inflow->evidence;

    evidence_void(inflow);
    self->copying = true;
    become(&self->copy_there, self->there);
    become(&self->copy_here, self->here);
    inflow_begin_anew(link, inflow);
}

/* ---- marks ---- */

static void ask_mark(struct link *link, uint64_t now_us, struct inflow *inflow)
{
    struct evidence *self = inflow->evidence;
    struct channel *channel = channel_find(link, inflow->channel);
    const struct frame frame = {
        .kind = FRAME_SITE_MARK,
        .body.site_mark = {.stream = inflow->stream, .mark = ++link->last_number},
    };

    if (channel == NULL) {
        return;
    }
    become(&self->mark_there, self->there);
    self->asked_us = now_us;
    self->answered = false;
    self->stream = inflow->stream;
    self->mark = channel_send(link, channel, &frame) ? frame.body.site_mark.mark : 0;
}

void evidence_on_marked(struct link *self, const struct channel *channel,
                        const struct site_marked *message)
{
    struct number_entry *entry = number_table_find(&self->inflows_by_stream, message->stream);
    struct inflow *inflow = (struct inflow *)entry;
    struct evidence *evidence = entry != NULL && inflow->channel == channel->number
                                    ? inflow->evidence
                                    : NULL;

    if (evidence != NULL && evidence->mark != 0 && evidence->mark == message->mark &&
        evidence->stream == message->stream && !evidence->answered) {
        evidence->answered = true;
        evidence->batch = message->number;
    }
}

/* All that was acknowledged there before it was asked for is here, with W replicas. On a stream
 * that began without places the source has sent all that R replicas of each slot group had, too. */
static void proved(struct link *link, struct evidence *self)
{
    become(&self->marked, self->mark_there);
    if (self->copying) {
        become(&self->compared, self->copy_there);
        become(&self->compared_here, self->copy_here);
        self->copying = false;
    }
    self->mark = 0;
    self->told = self->filled = false;
    self->version = 0;
    link->evidence_news = true;
}

static void turn(struct link *link, uint64_t now_us, struct inflow *inflow)
{
    struct evidence *self = inflow->evidence;
    bool lost = self->mark != 0 && (self->stream != inflow->stream ||
                                    (!self->answered && now_us - self->asked_us >= MARK_AGAIN_US));

    if (lost) {
        self->mark = 0;
    }
    if (self->mark != 0 && self->answered && inflow->applied >= self->batch) {
        proved(link, self);
    }
    look(link, inflow);
    if (self->wants_copy) {
        self->wants_copy = false;
        begin_copy(link, inflow);
    } else if (self->mark == 0 && self->wants_marks && inflow->stream != 0 &&
               now_us - self->asked_us >= MARK_PAUSE_US) {
        ask_mark(link, now_us, inflow);
    }
}

void evidence_turn(struct link *self, uint64_t now_us)
{
    struct inflow *inflow;

    if (self->nevidence == 0) {
        return;
    }
    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->evidence != NULL) {
            turn(self, now_us, inflow);
        }
    }
}

static bool is_news(const struct evidence *self)
{
    return self != NULL && !self->told && self->marked != NULL;
}

static void make(struct link *self, struct inflow *inflow)
{
    inflow->evidence = heap_zalloc(1, sizeof *inflow->evidence);
    self->nevidence += inflow->evidence != NULL;
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
        } else if (inflow->evidence == NULL) {
            make(self, inflow);
        }
        if (inflow->evidence != NULL) {
            inflow->evidence->told &= now_us - inflow->evidence->told_us < SAY_AGAIN_US;
            self->evidence_news |= is_news(inflow->evidence);
            look(self, inflow);
        }
    }
}

/* ---- to coordinators ---- */

bool evidence_has_news(const struct link *self)
{
    return self->evidence_news;
}

static void say(const struct link *link, const struct inflow *inflow, struct site_evidence *out)
{
    out->uid = inflow->uid;
    out->site = link->config.peers[inflow->peer].id;
    out->source_life = inflow->source_life;
    out->own_life = inflow->own_life;
    expand(inflow->evidence->marked, &out->marked);
    expand(inflow->evidence->compared, &out->compared);
    expand(inflow->evidence->compared_here, &out->compared_here);
}

/* Those at the end come when those before them are told. */
void evidence_fill(struct link *self, struct sync_request *request)
{
    struct inflow *inflow;
    size_t count = 0;

    for (inflow = self->nevidence > 0 ? TAILQ_FIRST(&self->inflows) : NULL; inflow != NULL;
         inflow = TAILQ_NEXT(inflow, link)) {
        struct evidence *evidence = inflow->evidence;

        if (evidence == NULL) {
            continue;
        }
        evidence->filled = false;
        if (count == PAGE_EVIDENCE || !is_news(evidence)) {
            continue;
        }
        if (self->evidence_page == NULL) {
            self->evidence_page = heap_alloc(PAGE_EVIDENCE, sizeof *self->evidence_page);
        }
        if (self->evidence_page != NULL) {
            evidence->filled = true;
            say(self, inflow, &self->evidence_page[count++]);
        }
    }
    request->evidence = self->evidence_page;
    request->nevidence = count;
}

void evidence_heard(struct link *self, uint64_t now_us)
{
    struct inflow *inflow;

    self->evidence_news = false;
    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        struct evidence *evidence = inflow->evidence;

        if (evidence != NULL && evidence->filled) {
            evidence->told = true;
            evidence->filled = false;
            evidence->told_us = now_us;
        }
        self->evidence_news |= is_news(evidence);
    }
}

void evidence_tell_anew(struct link *self)
{
    struct inflow *inflow;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->evidence != NULL) {
            inflow->evidence->told = false;
            self->evidence_news |= is_news(inflow->evidence);
        }
    }
}
