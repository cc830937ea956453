/* The links of this site: which there are, and asking them by turns. */
#include "router/site/inquiry.h"

#include <string.h>

enum {
    WAIT_US = 500000,   /* a link may keep a question for so long */
    AGAIN_US = 20000,   /* not sooner are links asked again of a filter */
    SILENT_US = 300000, /* later than it should an answer is not awaited */
    LACKED_MOST = 3,    /* so many answers of coordinators in a row lack a link that is gone */
};

/* ---- questions ---- */

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
