#include "base/heap.h"
#include "router/router_private.h"

#include <string.h>

enum {
    TAG_SLOT_BITS = 3,
    TAG_PART_BITS = 12,
    TAG_OP_BITS = 16,
    TAG_ROUND_BITS = 64 - TAG_OP_BITS - TAG_PART_BITS - TAG_SLOT_BITS,
};

/* ---- asking ---- */

static uint64_t tag_of(const struct router *self, const struct op *op, const struct part *part,
                       uint32_t slot)
{
    uint64_t tag = op->round;

    tag = tag << TAG_OP_BITS | (uint64_t)(op - self->ops);
    tag = tag << TAG_PART_BITS | (uint64_t)(part - op->parts);
    return tag << TAG_SLOT_BITS | slot;
}

struct op *op_of_tag(const struct router *self, uint64_t tag, struct part **part, uint32_t *slot)
{
    uint64_t rest = tag >> TAG_SLOT_BITS;
    uint32_t part_index = (uint32_t)(rest & ((1U << TAG_PART_BITS) - 1));
    uint32_t op_index = (uint32_t)(rest >> TAG_PART_BITS & ((1U << TAG_OP_BITS) - 1));
    uint64_t round = rest >> (TAG_PART_BITS + TAG_OP_BITS);
    struct op *op = &self->ops[op_index];

    *slot = (uint32_t)(tag & ((1U << TAG_SLOT_BITS) - 1));
    if (op_index >= self->nops || !op->used || op->round != round || part_index >= op->nparts ||
        *slot >= QUORUM_MAX_REPLICAS) {
        return NULL;
    }
    *part = &op->parts[part_index];
    return op;
}

/* What a node is told: 0 only if it can't have been sent this add before, by any router. */
static uint32_t attempt_of(const struct op *op, const struct slot_ask *ask)
{
    uint64_t attempt = (uint64_t)op->attempt + op->restarts + ask->resends;

#ifdef ORBLOOM_MUTANT_ATTEMPT_NOT_TOLD
    return 0;
#endif
    return attempt < UINT32_MAX ? (uint32_t)attempt : UINT32_MAX;
}

bool part_ask(struct router *self, uint64_t now_us, struct op *op, struct part *part, uint32_t slot)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    const struct member *member = &entry->document.content.groups[part->group].slots[slot].current;
    struct backend *backend = backend_of(self, member->node);
    struct slot_ask *ask = &part->asks[slot];
    struct segment segment = {
        .tag = tag_of(self, op, part, slot),
        .filter_id = op->filter_id,
        .epoch = op->epoch,
        .epoch_hash = op->epoch_hash,
        .group = part->group,
        .operation = op->operation,
        .op = op->id,
        .batch = {.boot = self->boot, .number = part->batch_number},
        .count = part->count,
    };

    ask->resends += ask->state == ASK_SENT;
    segment.attempt = attempt_of(op, ask);
    ask->asked_us = now_us;
    if (backend == NULL || !backend_gather(self, now_us, backend, &segment, part->fingerprints)) {
        ask->state = ASK_FAILED;
        ask->refusal = STATUS_UNAVAILABLE;
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

    /* Those that answer first, then the suspect ones. */
    for (uint32_t i = 0; i < 2 * replicas && asked < wanted; i++) {
        uint32_t slot = (first + i) % replicas;
        uint32_t node = content->groups[part->group].slots[slot].current.node;
        bool wants_suspects = i >= replicas;

        if (part->asks[slot].state == ASK_NOT && (op->slots >> slot & 1) != 0 &&
            backend_suspect(self, node) == wants_suspects) {
            asked += part_ask(self, now_us, op, part, slot);
        }
    }
    return asked;
}

/* ---- splitting ---- */

/* Count keys by slot group. Returns how many groups have some. */
static uint32_t count_groups(const struct op *op, const struct epoch_content *content,
                             uint32_t *counts)
{
    uint32_t nonempty = 0;

    memset(counts, 0, content->ngroups * sizeof *counts);
    for (uint32_t i = 0; i < op->count; i++) {
        uint64_t shard = lines_shard_index(content->shard_bits, op->fingerprints[i]);

        nonempty += counts[content->group_of_shard[shard]]++ == 0;
    }
    return nonempty;
}

/* Fill op->parts with groups and counts, op->sorted and op->positions with the keys, stably
 * sorted by group. `next` has a place for each group. */
static void sort_by_group(struct op *op, const struct epoch_content *content, uint32_t *next)
{
    uint32_t offset = 0;
    uint32_t nparts = 0;

    for (uint32_t group = 0; group < content->ngroups; group++) {
        uint32_t count = next[group];

        next[group] = offset;
        if (count > 0) {
            op->parts[nparts++] = (struct part){
                .group = group,
                .count = count,
                .fingerprints = op->sorted + offset,
                .positions = op->positions + offset,
            };
            offset += count;
        }
    }
    for (uint32_t i = 0; i < op->count; i++) {
        uint64_t shard = lines_shard_index(content->shard_bits, op->fingerprints[i]);
        uint32_t at = next[content->group_of_shard[shard]]++;

        op->sorted[at] = op->fingerprints[i];
        op->positions[at] = i;
    }
}

static enum status split_many(struct op *op, const struct epoch_content *content)
{
    uint32_t *counts = heap_alloc(content->ngroups, sizeof *counts);
    enum status status = STATUS_NOMEM;

    if (counts == NULL) {
        return STATUS_NOMEM;
    }
    op->nparts = count_groups(op, content, counts);
    op->parts = heap_zalloc(op->nparts, sizeof *op->parts);
    op->sorted = heap_alloc(op->count, sizeof *op->sorted);
    op->positions = heap_alloc(op->count, sizeof *op->positions);
    if (op->parts != NULL && op->sorted != NULL && op->positions != NULL) {
        sort_by_group(op, content, counts);
        status = STATUS_OK;
    }
    heap_free(counts);
    return status;
}

static enum status split(struct op *op, const struct epoch_content *content)
{
    if (content->ngroups > 1) {
        return split_many(op, content);
    }
    op->parts = heap_zalloc(1, sizeof *op->parts);
    if (op->parts == NULL) {
        return STATUS_NOMEM;
    }
    op->nparts = 1;
    op->parts[0] = (struct part){.count = op->count, .fingerprints = op->fingerprints};
    return STATUS_OK;
}

/* Planes of all slots and of the verdict, for every part, in one allocation. */
static enum status reserve_planes(struct op *op, uint32_t replicas)
{
    size_t total = 0;
    uint64_t *words;

    for (uint32_t i = 0; i < op->nparts; i++) {
        total += router_words(op->parts[i].count) * (2 * (size_t)replicas + 2);
    }
    op->words = heap_zalloc(total, sizeof *op->words);
    if (op->words == NULL) {
        return STATUS_NOMEM;
    }
    words = op->words;
    for (uint32_t i = 0; i < op->nparts; i++) {
        struct part *part = &op->parts[i];
        size_t nwords = router_words(part->count);

        part->planes = words;
        part->present = words + 2 * (size_t)replicas * nwords;
        part->absent = part->present + nwords;
        words = part->absent + nwords;
    }
    return STATUS_OK;
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
                      const struct quorum_rule *rule)
{
    if (op->operation == OPERATION_CHECK) {
        (void)part_ask_more(self, now_us, op, part, rule->read);
        return;
    }
    for (uint32_t slot = 0; slot < rule->replicas; slot++) {
        (void)part_ask(self, now_us, op, part, slot);
    }
}

enum status op_start(struct router *self, uint64_t now_us, struct op *op,
                     struct document_entry *entry)
{
    const struct epoch_content *content = &entry->document.content;
    enum status status;

    op->round = ++self->round & ((UINT64_C(1) << TAG_ROUND_BITS) - 1);
    op->epoch = entry->document.epoch;
    op->epoch_hash = entry->document.epoch_hash;
    status = split(op, content);
    if (status == STATUS_OK) {
        status = reserve_planes(op, content->rule.replicas);
    }
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
        ask_first(self, now_us, op, &op->parts[i], &content->rule);
    }
    return STATUS_OK;
}
