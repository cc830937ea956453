/* Pages of arrays of filters without key log: giving them, and taking them over. */
#include "base/heap.h"
#include "node/pull/live_sets.h"
#include "node/pull/pull_geometry.h"
#include "node/sync/exchange.h"

#include <string.h>

/* The scope's set; NULL: it is not here. */
static struct arrays *set_of(const struct document_entry *entry, const struct pull_scope *scope)
{
    return hosted_find(entry->attachment, scope->keyset, scope->slice);
}

/* ---- giving ---- */

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

/* ---- taking over ---- */

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
