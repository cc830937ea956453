/* The links of this site: which there are, what they are asked of filters in several sites, and
 * what their answers let go on. */
#include "router/site_links.h"

#include "base/heap.h"
#include "map/rebuild.h"

#include <stdio.h>
#include <string.h>

enum {
    WAIT_US = 500000,   /* a link may keep a question for so long */
    AGAIN_US = 20000,   /* not sooner are links asked again of a filter */
    SILENT_US = 300000, /* later than it should an answer is not awaited */
    LACKED_MOST = 3,    /* so many answers of coordinators in a row lack a link that is gone */
};

struct site_knowledge {
    struct site_inquiry of[SITE_TOPICS];
};

/* ---- of a filter ---- */

void site_knowledge_destroy(struct site_knowledge *knowledge)
{
    heap_free(knowledge);
}

struct site_inquiry *site_inquiry_of(const struct document_entry *entry, enum site_topic topic)
{
    const struct routed_filter *routed = entry->attachment;

    return routed != NULL && routed->sites != NULL ? &routed->sites->of[topic] : NULL;
}

static struct site_knowledge *make(struct router *self)
{
    struct site_knowledge *made = heap_zalloc(1, sizeof *made);

    for (unsigned topic = 0; made != NULL && topic < SITE_TOPICS; topic++) {
        freshness_init(&made->of[topic].fresh, self->effects.random(self->effects.context));
    }
    return made;
}

struct site_inquiry *site_inquiry_make(struct router *self, const struct document_entry *entry,
                                       enum site_topic topic)
{
    struct routed_filter *routed = entry->attachment;
    struct site_inquiry *inquiry;

    if (routed->sites == NULL) {
        routed->sites = make(self);
    }
    inquiry = site_inquiry_of(entry, topic);
    if (inquiry != NULL && inquiry->epoch != entry->document.epoch) {
        freshness_enter(&inquiry->fresh, document_sites(&entry->document),
                        rebuild_serving(&entry->document));
        inquiry->epoch = entry->document.epoch;
    }
    return inquiry;
}

const char *site_name_of(const struct document_entry *entry, const struct site_id *id)
{
    const struct site_entry *site = site_set_find(document_sites(&entry->document), id);

    return site != NULL ? site->name : "a site";
}

static bool is_paused(const struct site_inquiry *inquiry, const struct site_id *id)
{
    for (uint32_t i = 0; inquiry != NULL && i < inquiry->npaused; i++) {
        if (site_id_equal(&inquiry->paused[i], id)) {
            return true;
        }
    }
    return false;
}

const char *site_remedy(const struct site_inquiry *inquiry, const struct document_entry *entry,
                        const struct site_id *id, char text[SITE_REMEDY_BYTES])
{
    (void)snprintf(text, SITE_REMEDY_BYTES, "%s see `orbloom site %s`",
                   is_paused(inquiry, id) ? "it is paused by an operator," : "retry,",
                   entry->document.content.name);
    return text;
}

/* ---- questions ---- */

/* Without memory it is asked by a later operation. */
void site_inquire(struct router *self, uint64_t filter_id, enum site_topic topic,
                  struct site_inquiry *inquiry, bool waits)
{
    struct site_links *links = &self->site_links;

    inquiry->waits |= waits;
    if (!inquiry->wanted &&
        heap_grow(&links->wanted, &links->room, links->nwanted + 1, sizeof *links->wanted)) {
        links->wanted[links->nwanted++] = (struct site_wanted){filter_id, topic};
        inquiry->wanted = true;
    }
}

void site_inquire_on(struct router *self, uint64_t now_us, uint64_t filter_id,
                     enum site_topic topic, struct site_inquiry *inquiry)
{
    if (now_us >= inquiry->await_us) {
        inquiry->lacks = true;
        site_inquire(self, filter_id, topic, inquiry, true);
    }
}

static bool send(struct router *self, uint64_t number, const struct site_age_request *request)
{
    struct frame frame = {
        .correlation = number, .kind = FRAME_SITE_AGE_REQUEST, .body.site_age_request = *request};
    struct site_links *links = &self->site_links;
    struct span bytes;

    for (uint32_t i = 0; i < links->count; i++) {
        uint32_t at = (links->turn + i) % links->count;
        uint32_t link = links->links[at].link;

        if (link != 0 &&
            codec_encode_out(&frame, &self->effects, &self->out, &bytes) == STATUS_OK &&
            self->effects.send(self->effects.context, link, bytes) == STATUS_OK) {
            links->turn = at;
            return true;
        }
    }
    return false;
}

/* False: not yet. */
static bool ask(struct router *self, uint64_t now_us, const struct site_wanted *wanted,
                struct site_inquiry *inquiry)
{
    struct site_age_request request = {.filter_id = wanted->filter_id,
                                       .wait_ms = inquiry->waits ? WAIT_US / 1000 : 0,
                                       .confirms = wanted->topic == SITE_CONFIRMS,
                                       .enough = inquiry->enough};
    uint64_t number;

    bool over = now_us >= inquiry->await_us;

    if ((inquiry->asked_us != 0 && now_us - inquiry->asked_us < AGAIN_US) ||
        freshness_ask(&inquiry->fresh, now_us, &number) != STATUS_OK) {
        return false;
    }
    /* It knows too little, or is silent. */
    self->site_links.turn += over && (inquiry->lacks || inquiry->await_us != 0);
    inquiry->asked_us = now_us;
    if (!send(self, number, &request)) {
        /* No link is connected: nothing is under way. */
        freshness_unsent(&inquiry->fresh, number);
        return false;
    }
    router_count(self, ROUTER_site_questions_total);
    /* Of a link that is silent the first question tells, however many follow. */
    if (over) {
        inquiry->await_us = now_us + (inquiry->waits ? WAIT_US : 0) + SILENT_US;
    }
    inquiry->wanted = inquiry->waits = inquiry->lacks = false;
    inquiry->enough = 0;
    return true;
}

void site_links_flush(struct router *self, uint64_t now_us)
{
    struct site_links *links = &self->site_links;
    size_t kept = 0;

    for (size_t i = 0; i < links->nwanted; i++) {
        struct site_wanted one = links->wanted[i];
        struct document_entry *entry = document_cache_find(&self->documents, one.filter_id);
        struct site_inquiry *inquiry = entry != NULL ? site_inquiry_of(entry, one.topic) : NULL;

        if (inquiry != NULL && !ask(self, now_us, &one, inquiry)) {
            links->wanted[kept++] = one;
        }
    }
    links->nwanted = kept;
}

/* ---- operations that wait ---- */

bool site_holds(struct router *self, uint64_t now_us, struct op *op, struct document_entry *entry)
{
    return op->operation == OPERATION_ADD ? site_acks_hold(self, now_us, op, entry)
                                          : site_bound_holds(self, now_us, op, entry);
}

void site_resume(struct router *self, uint64_t now_us, struct op *op, struct document_entry *entry)
{
    if (op->operation == OPERATION_ADD) {
        site_acks_resume(self, now_us, op, entry);
    } else {
        site_bound_resume(self, now_us, op, entry);
    }
}

/* ---- which links there are ---- */

static bool is_listed(const struct sync_reply *reply, const char *address)
{
    char text[NODE_ADDRESS_BYTES];
    bool listed = false;

    for (size_t i = 0; i < reply->nlinks; i++) {
        (void)process_address(reply->links[i].endpoint, reply->links[i].curve, text);
        listed = listed || strcmp(text, address) == 0;
    }
    return listed;
}

static bool is_known(const struct site_links *links, const char *address)
{
    bool known = false;

    for (uint32_t i = 0; i < links->count; i++) {
        known = known || strcmp(links->links[i].address, address) == 0;
    }
    return known;
}

/* A coordinator that has just started has heard of none. */
void site_links_take(struct router *self, const struct sync_reply *reply)
{
    struct site_links *links = &self->site_links;
    uint32_t kept = 0;

    if (reply->nlinks == 0) {
        return;
    }
    for (uint32_t i = 0; i < links->count; i++) {
        bool listed = is_listed(reply, links->links[i].address);

        links->links[i].lacked = listed ? 0 : links->links[i].lacked + 1;
        if (links->links[i].lacked < LACKED_MOST) {
            links->links[kept++] = links->links[i];
        } else if (links->links[i].link != 0) {
            self->effects.link_close(self->effects.context, links->links[i].link);
        }
    }
    links->count = kept;
    for (size_t i = 0; i < reply->nlinks && links->count < CODEC_MAX_LINKS; i++) {
        char address[NODE_ADDRESS_BYTES];

        (void)process_address(reply->links[i].endpoint, reply->links[i].curve, address);
        if (!is_known(links, address)) {
            memcpy(links->links[links->count].address, address, sizeof address);
            links->links[links->count].lacked = 0;
            links->links[links->count++].link = self->effects.link_open(self->effects.context,
                                                                        address);
        }
    }
}

bool site_links_has(const struct router *self, uint32_t link)
{
    bool has = false;

    for (uint32_t i = 0; i < self->site_links.count; i++) {
        has = has || (link != 0 && self->site_links.links[i].link == link);
    }
    return has;
}

/* ---- answers ---- */

static enum status take(struct site_inquiry *inquiry, uint64_t number,
                        const struct site_age_reply *reply)
{
    struct freshness_told told[SITE_SET_MAX_LIVE];
    size_t count = reply->nsites < SITE_SET_MAX_LIVE ? reply->nsites : SITE_SET_MAX_LIVE;

    for (size_t i = 0; i < count; i++) {
        const struct site_age *site = &reply->sites[i];

        told[i] = (struct freshness_told){
            .id = site->id,
            .life = site->life,
            .mark = {.known = site->known, .after = site->after, .age_us = site->age_us}};
    }
    return freshness_answered(
        &inquiry->fresh, number,
        &(struct freshness_answer){
            .own_life = reply->own_life, .keyset = reply->keyset, .told = told, .ntold = count});
}

static void note_paused(struct site_inquiry *inquiry, const struct site_age_reply *reply)
{
    inquiry->npaused = 0;
    for (size_t i = 0; i < reply->nsites && inquiry->npaused < SITE_SET_MAX_LIVE; i++) {
        if (reply->sites[i].paused) {
            inquiry->paused[inquiry->npaused++] = reply->sites[i].id;
        }
    }
}

/* Those of another epoch begin anew with the next tick. */
static void resume_all(struct router *self, uint64_t now_us, struct document_entry *entry)
{
    uint32_t left = self->nparked;

    for (uint32_t i = 0; i < self->nops && left > 0; i++) {
        struct op *op = &self->ops[i];

        if (op->used && op->parked) {
            left--;
            if (op->filter_id == entry->document.id && op->epoch == entry->document.epoch &&
                !entry->conflict) {
                site_resume(self, now_us, op, entry);
            }
        }
    }
}

void site_links_on_reply(struct router *self, uint64_t now_us, const struct frame *frame)
{
    const struct site_age_reply *reply = &frame->body.site_age_reply;
    struct document_entry *entry = document_cache_find(&self->documents, reply->filter_id);
    struct site_inquiry *inquiry =
        entry != NULL ? site_inquiry_of(entry, reply->confirms ? SITE_CONFIRMS : SITE_AGES) : NULL;

    if (inquiry == NULL) {
        return;
    }
    /* What is late, or of another life, is no news. */
    if (reply->status != STATUS_OK || take(inquiry, frame->correlation, reply) == STATUS_OK) {
        inquiry->await_us = 0;
        note_paused(inquiry, reply);
        resume_all(self, now_us, entry);
    }
}

void site_links_fini(struct router *self)
{
    heap_free(self->site_links.wanted);
}
