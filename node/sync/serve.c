/* Answering other nodes: requests judged, read for at a bounded rate, answered. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/pull/pull_lines.h"
#include "node/sync/exchange.h"
#include "proto/answers.h"

#include <string.h>

uint64_t node_log_durable(const struct exchange *self, const struct filter_document *document)
{
    return document->durability == DURABILITY_OS ? storage_written(self->storage)
                                                 : storage_synced(self->storage);
}

/* ---- how fast ---- */

bool node_serve_same_peer(const struct peer *a, const struct peer *b)
{
    return a->size == b->size && memcmp(a->id, b->id, a->size) == 0;
}

/* The peer's own bucket, or that of the one heard of longest ago. */
static struct token_bucket *bucket_of(struct exchange *exchange, uint64_t now_us,
                                      const struct peer *peer)
{
    struct serve_bucket *oldest = &exchange->buckets[0];

    for (unsigned i = 0; i < SERVE_BUCKETS; i++) {
        struct serve_bucket *one = &exchange->buckets[i];

        if (one->used_us != 0 && node_serve_same_peer(&one->peer, peer)) {
            one->used_us = now_us;
            return &one->bucket;
        }
        oldest = one->used_us < oldest->used_us ? one : oldest;
    }
    *oldest = (struct serve_bucket){.peer = *peer, .used_us = now_us};
    return &oldest->bucket;
}

/* ---- answers ---- */

static void fill_reply(const struct exchange *self, const struct pull_request *request,
                       const struct document_entry *entry, struct pull_reply *reply)
{
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

    reply->kind = request->kind;
    reply->scope = request->scope;
    reply->source = (struct member){.node = self->node.life->id,
                                    .incarnation = self->node.life->incarnation};
    if (MUTANT(SYNC_COUNTS_JOINING)) {
        reply->source = request->source;
    }
    reply->boot = self->node.life->identity.boot;
    reply->from = request->from;
    if (entry != NULL) {
        reply->scope.epoch = entry->document.epoch;
        reply->scope.epoch_hash = entry->document.epoch_hash;
    }
    if (hosted != NULL) {
        const struct replica_set *set = hosted_find(hosted, request->scope.lineage,
                                                    request->scope.slice);

        reply->state = !request->sync && replica_set_holds(set, request->scope.group)
                           ? REPLICA_FULL
                           : replica_set_state(set, request->scope.group);
        reply->fence_epoch = hosted->fence.epoch;
        reply->fence_position = hosted->fence_end;
    }
}

static void refuse(struct exchange *self, const struct peer *to, uint64_t correlation,
                   const struct pull_request *request, enum status status)
{
    const struct document_entry *entry = document_cache_find(self->node.documents,
                                                             request->scope.filter_id);
    struct frame frame = {.correlation = correlation, .kind = FRAME_PULL_REPLY};
    struct pull_reply *reply = &frame.body.pull_reply;

    exchange_count(self, NODE_pulls_refused_total);
    fill_reply(self, request, entry, reply);
    reply->status = status;
    if (document_cache_is_dropped(self->node.documents, request->scope.filter_id)) {
        reply->document = span_of(self->node.documents->dropped_bytes,
                                  self->node.documents->dropped_size);
    } else if (entry != NULL && (status == STATUS_STALE || status == STATUS_DROPPED)) {
        reply->document = span_of(entry->signed_bytes, entry->signed_size);
    }
    self->node.reply_frame(self->node.self, to, &frame);
}

/* Bytes of the frame: what is counted, and paid for. */
static uint64_t weight(const struct pull_reply *reply)
{
    size_t words = reply->count + reply->ndigests + reply->ncounts;

    return 128 + reply->npages * (PULL_PAGE_BYTES + 8) + words * sizeof(uint64_t) +
           reply->nbatches * 8 + reply->nintervals * sizeof(struct pull_interval);
}

static void send_page(struct serve_page *page, uint64_t now_us, const struct document_entry *entry,
                      struct pull_interval *intervals)
{
    struct exchange *self = page->exchange;
    const struct hosted_filter *hosted = entry->attachment;
    struct frame frame = {.correlation = page->correlation, .kind = FRAME_PULL_REPLY};
    struct pull_reply *reply = &frame.body.pull_reply;
    uint64_t bytes;

    fill_reply(self, &page->request, entry, reply);
    reply->next = page->next;
    reply->end = page->end;
    reply->merged = page->merged;
    reply->durable = node_log_durable(self, &entry->document);
    if (page->request.kind == PULL_HEADERS) {
        reply->intervals = intervals;
        reply->nintervals = pull_intervals_make(page->batches, page->nbatches, intervals);
    } else if (page->request.kind == PULL_LINES) {
        reply->page_ids = page->page_ids;
        reply->pages = page->pages;
        reply->npages = page->npages;
    } else {
        reply->batches = page->batches;
        reply->nbatches = page->nbatches;
        reply->fingerprints = page->fingerprints;
        reply->count = page->count;
        reply->cut = page->cut;
        reply->cut_end = page->cut_end;
        reply->digests = page->digests;
        reply->ndigests = page->ndigests;
        reply->counts = page->counts;
        reply->ncounts = page->ncounts;
    }
    bytes = weight(reply);
    self->node.counters[NODE_gossip_bytes_served_total] += bytes;
    token_bucket_take(bucket_of(self, now_us, &page->to), now_us, bytes, self->config.gossip_rate);
    /* Not before the fence that it tells of is durable. */
    self->node.reply_when(self->node.self, &page->to, &frame,
                          (struct log_need){.synced = hosted->fence_end});
}

void node_serve_send(struct serve_page *page, uint64_t now_us, enum status status)
{
    struct exchange *self = page->exchange;
    const struct document_entry *entry = NULL;
    struct pull_interval *intervals = NULL;

    if (status == STATUS_OK) {
        status = node_serve_judge(self, &page->request, &entry); /* It may have changed. */
    }
    if (status == STATUS_OK && page->request.kind == PULL_HEADERS) {
        intervals = heap_alloc(page->nbatches, sizeof *intervals);
        status = intervals != NULL ? STATUS_OK : STATUS_OVERLOADED;
    }
    if (status == STATUS_OK) {
        send_page(page, now_us, entry, intervals);
    } else {
        refuse(self, &page->to, page->correlation, &page->request, status);
    }
    heap_free(intervals);
    node_serve_release(page);
}

/* ---- requests ---- */

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
        .start_us = token_bucket_ready_us(bucket_of(self, now_us, from), now_us),
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
        node_serve_filters(self, now_us, from, frame);
        return;
    }
    status = self->storage == NULL ? STATUS_NOT_READY : node_serve_judge(self, request, &entry);
    if (status == STATUS_OK) {
        status = open_page(self, now_us, from, frame);
    }
    if (status != STATUS_OK) {
        refuse(self, from, frame->correlation, request, status);
        return;
    }
    node_serve_pump(self, now_us);
}

void node_serve_pump(struct exchange *self, uint64_t now_us)
{
    node_serve_cut_pump(self, now_us);
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
    uint64_t next_us = node_serve_cut_next_us(self);

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
    node_serve_cut_fini(exchange);
    for (unsigned i = 0; i < SERVE_PAGES; i++) {
        if (exchange->pages[i].used) {
            node_serve_release(&exchange->pages[i]);
        }
    }
}
