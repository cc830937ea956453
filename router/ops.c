/* Life of an operation: it begins, answers of nodes become votes or ask for something, what was
 * refused or not answered is tried again, and under a newer document all of it begins anew. */
#include "base/heap.h"
#include "base/mutant.h"
#include "map/acks.h"
#include "map/history/expansion.h"
#include "map/staleness.h"
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
    MAX_HANDED = 3,          /* documents handed to one node for one part before waiting */
    EXPANSION_BEGINS_US = 1000000, /* a filter that is to grow does not for so long: it can't */
};

/* ---- taking in ---- */

/* Why a request is not begun; only set then. */
struct refusal {
    enum status status;
    const char *reason;
    char room[ROUTER_MESSAGE_BYTES]; /* for it */
};

static bool has_empty_key(const struct client_request *request)
{
    for (size_t i = 0; i < request->count && request->lengths != NULL; i++) {
        if (request->lengths[i] == 0) {
            return true;
        }
    }
    return false;
}

struct op *op_place(struct router *self, const struct peer *from, uint64_t bytes,
                    const char **reason)
{
    struct op *op;

    *reason = "the router's max_inflight is reached; slow down, retry, or add routers";
    if (self->inflight_bytes + bytes > self->config.max_inflight_bytes) {
        router_count(self, ROUTER_overloaded_total);
        return NULL;
    }
    *reason = limits_begin(self, from->user, bytes);
    if (*reason != NULL) {
        router_count(self, ROUTER_overloaded_total);
        return NULL;
    }
    op = op_take(self);
    if (op == NULL) {
        limits_end(self, from->user, bytes);
        router_count(self, ROUTER_overloaded_total);
        *reason = "the router has too many requests in flight; slow down, retry, or add routers";
        return NULL;
    }
    op->client = *from;
    op->bytes = bytes;
    self->inflight_bytes += bytes;
    router_show_inflight(self);
    return op;
}

/* NULL: it is refused, and nothing was counted. */
static struct op *admit(struct router *self, uint64_t now_us, const struct peer *from,
                        const struct client_request *request, struct refusal *refusal)
{
    struct op *op;

    if (has_empty_key(request)) {
        refusal->status = STATUS_INVALID;
        refusal->reason = "a key is empty; keys have 1 to 65536 bytes";
        return NULL;
    }
    if (!acks_valid(request->acks) || !staleness_valid(request->max_staleness)) {
        refusal->status = STATUS_INVALID;
        refusal->reason = "acks are 1 to 8 or 255, and a bound is at most 30 days";
        return NULL;
    }
    refusal->status = STATUS_OVERLOADED;
    op = op_place(self, from, request->keys.size + request->count * KEY_OVERHEAD_BYTES,
                  &refusal->reason);
    if (op != NULL && !limits_take_keys(self, now_us, from->user, request->count, refusal->room)) {
        op_end(self, op);
        refusal->reason = refusal->room;
        return NULL;
    }
    return op;
}

uint64_t op_deadline_us(const struct router *self, uint64_t now_us, uint32_t timeout_ms)
{
    uint64_t timeout_us = (uint64_t)(timeout_ms > 0 ? timeout_ms : ROUTER_DEFAULT_TIMEOUT_MS) *
                          1000;

    return now_us +
           (timeout_us < self->config.max_timeout_us ? timeout_us : self->config.max_timeout_us);
}

/* Its keys become fingerprints, and the first questions are asked. STATUS_NOMEM. */
static enum status fill(struct router *self, uint64_t now_us, struct op *op,
                        const struct client_request *request, const struct hashed_keys *hashed,
                        struct document_entry *entry)
{
    const struct routed_filter *routed = entry->attachment;

    op->id = request->op;
    op->attempt = request->attempt;
    op->operation = request->operation == OPERATION_FEED ? OPERATION_ADD : request->operation;
    op->keyset = request->operation == OPERATION_FEED ? rebuild_keyset(&entry->document) : 0;
    op->relayed = hashed != NULL && hashed->relay != NULL;
    op->heard = op->relayed ? hashed->relay->heard : NULL;
    op->heard_owner = op->relayed ? hashed->relay->owner : NULL;
    op->slots = request->slots != 0 ? request->slots : UINT32_MAX;
    op->filter_id = entry->document.id;
    op->started_us = now_us;
    op->deadline_us = op_deadline_us(self, now_us, request->timeout_ms);
    op->count = (uint32_t)request->count;
    if (op_reserve(op, entry) != STATUS_OK) {
        return STATUS_NOMEM;
    }
    site_bound_enter(self, now_us, op, request->max_staleness, entry);
    site_acks_enter(op, request->acks, entry);
    if (hashed != NULL) {
        memcpy(op->fingerprints, hashed->fingerprints, request->count * sizeof *op->fingerprints);
    } else {
        fingerprint_batch(entry->document.hash, &routed->secret, request->keys.data,
                          request->lengths, request->count, op->fingerprints);
    }
    return op_start(self, now_us, op, entry);
}

bool op_feeds(const struct document_entry *entry, enum operation operation, uint32_t keyset)
{
    return operation != OPERATION_FEED || rebuild_takes(&entry->document, keyset);
}

void op_set_clock(struct router *self, uint64_t now_us)
{
    if (self->next_tick_us == ACTOR_NEVER) {
        self->next_tick_us = now_us + hedge_tick_us(self);
    }
}

void op_begin(struct router *self, uint64_t now_us, const struct asker *asker,
              const struct client_request *request, const struct hashed_keys *hashed,
              struct document_entry *entry)
{
    struct refusal refusal;
    struct op *op = admit(self, now_us, asker->from, request, &refusal);

    if (op == NULL) {
        router_refuse_client(self, asker->from, asker->correlation, request, refusal.status,
                             refusal.reason);
        return;
    }
    op->correlation = asker->correlation;
    op->came_us = asker->came_us;
    if (fill(self, now_us, op, request, hashed, entry) != STATUS_OK) {
        op_end(self, op);
        router_refuse_client(self, asker->from, asker->correlation, request, STATUS_NOMEM,
                             "the router is out of memory; lower max_inflight or add memory");
        return;
    }
    op_set_clock(self, now_us);
    op_evaluate(self, now_us, op, false);
}

/* ---- under a newer document ---- */

/* It named the filter by its id: its name means nothing to it. */
static bool is_by_id(const struct op *op)
{
    return op->relayed || op->operation == OPERATION_ENDS;
}

/* Why an operation can't go on under the document as it is now: the answer for its client. OK: it
 * can. */
static enum status why_over(const struct op *op, const struct document_entry *entry,
                            const char **message)
{
    *message = "";
    if (entry->conflict) {
        *message = ROUTER_CONFLICT_MESSAGE;
        return STATUS_CONFLICT;
    }
    if (entry->document.content.state != FILTER_ACTIVE && is_by_id(op)) {
        *message = "the filter was dropped here";
        return STATUS_DROPPED;
    }
    if (entry->document.content.state != FILTER_ACTIVE) {
        /* Its name may be bound to another filter, with another secret: the keys are needed. */
        *message = "the filter was dropped meanwhile; retry";
        return STATUS_STALE;
    }
    if (entry->document.content.named_epoch > op->epoch && !is_by_id(op)) {
        /* It was asked for by another name, which may be bound to another filter. */
        *message = "the filter was renamed meanwhile; retry";
        return STATUS_STALE;
    }
    if (op->operation == OPERATION_ADD && !op->relayed && site_gate_shuts_out(&entry->document)) {
        *message = site_gate_reason;
        return STATUS_NOT_READY;
    }
    return STATUS_OK;
}

/* What of a request its refusal repeats, and what is counted by. */
static struct client_request echo_of(const struct op *op)
{
    return (struct client_request){
        .op = op->id,
        .attempt = op->attempt,
        .operation = op->keyset != 0 ? OPERATION_FEED : op->operation,
    };
}

/* End it without a verdict. The client is told last, when the place is free again. */
static void give_up(struct router *self, struct op *op, enum status status, const char *message)
{
    struct client_request echo = echo_of(op);
    struct peer client = op->client;
    uint64_t correlation = op->correlation;

    if (op->operation == OPERATION_ENDS) {
        ends_give_up(self, op, status, message);
        return;
    }
    op_end(self, op);
    router_refuse_client(self, &client, correlation, &echo, status, message);
}

/* The rebuild that it feeds is over, or another one. */
static void give_up_feed(struct router *self, struct op *op, const struct document_entry *entry)
{
    struct client_request echo = echo_of(op);
    struct peer client = op->client;
    uint64_t correlation = op->correlation;

    op_end(self, op);
    router_refuse_feed(self, &client, correlation, &echo, entry->document.content.name);
}

/* A newer document: forget all votes and ask again under it, or tell the client to retry. */
static void restart(struct router *self, uint64_t now_us, struct op *op)
{
    struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    const char *message;
    enum status status = why_over(op, entry, &message);

    if (status != STATUS_OK) {
        give_up(self, op, status, message);
        return;
    }
    if (op->keyset != 0 && !op_feeds(entry, OPERATION_FEED, op->keyset)) {
        give_up_feed(self, op, entry);
        return;
    }
    assert(entry->document.epoch != op->epoch);
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
    /* There may be other slot groups now, and pairs where there were none. */
    if (op_reserve(op, entry) != STATUS_OK || op_start(self, now_us, op, entry) != STATUS_OK) {
        give_up(self, op, STATUS_NOMEM,
                "the router is out of memory; lower max_inflight or add memory");
    }
}

void op_again(struct router *self, uint64_t now_us, struct op *op, struct document_entry *entry)
{
    assert(entry->document.epoch == op->epoch);
    router_count(self, ROUTER_checks_again_total);
    if (op_start(self, now_us, op, entry) != STATUS_OK) {
        give_up(self, op, STATUS_NOMEM,
                "the router is out of memory; lower max_inflight or add memory");
    }
}

/* ---- answers of nodes ---- */

/* Does this reply count: the op's epoch, the member's incarnation, in the state that it must have
 * by that epoch's document? */
static bool counts(const struct op *op, const struct part *part, const struct member *member,
                   enum replica_state state, const struct node_reply *reply,
                   const struct subrequest_reply *subrequest)
{
    if (!MUTANT(ADD_UP_EPOCHS) &&
        (subrequest->epoch != op->epoch || subrequest->epoch_hash != op->epoch_hash)) {
        return false;
    }
    if (MUTANT(COUNT_JOINING)) {
        return reply->node_id == member->node && subrequest->count == part->count;
    }
    return reply->node_id == member->node && reply->incarnation == member->incarnation &&
           subrequest->state == state && subrequest->count == part->count;
}

static void keep_vote(struct part *part, uint32_t slot, const struct subrequest_reply *subrequest)
{
    size_t nwords = bits_words(part->count);
    uint64_t *plane = part->planes + 2 * slot * nwords;

    memcpy(plane, subrequest->present, nwords * sizeof *plane);
    memcpy(plane + nwords, subrequest->absent, nwords * sizeof *plane);
}

/* Both planes say what a JOINING replica has written. */
static void keep_acceptance(struct part *part, uint32_t slot,
                            const struct subrequest_reply *subrequest)
{
    size_t nwords = bits_words(part->count);

    for (size_t i = 0; i < nwords; i++) {
        part->accepted[slot * nwords + i] = subrequest->present[i] & subrequest->absent[i];
    }
}

/* An add that was not accepted whole is held, while there will be room within moments: the node is
 * asked again. It remembers how it voted, so that the next vote is this one and more. Not for a
 * pair: what both halves have accepted is cut out of its vote. Nor for another site's: its link
 * waits for longer than a client would, so it repeats ever more seldom, and only what was not
 * accepted. */
static bool is_held(const struct router *self, uint64_t now_us, const struct op *op,
                    const struct slot_ask *reader, const struct subrequest_reply *subrequest)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);

    return op->operation == OPERATION_ADD && !op->relayed && subrequest->at_capacity &&
           subrequest->makes_room && !reader->paired &&
           (expansion_running(&entry->document) || now_us - op->started_us < EXPANSION_BEGINS_US);
}

static void hold(struct router *self, struct slot_ask *ask)
{
    ask->state = ASK_FAILED;
    if (ask->full < UINT8_MAX) {
        ask->full++;
    }
    router_count(self, ROUTER_held_total);
}

/* Whoever remembers what was acknowledged does so for the boots that have. */
static void tell_boot(const struct op *op, const struct member *member,
                      const struct subrequest_reply *subrequest)
{
    const struct router_boot from = {.member = *member, .boot = subrequest->boot};

    if (op->heard != NULL) {
        op->heard(op->heard_owner, op->correlation, &from);
    }
}

static void take_vote(struct router *self, uint64_t now_us, const struct op *op, struct part *part,
                      uint32_t seat, const struct slot_group *group, const struct node_reply *reply,
                      const struct subrequest_reply *subrequest)
{
    struct slot_ask *ask = seat_ask(part, seat);
    uint32_t slot = seat % SEAT_PARTNER;
    bool reads = seat < SEAT_PARTNER;

    assert(op->used && !part->done && seat_taken(part, seat));
    ask->state = ASK_ANSWERED;
    if (!counts(op, part, seat_member(group, seat), reads ? REPLICA_FULL : REPLICA_JOINING, reply,
                subrequest)) {
        router_count(self, ROUTER_votes_void_total);
        ask->refusal = STATUS_NOT_READY;
        return;
    }
    ask->voted = true;
    tell_boot(op, seat_member(group, seat), subrequest);
    ask->refusal = subrequest->at_capacity ? STATUS_FULL : STATUS_OK;
    ask->makes_room = subrequest->makes_room;
    self->counters[ROUTER_full_total] += subrequest->at_capacity;
    ask->tainted = subrequest->repeated;
    if (op->operation == OPERATION_ENDS) {
        ends_keep(op, part, slot, seat_member(group, seat), subrequest);
    } else if (reads) {
        keep_vote(part, slot, subrequest);
    } else {
        keep_acceptance(part, slot, subrequest);
    }
    if (is_held(self, now_us, op, &part->asks[slot], subrequest)) {
        hold(self, ask);
    }
    if (part->asks[slot].paired && slot_counts(part, slot)) {
        /* Whichever half came last: what the other one did not take is no vote of the slot. */
        pair_mask(part, slot);
    }
}

static void hand_document(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                          uint32_t seat, struct backend *backend)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    struct span bytes = span_of(entry->signed_bytes, entry->signed_size);
    struct frame frame = {.kind = FRAME_DOCUMENTS, .body.documents = {.items = &bytes, .count = 1}};
    struct slot_ask *ask = seat_ask(part, seat);

    router_count(self, ROUTER_need_doc_total);
    if (ask->handed < MAX_HANDED && backend_send(self, backend, &frame)) {
        ask->handed++;
        (void)part_ask(self, now_us, op, part, seat);
    }
}

static void count_refusal(struct router *self, enum status status)
{
    static const struct {
        enum status status;
        enum router_counter counter;
    } counted[] = {
        {STATUS_NOT_READY, ROUTER_not_ready_total}, {STATUS_FULL, ROUTER_full_total},
        {STATUS_CONFLICT, ROUTER_conflict_total},   {STATUS_STALE, ROUTER_stale_total},
        {STATUS_DROPPED, ROUTER_stale_total},
    };

    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        if (counted[i].status == status) {
            router_count(self, counted[i].counter);
        }
    }
}

static void take_refusal(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                         uint32_t seat, struct backend *backend,
                         const struct subrequest_reply *subrequest)
{
    struct slot_ask *ask = seat_ask(part, seat);

    ask->state = ASK_FAILED; /* It may pass and is asked again. */
    ask->refusal = subrequest->status;
    count_refusal(self, subrequest->status);
    if (subrequest->status == STATUS_NOT_READY && ask->unready < UINT8_MAX) {
        ask->unready++;
    }
    if (subrequest->status == STATUS_NEED_DOC) {
        hand_document(self, now_us, op, part, seat, backend);
    } else if (subrequest->status == STATUS_STALE || subrequest->status == STATUS_DROPPED) {
        sync_want(self, now_us); /* The reply's own document may have been refused. */
    } else if (subrequest->status == STATUS_CONFLICT) {
        /* Whose the right content is this router can't tell, so none of it counts. */
        log_limited(&self->conflict_limit, now_us, LOG_ERROR,
                    "node %u holds another content of filter %llu under epoch %llu; it is not "
                    "used",
                    backend->node, (unsigned long long)op->filter_id,
                    (unsigned long long)subrequest->epoch);
    }
}

static void on_subrequest(struct router *self, uint64_t now_us, struct backend *backend,
                          const struct node_reply *reply, const struct subrequest_reply *subrequest)
{
    struct part *part = NULL;
    uint32_t seat = 0;
    struct op *op = op_of_tag(self, subrequest->tag, &part, &seat);
    const struct document_entry *entry;

    if (op == NULL || part->done ||
        (seat_ask(part, seat)->voted && seat_ask(part, seat)->state == ASK_ANSWERED)) {
        router_count(self, ROUTER_late_total);
        return;
    }
    entry = document_cache_find(&self->documents, op->filter_id);
    if (entry->document.epoch != op->epoch || entry->conflict) {
        count_refusal(self, subrequest->status);
        restart(self, now_us, op);
        return;
    }
    if (seat % SEAT_PARTNER >= entry->document.content.rule.replicas) {
        router_count(self, ROUTER_late_total); /* A tag that was not given out: no planes there. */
        return;
    }
    if (subrequest->status == STATUS_OK) {
        take_vote(self, now_us, op, part, seat, &entry->document.content.groups[part->group], reply,
                  subrequest);
    } else {
        take_refusal(self, now_us, op, part, seat, backend, subrequest);
    }
    op_evaluate(self, now_us, op, false);
}

void ops_on_reply(struct router *self, uint64_t now_us, uint32_t link, const struct frame *frame)
{
    const struct node_reply *reply = &frame->body.node_reply;
    struct backend *backend = backend_heard(self, now_us, link, frame->correlation);

    if (backend == NULL) {
        router_count(self, ROUTER_late_total);
        return;
    }
    for (size_t i = 0; i < reply->ndocuments; i++) {
        router_take_document(self, now_us, reply->documents[i]);
    }
    for (size_t i = 0; i < reply->nsubrequests; i++) {
        on_subrequest(self, now_us, backend, reply, &reply->subrequests[i]);
    }
}

/* ---- time ---- */

/* Ever longer: `first_us`, twice that, and so on. */
static uint64_t doubled_us(uint64_t first_us, uint32_t times, uint64_t most_us)
{
    uint64_t us;

    assert(times > 0 && times <= UNREADY_SOON);
    us = first_us << (times - 1);
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
    struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);

    if (entry->document.epoch != op->epoch || entry->conflict) {
        restart(self, now_us, op);
        return;
    }
    if (now_us >= op->deadline_us) {
        router_count(self, ROUTER_deadlines_total);
        op_evaluate(self, now_us, op, true);
        return;
    }
    if (op->parked) {
        site_resume(self, now_us, op, entry);
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
