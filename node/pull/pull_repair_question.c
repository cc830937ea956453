/* What a comparison asks, and which answers fit. */
#include "node/pull/pull_repair_private.h"

#include <assert.h>

/* How many of the nodes the question is about. */
size_t repair_asked(const struct repair *self)
{
    size_t left = self->nodes.count - self->at;
    size_t most = self->phase == REPAIR_RANGES ? PULL_MAX_PREFIXES : PULL_MAX_PARENTS;

    return left < most ? left : most;
}

void repair_question(const struct repair *self, struct pull_request *out)
{
    assert(self->phase != REPAIR_DONE);
    *out = (struct pull_request){
        .kind = self->phase == REPAIR_RANGES ? PULL_RANGES : PULL_DIGESTS,
        .scope = self->scope,
        .source = self->source,
        .max_bytes = PULL_MAX_KEYS * sizeof(uint64_t),
    };
    if (self->phase == REPAIR_ROOTS) {
        return;
    }
    out->view = self->view;
    out->from = self->from;
    out->prefix_bits = self->bits;
    out->prefixes = self->nodes.prefixes + self->at;
    out->nprefixes = repair_asked(self);
}

static uint64_t prefix_of(uint64_t fingerprint, uint32_t bits)
{
    return (fingerprint >> 1) >> (63 - bits);
}

/* Ascending, from where the question says, and nothing but what it asks for. */
static bool keys_asked_for(const struct repair *self, const struct pull_reply *reply)
{
    const uint64_t *prefixes = self->nodes.prefixes + self->at;
    size_t nprefixes = repair_asked(self);
    size_t at = 0;

    for (size_t i = 0; i < reply->count; i++) {
        uint64_t fingerprint = reply->fingerprints[i];
        uint64_t prefix = prefix_of(fingerprint, self->bits);

        while (at < nprefixes && prefixes[at] < prefix) {
            at++;
        }
        if (at == nprefixes || prefixes[at] != prefix || fingerprint < self->from ||
            (i > 0 && fingerprint <= reply->fingerprints[i - 1])) {
            return false;
        }
    }
    return reply->end || (reply->count > 0 && reply->next > reply->fingerprints[reply->count - 1]);
}

static bool sensible(const struct repair *self, const struct pull_reply *reply)
{
    switch (self->phase) {
    case REPAIR_ROOTS:
        return reply->view != 0 && reply->view_end <= reply->durable &&
               reply->ndigests == self->shards.count && reply->ncounts == reply->ndigests;
    case REPAIR_NODES:
        return reply->ndigests == repair_asked(self) * PULL_PARTS && reply->ncounts == 0;
    case REPAIR_RANGES:
        return keys_asked_for(self, reply);
    case REPAIR_DONE:
        break;
    }
    return false;
}

static bool answers(const struct repair *self, const struct pull_reply *reply)
{
    enum pull_kind kind = self->phase == REPAIR_RANGES ? PULL_RANGES : PULL_DIGESTS;

    return reply->kind == kind && reply->from == self->from &&
           pull_scope_equal(&self->scope, &reply->scope) &&
           (self->phase == REPAIR_ROOTS ||
            (reply->view == self->view && reply->view_end == self->view_end));
}

enum status repair_judge(const struct repair *self, const struct pull_reply *reply)
{
    if (reply->status != STATUS_OK) {
        return reply->status;
    }
    if (!answers(self, reply)) {
        return STATUS_SHAPE;
    }
    if (reply->source.node != self->source.node ||
        reply->source.incarnation != self->source.incarnation) {
        return STATUS_CONFLICT;
    }
    if (reply->state != REPLICA_FULL) {
        return STATUS_NOT_READY;
    }
    return sensible(self, reply) ? STATUS_OK : STATUS_MALFORMED;
}
