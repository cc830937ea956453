/* Checks that are bounded: "absent" only if all that other sites acknowledged until then is here.
 *
 * Links know how old the newest mark of each site is (site/freshness.h has the rules), and are
 * asked while checks want to know. A check is asked of nodes at once, as "present" needs no proof.
 * What it would call absent takes votes that were asked for after the proof: where there was none
 * yet the check is parked, and begins anew once there is. At its deadline it ends BEHIND.
 *
 * Questions leave at the end of a turn: a fresh check takes one that was sent after it came, and so
 * all that came in a turn share one. A link may keep a question until marks come that were begun
 * after it. One that does not answer, or knows too little, gives the turn to the next link.
 */
#include "base/heap.h"
#include "map/rebuild.h"
#include "router/private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WAIT_US = 500000,   /* a link may keep a question for so long */
    AGAIN_US = 20000,   /* not sooner are links asked again about a filter */
    SILENT_US = 300000, /* later than it should an answer is not awaited */
    REFRESH_PARTS = 4,  /* links are asked again when so much of the bound is used up */
};

/* Of one filter. */
struct site_bound {
    struct freshness fresh;
    uint64_t epoch;    /* whose set of sites that knows */
    bool wanted;       /* it is listed among those to be asked about ... */
    bool waits;        /* ... by a question that may be kept until there are newer marks */
    uint64_t asked_us; /* 0: never */
    uint64_t await_us; /* an answer is due until then; 0: none is */
};

/* Not earlier than when this is called: `now_us` may have been read before what is handled came. */
static uint64_t late_us(const struct router *self, uint64_t now_us)
{
    uint64_t clock_us = self->effects.clock_us != NULL
                            ? self->effects.clock_us(self->effects.context)
                            : now_us;

    return clock_us > now_us ? clock_us : now_us;
}

/* ---- what is known of a filter ---- */

void site_bound_destroy(struct site_bound *bound)
{
    heap_free(bound);
}

/* NULL: nothing was asked, or memory is out. */
static struct site_bound *bound_of(const struct document_entry *entry)
{
    const struct routed_filter *routed = entry->attachment;

    return routed != NULL ? routed->bound : NULL;
}

/* As the document has it now. */
static void follow(struct site_bound *bound, const struct document_entry *entry)
{
    if (bound->epoch != entry->document.epoch) {
        freshness_enter(&bound->fresh, document_sites(&entry->document),
                        rebuild_serving(&entry->document));
        bound->epoch = entry->document.epoch;
    }
}

static struct site_bound *make(struct router *self, const struct document_entry *entry)
{
    struct routed_filter *routed = entry->attachment;

    if (routed->bound == NULL) {
        routed->bound = heap_zalloc(1, sizeof *routed->bound);
        if (routed->bound != NULL) {
            freshness_init(&routed->bound->fresh, self->effects.random(self->effects.context));
        }
    }
    if (routed->bound != NULL) {
        follow(routed->bound, entry);
    }
    return routed->bound;
}

/* ---- questions ---- */

/* Without memory it is asked by a later check. */
static void want(struct router *self, struct site_bound *bound, uint64_t filter_id, bool waits)
{
    struct site_links *links = &self->site_links;

    bound->waits |= waits;
    if (!bound->wanted &&
        heap_grow(&links->filters, &links->room, links->nfilters + 1, sizeof *links->filters)) {
        links->filters[links->nfilters++] = filter_id;
        bound->wanted = true;
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
        uint32_t *link = &links->links[at].link;

        if (*link == 0) {
            *link = self->effects.link_open(self->effects.context, links->links[at].address);
        }
        if (*link != 0 &&
            codec_encode_out(&frame, &self->effects, &self->out, &bytes) == STATUS_OK &&
            self->effects.send(self->effects.context, *link, bytes) == STATUS_OK) {
            links->turn = at;
            return true;
        }
    }
    return false;
}

/* False: not yet. */
static bool ask(struct router *self, uint64_t now_us, struct site_bound *bound, uint64_t filter_id)
{
    struct site_age_request request = {.filter_id = filter_id,
                                       .wait_ms = bound->waits ? WAIT_US / 1000 : 0};
    uint64_t number;

    if ((bound->asked_us != 0 && now_us - bound->asked_us < AGAIN_US) ||
        freshness_ask(&bound->fresh, now_us, &number) != STATUS_OK) {
        return false;
    }
    /* Not sent it is as one that is lost. */
    (void)send(self, number, &request);
    router_count(self, ROUTER_site_questions_total);
    bound->asked_us = now_us;
    bound->await_us = now_us + (bound->waits ? WAIT_US : 0) + SILENT_US;
    bound->wanted = bound->waits = false;
    return true;
}

void site_bounds_flush(struct router *self, uint64_t now_us)
{
    struct site_links *links = &self->site_links;
    size_t kept = 0;

    for (size_t i = 0; i < links->nfilters; i++) {
        struct document_entry *entry = document_cache_find(&self->documents, links->filters[i]);
        struct site_bound *bound = entry != NULL ? bound_of(entry) : NULL;

        if (bound != NULL && !ask(self, now_us, bound, links->filters[i])) {
            links->filters[kept++] = links->filters[i];
        }
    }
    links->nfilters = kept;
}

/* ---- checks ---- */

void site_bound_enter(struct router *self, uint64_t now_us, struct op *op, uint64_t own,
                      struct document_entry *entry)
{
    uint64_t filters = freshness_bound(entry->document.max_staleness);
    uint64_t requests = freshness_bound(own);
    struct site_bound *bound;

    op->bound_us = FRESHNESS_UNBOUNDED;
    if (op->operation != OPERATION_CHECK || !document_has_sites(&entry->document)) {
        return;
    }
    op->bound_us = filters < requests ? filters : requests;
    bound = op->bound_us != FRESHNESS_UNBOUNDED ? make(self, entry) : NULL;
    if (bound != NULL) {
        op->came = freshness_came(&bound->fresh, late_us(self, now_us));
    }
}

static struct freshness_ruling judge(const struct site_bound *bound, const struct op *op)
{
    return bound != NULL ? freshness_allows(&bound->fresh, op->bound_us, &op->came)
                         : (struct freshness_ruling){.verdict = FRESHNESS_FILLING};
}

/* Most of the bound is used up: those who come later may do without waiting. */
static bool runs_out(const struct site_bound *bound, const struct op *op)
{
    return freshness_allows(&bound->fresh, op->bound_us / REFRESH_PARTS, &op->came).verdict !=
           FRESHNESS_MAY_SAY;
}

bool site_bound_proves(struct router *self, uint64_t now_us, const struct op *op,
                       struct document_entry *entry)
{
    struct site_bound *bound;
    bool proved;

    if (op->bound_us == FRESHNESS_UNBOUNDED || !document_has_sites(&entry->document)) {
        return true;
    }
    bound = make(self, entry);
    if (bound == NULL) {
        return false;
    }
    proved = judge(bound, op).verdict == FRESHNESS_MAY_SAY;
    /* What is under way was asked before a fresh check came. */
    if (!proved && (op->bound_us == 0 || now_us >= bound->await_us)) {
        want(self, bound, op->filter_id, op->bound_us == 0);
    } else if (proved && now_us >= bound->await_us && runs_out(bound, op)) {
        want(self, bound, op->filter_id, false);
    }
    return proved;
}

static bool has_absent(const struct op *op)
{
    bool any = false;

    for (uint32_t i = 0; i < op->nparts; i++) {
        const struct part *part = &op->parts[i];

        for (size_t word = 0; word < bits_words(part->count); word++) {
            any = any || (part->absent[word] & ~part->present[word]) != 0;
        }
    }
    return any;
}

/* A mark may prove it within moments. What a filter that fails open answers it would rather answer
 * now, but where the question is for what is known after it. */
static bool may_be_proved(const struct site_bound *bound, const struct op *op,
                          const struct document_entry *entry)
{
    enum freshness_verdict verdict = judge(bound, op).verdict;

    if (entry->document.when_unavailable == WHEN_UNAVAILABLE_MAYBE && op->bound_us > 0) {
        return verdict == FRESHNESS_MAY_SAY;
    }
    return verdict != FRESHNESS_FILLING && verdict != FRESHNESS_UNSETTLED;
}

bool site_bound_holds(struct router *self, uint64_t now_us, struct op *op,
                      struct document_entry *entry)
{
    if (!op->unproved || op->withholds || !has_absent(op) ||
        !may_be_proved(bound_of(entry), op, entry)) {
        return false;
    }
    op->parked = true;
    site_bound_resume(self, now_us, op, entry);
    return true;
}

void site_bound_resume(struct router *self, uint64_t now_us, struct op *op,
                       struct document_entry *entry)
{
    struct site_bound *bound = bound_of(entry);

    assert(op->parked && op->nopen == 0);
    if (judge(bound, op).verdict == FRESHNESS_MAY_SAY) {
        op_again(self, now_us, op, entry);
    } else if (bound != NULL && now_us >= bound->await_us) {
        self->site_links.turn++; /* It knows too little, or is silent. */
        bound->await_us = now_us + AGAIN_US;
        want(self, bound, op->filter_id, true);
    }
}

/* ---- in words ---- */

static const char *name_of(const struct document_entry *entry, const struct site_id *id)
{
    const struct site_entry *site = site_set_find(document_sites(&entry->document), id);

    return site != NULL ? site->name : "a site";
}

static void describe_behind(const struct op *op, const struct document_entry *entry,
                            const char *site, uint64_t behind_us, char *text)
{
    const char *name = entry->document.content.name;

    if (op->bound_us == 0) {
        (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                       "%s %.1fs: no mark of site %s that was begun after this check is here; "
                       "retry, see `orbloom site %s`",
                       site, (double)behind_us / 1e6, site, name);
        return;
    }
    (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                   "%s %.1fs: what site %s acknowledged since then may not be here, and the bound "
                   "is %g s; retry, see `orbloom site %s`",
                   site, (double)behind_us / 1e6, site, (double)op->bound_us / 1e6, name);
}

void site_bound_describe(const struct op *op, const struct document_entry *entry, char *text)
{
    const struct site_bound *bound = bound_of(entry);
    const struct freshness_ruling ruling = judge(bound, op);
    const char *name = entry->document.content.name;
    const char *site = ruling.verdict == FRESHNESS_UNHEARD || ruling.verdict == FRESHNESS_BEHIND
                           ? name_of(entry, &bound->fresh.sites[ruling.site].id)
                           : "";

    switch (ruling.verdict) {
    case FRESHNESS_BEHIND:
        describe_behind(op, entry, site, ruling.behind_us, text);
        break;
    case FRESHNESS_UNHEARD:
        (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                       "%s: no link of this site knows how far its keys are here; see `orbloom "
                       "site %s`",
                       site, name);
        break;
    case FRESHNESS_UNSETTLED:
        (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                       "a site was removed from filter %s, and what the others have of it is not "
                       "compared yet: nothing can be told within a bound; see `orbloom site %s`",
                       name, name);
        break;
    case FRESHNESS_MAY_SAY: /* since nodes were asked */
    case FRESHNESS_FILLING:
        (void)snprintf(text, ROUTER_MESSAGE_BYTES,
                       "it took too long to prove \"absent\" within the bound of filter %s; retry",
                       name);
        break;
    }
}

/* ---- links and their answers ---- */

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
void site_bounds_take_links(struct router *self, const struct sync_reply *reply)
{
    struct site_links *links = &self->site_links;
    uint32_t kept = 0;

    if (reply->nlinks == 0) {
        return;
    }
    for (uint32_t i = 0; i < links->count; i++) {
        if (is_listed(reply, links->links[i].address)) {
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
            links->links[links->count].link = 0;
            memcpy(links->links[links->count++].address, address, sizeof address);
        }
    }
}

bool site_bounds_has(const struct router *self, uint32_t link)
{
    bool has = false;

    for (uint32_t i = 0; i < self->site_links.count; i++) {
        has = has || (link != 0 && self->site_links.links[i].link == link);
    }
    return has;
}

static enum status take(struct site_bound *bound, uint64_t number,
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
        &bound->fresh, number,
        &(struct freshness_answer){
            .own_life = reply->own_life, .keyset = reply->keyset, .told = told, .ntold = count});
}

void site_bounds_on_reply(struct router *self, uint64_t now_us, const struct frame *frame)
{
    const struct site_age_reply *reply = &frame->body.site_age_reply;
    struct document_entry *entry = document_cache_find(&self->documents, reply->filter_id);
    struct site_bound *bound = entry != NULL ? bound_of(entry) : NULL;

    if (bound == NULL) {
        return;
    }
    if (reply->status == STATUS_OK) {
        (void)take(bound, frame->correlation, reply); /* Of another life, or late: no news. */
    }
    bound->await_us = frame->correlation == bound->fresh.sent ? 0 : bound->await_us;
    for (uint32_t i = 0; i < self->nops; i++) {
        struct op *op = &self->ops[i];

        if (op->used && op->parked && op->filter_id == reply->filter_id &&
            op->epoch == entry->document.epoch) {
            site_bound_resume(self, now_us, op, entry);
        }
    }
}

void site_bounds_fini(struct router *self)
{
    heap_free(self->site_links.filters);
}
