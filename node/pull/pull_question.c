/* What is asked of a source, and which answers fit. */
#include "base/mutant.h"
#include "node/pull/pull_geometry.h"
#include "node/pull/pull_private.h"

#include <assert.h>

bool pull_of_lines(const struct pull *self)
{
    return self->scope.generation != 0;
}

static enum pull_kind kind_of(const struct pull *self)
{
    switch (self->phase) {
    case PULL_PHASE_RUNS:
        return pull_of_lines(self) ? PULL_PAGES : PULL_RUNS;
    case PULL_PHASE_LOG:
        return PULL_LOG;
    case PULL_PHASE_FETCH:
        return PULL_BODIES;
    case PULL_PHASE_SHARDS:
    case PULL_PHASE_PAGES:
        return PULL_DIGESTS;
    case PULL_PHASE_WANTED:
        return PULL_PAGES;
    case PULL_PHASE_COMPARE:
    case PULL_PHASE_FOLLOW:
    case PULL_PHASE_SETTLE:
    case PULL_PHASE_COMPLETE:
    case PULL_PHASE_REPAIR:
        break;
    }
    return PULL_HEADERS;
}

static uint64_t stop_of(const struct pull *self)
{
    switch (self->phase) {
    case PULL_PHASE_RUNS:
    case PULL_PHASE_SHARDS:
        return UINT64_MAX;
    case PULL_PHASE_PAGES:
        return self->pages.shards[self->pages.at] + self->pages_a_shard - 1;
    case PULL_PHASE_WANTED:
        return self->pages.wanted[self->pages.had + pull_pages_asked(&self->pages) - 1];
    case PULL_PHASE_LOG:
        return self->through;
    case PULL_PHASE_FETCH:
        return self->page_next;
    case PULL_PHASE_FOLLOW:
    case PULL_PHASE_SETTLE:
    case PULL_PHASE_COMPLETE:
    case PULL_PHASE_REPAIR:
    case PULL_PHASE_COMPARE:
        break;
    }
    return 0;
}

void pull_question(const struct pull *self, struct pull_request *out)
{
    *out = (struct pull_request){
        .kind = kind_of(self),
        .scope = self->scope,
        .source = self->source,
        .sync = self->purpose == PULL_SYNC,
        .from = self->from,
        .to = stop_of(self),
        .max_bytes = PULL_MAX_KEYS * sizeof(uint64_t),
        .wanted = self->wanted,
        .nwanted = self->nwanted,
    };
    if (self->phase == PULL_PHASE_WANTED) {
        out->prefixes = self->pages.wanted + self->pages.had;
        out->nprefixes = pull_pages_asked(&self->pages);
    }
}

void pull_asked(struct pull *self)
{
    assert(!self->asked); /* One question at a time, or answers would be mistaken. */
    self->asked = true;
}

/* As many digests as there are shards, or pages from where they were asked to where they end. */
static bool digests_fit(const struct pull *self, const struct pull_reply *reply)
{
    if (self->phase == PULL_PHASE_SHARDS) {
        return reply->ndigests == self->nshards && reply->ncounts == 0 && reply->end;
    }
    return reply->next > reply->from && reply->next - 1 <= stop_of(self) &&
           reply->ndigests == reply->next - reply->from && reply->ncounts == 0;
}

/* Numbers that would make us skip something, or go round for ever. */
static bool sensible(const struct pull *self, const struct pull_reply *reply)
{
    if (reply->kind == PULL_DIGESTS) {
        return digests_fit(self, reply);
    }
    if (self->phase == PULL_PHASE_WANTED && !pull_pages_wanted(&self->pages, reply)) {
        return false;
    }
    if (reply->kind == PULL_RUNS || reply->kind == PULL_PAGES) {
        return (reply->end || reply->next > reply->from) && pull_pages_ascend(reply);
    }
    return reply->next >= reply->from && reply->next <= reply->durable;
}

static bool source_counts(const struct pull *self, const struct pull_reply *reply)
{
    if (MUTANT(SYNC_COUNTS_JOINING) && reply->state == REPLICA_JOINING) {
        return true;
    }
    if (reply->state != REPLICA_FULL) {
        return false;
    }
    return self->purpose == PULL_DELTA || reply->fence_epoch >= self->scope.epoch;
}

enum status pull_judge(const struct pull *self, const struct pull_reply *reply)
{
    if (reply->status != STATUS_OK) {
        return reply->status;
    }
    if (reply->kind != kind_of(self) || reply->from != self->from) {
        return STATUS_SHAPE;
    }
    if (!MUTANT(MERGE_UNCHECKED) && !pull_scope_equal(&self->scope, &reply->scope)) {
        return STATUS_SHAPE;
    }
    if (!MUTANT(MERGE_UNCHECKED) && (reply->source.node != self->source.node ||
                                     reply->source.incarnation != self->source.incarnation)) {
        return STATUS_CONFLICT;
    }
    if (!source_counts(self, reply)) {
        return STATUS_NOT_READY;
    }
    return sensible(self, reply) ? STATUS_OK : STATUS_MALFORMED;
}
