/* What links are told of this node's log: which filters, up to where, and the answer itself. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/sync/tail.h"
#include "node/tail/tail_place.h"

#include <assert.h>
#include <string.h>

enum { DOCUMENT_BYTES = 2 << 20 /* in one answer, at most: with all else it fits a frame */ };

/* ---- whether ---- */

const char *node_tail_why_not(const struct exchange *self, const struct site_tail_request *request,
                              enum status *status)
{
    const struct node_life *life = self->node.life;
    const struct tail_place place = {
        .incarnation = request->source.incarnation,
        .boot = request->boot,
        .offset = request->from,
    };

    *status = STATUS_NOT_READY;
    if (self->storage == NULL) {
        return "this node keeps no log (data_dir), and so nothing for other sites";
    }
    if (life->recovering || life->failed || !life->confirmed) {
        return "this node is starting: it reads its log back, or no coordinator has confirmed it "
               "yet; ask again";
    }
    if (request->source.node != life->id) {
        return "another node has this address; look into the node list";
    }
    *status = tail_place_tells_put_back(&place, &life->identity, storage_end(self->storage))
                  ? STATUS_CONFLICT
                  : STATUS_STALE;
    return tail_place_why_not(&place, &life->identity, storage_end(self->storage));
}

/* May the filter live in other sites, too? Whether it does is the asker's to know: nobody but a
 * link asks, and to tell more harms nothing. */
static bool may_have_sites(const struct filter_document *document)
{
    return document_logs_keys(document);
}

/* As a check is judged; and by what this replica may lack, without anybody telling it. */
static enum status judge(const struct exchange *self, const struct site_tail_filter *filter,
                         uint64_t from, struct site_tail_refusal *out)
{
    const struct document_entry *entry = document_cache_find(self->node.documents,
                                                             filter->filter_id);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    enum status status;

    *out = (struct site_tail_refusal){.filter_id = filter->filter_id};
    if (document_cache_is_dropped(self->node.documents, filter->filter_id)) {
        return STATUS_DROPPED;
    }
    if (entry == NULL) {
        return STATUS_NEED_DOC;
    }
    out->epoch = entry->document.epoch;
    out->epoch_hash = entry->document.epoch_hash;
    if (entry->conflict) {
        return STATUS_CONFLICT;
    }
    if (hosted == NULL || hosted->unlogged) {
        return STATUS_NOT_READY;
    }
    status = fence_judge(&hosted->fence, &entry->document, filter->epoch, filter->epoch_hash);
    if (status != STATUS_OK) {
        return status;
    }
    if (!may_have_sites(&entry->document)) {
        return STATUS_NOT_FOUND;
    }
    if (hosted->set == NULL || hosted->doubted) {
        return STATUS_NOT_READY;
    }
    out->compare = from < hosted->caught_up && !MUTANT(TAIL_CAUGHT_UP);
    return out->compare ? STATUS_STALE : STATUS_OK;
}

static bool wants_sync(const struct exchange *self, uint64_t filter_id)
{
    const struct document_entry *entry = document_cache_find(self->node.documents, filter_id);

    return entry->document.durability != DURABILITY_OS;
}

/* One pass over the list: counted, or put where there is room for as many. */
static void walk(struct tail_page *page, bool keep)
{
    const struct tail_list *list = page->list;
    size_t served = 0;

    page->nrefused = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct site_tail_refusal refusal;
        enum status status = judge(page->exchange, &list->filters[i], page->request.from, &refusal);

        refusal.status = status;
        if (status == STATUS_OK) {
            page->synced = page->synced || wants_sync(page->exchange, list->ids[i]);
            if (keep) {
                page->served[served] = list->ids[i];
            }
            served++;
        } else {
            if (keep) {
                page->refused[page->nrefused] = refusal;
            }
            page->nrefused++;
        }
    }
    page->own.nfilters = served;
}

static void forget_judgement(struct tail_page *page)
{
    heap_free(page->refused);
    heap_free(page->served);
    page->refused = NULL;
    page->served = NULL;
    page->nrefused = 0;
    page->own.filters = page->list->ids;
    page->own.nfilters = page->list->count;
}

/* Nothing that decides has changed since all of the list was well, for a place not behind this
 * one's. */
static bool is_clean(const struct tail_page *page)
{
    return page->list->clean == page->exchange->changes + 1 &&
           page->request.from >= page->list->clean_from;
}

enum status node_tail_judge(struct tail_page *page)
{
    struct tail_list *list = page->list;

    page->judged = page->exchange->changes;
    forget_judgement(page);
    if (is_clean(page)) {
        page->synced = list->synced;
        return STATUS_OK;
    }
    page->synced = false;
    walk(page, false);
    if (page->nrefused == 0) {
        list->clean = page->exchange->changes + 1;
        list->clean_from = page->request.from;
        list->synced = page->synced;
        return STATUS_OK;
    }
    page->refused = heap_alloc(list->count, sizeof *page->refused);
    page->served = heap_alloc(list->count, sizeof *page->served);
    if (page->refused == NULL || page->served == NULL) {
        return STATUS_NOMEM;
    }
    walk(page, true);
    page->own.filters = page->served;
    return STATUS_OK;
}

uint64_t node_tail_durable(const struct tail_page *page)
{
    const struct storage *storage = page->exchange->storage;

    return page->synced ? storage_synced(storage) : storage_written(storage);
}

/* ---- the answer ---- */

static void fill(const struct exchange *self, const struct site_tail_request *request,
                 struct site_tail_reply *reply)
{
    *reply = (struct site_tail_reply){
        .message = "",
        .source = {.node = self->node.life->id, .incarnation = self->node.life->incarnation},
        .boot = self->node.life->identity.boot,
        .list = request->list,
        .from = request->from,
        .next = request->from,
        .headers_only = request->headers_only,
    };
}

void node_tail_refuse(struct exchange *self, const struct peer *to, uint64_t correlation,
                      const struct site_tail_request *request, enum status status,
                      const char *message)
{
    struct frame frame = {.correlation = correlation, .kind = FRAME_SITE_TAIL_REPLY};

    exchange_count(self, NODE_site_tails_refused_total);
    fill(self, request, &frame.body.site_tail_reply);
    frame.body.site_tail_reply.status = status;
    frame.body.site_tail_reply.message = message;
    self->node.reply_frame(self->node.self, to, &frame);
}

void node_tail_release(struct tail_page *page)
{
    forget_judgement(page);
    heap_free(page->wanted);
    tail_list_leave(page->list);
    *page = (struct tail_page){0};
}

void node_tail_give_up(struct tail_page *page, enum status status, const char *message)
{
    node_tail_refuse(page->exchange, &page->to, page->correlation, &page->request, status, message);
    node_tail_release(page);
}

static struct site_tail_record record_of(const struct storage_read *read, size_t i,
                                         const struct pull_targets *targets)
{
    const struct record_batch *batch = &read->batches[i];

    return (struct site_tail_record){
        .filter_id = batch->filter_id,
        .epoch = batch->epoch,
        .producer_id = batch->batch_producer,
        .number = batch->batch_number,
        .offset = read->offsets[i],
        .digest = read->digests[i],
        .group = batch->group,
        .count = batch->count,
        .flags = (batch->fed ? (uint32_t)PULL_BATCH_FED : 0) |
                 (batch->partial ? (uint32_t)PULL_BATCH_PARTIAL : 0),
        .targets = targets,
    };
}

static struct pull_targets targets_of(const struct record_batch *batch)
{
    struct pull_targets targets = {.count = batch->ntargets};

    for (uint32_t i = 0; i < batch->ntargets; i++) {
        targets.items[i] = (struct pull_target){.slice = batch->targets[i].slice,
                                                .keyset = batch->targets[i].keyset};
    }
    return targets;
}

/* What was read, as it is told. `targets` has room for as many; those that follow each other and
 * are equal share one. */
static void tell(const struct storage_read *read, struct site_tail_record *records,
                 struct pull_targets *targets)
{
    size_t ntargets = 0;

    for (size_t i = 0; i < read->nbatches; i++) {
        const struct pull_targets one = targets_of(&read->batches[i]);

        if (ntargets == 0 || !pull_targets_equal(&targets[ntargets - 1], &one)) {
            targets[ntargets++] = one;
        }
        records[i] = record_of(read, i, &targets[ntargets - 1]);
    }
}

/* Of those that the asker is behind with, as many as there is room for; of the others it hears when
 * it asks again. */
static size_t hand_on(const struct tail_page *page, struct span documents[SITE_TAIL_MAX_DOCUMENTS])
{
    const struct document_cache *cache = page->exchange->node.documents;
    bool dropped = false;
    size_t count = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < page->nrefused && count < SITE_TAIL_MAX_DOCUMENTS; i++) {
        const struct site_tail_refusal *refusal = &page->refused[i];
        const struct document_entry *entry = document_cache_find(cache, refusal->filter_id);
        bool gone = refusal->status == STATUS_DROPPED && (entry == NULL || entry->gone);
        struct span one = gone ? span_of(cache->dropped_bytes, cache->dropped_size)
                               : span_of("", 0);

        if (!gone && entry != NULL && !refusal->compare &&
            (refusal->status == STATUS_STALE || refusal->status == STATUS_DROPPED)) {
            one = span_of(entry->signed_bytes, entry->signed_size);
        }
        if (one.size > 0 && !(gone && dropped) && bytes + one.size <= DOCUMENT_BYTES) {
            documents[count++] = one;
            bytes += one.size;
            dropped = dropped || gone;
        }
    }
    return count;
}

/* Bytes of the frame: what is counted, and paid for. */
static uint64_t weight(const struct site_tail_reply *reply)
{
    uint64_t documents = 0;

    for (size_t i = 0; i < reply->ndocuments; i++) {
        documents += reply->documents[i].size;
    }
    return 64 + reply->count * sizeof(uint64_t) + reply->nrecords * 16 + reply->nrefusals * 32 +
           documents;
}

/* Judged anew, is told of the same filters as before? What was passed over must not count as
 * looked at now. */
static enum status judge_again(struct tail_page *page, bool *same)
{
    uint64_t *served = page->served;
    const uint64_t *before = page->own.filters;
    size_t count = page->own.nfilters;
    enum status status = STATUS_OK;

    *same = true;
    if (page->judged == page->exchange->changes) {
        return STATUS_OK;
    }
    page->served = NULL;
    status = node_tail_judge(page);
    *same = status == STATUS_OK && count == page->own.nfilters &&
            (count == 0 || memcmp(before, page->own.filters, count * sizeof *before) == 0);
    heap_free(served);
    return status;
}

static void send(struct tail_page *page, uint64_t now_us, const struct site_tail_record *records,
                 bool same)
{
    struct exchange *self = page->exchange;
    struct span documents[SITE_TAIL_MAX_DOCUMENTS];
    struct frame frame = {.correlation = page->correlation, .kind = FRAME_SITE_TAIL_REPLY};
    struct site_tail_reply *reply = &frame.body.site_tail_reply;
    bool wanted = page->request.nwanted > 0;
    uint64_t bytes;

    fill(self, &page->request, reply);
    reply->durable = node_tail_durable(page);
    reply->refusals = page->refused;
    reply->nrefusals = page->nrefused;
    reply->documents = documents;
    reply->ndocuments = hand_on(page, documents);
    if (same) {
        reply->next = wanted && records != NULL && page->read.end ? UINT64_MAX : page->next;
    }
    if (same && records != NULL) {
        reply->records = records;
        reply->nrecords = page->read.nbatches;
        reply->fingerprints = page->read.fingerprints;
        reply->count = page->read.count;
    }
    bytes = weight(reply);
    self->node.counters[NODE_site_tail_records_total] += reply->nrecords;
    self->node.counters[NODE_site_tail_bytes_total] += bytes;
    token_bucket_take(node_serve_bucket(self, now_us, &page->to), now_us, bytes,
                      self->config.gossip_rate);
    self->node.reply_frame(self->node.self, &page->to, &frame);
    node_tail_release(page);
}

void node_tail_send(struct tail_page *page, uint64_t now_us, bool found)
{
    struct exchange *self = page->exchange;
    size_t count = found ? page->read.nbatches : 0;
    struct site_tail_record *records = heap_alloc(count, sizeof *records);
    struct pull_targets *targets = heap_alloc(count, sizeof *targets);
    bool same = false;
    enum status status = STATUS_OVERLOADED;
    const char *why = node_tail_why_not(self, &page->request, &status); /* It may have changed. */

    assert(page->used);
    if (why == NULL &&
        (records == NULL || targets == NULL || judge_again(page, &same) != STATUS_OK ||
         page->read.count > SITE_TAIL_MAX_KEYS)) {
        status = STATUS_OVERLOADED;
        why = "no memory for the answer; ask again";
    }
    if (why != NULL) {
        node_tail_give_up(page, status, why);
    } else {
        tell(&page->read, records, targets);
        send(page, now_us, found ? records : NULL, same);
    }
    heap_free(records);
    heap_free(targets);
}
