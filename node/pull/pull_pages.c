/* Comparing an array with the source's: shards, then pages, then taking those that differ. */
#include "node/pull/pull_pages.h"

#include "base/heap.h"
#include "node/pull/pull_geometry.h"
#include "node/pull/pull_private.h"

#include <string.h>

void pull_pages_drop(struct pull_pages *self)
{
    heap_free(self->shards);
    heap_free(self->wanted);
    *self = (struct pull_pages){0};
}

uint32_t pull_pages_asked(const struct pull_pages *self)
{
    uint32_t left = self->nwanted - self->had;

    return left < PULL_MAX_PAGES ? left : PULL_MAX_PAGES;
}

bool pull_pages_wanted(const struct pull_pages *self, const struct pull_reply *reply)
{
    uint32_t at = self->had;
    uint32_t end = self->had + pull_pages_asked(self);

    for (size_t i = 0; i < reply->npages; i++) {
        while (at < end && self->wanted[at] < reply->page_ids[i]) {
            at++;
        }
        if (at == end || self->wanted[at] != reply->page_ids[i]) {
            return false;
        }
    }
    return true;
}

void pull_compare(struct pull *self, uint64_t now_us)
{
    pull_drop_wanted(self);
    pull_pages_drop(&self->pages);
    self->phase = PULL_PHASE_SHARDS;
    self->from = 0;
    self->merged = UINT64_MAX;
    self->through = 0;
    self->due_us = now_us;
}

/* Digests of the next shard that differs; when there is none everything is here. */
static void next_shard(struct pull *self)
{
    if (self->pages.at == self->pages.ndiffer) {
        pull_pages_drop(&self->pages);
        pull_read_all(self);
        return;
    }
    self->phase = PULL_PHASE_PAGES;
    self->from = self->pages.shards[self->pages.at];
}

static void go_on(struct pull *self)
{
    self->phase = PULL_PHASE_PAGES;
    self->from = self->pages.next;
    if (self->from >= self->pages.shards[self->pages.at] + self->pages_a_shard) {
        self->pages.at++;
        next_shard(self);
    }
}

enum status pull_take_shards(struct pull *self, uint64_t now_us, const struct pull_reply *reply)
{
    uint64_t *shards = heap_alloc(reply->ndigests, sizeof *shards);

    if (shards == NULL) {
        return STATUS_NOMEM;
    }
    memcpy(shards, reply->digests, reply->ndigests * sizeof *shards);
    self->pages.shards = shards;
    self->pages.nshards = (uint32_t)reply->ndigests;
    pull_answered(self, now_us);
    pull_read_some(self, reply);
    self->phase = PULL_PHASE_COMPARE;
    return STATUS_OK;
}

void pull_shard_compared(struct pull *self, uint64_t now_us, uint64_t first_page, uint64_t digest)
{
    struct pull_pages *pages = &self->pages;

    if (pages->shards[pages->at++] != digest) {
        pages->shards[pages->ndiffer++] = first_page;
    }
    if (pages->at == pages->nshards) {
        pages->at = 0;
        self->due_us = now_us;
        next_shard(self);
    }
}

enum status pull_take_pages(struct pull *self, uint64_t now_us, const struct pull_reply *reply,
                            const uint64_t *own)
{
    struct pull_pages *pages = &self->pages;
    uint64_t *wanted = heap_alloc(reply->ndigests, sizeof *wanted);
    uint32_t count = 0;

    if (wanted == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < reply->ndigests; i++) {
        if (own[i] != reply->digests[i]) {
            wanted[count++] = reply->from + i;
        }
    }
    pull_answered(self, now_us);
    pull_read_some(self, reply);
    heap_free(pages->wanted);
    pages->wanted = wanted;
    pages->nwanted = count;
    pages->had = 0;
    pages->next = reply->next;
    if (count > 0) {
        self->phase = PULL_PHASE_WANTED;
        self->from = wanted[0];
    } else {
        go_on(self);
    }
    return STATUS_OK;
}

void pull_take_wanted(struct pull *self, const struct pull_reply *reply)
{
    struct pull_pages *pages = &self->pages;
    uint32_t end = pages->had + pull_pages_asked(pages);

    pull_read_some(self, reply);
    while (pages->had < end && (reply->end || pages->wanted[pages->had] < reply->next)) {
        pages->had++;
    }
    if (pages->had < pages->nwanted) {
        self->from = pages->wanted[pages->had];
    } else {
        go_on(self);
    }
}
