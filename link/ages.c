/* What routers of this site ask. How much of what other sites have acknowledged is here? Told is of
 * each other site of the filter's set how long ago the newest mark was begun that nodes here have
 * noted and confirmed.
 *
 * A question may wait for marks that are begun after it has come. One that was under way then does
 * not do: what was acknowledged since it was begun may be missing. So it is noted how many marks
 * had been begun, and the next turn begins another one, for all that have come until then. The set
 * of sites, and what the marks are about, are judged when the answer is given.
 *
 * Or the other way round: which of the others have what is acknowledged here now? They are asked,
 * again and again, and answer once it counts there (confirms.c). That is about the document as it
 * was then: with another epoch they are asked anew. Whoever this link sends the filter to is told
 * with the question where the logs here end (marks.c), by what is gathered after the question has
 * come; the others begin marks for it. */
#include "base/mutant.h"
#include "link/private.h"
#include "map/history/rebuild.h"

#include <assert.h>
#include <string.h>

/* Whoever asks again within this time finds marks running. */
enum { AGES_WANTED_US = 3000000 };

/* Who has not confirmed is asked again: messages get lost, and who refused may know better then. */
enum { CONFIRM_AGAIN_US = 300000 };

/* ---- what is received of a filter, from whom ---- */

struct received {
    struct inflow *from[LINK_MAX_SITES]; /* by peers; NULL: nothing is */
};

static void find_received(const struct link *self, uint64_t filter_id, struct received *out)
{
    struct inflow *inflow;

    *out = (struct received){{NULL}};
    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->filter_id == filter_id) {
            out->from[inflow->peer] = inflow;
        }
    }
}

/* ---- telling ---- */

/* The document may be newer than what the last sweep has found. */
bool ages_is_about(struct inflow *inflow, const struct document_entry *entry,
                   const struct site_entry *site)
{
    const struct site_set *set = document_sites(&entry->document);
    const struct marks *marks = &inflow->marked.marks;

    return site_life_compare(&inflow->source_life, &site->life) == 0 &&
           site_life_compare(&inflow->own_life, &site_set_own(set)->life) == 0 &&
           inflow->keyset == rebuild_serving(&entry->document) && marks->entered &&
           marks->scope.set_hash == mark_set_hash(set) && inflow_lasts(inflow);
}

struct marks_noted ages_note(const struct inflow *inflow)
{
    return inflow != NULL
               ? (struct marks_noted){inflow->marked.marks.tag, marks_begun(&inflow->marked.marks)}
               : (struct marks_noted){0};
}

/* An inflow that was begun anew counts its marks anew: all of them were begun since. */
static uint64_t begun_before(const struct marks_noted *noted, const struct inflow *inflow)
{
    return noted->tag == inflow->marked.marks.tag && !MUTANT(SITE_OLD_MARK) ? noted->begun : 0;
}

/* Never by a time that was read before the question came, as that of an event may be. */
static uint64_t time_of_answer(const struct link *self)
{
    return self->inner.clock_us != NULL ? self->inner.clock_us(self->inner.context) : self->now_us;
}

struct mark_told ages_told(const struct link *self, struct inflow *inflow,
                           const struct document_entry *entry, const struct site_entry *site,
                           const struct marks_noted *noted)
{
    return inflow != NULL && ages_is_about(inflow, entry, site)
               ? inflow_tell(inflow, begun_before(noted, inflow), time_of_answer(self))
               : (struct mark_told){0};
}

bool ages_has_since(const struct link *self, struct inflow *inflow,
                    const struct document_entry *entry, const struct site_entry *site,
                    const struct marks_noted *noted)
{
    return inflow != NULL && ages_is_about(inflow, entry, site) &&
           inflow_has_since(inflow, begun_before(noted, inflow), time_of_answer(self));
}

static bool has_confirmed(const struct age_question *question, const struct document_entry *entry,
                          uint32_t peer)
{
    return entry->document.epoch == question->epoch && question->asked[peer].confirmed;
}

struct telling {
    struct site_age_reply reply;
    struct site_age sites[SITE_SET_MAX_LIVE - 1];
    uint32_t confirmed; /* by so many that count */
    bool lacks; /* of a site that this link speaks with there is no mark that was begun after the
                   question had come; confirmations are awaited of those that count */
};

static bool is_paused(const struct inflow *inflow)
{
    return inflow != NULL && pause_is_on(inflow);
}

static void tell_confirmed(const struct age_question *question, const struct inflow *inflow,
                           const struct document_entry *entry, const struct site_entry *site,
                           uint32_t peer, struct telling *out)
{
    bool counts = site->state == SITE_COUNTED && peer < LINK_MAX_SITES;
    bool has = peer < LINK_MAX_SITES && has_confirmed(question, entry, peer);

    out->sites[out->reply.nsites++] = (struct site_age){.id = site->id,
                                                        .life = site->life,
                                                        .known = has,
                                                        .after = has,
                                                        .paused = is_paused(inflow)};
    out->confirmed += counts && has;
    out->lacks |= counts && !has && !question->lost;
}

static void tell_age(const struct link *self, const struct age_question *question,
                     struct inflow *inflow, const struct document_entry *entry,
                     const struct site_entry *site, uint32_t peer, struct telling *out)
{
    struct mark_told told = {0};

    if (peer < LINK_MAX_SITES) {
        told = ages_told(self, inflow, entry, site, &question->noted[peer]);
        out->lacks |= !told.after;
    }
    out->sites[out->reply.nsites++] = (struct site_age){.id = site->id,
                                                        .life = site->life,
                                                        .known = told.known,
                                                        .after = told.after,
                                                        .age_us = told.age_us,
                                                        .paused = is_paused(inflow)};
}

static void tell_others(const struct link *self, const struct age_question *question,
                        const struct document_entry *entry, struct telling *out)
{
    const struct site_set *set = document_sites(&entry->document);
    struct received received;

    find_received(self, question->filter_id, &received);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct site_entry *site = &set->entries[i];
        uint32_t peer = site_peer_of(self, &site->id);
        struct inflow *inflow = peer < LINK_MAX_SITES ? received.from[peer] : NULL;

        if (i == set->own || site->state == SITE_GONE) {
            continue;
        }
        assert(out->reply.nsites < SITE_SET_MAX_LIVE - 1);
        if (question->confirms) {
            tell_confirmed(question, inflow, entry, site, peer, out);
        } else {
            tell_age(self, question, inflow, entry, site, peer, out);
        }
    }
    out->lacks &= question->enough == 0 || out->confirmed < question->enough;
}

static void tell(const struct link *self, const struct age_question *question, struct telling *out)
{
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             question->filter_id);
    const struct site_entry *own = entry != NULL ? site_filter_own(self, entry) : NULL;

    *out = (struct telling){.reply = {.status = own != NULL ? STATUS_OK : STATUS_NOT_FOUND,
                                      .filter_id = question->filter_id,
                                      .sites = out->sites,
                                      .confirms = question->confirms}};
    if (own != NULL) {
        out->reply.own_life = own->life;
        out->reply.keyset = rebuild_serving(&entry->document);
        tell_others(self, question, entry, out);
    }
}

static void answer(struct link *self, const struct age_question *question,
                   const struct telling *telling)
{
    const struct frame frame = {.correlation = question->correlation,
                                .kind = FRAME_SITE_AGE_REPLY,
                                .body.site_age_reply = telling->reply};
    struct span bytes;

    if (codec_encode_out(&frame, &self->inner, &self->out, &bytes) == STATUS_OK) {
        link_count(self, LINK_site_ages_total, 1);
        (void)self->inner.reply(self->inner.context, &question->from, bytes);
    }
}

/* ---- waiting ---- */

static uint64_t due_us(const struct age_question *question)
{
    return least(question->until_us, question->again_us);
}

/* NULL: too many wait, or memory is out. */
static struct age_question *keep(struct link *self, const struct age_question *question)
{
    struct age_question *kept = self->ages.nwaiting < AGES_MAX_WAITING ? heap_alloc(1, sizeof *kept)
                                                                       : NULL;

    if (kept == NULL) {
        return NULL;
    }
    *kept = *question;
    TAILQ_INSERT_TAIL(&self->ages.waiting, kept, link);
    self->ages.nwaiting++;
    self->ages.due_us = least(self->ages.due_us, due_us(kept));
    return kept;
}

static void forget(struct link *self, struct age_question *question)
{
    TAILQ_REMOVE(&self->ages.waiting, question, link);
    self->ages.nwaiting--;
    heap_free(question);
}

/* Which marks are too old for it; and others are wanted. */
static void note_marks(struct link *self, struct age_question *question, bool waits)
{
    struct received received;

    find_received(self, question->filter_id, &received);
    for (uint32_t peer = 0; peer < LINK_MAX_SITES; peer++) {
        struct inflow *inflow = received.from[peer];

        if (inflow != NULL) {
            question->noted[peer] = ages_note(inflow);
            marked_want(inflow, question->until_us + AGES_WANTED_US, waits);
        }
    }
}

void ages_marked(struct link *self, uint64_t filter_id)
{
    struct age_question *question;

    TAILQ_FOREACH(question, &self->ages.waiting, link)
    {
        question->news |= question->filter_id == filter_id;
        self->ages.news |= question->news;
    }
}

/* ---- asking the others ---- */

/* By another document what has been confirmed says nothing. */
static void follow(struct link *self, struct age_question *question,
                   const struct document_entry *entry)
{
    uint64_t loss;

    if (question->number != 0 && question->epoch == entry->document.epoch) {
        return;
    }
    loss = places_loss(&entry->document);
    question->lost |= question->number != 0 && question->loss != loss;
    question->loss = loss;
    question->epoch = entry->document.epoch;
    question->number = self->inner.random(self->inner.context) | 1;
    memset(question->asked, 0, sizeof question->asked);
}

/* Of a document in which the site is; without ends. */
static struct site_confirm question_of(const struct age_question *question, uint64_t now_us,
                                       const struct document_entry *entry,
                                       const struct site_entry *site)
{
    const struct site_set *set = document_sites(&entry->document);
    uint64_t left_us = question->until_us > now_us ? question->until_us - now_us : 0;

    return (struct site_confirm){
        .number = question->number,
        .uid = entry->document.content.uid,
        .asker_life = site_set_own(set)->life,
        .other_life = site->life,
        .wait_ms = (uint32_t)((left_us + 999) / 1000),
        .set_hash = mark_set_hash(set),
    };
}

/* The first time by the stream that this link sends there, if it does, with the ends that a mark
 * would be answered with: that saves the mark. Else, and from then on, by its links as they take
 * turns: where none is there now, one may be soon, and one that has just started may take long
 * until it has anything to confirm. */
static void ask_site(struct link *self, uint64_t now_us, struct age_question *question,
                     const struct document_entry *entry, const struct site_entry *site,
                     uint32_t peer)
{
    struct confirm_asked *asked = &question->asked[peer];
    const struct frame frame = {
        .kind = FRAME_SITE_CONFIRM,
        .body.site_confirm = question_of(question, now_us, entry, site),
    };
    struct channel *channel;

    asked->again_us = now_us + CONFIRM_AGAIN_US;
    if (asked->times == 0 && outflow_want_ends(self, question->filter_id, peer)) {
        asked->times++;
        asked->ends_since = ++self->last_number;
        return;
    }
    channel = channel_in_turn(self, peer, &entry->document.content.uid, asked->times++);
    if (channel != NULL) {
        (void)channel_send(self, channel, &frame);
    }
}

static void ask_others(struct link *self, uint64_t now_us, struct age_question *question)
{
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             question->filter_id);
    const struct site_set *set;

    question->again_us = ACTOR_NEVER;
    if (entry == NULL || site_filter_own(self, entry) == NULL) {
        return; /* The answer is that. */
    }
    follow(self, question, entry);
    set = document_sites(&entry->document);
    for (uint32_t i = 0; i < set->count && !question->lost; i++) {
        const struct site_entry *site = &set->entries[i];
        uint32_t peer = site_peer_of(self, &site->id);
        struct confirm_asked *asked = &question->asked[peer < LINK_MAX_SITES ? peer : 0];

        if (peer == LINK_MAX_SITES || site->state == SITE_GONE || asked->confirmed) {
            continue;
        }
        if (now_us >= asked->again_us) {
            ask_site(self, now_us, question, entry, site, peer);
        }
        question->again_us = least(question->again_us, asked->again_us);
    }
}

/* With the ends of another epoch nobody is asked. */
static void ask_with_ends(struct link *self, uint64_t now_us, struct age_question *question,
                          const struct outflow *outflow, const struct outmark *ends)
{
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             question->filter_id);
    const struct site_entry *site = entry != NULL && site_filter_own(self, entry) != NULL
                                        ? site_set_find(document_sites(&entry->document),
                                                        &self->config.peers[outflow->peer].id)
                                        : NULL;
    struct channel *channel = channel_find(self, outflow->channel);
    struct frame frame = {.kind = FRAME_SITE_CONFIRM};
    struct site_confirm *confirm = &frame.body.site_confirm;

    if (site == NULL || site->state == SITE_GONE || channel == NULL ||
        entry->document.epoch != question->epoch || ends->epoch != question->epoch) {
        return;
    }
    *confirm = question_of(question, now_us, entry, site);
    confirm->stream = outflow->stream;
    confirm->batch = outflow->number;
    confirm->groups = ends->groups;
    confirm->read = ends->needed;
    confirm->ends = ends->passed;
    confirm->nends = ends->npassed;
    if (channel_send(self, channel, &frame)) {
        question->asked[outflow->peer].ends_since = 0;
        question->asked[outflow->peer].again_us = now_us + CONFIRM_AGAIN_US;
    }
}

void ages_on_ends(struct link *self, uint64_t now_us, const struct outflow *outflow,
                  const struct outmark *ends)
{
    struct age_question *question;

    TAILQ_FOREACH(question, &self->ages.waiting, link)
    {
        const struct confirm_asked *asked = &question->asked[outflow->peer];

        if (question->filter_id == outflow->filter_id && asked->ends_since != 0 &&
            asked->ends_since < ends->mark && !asked->confirmed && !question->lost) {
            ask_with_ends(self, now_us, question, outflow, ends);
        }
    }
}

void ages_on_confirmed(struct link *self, const struct channel *channel,
                       const struct site_confirmed *message)
{
    struct age_question *question;

    TAILQ_FOREACH(question, &self->ages.waiting, link)
    {
        if (message->status == STATUS_OK && question->number != 0 &&
            question->number == message->number) {
            question->asked[channel->peer].confirmed = true;
            question->news = self->ages.news = true;
        }
    }
}

/* ---- questions and answers ---- */

void ages_on_request(struct link *self, uint64_t now_us, const struct peer *from,
                     const struct frame *frame)
{
    const struct site_age_request *request = &frame->body.site_age_request;
    uint32_t wait_ms = request->wait_ms < SITE_AGE_MAX_WAIT_MS ? request->wait_ms
                                                               : SITE_AGE_MAX_WAIT_MS;
    struct age_question question = {.from = *from,
                                    .correlation = frame->correlation,
                                    .filter_id = request->filter_id,
                                    .until_us = now_us + wait_ms * UINT64_C(1000),
                                    .confirms = request->confirms,
                                    .enough = request->confirms ? request->enough : 0,
                                    .again_us = request->confirms ? now_us : ACTOR_NEVER};
    struct age_question *kept = NULL;
    struct telling telling;

    if (!request->confirms) {
        note_marks(self, &question, wait_ms > 0);
    }
    tell(self, &question, &telling);
    if (wait_ms > 0 && telling.lacks) {
        kept = keep(self, &question);
    }
    if (kept == NULL) {
        answer(self, &question, &telling);
    } else if (kept->confirms) {
        ask_others(self, now_us, kept); /* This turn does what it takes. */
    }
}

/* True: it is answered. */
static bool look(struct link *self, uint64_t now_us, struct age_question *question)
{
    bool over = now_us >= question->until_us;
    struct telling telling;

    if (!over && !question->news && now_us < question->again_us) {
        return false;
    }
    question->news = false;
    if (question->confirms && !over) {
        ask_others(self, now_us, question);
    }
    tell(self, question, &telling);
    if (!over && telling.lacks) {
        return false;
    }
    answer(self, question, &telling);
    return true;
}

void ages_turn(struct link *self, uint64_t now_us)
{
    struct ages *ages = &self->ages;
    struct age_question *question = TAILQ_FIRST(&ages->waiting);

    if (!ages->news && now_us < ages->due_us) {
        return;
    }
    ages->news = false;
    ages->due_us = ACTOR_NEVER;
    while (question != NULL) {
        struct age_question *next = TAILQ_NEXT(question, link);

        if (look(self, now_us, question)) {
            forget(self, question);
        } else {
            ages->due_us = least(ages->due_us, due_us(question));
        }
        question = next;
    }
}

uint64_t ages_next_us(const struct link *self)
{
    return self->ages.due_us;
}

/* ---- life ---- */

void ages_init(struct link *self)
{
    TAILQ_INIT(&self->ages.waiting);
    self->ages.due_us = ACTOR_NEVER;
}

void ages_fini(struct link *self)
{
    while (!TAILQ_EMPTY(&self->ages.waiting)) {
        forget(self, TAILQ_FIRST(&self->ages.waiting));
    }
}
