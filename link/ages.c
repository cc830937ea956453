/* What routers of this site ask: how much of what other sites have acknowledged is here? Told is of
 * each other site of the filter's set how long ago the newest mark was begun that nodes here have
 * noted and confirmed.
 *
 * A question may wait for marks that are begun after it has come. One that was under way then does
 * not do: what was acknowledged since it was begun may be missing. So it is noted how many marks
 * had been begun, and the next turn begins another one, for all that have come until then. The set
 * of sites, and what the marks are about, are judged when the answer is given. */
#include "link/private.h"
#include "map/rebuild.h"

#include <assert.h>

/* Whoever asks again within this time finds marks running. */
enum { AGES_WANTED_US = 3000000 };

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

/* LINK_MAX_SITES: this link does not speak with that one. */
static uint32_t peer_of(const struct link *self, const struct site_id *id)
{
    for (uint32_t peer = 0; peer < self->config.npeers; peer++) {
        if (site_id_equal(&self->config.peers[peer].id, id)) {
            return peer;
        }
    }
    return LINK_MAX_SITES;
}

/* ---- telling ---- */

/* The document may be newer than what the last sweep has found. */
static bool is_about(struct inflow *inflow, const struct document_entry *entry,
                     const struct site_entry *site)
{
    const struct site_set *set = document_sites(&entry->document);
    const struct marks *marks = &inflow->marked.marks;

    return site_life_compare(&inflow->source_life, &site->life) == 0 &&
           site_life_compare(&inflow->own_life, &site_set_own(set)->life) == 0 &&
           inflow->keyset == rebuild_serving(&entry->document) && marks->entered &&
           marks->scope.set_hash == mark_set_hash(set) && inflow_lasts(inflow);
}

/* An inflow that was begun anew counts its marks anew: all of them were begun since. */
static uint64_t begun_before(const struct age_question *question, const struct inflow *inflow)
{
    const struct marks_noted *noted = &question->noted[inflow->peer];

    return noted->tag == inflow->marked.marks.tag ? noted->begun : 0;
}

/* Never by a time that was read before the question came, as that of an event may be. */
static uint64_t time_of_answer(const struct link *self)
{
    return self->inner.clock_us != NULL ? self->inner.clock_us(self->inner.context) : self->now_us;
}

static struct site_age tell_site(const struct link *self, const struct age_question *question,
                                 struct inflow *inflow, const struct document_entry *entry,
                                 const struct site_entry *site)
{
    struct site_age age = {.id = site->id, .life = site->life};

    if (inflow != NULL && is_about(inflow, entry, site)) {
        struct mark_told told = inflow_tell(inflow, begun_before(question, inflow),
                                            time_of_answer(self));

        age.known = told.known;
        age.after = told.after;
        age.age_us = told.age_us;
    }
    return age;
}

struct telling {
    struct site_age_reply reply;
    struct site_age sites[SITE_SET_MAX_LIVE - 1];
    bool lacks; /* of a site that this link speaks with there is no mark that was begun after the
                   question had come */
};

static void tell_others(const struct link *self, const struct age_question *question,
                        const struct document_entry *entry, struct telling *out)
{
    const struct site_set *set = document_sites(&entry->document);
    struct received received;

    find_received(self, question->filter_id, &received);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct site_entry *site = &set->entries[i];
        uint32_t peer = peer_of(self, &site->id);
        struct site_age *age = &out->sites[out->reply.nsites];

        if (i == set->own || site->state == SITE_GONE) {
            continue;
        }
        assert(out->reply.nsites < SITE_SET_MAX_LIVE - 1);
        out->reply.nsites++;
        *age = tell_site(self, question, peer < LINK_MAX_SITES ? received.from[peer] : NULL, entry,
                         site);
        out->lacks |= peer < LINK_MAX_SITES && !age->after;
    }
}

static void tell(const struct link *self, const struct age_question *question, struct telling *out)
{
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             question->filter_id);
    const struct site_entry *own = entry != NULL ? site_filter_own(self, entry) : NULL;

    *out = (struct telling){.reply = {.status = own != NULL ? STATUS_OK : STATUS_NOT_FOUND,
                                      .filter_id = question->filter_id,
                                      .sites = out->sites}};
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

/* False: too many wait, or memory is out. */
static bool keep(struct link *self, const struct age_question *question)
{
    struct age_question *kept = self->ages.nwaiting < AGES_MAX_WAITING ? heap_alloc(1, sizeof *kept)
                                                                       : NULL;

    if (kept == NULL) {
        return false;
    }
    *kept = *question;
    TAILQ_INSERT_TAIL(&self->ages.waiting, kept, link);
    self->ages.nwaiting++;
    self->ages.due_us = kept->until_us < self->ages.due_us ? kept->until_us : self->ages.due_us;
    return true;
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
            question->noted[peer] = (struct marks_noted){inflow->marked.marks.tag,
                                                         marks_begun(&inflow->marked.marks)};
            marked_want(inflow, question->until_us + AGES_WANTED_US, waits);
        }
    }
}

void ages_on_request(struct link *self, uint64_t now_us, const struct peer *from,
                     const struct frame *frame)
{
    const struct site_age_request *request = &frame->body.site_age_request;
    uint32_t wait_ms = request->wait_ms < SITE_AGE_MAX_WAIT_MS ? request->wait_ms
                                                               : SITE_AGE_MAX_WAIT_MS;
    struct age_question question = {.from = *from,
                                    .correlation = frame->correlation,
                                    .filter_id = request->filter_id,
                                    .until_us = now_us + wait_ms * UINT64_C(1000)};
    struct telling telling;

    note_marks(self, &question, wait_ms > 0);
    tell(self, &question, &telling);
    if (wait_ms == 0 || !telling.lacks || !keep(self, &question)) {
        answer(self, &question, &telling);
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

/* True: it is answered. */
static bool look(struct link *self, uint64_t now_us, struct age_question *question)
{
    bool over = now_us >= question->until_us;
    struct telling telling;

    if (!over && !question->news) {
        return false;
    }
    question->news = false;
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
        } else if (question->until_us < ages->due_us) {
            ages->due_us = question->until_us;
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
