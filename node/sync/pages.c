/* Pages of arrays, of filters without key log, and their digests: telling them, comparing one's own
 * with them, and taking over those that differ.
 *
 * Arrays are read where they are written, on the node's own thread; so a shard is gone through in
 * steps, and between two of all that are under way other things are done. */
#include "base/heap.h"
#include "node/pull/live_sets.h"
#include "node/pull/pull_geometry.h"
#include "node/sync/exchange.h"

#include <string.h>

enum { STEP_PAUSE_US = 4000 /* 1 GB/s, for all */ };

/* The scope's set; NULL: it is not here. */
static struct arrays *set_of(const struct document_entry *entry, const struct pull_scope *scope)
{
    return hosted_find(entry->attachment, scope->keyset, scope->slice);
}

static bool may_step(struct exchange *exchange, uint64_t now_us)
{
    bool may = exchange->hash_us <= now_us;

    exchange->hash_us = may ? now_us + STEP_PAUSE_US : exchange->hash_us;
    return may;
}

static uint64_t digest_of(const struct arrays *set, uint64_t pages, uint64_t id)
{
    const struct layer *layer = arrays_base(set);
    size_t size = lines_page_bytes(layer->generation.geometry.lines);

    return pull_page_digest(layer->shards[id / pages] + id % pages * size, size, id);
}

/* ---- giving pages ---- */

static bool is_empty(const uint8_t *page, size_t page_bytes)
{
    const uint64_t *words = (const void *)page;
    uint64_t any = 0;

    for (size_t i = 0; i < page_bytes / sizeof *words; i++) {
        any |= words[i];
    }
    return any == 0;
}

/* A page, unless it is empty; of a small shard's the rest is zeros. */
static void put_page(struct serve_page *page, const struct arrays *set, uint64_t pages, uint64_t id)
{
    const struct layer *layer = arrays_base(set);
    size_t size = lines_page_bytes(layer->generation.geometry.lines);
    const uint8_t *bytes = layer->shards[id / pages] + id % pages * size;
    uint8_t *into = page->pages + page->npages * PULL_PAGE_BYTES;

    if (!is_empty(bytes, size)) {
        memcpy(into, bytes, size);
        memset(into + size, 0, PULL_PAGE_BYTES - size);
        page->page_ids[page->npages++] = id;
    }
}

/* The next page that is here and of the group, from `from` on; shards of others are passed by. */
static uint64_t next_page(const struct filter_document *document, const struct pull_scope *scope,
                          uint64_t from)
{
    uint64_t pages = pull_pages_a_shard(document, scope->slice);
    uint32_t group = scope->group;
    uint64_t shard = from / pages;

    if (shard >= document_nshards(document) || document->content.group_of_shard[shard] == group) {
        return from;
    }
    while (shard < document_nshards(document) && document->content.group_of_shard[shard] != group) {
        shard++;
    }
    return shard * pages;
}

static void gather(struct serve_page *page, const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    const struct pull_scope *scope = &page->request.scope;
    const struct arrays *set = set_of(entry, scope);
    struct steps *steps = page->exchange->node.steps;
    uint64_t pages = pull_pages_a_shard(document, scope->slice);
    uint64_t all = pull_pages(document, scope->slice);
    uint64_t at = next_page(document, scope, page->next);
    unsigned looked = 0;

    for (; looked < steps->most[STEP_LOOK_PAGES] && page->npages < steps->most[STEP_LINES_PAGES] &&
           at < all && at <= page->request.to;
         looked++) {
        put_page(page, set, pages, at);
        at = next_page(document, scope, at + 1);
    }
    page->next = at;
    page->end = at >= all || at > page->request.to;
    if (!page->end) {
        steps_again(steps,
                    looked == steps->most[STEP_LOOK_PAGES] ? STEP_LOOK_PAGES : STEP_LINES_PAGES);
    }
}

static enum status gather_wanted(struct serve_page *page, const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    const struct pull_scope *scope = &page->request.scope;
    const struct arrays *set = set_of(entry, scope);
    uint64_t pages = pull_pages_a_shard(document, scope->slice);
    uint64_t all = pull_pages(document, scope->slice);
    uint32_t most = page->exchange->node.steps->most[STEP_LINES_PAGES];
    size_t i = 0;

    for (; i < page->request.nprefixes && page->npages < most; i++) {
        uint64_t id = page->request.prefixes[i];

        if (id < page->request.from || id > page->request.to || id >= all ||
            document->content.group_of_shard[id / pages] != scope->group) {
            return STATUS_INVALID;
        }
        put_page(page, set, pages, id);
        page->next = id + 1;
    }
    page->end = i == page->request.nprefixes;
    if (!page->end) {
        steps_again(page->exchange->node.steps, STEP_LINES_PAGES);
    }
    return STATUS_OK;
}

/* What the log has by now is in the array. That some of it is not durable yet does no harm to who
 * takes over its bits: it is as if its router had sent it there, too. */
enum status node_serve_lines(struct serve_page *page, uint64_t now_us,
                             const struct document_entry *entry)
{
    const struct pull_scope *scope = &page->request.scope;

    if (arrays_state(set_of(entry, scope), scope->group) != REPLICA_FULL) {
        return STATUS_NOT_READY;
    }
    page->page_ids = heap_alloc(PULL_MAX_PAGES, sizeof *page->page_ids);
    page->pages = heap_alloc(PULL_MAX_PAGES, PULL_PAGE_BYTES);
    if (page->page_ids == NULL || page->pages == NULL) {
        return STATUS_OVERLOADED;
    }
    if (page->request.nprefixes == 0) {
        gather(page, entry);
    } else if (gather_wanted(page, entry) != STATUS_OK) {
        return STATUS_INVALID;
    }
    page->merged = storage_end(page->exchange->storage);
    node_serve_send(page, now_us, STATUS_OK);
    return STATUS_OK;
}

/* ---- digests of all shards of a group, in their order ---- */

/* Go on, *left pages at most. True: the walk's shard is done, its digest is in the walk. */
static bool walk(struct page_walk *walk, const struct document_entry *entry,
                 const struct pull_scope *scope, unsigned *left)
{
    const struct filter_document *document = &entry->document;
    const struct arrays *set = set_of(entry, scope);
    uint64_t pages = pull_pages_a_shard(document, scope->slice);

    while (document->content.group_of_shard[walk->shard] != scope->group) {
        walk->shard++;
    }
    for (; walk->page<pages && * left> 0; walk->page++, --*left) {
        walk->sum += digest_of(set, pages, walk->shard * pages + walk->page);
    }
    return walk->page == pages;
}

static void next_shard(struct page_walk *walk)
{
    *walk = (struct page_walk){.shard = walk->shard + 1};
}

/* ---- giving digests ---- */

static void tell_shards(struct serve_page *page, uint64_t now_us,
                        const struct document_entry *entry, uint32_t nshards)
{
    struct exchange *exchange = page->exchange;
    unsigned left = page->exchange->node.steps->most[STEP_HASH_PAGES];

    if (may_step(exchange, now_us)) {
        while (page->ndigests < nshards && walk(&page->walk, entry, &page->request.scope, &left)) {
            page->digests[page->ndigests++] = page->walk.sum;
            next_shard(&page->walk);
        }
    }
    if (page->ndigests < nshards) {
        steps_again(page->exchange->node.steps, STEP_HASH_PAGES);
        page->reading = false;
        page->start_us = exchange->hash_us;
        return;
    }
    page->end = true;
    node_serve_send(page, now_us, STATUS_OK);
}

static enum status tell_pages(struct serve_page *page, uint64_t now_us,
                              const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    const struct pull_scope *scope = &page->request.scope;
    uint64_t pages = pull_pages_a_shard(document, scope->slice);
    uint64_t from = page->request.from;
    uint64_t to = page->request.to;
    uint32_t most = page->exchange->node.steps->most[STEP_DIGEST_PAGES];

    if (from > to || to >= pull_pages(document, scope->slice) || from / pages != to / pages ||
        document->content.group_of_shard[from / pages] != scope->group) {
        return STATUS_INVALID;
    }
    for (page->next = from; page->next <= to && page->ndigests < most; page->next++) {
        page->digests[page->ndigests++] = digest_of(set_of(entry, scope), pages, page->next);
    }
    page->end = page->next > to;
    if (!page->end) {
        steps_again(page->exchange->node.steps, STEP_DIGEST_PAGES);
    }
    node_serve_send(page, now_us, STATUS_OK);
    return STATUS_OK;
}

enum status node_serve_page_digests(struct serve_page *page, uint64_t now_us)
{
    const struct pull_request *request = &page->request;
    const struct document_entry *entry;
    enum status status = node_serve_judge(page->exchange, request,
                                          &entry); /* Also between steps. */
    bool shards = request->to == UINT64_MAX;
    uint32_t nshards;

    if (status != STATUS_OK) {
        return status;
    }
    if (arrays_state(set_of(entry, &request->scope), request->scope.group) != REPLICA_FULL) {
        return STATUS_NOT_READY;
    }
    nshards = pull_group_shards(&entry->document, request->scope.group);
    if (request->nprefixes > 0 || nshards > PULL_MAX_DIGESTS) {
        return STATUS_INVALID;
    }
    if (page->digests == NULL) {
        page->digests = heap_alloc(shards ? nshards : PULL_MAX_PAGE_DIGESTS, sizeof *page->digests);
        page->merged = storage_end(page->exchange->storage);
        page->next = request->from;
    }
    if (page->digests == NULL) {
        return STATUS_OVERLOADED;
    }
    if (shards) {
        tell_shards(page, now_us, entry, nshards);
        return STATUS_OK;
    }
    return tell_pages(page, now_us, entry);
}

/* ---- comparing digests ---- */

void node_compare_pump(struct exchange *self, uint64_t now_us, const struct document_entry *entry,
                       struct pull_item *item)
{
    const struct pull_scope *scope = &item->pull.scope;
    const struct arrays *set = set_of(entry, scope);
    unsigned left = self->node.steps->most[STEP_HASH_PAGES];

    if (item->pull.phase != PULL_PHASE_COMPARE) {
        /* A comparison that was given up begins with the first shard again. */
        item->walk = (struct page_walk){0};
        return;
    }
    if (set != NULL && arrays_ready(set) && arrays_hosts(set, scope->group) &&
        may_step(self, now_us)) {
        while (item->pull.phase == PULL_PHASE_COMPARE && walk(&item->walk, entry, scope, &left)) {
            pull_shard_compared(&item->pull, now_us,
                                item->walk.shard *
                                    pull_pages_a_shard(&entry->document, scope->slice),
                                item->walk.sum);
            next_shard(&item->walk);
        }
    }
    if (item->pull.phase == PULL_PHASE_COMPARE) {
        uint64_t next_us = self->hash_us > now_us ? self->hash_us : now_us + STEP_PAUSE_US;

        self->due_us = next_us < self->due_us ? next_us : self->due_us;
    } else if (item->pull.phase != PULL_PHASE_PAGES) {
        node_exchange_look(self, scope->filter_id); /* Nothing differs: it may follow. */
    }
}

enum status node_pull_take_digests(struct exchange *self, uint64_t now_us,
                                   const struct document_entry *entry, struct pull *pull,
                                   const struct pull_reply *reply)
{
    const struct arrays *set = set_of(entry, &pull->scope);
    uint64_t pages = pull_pages_a_shard(&entry->document, pull->scope.slice);
    uint64_t own[PULL_MAX_PAGE_DIGESTS];

    if (set == NULL || self->node.life->failed || !arrays_ready(set) ||
        !arrays_hosts(set, pull->scope.group)) {
        return STATUS_NOT_READY;
    }
    if (!pull_scope_fits(&reply->scope, &entry->document)) {
        return STATUS_SHAPE;
    }
    if (pull->phase == PULL_PHASE_SHARDS) {
        return pull_take_shards(pull, now_us, reply);
    }
    if (reply->ndigests > PULL_MAX_PAGE_DIGESTS) {
        return STATUS_MALFORMED;
    }
    for (size_t i = 0; i < reply->ndigests; i++) {
        own[i] = digest_of(set, pages, reply->from + i);
    }
    return pull_take_pages(pull, now_us, reply, own);
}

/* ---- taking pages over ---- */

static enum status take_page(struct exchange *self, struct document_entry *entry,
                             const struct pull_scope *scope, uint64_t id, const uint8_t *bytes)
{
    struct arrays *set = set_of(entry, scope);
    const struct replica_group *group = &set->groups[scope->group];
    uint64_t pages = pull_pages_a_shard(&entry->document, scope->slice);
    const struct record_lines lines = {
        .filter_id = scope->filter_id,
        .slice = scope->slice,
        .keyset = scope->keyset,
        .generation = scope->generation,
        .shard = (uint32_t)(id / pages),
        .page = id % pages,
        .bytes = bytes,
    };
    enum status status;
    uint64_t end;

    if (arrays_has_page(set, lines.shard, lines.page, bytes)) {
        return STATUS_OK; /* As what is here is in the log, so is this. */
    }
    /* It can do without what others bring, as batches do: see node_absorb(). */
    if (arrays_state(set, scope->group) == REPLICA_FULL && group->keys >= group->keys_capacity) {
        return STATUS_OK;
    }
    status = storage_put_lines(self->storage, &lines, &end);
    if (status == STATUS_OK) {
        arrays_merge_page(set, &entry->document, lines.shard, lines.page, bytes);
        exchange_count(self, NODE_pages_copied_total);
    }
    return status;
}

enum status node_pull_take_lines(struct exchange *self, uint64_t now_us,
                                 struct document_entry *entry, struct pull_reply *reply)
{
    const struct arrays *set = set_of(entry, &reply->scope);
    enum status status = STATUS_OK;
    size_t done = 0;

    if (set == NULL || self->node.life->failed || !arrays_ready(set) ||
        !arrays_hosts(set, reply->scope.group)) {
        return STATUS_NOT_READY; /* A replay under way would not see it. */
    }
    if (!live_sets_have(&entry->document, set->keyset, set->slice) ||
        !pull_scope_fits(&reply->scope, &entry->document) ||
        !pull_pages_belong(reply, &entry->document)) {
        return STATUS_SHAPE;
    }
    /* A router's message that is still on its way would find these bits set. */
    self->doubt_until_us = now_us + self->config.retry_memory_us;
    while (done < reply->npages && status == STATUS_OK) {
        status = take_page(self, entry, &reply->scope, reply->page_ids[done],
                           reply->pages + done * PULL_PAGE_BYTES);
        done += status == STATUS_OK;
    }
    if (status != STATUS_OK && done > 0) {
        reply->next = reply->page_ids[done];
        reply->end = false;
        status = STATUS_OK;
    }
    return status;
}
