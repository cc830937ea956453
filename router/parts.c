/* Whom to ask for a part: some readers of a check, all writers of an add, under one batch number
 * for all of them, and all readers where their logs end. */
#include "base/heap.h"
#include "base/mutant.h"
#include "router/private.h"

#include <assert.h>
#include <string.h>

enum {
    TAG_SEAT_BITS = 4,
    TAG_PART_BITS = 12,
    TAG_OP_BITS = 16,
    TAG_ROUND_BITS = 64 - TAG_OP_BITS - TAG_PART_BITS - TAG_SEAT_BITS,
};

/* ---- asking ---- */

static uint64_t tag_of(const struct router *self, const struct op *op, const struct part *part,
                       uint32_t seat)
{
    uint64_t tag = op->round;

    tag = tag << TAG_OP_BITS | (uint64_t)(op - self->ops);
    tag = tag << TAG_PART_BITS | (uint64_t)(part - op->parts);
    return tag << TAG_SEAT_BITS | seat;
}

struct op *op_of_tag(const struct router *self, uint64_t tag, struct part **part, uint32_t *seat)
{
    uint64_t rest = tag >> TAG_SEAT_BITS;
    uint32_t part_index = (uint32_t)(rest & ((1U << TAG_PART_BITS) - 1));
    uint32_t op_index = (uint32_t)(rest >> TAG_PART_BITS & ((1U << TAG_OP_BITS) - 1));
    uint64_t round = rest >> (TAG_PART_BITS + TAG_OP_BITS);
    struct op *op = &self->ops[op_index];

    *seat = (uint32_t)(tag & ((1U << TAG_SEAT_BITS) - 1));
    /* A tag comes from outside, and its place may have had another user since. */
    if (op_index >= self->nops || !op->used || op->round != round || part_index >= op->nparts ||
        *seat % SEAT_PARTNER >= QUORUM_MAX_REPLICAS || !seat_taken(&op->parts[part_index], *seat)) {
        return NULL;
    }
    *part = &op->parts[part_index];
    return op;
}

/* What a node is told: 0 only if it can't have executed this add before, for any router. */
static uint32_t attempt_of(const struct op *op, const struct slot_ask *ask)
{
    uint64_t attempt = (uint64_t)op->attempt + op->restarts + ask->resends + ask->full;

    if (MUTANT(ATTEMPT_NOT_TOLD)) {
        return 0;
    }
    return attempt < UINT32_MAX ? (uint32_t)attempt : UINT32_MAX;
}

bool part_ask(struct router *self, uint64_t now_us, struct op *op, struct part *part, uint32_t seat)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    const struct slot_group *group = &entry->document.content.groups[part->group];
    struct backend *backend = backend_of(self, seat_member(group, seat)->node);
    struct slot_ask *ask = seat_ask(part, seat);
    struct subrequest subrequest = {
        .tag = tag_of(self, op, part, seat),
        .filter_id = op->filter_id,
        .epoch = op->epoch,
        .epoch_hash = op->epoch_hash,
        .group = part->group,
        .operation = op->operation,
        .op = op->id,
        .batch = {.producer_id = self->producer_id, .number = part->batch_number},
        .count = part->count,
        .keyset = op->keyset,
        .user = op->client.user,
        .relayed = op->relayed,
    };

    assert(op->used && seat_taken(part, seat));
    assert(ask->state != ASK_ANSWERED || !ask->voted); /* A vote stands, unless it was held. */
    ask->resends += ask->state == ASK_SENT;
    subrequest.attempt = attempt_of(op, ask);
    ask->asked_us = now_us;
    if (backend == NULL ||
        !backend_gather(self, now_us, backend, &subrequest, part->fingerprints)) {
        ask->state = ASK_FAILED;
        ask->refusal = STATUS_UNAVAILABLE;
        if (ask->unready < UINT8_MAX) {
            ask->unready++; /* There may be room in a moment. */
        }
        return false;
    }
    ask->state = ASK_SENT;
    return true;
}

uint32_t part_ask_more(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                       uint32_t wanted)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    const struct epoch_content *content = &entry->document.content;
    uint32_t replicas = content->rule.replicas;
    uint32_t first = self->rotation++;
    uint32_t asked = 0;

    /* Those that answer first, then those that are suspect or gone. */
    for (uint32_t i = 0; i < 2 * replicas && asked < wanted; i++) {
        uint32_t slot = (first + i) % replicas;
        const struct slot *one = &content->groups[part->group].slots[slot];
        bool last = pair_reader_gone(one) || backend_suspect(self, slot_reader(one)->node);

        if (part->asks[slot].state == ASK_NOT && (op->slots >> slot & 1) != 0 &&
            last == (i >= replicas)) {
            asked += part_ask(self, now_us, op, part, slot);
        }
    }
    return asked;
}

/* The next number of the group's batches under this epoch. */
static enum status next_batch(struct document_entry *entry, uint32_t group, uint64_t *number)
{
    struct routed_filter *routed = entry->attachment;

    if (routed->batch_epoch != entry->document.epoch) {
        uint64_t *fresh = heap_zalloc(entry->document.content.ngroups,
                                      sizeof *routed->batch_number);

        if (fresh == NULL) {
            return STATUS_NOMEM;
        }
        heap_free(routed->batch_number);
        routed->batch_number = fresh;
        routed->batch_epoch = entry->document.epoch;
    }
    *number = ++routed->batch_number[group];
    return STATUS_OK;
}

static void ask_first(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                      const struct epoch_content *content)
{
    const struct slot *slots = content->groups[part->group].slots;

    if (op->operation == OPERATION_CHECK) {
        (void)part_ask_more(self, now_us, op, part, content->rule.read);
        return;
    }
    for (uint32_t slot = 0; slot < content->rule.replicas; slot++) {
        (void)part_ask(self, now_us, op, part, slot);
        if (op->operation == OPERATION_ADD && pair_begin(part, slot, &slots[slot])) {
            (void)part_ask(self, now_us, op, part, slot + SEAT_PARTNER);
        }
    }
}

enum status op_start(struct router *self, uint64_t now_us, struct op *op,
                     struct document_entry *entry)
{
    const struct epoch_content *content = &entry->document.content;
    enum status status = STATUS_OK;

    assert(op->used);
    op->round = ++self->round & ((UINT64_C(1) << TAG_ROUND_BITS) - 1);
    op->epoch = entry->document.epoch;
    op->epoch_hash = entry->document.epoch_hash;
    op->withholds = site_gate_withholds(&entry->document);
    op->unproved = op->operation == OPERATION_ADD ? site_acks_wanted(op)
                                                  : !site_bound_proves(self, now_us, op, entry);
    op_unpark(self, op);
    op_split(op, content);
    /* All numbers before the first question: what is on its way can't be taken back. */
    for (uint32_t i = 0; status == STATUS_OK && i < op->nparts; i++) {
        if (op->operation == OPERATION_ADD) {
            status = next_batch(entry, op->parts[i].group, &op->parts[i].batch_number);
        }
    }
    if (status != STATUS_OK) {
        return status;
    }
    op->nopen = op->nparts;
    for (uint32_t i = 0; i < op->nparts; i++) {
        ask_first(self, now_us, op, &op->parts[i], content);
    }
    return STATUS_OK;
}
