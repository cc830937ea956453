#include "base/heap.h"
#include "router/router_private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_OVERHEAD_BYTES = 48, /* what a key costs here beside its bytes, while in flight */
    TAG_SLOT_BITS = 3,
    TAG_PART_BITS = 12,
    TAG_OP_BITS = 16,
};

/* ---- places ---- */

static struct op *take_place(struct router *self)
{
    uint32_t place;

    if (self->nfree > 0) {
        place = self->free_ops[--self->nfree];
    } else if (self->nops < ROUTER_MAX_OPS) {
        place = self->nops++;
    } else {
        return NULL;
    }
    self->nused++;
    self->ops[place] = (struct op){.used = true};
    return &self->ops[place];
}

static void free_parts(struct op *op)
{
    heap_free(op->parts);
    heap_free(op->words);
    heap_free(op->sorted);
    heap_free(op->positions);
    op->parts = NULL;
    op->words = NULL;
    op->sorted = NULL;
    op->positions = NULL;
    op->nparts = 0;
}

void op_end(struct router *self, struct op *op)
{
    assert(op->used);
    free_parts(op);
    heap_free(op->fingerprints);
    self->inflight_bytes -= op->bytes;
    self->counters[ROUTER_inflight_bytes] = self->inflight_bytes;
    *op = (struct op){0};
    self->free_ops[self->nfree++] = (uint32_t)(op - self->ops);
    self->nused--;
}

void ops_fini(struct router *self)
{
    for (uint32_t i = 0; i < self->nops; i++) {
        if (self->ops[i].used) {
            op_end(self, &self->ops[i]);
        }
    }
    heap_free(self->ops);
    heap_free(self->free_ops);
}

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

bool part_ask(struct router *self, uint64_t now_us, struct op *op, struct part *part, uint32_t slot)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    const struct member *member = &entry->document.content.groups[part->group].slots[slot].current;
    struct backend *backend = backend_of(self, member->node);
    struct slot_ask *ask = &part->asks[slot];
    const struct segment segment = {
        .tag = tag_of(self, op, part, slot),
        .filter_id = op->filter_id,
        .epoch = op->epoch,
        .epoch_hash = op->epoch_hash,
        .group = part->group,
        .operation = op->operation,
        .op = op->id,
        .attempt = op->attempt,
        .batch = {.boot = self->boot, .number = part->batch_number},
        .count = part->count,
    };

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

    op->round = ++self->round;
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

/* ---- taking in ---- */

static const char *reject(const struct router *self, const struct client_request *request,
                          uint64_t bytes, enum status *status)
{
    for (size_t i = 0; i < request->count; i++) {
        if (request->lengths[i] == 0) {
            *status = STATUS_INVALID;
            return "a key is empty; keys have 1 to 65536 bytes";
        }
    }
    if (self->inflight_bytes + bytes > self->config.max_inflight_bytes) {
        *status = STATUS_OVERLOADED;
        return "the router's max_inflight is reached; slow down, retry, or add routers";
    }
    return NULL;
}

/* An add whose number came before, from this client, may have been executed. */
static bool may_have_run(struct router *self, const struct client_request *request)
{
    return request->operation == OPERATION_ADD &&
           (repeats_met(&self->repeats, request->op.session, request->op.sequence) ||
            request->attempt > 0);
}

static uint64_t deadline(const struct router *self, uint64_t now_us, uint32_t timeout_ms)
{
    uint64_t timeout_us = (uint64_t)(timeout_ms > 0 ? timeout_ms : ROUTER_DEFAULT_TIMEOUT_MS) *
                          1000;

    return now_us +
           (timeout_us < self->config.max_timeout_us ? timeout_us : self->config.max_timeout_us);
}

static enum status fill(struct router *self, uint64_t now_us, struct op *op,
                        const struct client_request *request, struct document_entry *entry)
{
    const struct routed_filter *routed = entry->attachment;

    op->id = request->op;
    op->attempt = request->attempt;
    op->operation = request->operation;
    op->slots = request->slots != 0 ? request->slots : UINT32_MAX;
    op->filter_id = entry->document.id;
    op->started_us = now_us;
    op->deadline_us = deadline(self, now_us, request->timeout_ms);
    op->count = (uint32_t)request->count;
    op->tainted = may_have_run(self, request);
    op->fingerprints = heap_alloc(request->count, sizeof *op->fingerprints);
    if (op->fingerprints == NULL) {
        return STATUS_NOMEM;
    }
    fingerprint_batch(entry->document.hash, &routed->secret, request->keys.data, request->lengths,
                      request->count, op->fingerprints);
    return op_start(self, now_us, op, entry);
}

void op_begin(struct router *self, uint64_t now_us, const struct peer *from, uint64_t correlation,
              const struct client_request *request, struct document_entry *entry)
{
    uint64_t bytes = request->keys.size + request->count * KEY_OVERHEAD_BYTES;
    enum status status = STATUS_OK;
    const char *reason = reject(self, request, bytes, &status);
    struct op *op = reason == NULL ? take_place(self) : NULL;

    if (reason == NULL && op == NULL) {
        status = STATUS_OVERLOADED;
        reason = "the router has too many requests in flight; slow down, retry, or add routers";
    }
    if (reason != NULL) {
        self->counters[ROUTER_overloaded_total] += status == STATUS_OVERLOADED;
        router_refuse_client(self, from, correlation, request, status, reason);
        return;
    }
    op->client = *from;
    op->correlation = correlation;
    op->bytes = bytes;
    self->inflight_bytes += bytes;
    self->counters[ROUTER_inflight_bytes] = self->inflight_bytes;
    if (fill(self, now_us, op, request, entry) != STATUS_OK) {
        op_end(self, op);
        router_refuse_client(self, from, correlation, request, STATUS_NOMEM,
                             "the router is out of memory; lower max_inflight or add memory");
        return;
    }
    if (self->next_tick_us == ACTOR_NEVER) {
        self->next_tick_us = now_us + ROUTER_TICK_US;
    }
    op_evaluate(self, now_us, op, false);
}

void op_restart(struct router *self, uint64_t now_us, struct op *op)
{
    struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    struct client_request echo = {.op = op->id, .attempt = op->attempt};
    struct peer client = op->client;
    uint64_t correlation = op->correlation;

    if (entry->document.content.state != FILTER_ACTIVE) {
        /* Its name may be bound to another filter, with another secret: the keys are needed. */
        op_end(self, op);
        router_refuse_client(self, &client, correlation, &echo, STATUS_STALE,
                             "the filter was dropped meanwhile; retry");
        return;
    }
    router_count(self, ROUTER_restarts_total);
    op->tainted = true; /* Votes of the former epoch are void, but its writes may stand. */
#ifdef ORBLOOM_MUTANT_ADD_UP_EPOCHS
    op->epoch = entry->document.epoch;
    op->epoch_hash = entry->document.epoch_hash;
    for (uint32_t i = 0; i < op->nparts; i++) {
        for (uint32_t slot = 0; slot < entry->document.content.rule.replicas; slot++) {
            if (!op->parts[i].asks[slot].voted) {
                (void)part_ask(self, now_us, op, &op->parts[i], slot);
            }
        }
    }
    return;
#endif
    free_parts(op);
    if (op_start(self, now_us, op, entry) != STATUS_OK) {
        op_end(self, op);
        router_refuse_client(self, &client, correlation, &echo, STATUS_NOMEM,
                             "the router is out of memory; lower max_inflight or add memory");
    }
}

/* ---- time ---- */

static bool due(const struct slot_ask *ask, uint64_t now_us, uint64_t retry_us)
{
    return (ask->state == ASK_SENT || ask->state == ASK_FAILED) &&
           now_us - ask->asked_us >= retry_us;
}

static void tick_part(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                      const struct quorum_rule *rule)
{
    for (uint32_t slot = 0; slot < rule->replicas; slot++) {
        if (due(&part->asks[slot], now_us, self->config.retry_us)) {
            router_count(self, ROUTER_retries_total);
            (void)part_ask(self, now_us, op, part, slot);
        }
    }
    if (op->operation == OPERATION_CHECK && !part->hedged &&
        now_us - op->started_us >= self->config.hedge_us) {
        part->hedged = true;
        if (part_ask_more(self, now_us, op, part, rule->replicas) > 0) {
            router_count(self, ROUTER_hedges_total);
        }
    }
}

static void tick_op(struct router *self, uint64_t now_us, struct op *op)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);

    if (entry->document.epoch != op->epoch) {
        op_restart(self, now_us, op);
        return;
    }
    if (now_us >= op->deadline_us) {
        router_count(self, ROUTER_deadlines_total);
        op_evaluate(self, now_us, op, true);
        return;
    }
    for (uint32_t i = 0; i < op->nparts; i++) {
        if (!op->parts[i].done) {
            tick_part(self, now_us, op, &op->parts[i], &entry->document.content.rule);
        }
    }
    op_evaluate(self, now_us, op, false);
}

void ops_tick(struct router *self, uint64_t now_us)
{
    for (uint32_t i = 0; self->nused > 0 && i < self->nops; i++) {
        if (self->ops[i].used) {
            tick_op(self, now_us, &self->ops[i]);
        }
    }
}
