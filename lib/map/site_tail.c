/* What makes questions for a node's tail and their answers well formed, and the sum that shows that
 * an answer is whole. */
#include "map/site_tail.h"

#include <xxhash.h>

_Static_assert(sizeof(struct site_tail_filter) == 3 * sizeof(uint64_t), "hashed as three words");
_Static_assert((int)SITE_TAIL_MAX_KEYS <= (int)PULL_MAX_KEYS, "an answer fits a frame");

bool site_tail_filters_good(const struct site_tail_filter *filters, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (filters[i].filter_id <= filters[i - 1].filter_id) {
            return false;
        }
    }
    return count <= SITE_TAIL_MAX_FILTERS;
}

uint64_t site_tail_list(const struct site_tail_filter *filters, size_t count)
{
    uint64_t sum = count > 0 ? XXH3_64bits(filters, count * sizeof *filters) : 0;

    return count > 0 && sum == 0 ? 1 : sum;
}

uint64_t site_tail_digest(const uint64_t *fingerprints, size_t count)
{
    return XXH3_64bits(fingerprints, count * sizeof *fingerprints);
}

static bool targets_good(const struct pull_targets *targets)
{
    return targets != NULL && targets->count > 0 && targets->count <= PULL_MAX_TARGETS &&
           pull_targets_good(targets, &(struct pull_scope){.slice = targets->items[0].slice,
                                                           .keyset = targets->items[0].keyset});
}

static bool record_good(const struct site_tail_reply *reply, size_t i)
{
    const struct site_tail_record *record = &reply->records[i];

    return (record->flags & ~(unsigned)(PULL_BATCH_FED | PULL_BATCH_PARTIAL)) == 0 &&
           record->count <= SITE_TAIL_MAX_KEYS && record->offset >= reply->from &&
           (i == 0 || record->offset > record[-1].offset) && targets_good(record->targets);
}

bool site_tail_reply_good(const struct site_tail_reply *reply)
{
    uint64_t sum = 0;

    if (reply->status != STATUS_OK) {
        return reply->nrecords == 0 && reply->count == 0 && reply->nrefusals == 0 &&
               reply->ndocuments == 0;
    }
    if (reply->next < reply->from || reply->nrecords > SITE_TAIL_MAX_RECORDS ||
        reply->count > SITE_TAIL_MAX_KEYS || reply->nrefusals > SITE_TAIL_MAX_FILTERS) {
        return false;
    }
    for (size_t i = 0; i < reply->nrecords; i++) {
        if (!record_good(reply, i)) {
            return false;
        }
        sum += reply->records[i].count;
    }
    return reply->headers_only ? reply->count == 0 : reply->count == sum;
}

/* One stretch after the other, each seeded with the sum of those before. */
static uint64_t add(uint64_t sum, const uint64_t *words, size_t count)
{
    return XXH3_64bits_withSeed(words, count * sizeof *words, sum);
}

static uint64_t add_head(const struct site_tail_reply *reply)
{
    const uint64_t words[] = {
        (uint64_t)reply->status,
        reply->source.node,
        reply->source.incarnation,
        reply->boot,
        reply->list,
        reply->from,
        reply->next,
        reply->durable,
        reply->headers_only,
        reply->nrecords,
        reply->count,
        reply->nrefusals,
    };

    return add(0, words, sizeof words / sizeof words[0]);
}

static uint64_t add_record(uint64_t sum, const struct site_tail_record *record)
{
    uint64_t words[9 + 2 * PULL_MAX_TARGETS] = {
        record->filter_id,
        record->epoch,
        record->producer_id,
        record->number,
        record->offset,
        record->digest,
        (uint64_t)record->group << 32 | record->count,
        record->flags,
    };
    size_t count = 8;

    words[count++] = record->targets->count;
    for (uint32_t i = 0; i < record->targets->count; i++) {
        words[count++] = record->targets->items[i].slice;
        words[count++] = record->targets->items[i].keyset;
    }
    return add(sum, words, count);
}

uint64_t site_tail_reply_sum(const struct site_tail_reply *reply)
{
    uint64_t sum = add_head(reply);

    for (size_t i = 0; i < reply->nrecords; i++) {
        sum = add_record(sum, &reply->records[i]);
    }
    if (reply->count > 0) {
        sum = add(sum, reply->fingerprints, reply->count);
    }
    for (size_t i = 0; i < reply->nrefusals; i++) {
        const struct site_tail_refusal *refusal = &reply->refusals[i];
        const uint64_t words[] = {refusal->filter_id, (uint64_t)refusal->status, refusal->compare,
                                  refusal->epoch, refusal->epoch_hash};

        sum = add(sum, words, sizeof words / sizeof words[0]);
    }
    return sum;
}
