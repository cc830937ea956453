/* Requests of other nodes: each gets a page, which is read for in its turn, and sent once it is
 * worth that. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/pull/pull_intervals.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_RUN_KEYS = 8192,
    MAX_ROUNDS = 64, /* reads for one answer that find little */
    HEADER_KEYS = 1 << 18,
};

static const struct document_entry *entry_of(const struct serve_page *page)
{
    return document_cache_find(page->exchange->node.documents, page->request.scope.filter_id);
}

static const struct filter_document *document_of(const struct serve_page *page)
{
    const struct document_entry *entry = entry_of(page);

    return entry != NULL ? &entry->document : NULL;
}

static size_t most_keys(const struct serve_page *page)
{
    return page->exchange->node.steps->most[STEP_ANSWER_KEYS];
}

/* What storage wants room for, unless an answer is to be smaller. */
static size_t least_keys(const struct serve_page *page)
{
    return most_keys(page) < MIN_RUN_KEYS ? most_keys(page) : MIN_RUN_KEYS;
}

static size_t keys_wanted(const struct serve_page *page)
{
    size_t keys = page->request.max_bytes / sizeof(uint64_t);

    keys = keys < least_keys(page) ? least_keys(page) : keys;
    return keys < most_keys(page) ? keys : most_keys(page);
}

/* ---- runs: only the shards of the group ---- */

/* The next stretch of fingerprints, from `from` on, whose shards belong to the group; false: none.
 * Shards next to each other are one stretch. */
static bool next_stretch(const struct filter_document *document, uint32_t group, uint64_t from,
                         uint64_t *first, uint64_t *last)
{
    const uint16_t *group_of_shard = document->content.group_of_shard;
    uint32_t bits = document->content.shard_bits;
    uint32_t nshards = document_nshards(document);
    uint32_t shard = bits > 0 ? (uint32_t)(from >> (64 - bits)) : 0;
    uint32_t behind;

    for (; shard < nshards && group_of_shard[shard] != group; shard++) {
    }
    for (behind = shard; behind < nshards && group_of_shard[behind] == group; behind++) {
    }
    if (shard == behind) {
        return false;
    }
    *first = bits > 0 ? (uint64_t)shard << (64 - bits) : 0;
    *first = *first > from ? *first : from;
    *last = behind < nshards ? ((uint64_t)behind << (64 - bits)) - 1 : UINT64_MAX;
    return true;
}

static enum status read_runs(struct serve_page *page, bool *more)
{
    const struct filter_document *document = document_of(page);
    size_t room = keys_wanted(page) > page->count ? keys_wanted(page) - page->count : 0;
    uint64_t first;
    uint64_t last;

    *more = false;
    if (document == NULL || page->end || room < least_keys(page) || page->rounds == MAX_ROUNDS) {
        return STATUS_OK;
    }
    if (!next_stretch(document, page->request.scope.group, page->next, &first, &last) ||
        first > page->request.to) {
        page->end = true;
        return STATUS_OK;
    }
    page->read.from = first;
    page->read.to = last < page->request.to ? last : page->request.to;
    page->read.room = room;
    *more = true;
    return STATUS_OK;
}

static void took_runs(struct serve_page *page)
{
    const struct storage_read *read = &page->read;

    memcpy(page->fingerprints + page->count, read->fingerprints,
           read->count * sizeof *read->fingerprints);
    page->count += read->count;
    page->merged = read->merged < page->merged ? read->merged : page->merged;
    if (!read->end) {
        page->next = read->next;
    } else if (read->to >= page->request.to) {
        page->end = true;
        page->next = read->to;
    } else {
        page->next = read->to + 1;
    }
}

/* ---- the log ---- */

static enum status read_log(struct serve_page *page, bool *more)
{
    bool enough = page->request.kind == PULL_HEADERS ? page->nbatches >= PULL_MAX_BATCHES / 2
                                                     : page->nbatches > 0;

    page->end = page->next >= page->stop;
    *more = !enough && page->next < page->limit && page->rounds < MAX_ROUNDS;
    page->read.from = page->next;
    page->read.to = page->limit;
    page->read.room = page->request.kind == PULL_HEADERS ? HEADER_KEYS : most_keys(page);
    return STATUS_OK;
}

static bool is_wanted(const struct serve_page *page, const struct record_batch *batch)
{
    if (batch->group != page->request.scope.group) {
        return false;
    }
    if (page->request.kind == PULL_LOG) {
        return true;
    }
    /* What has no number of its own can't be followed; copies and repairs bring it. */
    return node_batch_whole(batch) &&
           (page->request.kind == PULL_HEADERS ||
            pull_wants(page->request.wanted, page->request.nwanted, batch->batch_producer,
                       batch->epoch, batch->batch_number));
}

/* False: it begins the next answer, as this one names as many lists of targets as it may. */
static bool take_batch(struct serve_page *page, const struct record_batch *batch, uint64_t offset)
{
    if (page->request.kind == PULL_HEADERS) {
        page->batches[page->nbatches++] = node_batch_header(batch, offset);
        return true;
    }
    if (!node_batch_tell(page, batch, offset, &page->batches[page->nbatches])) {
        return false;
    }
    page->nbatches++;
    memcpy(page->fingerprints + page->count, batch->fingerprints,
           batch->count * sizeof *batch->fingerprints);
    page->count += batch->count;
    return true;
}

static void took_log(struct serve_page *page)
{
    const struct storage_read *read = &page->read;

    page->next = read->next;
    for (size_t i = 0; i < read->nbatches; i++) {
        const struct record_batch *batch = &read->batches[i];
        bool keys = page->request.kind != PULL_HEADERS;

        if (!is_wanted(page, batch)) {
            continue;
        }
        if (page->nbatches == PULL_MAX_BATCHES ||
            (keys && page->count + batch->count > PULL_MAX_KEYS) ||
            !take_batch(page, batch, read->offsets[i])) {
            /* No room for it: the next answer begins there. */
            page->next = read->offsets[i];
            return;
        }
    }
}

/* ---- one answer: read by read, until it is worth sending ---- */

/* A peer that follows asks of what has come lately. */
static bool recall(struct serve_page *page)
{
    bool recalled = page->request.kind == PULL_HEADERS &&
                    storage_recall(page->exchange->storage, &page->read);

    if (recalled) {
        page->rounds++;
        took_log(page);
    }
    return recalled;
}

/* Read on, or send what there is. */
static void go_on(struct serve_page *page, uint64_t now_us)
{
    bool runs = page->request.kind == PULL_RUNS;
    bool more = false;
    enum status status;

    do {
        status = runs ? read_runs(page, &more) : read_log(page, &more);
    } while (status == STATUS_OK && more && recall(page));
    if (status == STATUS_OK && more) {
        page->rounds++;
        status = storage_read(page->exchange->storage, &page->read);
    }
    if (status == STATUS_OK && !more && !page->end) {
        steps_again(page->exchange->node.steps, STEP_ANSWER_KEYS);
    }
    if (status != STATUS_OK || !more) {
        node_serve_send(page, now_us, status == STATUS_STALE ? STATUS_NOT_FOUND : status);
    }
}

static void done(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct serve_page *page = (struct serve_page *)read;

    assert(page->used && page->reading); /* No page is given away while storage fills it. */
    if (status == STATUS_STALE) {
        node_serve_send(page, now_us, STATUS_NOT_FOUND); /* The log is not kept from there. */
        return;
    }
    if (status != STATUS_OK) {
        log_limited(page->exchange->node.bad_document_limit, now_us, LOG_ERROR,
                    "cannot read back what another node asks for: %s", status_meaning(status));
        node_serve_send(page, now_us, STATUS_NOT_READY);
        return;
    }
    if (page->request.kind == PULL_RUNS) {
        took_runs(page);
    } else {
        took_log(page);
    }
    go_on(page, now_us);
}

/* Up to where the log is told: what is durable; headers only of what is older than the delay, as
 * routers bring everything to all replicas. */
static enum status bound(struct serve_page *page, uint64_t now_us,
                         const struct filter_document *document)
{
    struct exchange *self = page->exchange;
    uint64_t durable = node_log_durable(self, document);

    page->limit = durable;
    if (page->request.kind == PULL_HEADERS) {
        uint64_t settled = log_age_settled(&self->age, now_us, self->config.gossip_delay_us);

        page->limit = settled < durable ? settled : durable;
        if (page->limit < page->request.from && page->request.from <= durable) {
            page->limit = page->request.from;
        }
    }
    page->stop = page->request.to != 0 ? page->request.to : page->limit;
    page->limit = page->limit < page->stop ? page->limit : page->stop;
    /* Who has more of this log than there is has it from before some of it was lost. */
    return page->request.from > durable ? STATUS_CONFLICT : STATUS_OK;
}

/* STATUS_OK: done() comes, or the answer is on its way. */
static enum status begin_page(struct serve_page *page, uint64_t now_us)
{
    const struct filter_document *document = document_of(page);
    bool runs = page->request.kind == PULL_RUNS;
    enum status status = STATUS_OK;

    assert(page->used && page->reading);
    if (document == NULL) {
        return STATUS_NEED_DOC;
    }
    if (page->request.kind == PULL_DIGESTS && document->keylog == KEYLOG_OFF) {
        return node_serve_page_digests(page, now_us);
    }
    page->next = page->request.from;
    page->merged = UINT64_MAX;
    if (page->request.kind == PULL_PAGES) {
        return node_serve_lines(page, now_us, entry_of(page));
    }
    if (pull_kind_reads_view(page->request.kind)) {
        return node_serve_view_begin(page, now_us, document);
    }
    if (page->request.kind != PULL_HEADERS) {
        page->fingerprints = heap_alloc(PULL_MAX_KEYS, sizeof *page->fingerprints);
    }
    if (!runs) {
        page->targets = heap_alloc(SERVE_TARGETS, sizeof *page->targets);
        page->batches = heap_alloc(PULL_MAX_BATCHES, sizeof *page->batches);
        status = bound(page, now_us, document);
    }
    if ((page->request.kind != PULL_HEADERS && page->fingerprints == NULL) ||
        (!runs && (page->batches == NULL || page->targets == NULL))) {
        return STATUS_OVERLOADED;
    }
    page->read = (struct storage_read){
        .set = {.filter_id = page->request.scope.filter_id,
                .slice = page->request.scope.slice,
                .keyset = page->request.scope.keyset},
        .log = !runs,
        .done = done,
    };
    if (status == STATUS_OK) {
        go_on(page, now_us);
    }
    return status;
}

bool node_serves(const struct exchange *self, uint64_t filter_id)
{
    for (size_t i = 0; i < SERVE_PAGES; i++) {
        const struct serve_page *page = &self->pages[i];

        if (page->used && page->request.scope.filter_id == filter_id) {
            return true;
        }
    }
    return false;
}

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

/* ---- requests: each gets a page, that is read for in its turn ---- */

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
            status = begin_page(page, now_us);
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
