/* A batch of the log as other nodes are told of it, and as it is written to the log there. */
#include "base/mutant.h"
#include "node/sync/exchange.h"

_Static_assert((int)PULL_BATCH_RELAYED == (int)RECORD_BATCH_RELAYED, "the same bits");
_Static_assert((int)PULL_BATCH_FED == (int)RECORD_BATCH_FED, "the same bits");
_Static_assert((int)PULL_BATCH_PARTIAL == (int)RECORD_BATCH_PARTIAL, "the same bits");
_Static_assert((int)PULL_MAX_TARGETS == (int)RECORD_MAX_TARGETS, "each record can be told");

bool node_batch_named(const struct record_batch *batch)
{
    return batch->batch_producer != 0 && batch->batch_number != 0;
}

bool node_batch_whole(const struct record_batch *batch)
{
    return node_batch_named(batch) && (!batch->partial || MUTANT(PARTIAL_IS_WHOLE));
}

static uint32_t flags_of(const struct record_batch *batch)
{
    return (batch->relayed ? (uint32_t)PULL_BATCH_RELAYED : 0) |
           (batch->fed ? (uint32_t)PULL_BATCH_FED : 0) |
           (batch->partial ? (uint32_t)PULL_BATCH_PARTIAL : 0);
}

struct pull_batch node_batch_header(const struct record_batch *batch, uint64_t offset)
{
    return (struct pull_batch){
        .producer_id = batch->batch_producer,
        .number = batch->batch_number,
        .epoch = batch->epoch,
        .offset = offset,
        .count = batch->count,
        .flags = flags_of(batch),
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

/* NULL: there is no room for one more. */
static const struct pull_targets *keep(struct serve_page *page, const struct pull_targets *targets)
{
    for (size_t i = page->ntargets; i > 0; i--) {
        if (pull_targets_equal(&page->targets[i - 1], targets)) {
            return &page->targets[i - 1];
        }
    }
    if (page->ntargets == SERVE_TARGETS) {
        return NULL;
    }
    page->targets[page->ntargets] = *targets;
    return &page->targets[page->ntargets++];
}

/* The one that was asked for needs no list. */
bool node_batch_tell(struct serve_page *page, const struct record_batch *batch, uint64_t offset,
                     struct pull_batch *out)
{
    const struct pull_targets targets = targets_of(batch);
    const struct pull_targets *kept = NULL;

    if (targets.count > 1) {
        kept = keep(page, &targets);
        if (kept == NULL) {
            return false;
        }
    }
    *out = node_batch_header(batch, offset);
    out->targets = kept;
    return true;
}

struct record_batch node_batch_heard(const struct pull_scope *scope, const struct pull_batch *told,
                                     const uint64_t *fingerprints)
{
    struct record_batch batch = {
        .filter_id = scope->filter_id,
        .epoch = told->epoch,
        .batch_producer = told->producer_id,
        .batch_number = told->number,
        .group = scope->group,
        .relayed = (told->flags & PULL_BATCH_RELAYED) != 0,
        .fed = (told->flags & PULL_BATCH_FED) != 0,
        .partial = (told->flags & PULL_BATCH_PARTIAL) != 0,
        .ntargets = 1,
        .targets = {{.slice = scope->slice, .keyset = scope->keyset}},
        .count = told->count,
        .fingerprints = fingerprints,
    };

    for (uint32_t i = 0; told->targets != NULL && i < told->targets->count; i++) {
        const struct pull_target *target = &told->targets->items[i];

        if (target->slice != scope->slice || target->keyset != scope->keyset) {
            batch.targets[batch.ntargets++] = (struct record_target){.slice = target->slice,
                                                                     .keyset = target->keyset};
        }
    }
    return batch;
}
