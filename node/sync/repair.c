/* Comparing a replica with another node's, and taking over what lacks here. */
#include "base/mutant.h"
#include "node/sync/exchange.h"

enum { ANSWER_BYTES = (1 << 20) + (1 << 16) };

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
        node_repair_fail(self, now_us, status);
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

    if (!node_peers_idle(&self->peers, source, PULL_REPAIR, ANSWER_BYTES)) {
        repair->resume_us = now_us + REPAIR_RETRY_US;
        return;
    }
    repair_question(&repair->machine, &frame.body.pull_request);
    status = node_peers_ask(&self->peers, self->node.effects, now_us, &self->node.documents->nodes,
                            source, PULL_REPAIR, ANSWER_BYTES, node_repair_patience_us(self),
                            &repair->topic, &frame, self->node.out, &sent);
    if (status != STATUS_OK) {
        node_repair_fail(self, now_us, status);
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
    node_repair_forget(repair);
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
        node_repair_fail(self, now_us, status);
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
        status = node_repair_keep(repair, reply);
    }
    if (status == STATUS_OK && reply->kind == PULL_RANGES) {
        repair_question(&repair->machine, &question);
        status = storage_view_subtract(repair->view, question.prefix_bits, question.prefixes,
                                       question.nprefixes, reply->fingerprints, reply->count);
        if (status == STATUS_OK) {
            read_on(repair);
        }
    }
    if (status != STATUS_OK) {
        exchange_count(self, NODE_pull_failures_total);
        node_repair_fail(self, now_us, status);
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
        status = node_repair_compare(self, now_us, entry);
        status = status == STATUS_OK ? advance(self, now_us, entry) : status;
    }
    if (MUTANT(REPAIR_CURSOR_FIRST) && status == STATUS_OK && repair->machine.view != 0 &&
        item->pull.phase == PULL_PHASE_REPAIR) {
        pull_repaired(&item->pull, now_us, repair->machine.view_end, 0);
    }
    if (status == STATUS_OVERLOADED || status == STATUS_NO_SPACE) {
        repair->resume_us = now_us + REPAIR_RETRY_US; /* The log takes no more just now. */
    } else if (status != STATUS_OK) {
        node_repair_fail(self, now_us, status);
    } else if (repair->machine.phase == REPAIR_DONE) {
        node_repair_succeed(self, now_us, entry, item);
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
            node_repair_fail(self, now_us, status);
        }
    } else if (next->any) {
        node_repair_end(self); /* It is not wanted any more: another one's turn. */
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
        node_repair_end(self);
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

uint64_t node_repair_next_us(const struct exchange *self)
{
    const struct node_repair *repair = &self->repair;

    return repair->resume_us < repair->read_us ? repair->resume_us : repair->read_us;
}
