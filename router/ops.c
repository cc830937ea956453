/* Life of an operation: its place, its deadline, and when what was refused or not answered is
 * tried again. */
#include "base/heap.h"
#include "base/mutant.h"
#include "router/private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_OVERHEAD_BYTES = 48, /* what a key costs here beside its bytes, while in flight */
    UNREADY_US = 10000,      /* after the first NOT_READY, then doubled ... */
    UNREADY_SOON = 8,        /* ... so often at most */
    FULL_US = 4000,          /* after the first FULL that is to pass, then doubled ... */
    FULL_SOON = 5,           /* ... up to that */
    RESEND_DOUBLINGS = 2,    /* of retry_us: what was lost is soon there, what is slow gets time */
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
    self->ops[place] = (struct op){.used = true, .memory = self->ops[place].memory};
    return &self->ops[place];
}

void op_end(struct router *self, struct op *op)
{
    uint32_t place = (uint32_t)(op - self->ops);

    assert(op->used);
    self->inflight_bytes -= op->bytes;
    self->counters[ROUTER_inflight_bytes] = self->inflight_bytes;
    *op = (struct op){.memory = op_memory_keep(op->memory, place)};
    self->free_ops[self->nfree++] = place;
    self->nused--;
}

void ops_fini(struct router *self)
{
    for (uint32_t i = 0; i < self->nops; i++) {
        heap_free(self->ops[i].memory.block);
    }
    heap_free(self->ops);
    heap_free(self->free_ops);
}

/* ---- taking in ---- */

static const char *reject(const struct router *self, const struct client_request *request,
                          uint64_t bytes, enum status *status)
{
    for (size_t i = 0; i < request->count && request->lengths != NULL; i++) {
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

static uint64_t deadline(const struct router *self, uint64_t now_us, uint32_t timeout_ms)
{
    uint64_t timeout_us = (uint64_t)(timeout_ms > 0 ? timeout_ms : ROUTER_DEFAULT_TIMEOUT_MS) *
                          1000;

    return now_us +
           (timeout_us < self->config.max_timeout_us ? timeout_us : self->config.max_timeout_us);
}

static enum status fill(struct router *self, uint64_t now_us, struct op *op,
                        const struct client_request *request, const uint64_t *hashed,
                        struct document_entry *entry)
{
    const struct routed_filter *routed = entry->attachment;

    op->id = request->op;
    op->attempt = request->attempt;
    op->operation = request->operation == OPERATION_FEED ? OPERATION_ADD : request->operation;
    op->lineage = request->operation == OPERATION_FEED ? rebuild_lineage(&entry->document) : 0;
    op->slots = request->slots != 0 ? request->slots : UINT32_MAX;
    op->filter_id = entry->document.id;
    op->started_us = now_us;
    op->deadline_us = deadline(self, now_us, request->timeout_ms);
    op->count = (uint32_t)request->count;
    if (op_reserve(op, entry) != STATUS_OK) {
        return STATUS_NOMEM;
    }
    if (hashed != NULL) {
        memcpy(op->fingerprints, hashed, request->count * sizeof *hashed);
    } else {
        fingerprint_batch(entry->document.hash, &routed->secret, request->keys.data,
                          request->lengths, request->count, op->fingerprints);
    }
    return op_start(self, now_us, op, entry);
}

bool op_feeds(const struct document_entry *entry, enum operation operation, uint32_t lineage)
{
    return operation != OPERATION_FEED ||
           rebuild_may_feed(&entry->document, lineage).verdict == REBUILD_VERDICT_WRITE;
}

void op_begin(struct router *self, uint64_t now_us, const struct peer *from, uint64_t correlation,
              const struct client_request *request, struct document_entry *entry)
{
    op_begin_hashed(self, now_us, from, correlation, request, NULL, entry);
}

void op_begin_hashed(struct router *self, uint64_t now_us, const struct peer *from,
                     uint64_t correlation, const struct client_request *request,
                     const uint64_t *hashed, struct document_entry *entry)
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
    if (fill(self, now_us, op, request, hashed, entry) != STATUS_OK) {
        op_end(self, op);
        router_refuse_client(self, from, correlation, request, STATUS_NOMEM,
                             "the router is out of memory; lower max_inflight or add memory");
        return;
    }
    if (self->next_tick_us == ACTOR_NEVER) {
        self->next_tick_us = now_us + hedge_tick_us(self);
    }
    op_evaluate(self, now_us, op, false);
}

void op_restart(struct router *self, uint64_t now_us, struct op *op)
{
    struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    struct client_request echo = {.op = op->id, .attempt = op->attempt};
    struct peer client = op->client;
    uint64_t correlation = op->correlation;

    if (entry->conflict) {
        op_end(self, op);
        router_refuse_client(self, &client, correlation, &echo, STATUS_CONFLICT,
                             ROUTER_CONFLICT_MESSAGE);
        return;
    }
    if (entry->document.content.state != FILTER_ACTIVE) {
        /* Its name may be bound to another filter, with another secret: the keys are needed. */
        op_end(self, op);
        router_refuse_client(self, &client, correlation, &echo, STATUS_STALE,
                             "the filter was dropped meanwhile; retry");
        return;
    }
    if (entry->document.content.named_epoch > op->epoch) {
        /* It was asked for by another name, which may be bound to another filter. */
        op_end(self, op);
        router_refuse_client(self, &client, correlation, &echo, STATUS_STALE,
                             "the filter was renamed meanwhile; retry");
        return;
    }
    if (op->lineage != 0 && !op_feeds(entry, OPERATION_FEED, op->lineage)) {
        op_end(self, op);
        router_refuse_feed(self, &client, correlation, &echo, entry->document.content.name);
        return;
    }
    router_count(self, ROUTER_restarts_total);
    op->restarts++; /* Votes of the former epoch are void, but its writes may stand. */
    if (MUTANT(ADD_UP_EPOCHS)) {
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
    }
    if (op_reserve(op, entry) != STATUS_OK || op_start(self, now_us, op, entry) != STATUS_OK) {
        op_end(self, op);
        router_refuse_client(self, &client, correlation, &echo, STATUS_NOMEM,
                             "the router is out of memory; lower max_inflight or add memory");
    }
}

/* ---- time ---- */

/* Ever longer: `first_us`, twice that, and so on. */
static uint64_t doubled_us(uint64_t first_us, uint32_t times, uint64_t most_us)
{
    uint64_t us = first_us << (times - 1);

    return us < most_us ? us : most_us;
}

/* Who is not ready may be in a moment, and so may who has no room: it is asked again soon, and then
 * ever less often. Who does not answer may have more to do than it can: asked as often as ever, it
 * would never catch up. */
static uint64_t patience_us(const struct slot_ask *ask, uint64_t retry_us)
{
    if (ask->state == ASK_SENT) {
        return retry_us << (ask->resends < RESEND_DOUBLINGS ? ask->resends : RESEND_DOUBLINGS);
    }
    if (ask->full > 0) {
        return doubled_us(FULL_US, ask->full < FULL_SOON ? ask->full : FULL_SOON, retry_us);
    }
    return ask->unready > 0 && ask->unready <= UNREADY_SOON
               ? doubled_us(UNREADY_US, ask->unready, retry_us)
               : retry_us;
}

static bool due(const struct slot_ask *ask, uint64_t now_us, uint64_t retry_us)
{
    return (ask->state == ASK_SENT || ask->state == ASK_FAILED) &&
           now_us - ask->asked_us >= patience_us(ask, retry_us);
}

static void tick_part(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                      const struct quorum_rule *rule)
{
    for (uint32_t i = 0; i < 2 * rule->replicas; i++) {
        uint32_t seat = i < rule->replicas ? i : i - rule->replicas + SEAT_PARTNER;

        if (seat_taken(part, seat) && due(seat_ask(part, seat), now_us, self->config.retry_us)) {
            router_count(self, ROUTER_retries_total);
            (void)part_ask(self, now_us, op, part, seat);
        }
    }
    if (op->operation == OPERATION_CHECK && !part->hedged &&
        now_us - op->started_us >= self->hedge_us) {
        part->hedged = true;
        if (part_ask_more(self, now_us, op, part, rule->replicas) > 0) {
            router_count(self, ROUTER_hedges_total);
        }
    }
}

static void tick_op(struct router *self, uint64_t now_us, struct op *op)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);

    if (entry->document.epoch != op->epoch || entry->conflict) {
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
