/* What makes requests and answers between replicas well formed, and the sum that shows that an
 * answer is whole. */
#include "map/pull_message.h"

#include <xxhash.h>

bool pull_scope_equal(const struct pull_scope *a, const struct pull_scope *b)
{
    return a->filter_id == b->filter_id && a->epoch == b->epoch && a->epoch_hash == b->epoch_hash &&
           a->slice == b->slice && a->keyset == b->keyset && a->group == b->group &&
           a->generation == b->generation && a->geometry == b->geometry;
}

/* One stretch after the other, each seeded with the sum of those before. */
static uint64_t add(uint64_t sum, const uint64_t *words, size_t count)
{
    return XXH3_64bits_withSeed(words, count * sizeof *words, sum);
}

static uint64_t add_head(const struct pull_reply *reply)
{
    const uint64_t words[] = {
        (uint64_t)reply->kind,
        reply->scope.filter_id,
        reply->scope.epoch,
        reply->scope.epoch_hash,
        reply->scope.slice,
        (uint64_t)reply->scope.keyset << 32 | reply->scope.group,
        reply->source.node,
        reply->source.incarnation,
        (uint64_t)reply->state,
        reply->fence_epoch,
        reply->fence_position,
        reply->from,
        reply->next,
        reply->end,
        reply->merged,
        reply->durable,
        reply->nbatches,
        reply->nintervals,
        reply->count,
    };

    return add(0, words, sizeof words / sizeof words[0]);
}

bool pull_targets_equal(const struct pull_targets *a, const struct pull_targets *b)
{
    bool same = a == b || (a != NULL && b != NULL && a->count == b->count);

    for (uint32_t i = 0; same && a != b && i < a->count; i++) {
        same = a->items[i].slice == b->items[i].slice && a->items[i].keyset == b->items[i].keyset;
    }
    return same;
}

bool pull_targets_good(const struct pull_targets *targets, const struct pull_scope *scope)
{
    bool meant = false;

    if (targets->count == 0 || targets->count > PULL_MAX_TARGETS) {
        return false;
    }
    for (uint32_t i = 0; i < targets->count; i++) {
        const struct pull_target *one = &targets->items[i];

        meant = meant || (one->slice == scope->slice && one->keyset == scope->keyset);
        for (uint32_t k = 0; k < i; k++) {
            if (targets->items[k].slice == one->slice && targets->items[k].keyset == one->keyset) {
                return false;
            }
        }
    }
    return meant;
}

/* What versions before did not tell of, they don't add either. */
static uint64_t add_kind(uint64_t sum, const struct pull_batch *batch)
{
    uint64_t words[2 + 2 * PULL_MAX_TARGETS] = {batch->flags};
    size_t count = 2;

    if (batch->flags == 0 && batch->targets == NULL) {
        return sum;
    }
    words[1] = batch->targets != NULL ? batch->targets->count : 0;
    for (uint64_t i = 0; i < words[1]; i++) {
        words[count++] = batch->targets->items[i].slice;
        words[count++] = batch->targets->items[i].keyset;
    }
    return add(sum, words, count);
}

static uint64_t add_lines(uint64_t sum, const struct pull_reply *reply)
{
    const uint64_t words[] = {reply->scope.generation, reply->scope.geometry, reply->npages};

    sum = add(sum, words, sizeof words / sizeof words[0]);
    if (reply->npages > 0) {
        sum = add(sum, reply->page_ids, reply->npages);
        sum = XXH3_64bits_withSeed(reply->pages, reply->npages * PULL_PAGE_BYTES, sum);
    }
    return sum;
}

static uint64_t add_view(uint64_t sum, const struct pull_reply *reply)
{
    const uint64_t words[] = {reply->view, reply->view_end, reply->ndigests, reply->ncounts};

    sum = add(sum, words, sizeof words / sizeof words[0]);
    sum = reply->ndigests > 0 ? add(sum, reply->digests, reply->ndigests) : sum;
    return reply->ncounts > 0 ? add(sum, reply->counts, reply->ncounts) : sum;
}

uint64_t pull_reply_sum(const struct pull_reply *reply)
{
    uint64_t sum = add_head(reply);

    for (size_t i = 0; i < reply->nbatches; i++) {
        const struct pull_batch *batch = &reply->batches[i];
        const uint64_t words[] = {batch->producer_id, batch->number, batch->epoch, batch->offset,
                                  batch->count};

        sum = add_kind(add(sum, words, sizeof words / sizeof words[0]), batch);
    }
    for (size_t i = 0; i < reply->nintervals; i++) {
        const struct pull_interval *interval = &reply->intervals[i];
        const uint64_t words[] = {interval->producer_id, interval->epoch, interval->first,
                                  interval->count, interval->offset};

        sum = add(sum, words, sizeof words / sizeof words[0]);
    }
    if (reply->count > 0) {
        sum = add(sum, reply->fingerprints, reply->count);
    }
    if (reply->kind == PULL_PAGES) {
        return add_lines(sum, reply);
    }
    if (reply->kind == PULL_DIGESTS && reply->scope.generation != 0) {
        sum = add_lines(sum, reply);
    }
    return pull_kind_reads_view(reply->kind) ? add_view(sum, reply) : sum;
}

static bool ascend(const uint64_t *numbers, size_t count)
{
    bool all = true;

    for (size_t i = 1; i < count; i++) {
        all = all && numbers[i] > numbers[i - 1];
    }
    return all;
}

bool pull_prefixes_good(const struct pull_request *request)
{
    bool digests = request->kind == PULL_DIGESTS;
    size_t most = digests ? PULL_MAX_PARENTS : PULL_MAX_PREFIXES;
    uint32_t longest = digests ? PULL_MAX_PARENT_BITS : PULL_MAX_PREFIX_BITS;

    if (request->kind == PULL_PAGES) {
        return request->nprefixes <= PULL_MAX_PAGES && request->view == 0 &&
               request->prefix_bits == 0 && ascend(request->prefixes, request->nprefixes);
    }
    if (!pull_kind_reads_view(request->kind)) {
        return request->nprefixes == 0 && request->view == 0 && request->prefix_bits == 0;
    }
    if (request->nprefixes > most || request->prefix_bits > longest ||
        (request->nprefixes == 0 && !(digests && request->view == 0))) {
        return false;
    }
    for (size_t i = 0; i < request->nprefixes; i++) {
        if (request->prefixes[i] >> request->prefix_bits != 0) {
            return false;
        }
    }
    return ascend(request->prefixes, request->nprefixes);
}
