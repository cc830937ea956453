/* Requests of other nodes: each gets a page, that is read for in its turn. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/sync/exchange.h"

#include <stdlib.h>
#include <string.h>

/* ---- which filters have news: the one question of a node that follows many ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;

    return (*left > *right) - (*left < *right);
}

static size_t sort(uint64_t *ids, size_t count)
{
    size_t kept = 0;

    qsort(ids, count, sizeof *ids, compare);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || ids[kept - 1] != ids[i]) {
            ids[kept++] = ids[i];
        }
    }
    return kept;
}

/* As headers are told: what is older than the delay. Of durability os that is more than no power
 * loss takes back; so `durable` says how far others may go. */
static enum status tell(struct exchange *self, uint64_t now_us, uint64_t *ids,
                        struct pull_reply *reply)
{
    uint64_t written = storage_written(self->storage);
    uint64_t settled = log_age_settled(&self->age, now_us, self->config.gossip_delay_us);
    uint64_t limit = settled < written ? settled : written;

    if (reply->from > written) {
        return STATUS_CONFLICT; /* It has more of this log than there is. */
    }
    limit = limit > reply->from ? limit : reply->from;
    if (!storage_recall_filters(self->storage, reply->from, limit, ids, PULL_MAX_FILTERS,
                                &reply->count, &reply->next)) {
        return STATUS_NOT_FOUND;
    }
    reply->count = sort(ids, reply->count);
    if (MUTANT(FILTERS_NOT_NAMED)) {
        reply->count = 0;
    }
    reply->fingerprints = ids;
    reply->end = reply->next >= limit;
    return STATUS_OK;
}

static bool may_tell(const struct exchange *self, const struct pull_request *request)
{
    return request->source.node == self->node.life->id &&
           request->source.incarnation == self->node.life->incarnation &&
           self->node.life->confirmed && !self->node.life->failed && !self->node.life->recovering;
}

static void serve_filters(struct exchange *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame)
{
    const struct pull_request *request = &frame->body.pull_request;
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_PULL_REPLY};
    struct pull_reply *reply = &answer.body.pull_reply;
    uint64_t *ids = NULL;

    *reply = (struct pull_reply){
        .status = STATUS_NOT_READY,
        .kind = PULL_FILTERS,
        .source = {.node = self->node.life->id, .incarnation = self->node.life->incarnation},
        .boot = self->node.life->identity.boot,
        .from = request->from,
    };
    if (may_tell(self, request)) {
        ids = heap_alloc(PULL_MAX_FILTERS, sizeof *ids);
        reply->durable = storage_synced(self->storage);
        reply->status = ids != NULL ? tell(self, now_us, ids, reply) : STATUS_OVERLOADED;
    }
    if (reply->status == STATUS_OK) {
        self->node.counters[NODE_gossip_bytes_served_total] += 128 + reply->count * sizeof *ids;
    } else {
        exchange_count(self, NODE_pulls_refused_total);
    }
    self->node.reply_frame(self->node.self, from, &answer);
    heap_free(ids);
}

/* ---- all other requests ---- */

static struct serve_page *free_page(struct exchange *exchange)
{
    for (unsigned i = 0; i < SERVE_PAGES; i++) {
        if (!exchange->pages[i].used) {
            return &exchange->pages[i];
        }
    }
    return NULL;
}

static enum status open_page(struct exchange *self, uint64_t now_us, const struct peer *from,
                             const struct frame *frame)
{
    const struct pull_request *request = &frame->body.pull_request;
    struct serve_page *page = free_page(self);
    struct pull_interval *wanted = NULL;
    uint64_t *prefixes = NULL;

    if (page == NULL) {
        return STATUS_OVERLOADED;
    }
    if (request->nwanted > 0) {
        wanted = heap_alloc(request->nwanted, sizeof *wanted);
        if (wanted == NULL) {
            return STATUS_OVERLOADED;
        }
        memcpy(wanted, request->wanted, request->nwanted * sizeof *wanted);
    }
    if (request->nprefixes > 0) {
        prefixes = heap_alloc(request->nprefixes, sizeof *prefixes);
        if (prefixes == NULL) {
            heap_free(wanted);
            return STATUS_OVERLOADED;
        }
        memcpy(prefixes, request->prefixes, request->nprefixes * sizeof *prefixes);
    }
    *page = (struct serve_page){
        .exchange = self,
        .used = true,
        .start_us = token_bucket_ready_us(node_serve_bucket(self, now_us, from), now_us),
        .to = *from,
        .correlation = frame->correlation,
        .request = *request,
        .wanted = wanted,
        .prefixes = prefixes,
    };
    page->request.wanted = wanted;
    page->request.prefixes = prefixes;
    self->node.counters[NODE_pulls_delayed_total] += page->start_us > now_us;
    return STATUS_OK;
}

void node_on_pull_request(struct exchange *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame)
{
    const struct pull_request *request = &frame->body.pull_request;
    const struct document_entry *entry;
    enum status status;

    exchange_count(self, NODE_pulls_total);
    if (request->kind == PULL_FILTERS && self->storage != NULL) {
        serve_filters(self, now_us, from, frame);
        return;
    }
    status = self->storage == NULL ? STATUS_NOT_READY : node_serve_judge(self, request, &entry);
    if (status == STATUS_OK) {
        status = open_page(self, now_us, from, frame);
    }
    if (status != STATUS_OK) {
        node_serve_refuse(self, from, frame->correlation, request, status);
        return;
    }
    node_serve_pump(self, now_us);
}

void node_serve_pump(struct exchange *self, uint64_t now_us)
{
    node_serve_view_pump(self, now_us);
    for (unsigned i = 0; i < SERVE_PAGES; i++) {
        struct serve_page *page = &self->pages[i];
        enum status status;

        if (page->used && !page->reading && page->start_us <= now_us) {
            page->reading = true;
            status = node_serve_begin(page, now_us);
            if (status != STATUS_OK) {
                node_serve_send(page, now_us, status);
            }
        }
    }
}

uint64_t node_serve_next_us(const struct exchange *self)
{
    uint64_t next_us = node_serve_view_next_us(self);

    for (unsigned i = 0; i < SERVE_PAGES; i++) {
        const struct serve_page *page = &self->pages[i];

        if (page->used && !page->reading && page->start_us < next_us) {
            next_us = page->start_us;
        }
    }
    return next_us;
}

void node_serve_fini(struct exchange *exchange)
{
    node_serve_view_fini(exchange);
    for (unsigned i = 0; i < SERVE_PAGES; i++) {
        if (exchange->pages[i].used) {
            node_serve_release(&exchange->pages[i]);
        }
    }
}
