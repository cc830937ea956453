/* What other nodes are told, and how fast: requests judged, answers sent or refused. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/pull/live_sets.h"
#include "node/pull/pull_geometry.h"
#include "node/pull/pull_intervals.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <string.h>

uint64_t node_log_durable(const struct exchange *self, const struct filter_document *document)
{
    return document->durability == DURABILITY_OS ? storage_written(self->storage)
                                                 : storage_synced(self->storage);
}

/* ---- which requests ---- */

static bool is_meant(const struct exchange *self, const struct member *source)
{
    return source->node == self->node.life->id &&
           (source->incarnation == 0 || source->incarnation == self->node.life->incarnation ||
            MUTANT(SYNC_COUNTS_JOINING));
}

static bool counts(const struct hosted_filter *hosted, const struct pull_request *request)
{
    const struct arrays *set = hosted_find(hosted, request->scope.keyset, request->scope.slice);
    enum replica_state state = arrays_state(set, request->scope.group);

    if (MUTANT(SYNC_COUNTS_JOINING) && request->sync && state == REPLICA_JOINING) {
        return true;
    }
    /* Two that are in doubt help each other; whoever joins needs one that is not. */
    return state == REPLICA_FULL || (!request->sync && arrays_holds(set, request->scope.group));
}

enum status node_serve_judge(const struct exchange *self, const struct pull_request *request,
                             const struct document_entry **out)
{
    const struct pull_scope *scope = &request->scope;
    const struct document_entry *entry = document_cache_find(self->node.documents,
                                                             scope->filter_id);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    enum status status;

    *out = entry;
    if (!MUTANT(ERASE_NO_TOMBSTONE) &&
        document_cache_is_dropped(self->node.documents, scope->filter_id)) {
        return STATUS_DROPPED;
    }
    if (entry == NULL) {
        return STATUS_NEED_DOC;
    }
    if (entry->conflict) {
        return STATUS_NOT_READY;
    }
    if (hosted == NULL || hosted->unlogged || !self->node.life->confirmed ||
        self->node.life->failed) {
        return STATUS_NOT_READY;
    }
    status = fence_judge(&hosted->fence, &entry->document, scope->epoch, scope->epoch_hash);
    if (status != STATUS_OK) {
        return status == STATUS_CONFLICT ? STATUS_NOT_READY : status;
    }
    if (scope->group >= entry->document.content.ngroups ||
        !live_sets_have(&entry->document, scope->keyset, scope->slice) ||
        !pull_scope_fits(scope, &entry->document) ||
        !pull_kind_fits(request->kind, &entry->document)) {
        return STATUS_INVALID;
    }
    return is_meant(self, &request->source) && counts(hosted, request) ? STATUS_OK
                                                                       : STATUS_NOT_READY;
}

/* ---- how fast ---- */

bool node_serve_same_peer(const struct peer *a, const struct peer *b)
{
    return a->size == b->size && memcmp(a->id, b->id, a->size) == 0;
}

struct token_bucket *node_serve_bucket(struct exchange *exchange, uint64_t now_us,
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
        const struct arrays *set = hosted_find(hosted, request->scope.keyset, request->scope.slice);

        reply->state = !request->sync && arrays_holds(set, request->scope.group)
                           ? REPLICA_FULL
                           : arrays_state(set, request->scope.group);
        reply->fence_epoch = hosted->fence.epoch;
        reply->fence_position = hosted->fence_end;
    }
}

void node_serve_refuse(struct exchange *self, const struct peer *to, uint64_t correlation,
                       const struct pull_request *request, enum status status)
{
    const struct document_entry *entry = document_cache_find(self->node.documents,
                                                             request->scope.filter_id);
    struct frame frame = {.correlation = correlation, .kind = FRAME_PULL_REPLY};
    struct pull_reply *reply = &frame.body.pull_reply;

    exchange_count(self, NODE_pulls_refused_total);
    fill_reply(self, request, entry, reply);
    reply->status = status;
    /* What the asker is behind with comes along, so that it need not ask a coordinator. */
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
    } else if (page->request.kind == PULL_PAGES) {
        reply->page_ids = page->page_ids;
        reply->pages = page->pages;
        reply->npages = page->npages;
    } else {
        reply->batches = page->batches;
        reply->nbatches = page->nbatches;
        reply->fingerprints = page->fingerprints;
        reply->count = page->count;
        reply->view = page->view;
        reply->view_end = page->view_end;
        reply->digests = page->digests;
        reply->ndigests = page->ndigests;
        reply->counts = page->counts;
        reply->ncounts = page->ncounts;
    }
    bytes = weight(reply);
    self->node.counters[NODE_gossip_bytes_served_total] += bytes;
    token_bucket_take(node_serve_bucket(self, now_us, &page->to), now_us, bytes,
                      self->config.gossip_rate);
    /* Not before the fence that it tells of is durable. */
    self->node.reply_when(self->node.self, &page->to, &frame,
                          (struct log_need){.synced = hosted->fence_end});
}

void node_serve_release(struct serve_page *page)
{
    heap_free(page->wanted);
    heap_free(page->fingerprints);
    heap_free(page->batches);
    heap_free(page->targets);
    page->targets = NULL;
    heap_free(page->page_ids);
    heap_free(page->pages);
    page->page_ids = NULL;
    page->pages = NULL;
    page->wanted = NULL;
    page->fingerprints = NULL;
    page->batches = NULL;
    heap_free(page->prefixes);
    heap_free(page->digests);
    heap_free(page->counts);
    page->prefixes = NULL;
    page->digests = NULL;
    page->counts = NULL;
    page->used = false;
    page->reading = false;
}

void node_serve_send(struct serve_page *page, uint64_t now_us, enum status status)
{
    struct exchange *self = page->exchange;
    const struct document_entry *entry = NULL;
    struct pull_interval *intervals = NULL;

    assert(page->used);
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
        node_serve_refuse(self, &page->to, page->correlation, &page->request, status);
    }
    heap_free(intervals);
    node_serve_release(page);
}
