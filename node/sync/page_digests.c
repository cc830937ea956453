/* Digests of pages of arrays, of filters without key log: telling them, and comparing one's own.
 *
 * Arrays are read where they are written, on the node's own thread; so a shard is gone through in
 * steps, and between two of all that are under way other things are done. */
#include "base/heap.h"
#include "node/pull/pull_geometry.h"
#include "node/sync/exchange.h"

enum { STEP_PAUSE_US = 4000 /* 1 GB/s, for all */ };

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

/* The scope's set; NULL: it is not here. */
static const struct arrays *set_of(const struct document_entry *entry,
                                   const struct pull_scope *scope)
{
    return hosted_find(entry->attachment, scope->keyset, scope->slice);
}

/* ---- all shards of a group, in their order ---- */

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

/* ---- giving ---- */

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

/* ---- comparing ---- */

void node_compare_pump(struct exchange *self, uint64_t now_us, const struct document_entry *entry,
                       struct pull_item *item)
{
    const struct pull_scope *scope = &item->pull.scope;
    const struct arrays *set = set_of(entry, scope);
    unsigned left = self->node.steps->most[STEP_HASH_PAGES];

    if (item->pull.phase != PULL_PHASE_COMPARE) {
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
