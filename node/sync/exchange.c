/* When a node talks to other nodes: between everything else. */
#include "node/sync/exchange.h"

#include "base/heap.h"

enum { ROUND_EACH_US = 1000 }; /* a look takes about a microsecond */

#define DEFAULT_DELAY_US UINT64_C(1000000)
#define DEFAULT_RATE     (UINT64_C(200) << 20)

enum status node_exchange_create(struct node *self)
{
    struct exchange *exchange = heap_zalloc(1, sizeof *exchange);

    if (exchange == NULL) {
        return STATUS_NOMEM;
    }
    exchange->have = heap_zalloc(1, sizeof *exchange->have);
    if (exchange->have == NULL) {
        heap_free(exchange);
        return STATUS_NOMEM;
    }
    /* An answer to a question of the process before is told apart by its number. */
    exchange->peers.last_correlation = self->effects.random(self->effects.context) >> 1;
    exchange->stirred = exchange->stirred_all = true;
    exchange->repair.resume_us = ACTOR_NEVER;
    exchange->repair.read_us = ACTOR_NEVER;
    self->exchange = exchange;
    if (self->config.gossip_delay_us == 0) {
        self->config.gossip_delay_us = DEFAULT_DELAY_US;
    }
    if (self->config.gossip_rate == 0) {
        self->config.gossip_rate = DEFAULT_RATE;
    }
    return STATUS_OK;
}

void node_exchange_destroy(struct node *self)
{
    struct exchange *exchange = self->exchange;

    self->exchange = NULL;
    if (exchange == NULL) {
        return;
    }
    node_serve_fini(exchange);
    repair_fini(&exchange->repair.machine);
    node_repair_forget(&exchange->repair);
    node_peers_fini(&exchange->peers);
    node_cursors_fini(&exchange->cursors);
    looks_fini(&exchange->looks);
    boot_memory_fini(&exchange->memory);
    heap_free(exchange->meetings);
    batch_set_fini(exchange->have);
    heap_free(exchange->have);
    heap_free(exchange);
}

static bool is_off(const struct node *self)
{
    return self->exchange == NULL || self->recovering || self->failed;
}

static void note_age(struct node *self, uint64_t now_us)
{
    struct exchange *exchange = self->exchange;

    if (!exchange->aged) {
        exchange->aged = true;
        log_age_init(&exchange->age, storage_end(self->storage));
    }
    log_age_note(&exchange->age, now_us, storage_end(self->storage), self->config.gossip_delay_us);
}

void node_exchange_turn(struct node *self, uint64_t now_us)
{
    if (is_off(self)) {
        return;
    }
    note_age(self, now_us);
    if (node_serve_next_us(self) <= now_us) {
        node_serve_pump(self, now_us);
    }
    if (self->exchange->stirred || self->exchange->due_us <= now_us) {
        node_pull_pump(self, now_us);
    }
    if (node_repair_next_us(self) <= now_us) {
        node_repair_pump(self, now_us);
    }
}

uint64_t node_exchange_next_us(const struct node *self)
{
    uint64_t serve_us;
    uint64_t repair_us;

    if (is_off(self)) {
        return ACTOR_NEVER;
    }
    serve_us = node_serve_next_us(self);
    if (self->exchange->stirred) {
        return 0;
    }
    repair_us = node_repair_next_us(self);
    serve_us = repair_us < serve_us ? repair_us : serve_us;
    return serve_us < self->exchange->due_us ? serve_us : self->exchange->due_us;
}

void node_exchange_stir(struct node *self)
{
    if (self->exchange != NULL) {
        self->exchange->stirred = self->exchange->stirred_all = true;
    }
}

void node_exchange_look(struct node *self, uint64_t filter_id)
{
    if (self->exchange != NULL) {
        self->exchange->stirred = true;
        looks_now(&self->exchange->looks, filter_id);
    }
}

void node_exchange_look_round(struct node *self, uint64_t now_us)
{
    uint64_t round_us = self->documents.count * ROUND_EACH_US;

    if (self->exchange != NULL && now_us >= self->exchange->all_us) {
        node_exchange_stir(self);
        self->exchange->all_us = now_us + round_us;
    }
}

void node_exchange_moved(struct node *self)
{
    if (self->exchange != NULL && self->exchange->awaits_log) {
        self->exchange->stirred = true;
        self->exchange->freed |= LOOK_BIT(LOOK_WAITS_LOG);
    }
}

bool node_exchange_on_answer(struct node *self, uint64_t now_us, uint32_t link,
                             const struct frame *frame, size_t size)
{
    if (self->exchange == NULL || !node_peers_has(&self->exchange->peers, link)) {
        return false;
    }
    self->counters[NODE_gossip_bytes_in_total] += size;
    self->exchange->answer_bytes = size;
    if (frame->kind == FRAME_PULL_REPLY) {
        node_pull_on_reply(self, now_us, link, frame->correlation, &frame->body.pull_reply);
    } else if (frame->kind == FRAME_BOOT_REPLY) {
        node_meet_on_reply(self, link, now_us, frame->correlation, &frame->body.boot_reply);
    } else {
        node_count(self, NODE_pull_mismatches_total);
        node_pull_on_error(self, now_us, link, frame->correlation);
    }
    return true;
}
