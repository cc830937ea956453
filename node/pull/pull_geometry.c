/* Which pages a question or an answer is about, and whether geometry and place agree: an OR of
 * wrong bits can't be undone. */
#include "node/pull/pull_geometry.h"

#include "base/mutant.h"
#include "node/pull/live_sets.h"

#include <assert.h>
#include <xxhash.h>

uint64_t pull_geometry(const struct geometry *geometry)
{
    const uint64_t words[] = {geometry->seed, geometry->lines, geometry->z, geometry->shard_bits};
    uint64_t tag = XXH3_64bits(words, sizeof words);

    /* 0 in a scope says that it names no array. */
    return tag != 0 ? tag : 1;
}

void pull_scope_name(struct pull_scope *scope, const struct filter_document *document)
{
    const struct generation *generation = live_sets_generation(document, scope->slice);
    bool bits = document->keylog == KEYLOG_OFF && generation != NULL;

    scope->generation = bits ? generation->id : 0;
    scope->geometry = bits ? pull_geometry(&generation->geometry) : 0;
}

bool pull_scope_fits(const struct pull_scope *scope, const struct filter_document *document)
{
    struct pull_scope own = *scope;

    pull_scope_name(&own, document);
    return MUTANT(LINES_ANY_GEOMETRY) ||
           (own.generation == scope->generation && own.geometry == scope->geometry);
}

bool pull_kind_fits(enum pull_kind kind, const struct filter_document *document)
{
    switch (kind) {
    case PULL_PAGES:
        return document->keylog == KEYLOG_OFF;
    case PULL_RUNS:
    case PULL_RANGES:
        return document->keylog == KEYLOG_ON;
    case PULL_DIGESTS:
    case PULL_LOG:
    case PULL_HEADERS:
    case PULL_BODIES:
        break;
    case PULL_FILTERS:
        return false; /* It is about none. */
    }
    return true;
}

uint64_t pull_pages_a_shard(const struct filter_document *document, uint64_t slice)
{
    const struct generation *generation = live_sets_generation(document, slice);

    assert(generation != NULL);
    return lines_shard_pages(generation->geometry.lines);
}

uint64_t pull_pages(const struct filter_document *document, uint64_t slice)
{
    return document_nshards(document) * pull_pages_a_shard(document, slice);
}

uint32_t pull_group_shards(const struct filter_document *document, uint32_t group)
{
    uint32_t count = 0;

    for (uint64_t i = 0; i < document_nshards(document); i++) {
        count += document->content.group_of_shard[i] == group;
    }
    return count;
}

uint64_t pull_page_digest(const uint8_t *page, size_t page_bytes, uint64_t number)
{
    /* Seeded with its place: pages that have changed places would have the same sum. */
    return XXH3_64bits_withSeed(page, page_bytes, number);
}

bool pull_pages_ascend(const struct pull_reply *reply)
{
    uint64_t least = reply->from;
    bool ascend = true;

    for (size_t i = 0; i < reply->npages; i++) {
        ascend = ascend && reply->page_ids[i] >= least && reply->page_ids[i] < UINT64_MAX;
        /* Which is why no page may have the highest number. */
        least = reply->page_ids[i] + 1;
    }
    return ascend && (reply->npages == 0 || reply->next >= least);
}

bool pull_pages_belong(const struct pull_reply *reply, const struct filter_document *document)
{
    uint64_t pages = pull_pages_a_shard(document, reply->scope.slice);
    bool all = true;

    for (size_t i = 0; i < reply->npages; i++) {
        uint64_t shard = reply->page_ids[i] / pages;

        all = all && shard < document_nshards(document) &&
              document->content.group_of_shard[shard] == reply->scope.group;
    }
    return all;
}
