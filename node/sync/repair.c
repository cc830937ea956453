/* Comparing a replica with another node's, and taking over what lacks here. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum {
    ANSWER_BYTES = (1 << 20) + (1 << 16),
    RETRY_DOUBLINGS = 4, /* 1.6 s, and as much again by chance */
    FULL_RETRY_US = 60000000,
    COPY_AFTER = 3, /* refusals, if it is urgent */
};

/* ---- which replica is compared next, and when again ---- */

static bool is_urgent(const struct pull_item *item)
{
    return item->pull.phase == PULL_PHASE_REPAIR;
}

static uint64_t within(struct exchange *self, uint64_t us)
{
    return us > 0 ? self->node.effects->random(self->node.effects->context) % us : 0;
}

/* So that nodes that started together do not all read together. */
static void schedule(struct exchange *self, uint64_t now_us, struct pull_item *item, bool soon)
{
    uint64_t interval_us = self->config.scrub_interval_us;

    if (interval_us == 0) {
        item->repair_us = ACTOR_NEVER;
    } else if (soon) {
        uint64_t delay_us = self->config.gossip_delay_us;

        item->repair_us = now_us + 1 +
                          within(self, delay_us < interval_us ? delay_us : interval_us);
    } else {
        item->repair_us = now_us + interval_us / 2 + within(self, interval_us);
    }
}

static bool may_compare(const struct pull_item *item, const struct document_entry *entry)
{
    const struct arrays *set = hosted_find(entry->attachment, item->pull.scope.keyset,
                                           item->pull.scope.slice);

    return item->pull.purpose == PULL_DELTA &&
           (item->pull.phase == PULL_PHASE_FOLLOW || item->pull.phase == PULL_PHASE_FETCH ||
            is_urgent(item)) &&
           arrays_state(set, item->pull.scope.group) == REPLICA_FULL;
}

/* Urgent ones first, then who has waited longest. */
static bool comes_first(const struct repair_turn *a, const struct repair_turn *b)
{
    return !b->any || a->urgent > b->urgent || (a->urgent == b->urgent && a->due_us < b->due_us);
}

static void wait_for_turn(struct exchange *exchange, const struct pull_item *item)
{
    exchange->waits |= LOOK_BIT(is_urgent(item) ? LOOK_WAITS_URGENT : LOOK_WAITS_REPAIR);
}

void node_repair_look(struct exchange *self, uint64_t now_us, const struct filter_pulls *pulls,
                      const struct document_entry *entry, struct pull_item *item)
{
    struct repair_turn turn = {.any = true, .urgent = is_urgent(item)};
    uint64_t silent_us;

    if (item->repair_us == 0) {
        schedule(self, now_us, item, pulls->joined);
    }
    if (self->repair.active) {
        wait_for_turn(self, item);
        return;
    }
    if (item->pull.asked || !may_compare(item, entry)) {
        return; /* Its answer stirs; so does the document by which it may. */
    }
    if (storage_written(self->storage) < self->repaired_end) {
        self->waits |= LOOK_BIT(LOOK_WAITS_LOG); /* What was just taken over would be found
                                                        lacking again. */
        return;
    }
    if (item->repair_us > now_us) {
        self->due_us = item->repair_us < self->due_us ? item->repair_us : self->due_us;
        return;
    }
    if (item->pull.scope.generation != 0) {
        /* Without key log: pages of arrays, by their digests. */
        schedule(self, now_us, item, false);
        pull_compare(&item->pull, now_us);
        exchange_count(self, NODE_repairs_total);
        return;
    }
    if (node_peers_silent(&self->peers, item->pull.source.node, &silent_us)) {
        /* One after the other would take the time of those that could be compared. */
        self->waits |= LOOK_BIT(looks_peer(item->pull.source.node, PULL_REPAIR));
        return;
    }
    wait_for_turn(self, item); /* Unless it is this one's. */
    turn.due_us = item->repair_us;
    turn.topic = (struct peer_topic){.filter_id = item->pull.scope.filter_id,
                                     .serial = pulls->serial,
                                     .item = (uint32_t)(item - pulls->items),
                                     .repair = true};
    if (comes_first(&turn, &self->next_repair)) {
        self->next_repair = turn;
    }
}

uint64_t node_silences_over(struct exchange *self, uint64_t now_us)
{
    struct node_peers *peers = &self->peers;
    uint64_t freed = 0;

    for (uint32_t i = 0; i < peers->count; i++) {
        struct node_peer *peer = &peers->items[i];

        if (peer->silent_us != 0 && peer->silent_us <= now_us) {
            peer->silent_us = 0;
            freed |= LOOK_BIT(looks_peer(peer->node, PULL_REPAIR));
        }
    }
    return freed;
}

/* ---- the end ---- */

static void forget_answer(struct node_repair *repair)
{
    heap_free(repair->words);
    repair->words = NULL;
    repair->answered = false;
    repair->absorbed = 0;
}

/* Of the one under way, for good or ill. */
static void end(struct exchange *self)
{
    struct node_repair *repair = &self->repair;

    assert(repair->active);
    storage_view_close(&repair->view);
    if (repair->appended > self->repaired_end) {
        self->repaired_end = repair->appended;
    }
    self->node.counters[NODE_repair_ranges_total] += repair->machine.ranges;
    repair_fini(&repair->machine);
    forget_answer(repair);
    node_exchange_look(self, repair->topic.filter_id);
    *repair = (struct node_repair){.resume_us = ACTOR_NEVER, .read_us = ACTOR_NEVER};
    self->freed |= LOOK_BIT(LOOK_WAITS_REPAIR) | LOOK_BIT(LOOK_WAITS_URGENT);
}

/* That won't be better the next time. */
static bool is_refusal(enum status status)
{
    return status == STATUS_INVALID || status == STATUS_MALFORMED || status == STATUS_TOO_LARGE ||
           status == STATUS_VERSION;
}

/* Each try reads all of both replicas: so they come no closer to each other than that takes. */
static uint64_t retry_us(const struct exchange *self, uint32_t doublings, enum status status)
{
    uint64_t interval_us = self->config.scrub_interval_us;

    if (status == STATUS_FULL) { /* Nobody was told that those keys are in the filter. */
        return interval_us > 0 ? interval_us : FULL_RETRY_US;
    }
    return ((uint64_t)REPAIR_RETRY_US << doublings) +
           (node_repair_patience_us(self) - PEERS_DEADLINE_US) / 4;
}

static void put_off(struct exchange *self, uint64_t now_us, struct pull_item *item,
                    enum status status)
{
    uint32_t doublings = item->repair_failures < RETRY_DOUBLINGS ? item->repair_failures
                                                                 : RETRY_DOUBLINGS;

    item->repair_us = now_us + retry_us(self, doublings, status);
    item->repair_failures += item->repair_failures < UINT32_MAX;
    item->repair_refusals = is_refusal(status) ? item->repair_refusals + 1 : 0;
    log_limited(&self->pull_limit, now_us, LOG_DEBUG,
                "node %u, filter %016" PRIx64 ", group %u: not compared: %s",
                item->pull.source.node, item->pull.scope.filter_id, item->pull.scope.group,
                status_code(status));
    if (item->repair_refusals < COPY_AFTER) {
        return;
    }
    item->repair_refusals = 0;
    if (is_urgent(item)) {
        pull_copy(&item->pull, now_us);
        exchange_count(self, NODE_gossip_copies_total);
    } else {
        schedule(self, now_us, item, false);
    }
}

static void fail(struct exchange *self, uint64_t now_us, enum status status)
{
    struct node_repair *repair = &self->repair;
    struct document_entry *entry = NULL;
    struct pull_item *item = node_pull_item(self, &repair->topic, &entry);

    exchange_count(self, NODE_repair_failures_total);
    if (item != NULL) {
        put_off(self, now_us, item, status);
    }
    end(self);
}

/* Documents may change a few times before what has joined is compared with all others. */
static void note_compared(struct hosted_filter *hosted)
{
    bool all = true;

    for (uint32_t i = 0; i < hosted->pulls->count; i++) {
        all = all && hosted->pulls->items[i].compared;
    }
    hosted->joined = hosted->joined && !all;
}

static void succeed(struct exchange *self, uint64_t now_us, const struct document_entry *entry,
                    struct pull_item *item)
{
    struct node_repair *repair = &self->repair;

    exchange_count(self, NODE_repairs_ended_total);
    if (repair->keys > 0) {
        log_line(LOG_INFO,
                 "filter %016" PRIx64 ", group %u: %" PRIu64
                 " keys that node %u had were lacking here and have been taken over",
                 item->pull.scope.filter_id, item->pull.scope.group, repair->keys,
                 item->pull.source.node);
    }
    item->compared = true;
    item->repair_failures = 0;
    item->repair_refusals = 0;
    note_compared(entry->attachment);
    if (is_urgent(item)) {
        pull_repaired(&item->pull, now_us, repair->machine.view_end, repair->appended);
    }
    schedule(self, now_us, item, false);
    end(self);
}

/* ---- answers: digests compared with the own ones, what lacks here taken over ---- */

static const uint64_t *put(uint64_t **at, const uint64_t *words, size_t count)
{
    const uint64_t *begin = *at;

    if (count > 0) {
        memcpy(*at, words, count * sizeof *words);
    }
    *at += count;
    return begin;
}

/* The answer borrows from the frame that it came in; its fingerprints are with the view. */
static enum status keep_answer(struct node_repair *repair, const struct pull_reply *reply)
{
    uint64_t *at;

    forget_answer(repair);
    repair->words = heap_alloc(reply->ndigests + reply->ncounts + 1, sizeof *repair->words);
    if (repair->words == NULL) {
        return STATUS_NOMEM;
    }
    at = repair->words;
    repair->reply = *reply;
    repair->reply.digests = put(&at, reply->digests, reply->ndigests);
    repair->reply.counts = put(&at, reply->counts, reply->ncounts);
    repair->reply.fingerprints = NULL;
    repair->answered = true;
    return STATUS_OK;
}

static enum status compare_roots(struct node_repair *repair)
{
    size_t count = repair->machine.shards.count;
    struct repair_root *own = heap_alloc(count + 1, sizeof *own);
    enum status status;

    if (own == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct run_digest_range range = storage_view_shard(repair->view, i);

        own[i] = (struct repair_root){.digest = run_digest_short(range), .count = range.count};
    }
    status = repair_take_roots(&repair->machine, &repair->reply, own);
    heap_free(own);
    return status;
}

static enum status compare_parts(struct node_repair *repair)
{
    uint64_t *own = heap_alloc(repair->reply.ndigests + 1, sizeof *own);
    struct pull_request question;
    enum status status = own != NULL ? STATUS_OK : STATUS_NOMEM;

    repair_question(&repair->machine, &question);
    for (size_t i = 0; i < question.nprefixes && status == STATUS_OK; i++) {
        struct run_digest_range parts[STORAGE_VIEW_PARTS];

        if (!storage_view_parts(repair->view, question.prefix_bits, question.prefixes[i], parts)) {
            status = STATUS_INTERNAL;
        }
        for (size_t k = 0; k < PULL_PARTS && status == STATUS_OK; k++) {
            own[i * PULL_PARTS + k] = run_digest_short(parts[k]);
        }
    }
    if (status == STATUS_OK) {
        status = repair_take_digests(&repair->machine, &repair->reply, own);
    }
    heap_free(own);
    return status;
}

static enum status absorb(struct exchange *self, uint64_t now_us, struct document_entry *entry)
{
    struct node_repair *repair = &self->repair;
    size_t count;
    const uint64_t *lacking = storage_view_keys(repair->view, &count);
    size_t done;
    enum status status = node_pull_absorb(self, now_us, entry, &repair->machine.scope,
                                          lacking + repair->absorbed, count - repair->absorbed,
                                          &done);

    repair->absorbed += done;
    repair->keys += done;
    self->node.counters[NODE_repair_keys_total] += done;
    if (done > 0) {
        repair->appended = storage_end(self->storage);
    }
    if (status == STATUS_OK) {
        repair_take_ranges(&repair->machine, &repair->reply);
    }
    return status;
}

static enum status compare(struct exchange *self, uint64_t now_us, struct document_entry *entry)
{
    struct node_repair *repair = &self->repair;
    enum status status = STATUS_INTERNAL;

    switch (repair->machine.phase) {
    case REPAIR_ROOTS:
        status = compare_roots(repair);
        break;
    case REPAIR_NODES:
        status = compare_parts(repair);
        break;
    case REPAIR_RANGES:
        status = absorb(self, now_us, entry);
        break;
    case REPAIR_DONE:
        break;
    }
    return status;
}

/* ---- the own side ---- */

static void stepped(void *context, uint64_t now_us, enum status status, bool finished,
                    uint64_t bytes)
{
    struct exchange *self = context;
    struct node_repair *repair = &self->repair;

    if (status == STATUS_OK && !finished) {
        node_view_pace(self, now_us, repair->view, bytes, &repair->read_us);
        return;
    }
    if (status != STATUS_OK) {
        fail(self, now_us, status);
        return;
    }
    repair->own = true;
    repair->resume_us = now_us; /* Compared with the next turn. */
}

static void read_on(struct node_repair *repair)
{
    storage_view_step(repair->view);
}

static enum status open_view(struct exchange *self, const struct document_entry *entry)
{
    struct node_repair *repair = &self->repair;
    const struct pull_scope *scope = &repair->machine.scope;
    const struct storage_view_config config = {
        .set = {.filter_id = scope->filter_id, .slice = scope->slice, .keyset = scope->keyset},
        .end = UINT64_MAX, /* What is not durable here yet is not lacking either. */
        .shard_bits = entry->document.content.shard_bits,
        .group_of_shard = entry->document.content.group_of_shard,
        .group = scope->group,
        .context = self,
        .stepped = stepped,
    };

    storage_view_close(&repair->view);
    return storage_view_open(self->storage, &config, &repair->view);
}

/* ---- asking ---- */

static void ask(struct exchange *self, uint64_t now_us)
{
    struct node_repair *repair = &self->repair;
    uint32_t source = repair->machine.source.node;
    struct frame frame = {.kind = FRAME_PULL_REQUEST};
    enum status status;
    size_t sent = 0;

    assert(repair->active && !repair->asked && repair->machine.phase != REPAIR_DONE);
    if (!node_peers_idle(&self->peers, source, PULL_REPAIR, ANSWER_BYTES)) {
        repair->resume_us = now_us + REPAIR_RETRY_US;
        return;
    }
    repair_question(&repair->machine, &frame.body.pull_request);
    status = node_peers_ask(&self->peers, self->node.effects, now_us, &self->node.documents->nodes,
                            source, PULL_REPAIR, ANSWER_BYTES, node_repair_patience_us(self),
                            &repair->topic, &frame, self->node.out, &sent);
    if (status != STATUS_OK) {
        fail(self, now_us, status);
        return;
    }
    repair->asked = true;
    self->due_us = 0; /* Its deadline counts. */
    self->node.counters[NODE_gossip_bytes_out_total] += sent;
    self->node.counters[NODE_repair_bytes_total] += sent;
}

static enum status begin(struct exchange *self, uint64_t now_us, const struct document_entry *entry,
                         const struct pull_item *item)
{
    struct node_repair *repair = &self->repair;
    enum status status;

    assert(!repair->active && repair->view == NULL); /* One at a time. */
    *repair = (struct node_repair){
        .active = true,
        .topic = self->next_repair.topic,
        .resume_us = ACTOR_NEVER,
        .read_us = ACTOR_NEVER,
    };
    exchange_count(self, NODE_repairs_total);
    status = repair_init(&repair->machine, &item->pull.scope, &item->pull.source,
                         entry->document.content.shard_bits,
                         entry->document.content.group_of_shard);
    if (status == STATUS_OK) {
        status = open_view(self, entry);
    }
    if (status == STATUS_OK) {
        status = storage_view_survey(repair->view);
    }
    if (status == STATUS_OK) {
        read_on(repair);
        repair->resume_us = now_us;
    }
    return status;
}

/* What is to be compared next, from the own side. */
static enum status prepare(struct exchange *self, const struct document_entry *entry)
{
    struct node_repair *repair = &self->repair;
    struct pull_request question;
    bool there = true;

    repair_question(&repair->machine, &question);
    if (question.kind == PULL_RANGES) {
        enum status status = repair->exact ? STATUS_OK : open_view(self, entry);

        repair->exact = true; /* Newer than the source's: what was on its way then is here. */
        return status;
    }
    for (size_t i = 0; i < question.nprefixes && there; i++) {
        struct run_digest_range parts[STORAGE_VIEW_PARTS];

        there = storage_view_parts(repair->view, question.prefix_bits, question.prefixes[i], parts);
    }
    if (!there) {
        /* Deeper than the survey went: read once more, for these parts only. */
        enum status status = storage_view_split(repair->view, question.prefix_bits,
                                                question.prefixes, question.nprefixes);

        if (status == STATUS_OK) {
            read_on(repair);
        }
        return status;
    }
    repair->own = true;
    return STATUS_OK;
}

static enum status advance(struct exchange *self, uint64_t now_us, struct document_entry *entry)
{
    struct node_repair *repair = &self->repair;

    exchange_count(self, NODE_repair_round_trips_total);
    forget_answer(repair);
    repair->asked = repair->own = false;
    if (repair->machine.phase == REPAIR_DONE) {
        return STATUS_OK;
    }
    repair->resume_us = now_us;
    return prepare(self, entry);
}

/* ---- events ---- */

static bool is_about(const struct node_repair *repair, const struct peer_topic *topic)
{
    return repair->active && repair->asked && !repair->answered &&
           repair->topic.filter_id == topic->filter_id && repair->topic.serial == topic->serial &&
           repair->topic.item == topic->item;
}

void node_repair_on_silence(struct exchange *self, uint64_t now_us, const struct peer_topic *topic,
                            enum status status)
{
    if (is_about(&self->repair, topic)) {
        exchange_count(self, NODE_pull_failures_total);
        fail(self, now_us, status);
    }
}

void node_repair_on_reply(struct exchange *self, uint64_t now_us, const struct peer_topic *topic,
                          const struct pull_reply *reply)
{
    struct node_repair *repair = &self->repair;
    struct pull_request question;
    enum status status;

    self->node.counters[NODE_repair_bytes_total] += self->answer_bytes;
    if (!is_about(repair, topic)) {
        return;
    }
    status = repair_judge(&repair->machine, reply);
    if (status != STATUS_OK && reply->status == STATUS_OK) {
        exchange_count(self, NODE_pull_mismatches_total);
    }
    if (status == STATUS_OK) {
        status = keep_answer(repair, reply);
    }
    if (status == STATUS_OK && reply->kind == PULL_RANGES) {
        repair_question(&repair->machine, &question);
        /* The answer's fingerprints go with its frame; those that are missing here stay with the
         * view. */
        status = storage_view_subtract(repair->view, question.prefix_bits, question.prefixes,
                                       question.nprefixes, reply->fingerprints, reply->count);
        if (status == STATUS_OK) {
            read_on(repair);
        }
    }
    if (status != STATUS_OK) {
        exchange_count(self, NODE_pull_failures_total);
        fail(self, now_us, status);
        return;
    }
    repair->resume_us = repair->resume_us == ACTOR_NEVER ? now_us : repair->resume_us;
}

static void go_on(struct exchange *self, uint64_t now_us, struct document_entry *entry,
                  struct pull_item *item)
{
    struct node_repair *repair = &self->repair;
    enum status status = STATUS_OK;

    if (repair->own && repair->answered) {
        if (repair->machine.phase == REPAIR_ROOTS) {
            self->node.counters[NODE_repair_shards_total] += repair->machine.shards.count;
        }
        status = compare(self, now_us, entry);
        status = status == STATUS_OK ? advance(self, now_us, entry) : status;
    }
    if (MUTANT(REPAIR_CURSOR_FIRST) && status == STATUS_OK && repair->machine.view != 0 &&
        item->pull.phase == PULL_PHASE_REPAIR) {
        pull_repaired(&item->pull, now_us, repair->machine.view_end, 0);
    }
    if (status == STATUS_OVERLOADED || status == STATUS_NO_SPACE) {
        repair->resume_us = now_us + REPAIR_RETRY_US; /* The log takes no more just now. */
    } else if (status != STATUS_OK) {
        fail(self, now_us, status);
    } else if (repair->machine.phase == REPAIR_DONE) {
        succeed(self, now_us, entry, item);
    } else if (!repair->asked) {
        ask(self, now_us);
    }
}

static void begin_next(struct exchange *self, uint64_t now_us)
{
    struct repair_turn *next = &self->next_repair;
    struct document_entry *entry = NULL;
    struct pull_item *item = next->any ? node_pull_item(self, &next->topic, &entry) : NULL;

    if (item != NULL) {
        enum status status = begin(self, now_us, entry, item);

        if (status != STATUS_OK) {
            fail(self, now_us, status);
        }
    } else if (next->any) {
        end(self); /* It is not wanted any more: another one's turn. */
    }
    next->any = false;
}

void node_repair_pump(struct exchange *self, uint64_t now_us)
{
    struct node_repair *repair = &self->repair;
    struct document_entry *entry = NULL;
    struct pull_item *item;

    if (!repair->active) {
        begin_next(self, now_us);
    }
    if (!repair->active) {
        return;
    }
    item = node_pull_item(self, &repair->topic, &entry);
    if (item == NULL) { /* The document has changed. */
        end(self);
        return;
    }
    if (repair->read_us <= now_us) {
        repair->read_us = ACTOR_NEVER;
        storage_view_step(repair->view);
    }
    if (repair->resume_us <= now_us) {
        repair->resume_us = ACTOR_NEVER;
        go_on(self, now_us, entry, item);
    }
}

void node_repair_fini(struct exchange *self)
{
    repair_fini(&self->repair.machine);
    forget_answer(&self->repair);
}

uint64_t node_repair_next_us(const struct exchange *self)
{
    const struct node_repair *repair = &self->repair;

    return repair->resume_us < repair->read_us ? repair->resume_us : repair->read_us;
}
