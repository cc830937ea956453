/* Where the logs of a filter's replicas end: an operation without keys, with a part of every slot
 * group, that asks all readers and is done once R of each have told. */
#include "base/heap.h"
#include "base/mutant.h"
#include "router/private.h"

#include <assert.h>
#include <stdio.h>

enum { PART_BYTES = 512 /* what a slot group costs here while it is asked */ };

/* It may ask for more at once, so its place is free before it hears; what it hears is not. */
static void tell(struct router *self, struct op *op, const struct router_ends_told *told)
{
    void (*done)(void *owner, const struct router_ends_told *told) = op->ends_done;
    struct op_memory memory = op->memory;
    void *owner = op->ends_owner;

    op->memory = (struct op_memory){0};
    op_end(self, op);
    done(owner, told);
    heap_free(memory.block);
}

void ends_give_up(struct router *self, struct op *op, enum status status, const char *message)
{
    tell(self, op, &(struct router_ends_told){.status = status, .message = message});
}

void ends_stop(struct router *self)
{
    for (uint32_t i = 0; i < self->nops; i++) {
        if (self->ops[i].used && self->ops[i].operation == OPERATION_ENDS) {
            ends_give_up(self, &self->ops[i], STATUS_UNAVAILABLE, "the router stops");
        }
    }
}

void ends_keep(const struct op *op, const struct part *part, uint32_t slot,
               const struct member *member, const struct subrequest_reply *reply)
{
    op->ends[(size_t)(part - op->parts) * QUORUM_MAX_REPLICAS + slot] = (struct router_end){
        .group = part->group,
        .node = member->node,
        .incarnation = member->incarnation,
        .boot = reply->boot,
        .position = reply->position,
    };
}

/* ---- enough of them? ---- */

static uint32_t told_of(const struct part *part, uint32_t replicas)
{
    uint32_t told = 0;

    for (uint32_t slot = 0; slot < replicas; slot++) {
        told += slot_counts(part, slot);
    }
    return told;
}

/* Any R replicas of one epoch have met every write quorum: also where a link that is behind asks
 * members that were replaced since, N - W + 1 of which may be left. */
static uint32_t needed(const struct quorum_rule *rule)
{
    return MUTANT(ENDS_OF_FEWER) ? rule->replicas - rule->write + 1 : rule->read;
}

/* The first slot group of which too few have told; NULL: there is none. */
static struct part *find_open(const struct op *op, const struct quorum_rule *rule)
{
    for (uint32_t i = 0; i < op->nparts; i++) {
        if (told_of(&op->parts[i], rule->replicas) < needed(rule)) {
            return &op->parts[i];
        }
    }
    return NULL;
}

/* ---- the answer ---- */

static void fail(struct router *self, struct op *op, const struct document_entry *entry,
                 struct part *part)
{
    const struct quorum_rule *rule = &entry->document.content.rule;
    char asks[ROUTER_MESSAGE_BYTES / 2];
    char message[ROUTER_MESSAGE_BYTES];

    (void)part_describe(self, entry, part, asks, sizeof asks);
    (void)snprintf(message, sizeof message,
                   "%u of %u replicas of slot group %u told where their logs end, it takes %u: %s; "
                   "see `orbloom status`",
                   told_of(part, rule->replicas), rule->replicas, part->group, needed(rule), asks);
    ends_give_up(self, op, STATUS_UNAVAILABLE, message);
}

/* Those that were told, one after the other. */
static void succeed(struct router *self, struct op *op, const struct quorum_rule *rule)
{
    struct router_ends_told told = {
        .message = "", .epoch = op->epoch, .epoch_hash = op->epoch_hash, .ends = op->ends};

    for (uint32_t i = 0; i < op->nparts; i++) {
        for (uint32_t slot = 0; slot < rule->replicas; slot++) {
            if (slot_counts(&op->parts[i], slot)) {
                op->ends[told.count++] = op->ends[(size_t)i * QUORUM_MAX_REPLICAS + slot];
            }
        }
    }
    router_count(self, ROUTER_ends_total);
    tell(self, op, &told);
}

void ends_evaluate(struct router *self, struct op *op, bool last)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    const struct quorum_rule *rule = &entry->document.content.rule;
    struct part *open = find_open(op, rule);

    assert(op->operation == OPERATION_ENDS);
    if (open == NULL) {
        succeed(self, op, rule);
    } else if (last) {
        fail(self, op, entry, open);
    }
}

/* ---- the question ---- */

static void refuse(const struct router_ends *question, enum status status, const char *message)
{
    question->done(question->owner,
                   &(struct router_ends_told){.status = status, .message = message});
}

static void begin(struct router *self, uint64_t now_us, const struct router_ends *question,
                  struct document_entry *entry)
{
    const struct peer nobody = {0};
    const char *reason;
    struct op *op = op_place(self, &nobody, entry->document.content.ngroups * PART_BYTES, &reason);

    if (op == NULL) {
        refuse(question, STATUS_OVERLOADED, reason);
        return;
    }
    op->operation = OPERATION_ENDS;
    op->slots = UINT32_MAX;
    op->filter_id = entry->document.id;
    op->started_us = now_us;
    op->deadline_us = op_deadline_us(self, now_us, question->timeout_ms);
    op->ends_done = question->done;
    op->ends_owner = question->owner;
    if (op_reserve(op, entry) != STATUS_OK || op_start(self, now_us, op, entry) != STATUS_OK) {
        ends_give_up(self, op, STATUS_NOMEM,
                     "the router is out of memory; lower max_inflight or add memory");
        return;
    }
    op_set_clock(self, now_us);
}

void router_ends(struct router *self, uint64_t now_us, const struct router_ends *question)
{
    struct document_entry *entry = document_cache_find(&self->documents, question->filter_id);
    enum status status;
    const char *reason = router_why_not(self, entry, question->filter_id, &status);

    if (reason != NULL) {
        sync_want(self, now_us);
        refuse(question, status, reason);
    } else if (!document_logs_keys(&entry->document)) {
        refuse(question, STATUS_INVALID,
               "only a filter with a key log on disk can be in several sites; see `orbloom info`");
    } else {
        begin(self, now_us, question, entry);
    }
}
