/* When a node talks to other nodes: between everything else. */
#include "node/sync/exchange.h"

#include "base/heap.h"

#include <assert.h>

enum { AGAIN_US = 100000 };

#define DEFAULT_DELAY_US UINT64_C(1000000)
#define DEFAULT_RATE     (UINT64_C(200) << 20)

enum status node_exchange_create(const struct exchange_config *config,
                                 const struct exchange_node *node, struct exchange **out)
{
    struct exchange *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->have = heap_zalloc(1, sizeof *self->have);
    if (self->have == NULL) {
        heap_free(self);
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->node = *node;
    if (self->config.gossip_delay_us == 0) {
        self->config.gossip_delay_us = DEFAULT_DELAY_US;
    }
    if (self->config.gossip_rate == 0) {
        self->config.gossip_rate = DEFAULT_RATE;
    }
    /* An answer to a question of the process before is told apart by its number. */
    self->peers.last_correlation = config->last_correlation;
    self->stirred = self->stirred_all = true;
    self->repair.resume_us = ACTOR_NEVER;
    self->repair.read_us = ACTOR_NEVER;
    *out = self;
    return STATUS_OK;
}

void node_exchange_begin(struct exchange *self, struct storage *storage)
{
    assert(self->storage == NULL && storage != NULL);
    self->storage = storage;
}

void node_exchange_rekey(struct exchange *self, const struct cluster_key *key)
{
    self->config.key = *key;
}

void node_exchange_destroy(struct exchange **exchange)
{
    struct exchange *self = *exchange;

    *exchange = NULL;
    if (self == NULL) {
        return;
    }
    node_serve_fini(self);
    node_tail_fini(self);
    node_repair_fini(self);
    node_peers_fini(&self->peers);
    node_cursors_fini(&self->cursors);
    looks_fini(&self->looks);
    boot_memory_fini(&self->memory);
    heap_free(self->meetings);
    batch_set_fini(self->have);
    heap_free(self->have);
    heap_free(self);
}

static bool is_off(const struct exchange *self)
{
    return self->storage == NULL || self->node.life->recovering || self->node.life->failed;
}

static void note_age(struct exchange *self, uint64_t now_us)
{
    if (!self->aged) {
        self->aged = true;
        log_age_init(&self->age, storage_end(self->storage));
    }
    log_age_note(&self->age, now_us, storage_end(self->storage), self->config.gossip_delay_us);
}

/* ---- which filters are looked at: those whose time has come, and when something has come, as many
 * of the filters that wait for it as can make use of it. All others cost nothing. ---- */

/* One look: when the next is due, and what else it waits for. */
static void look_at(struct exchange *self, uint64_t now_us, size_t at)
{
    self->waits = 0;
    self->due_us = ACTOR_NEVER;
    self->turn++;
    node_pull_look(self, now_us, self->node.documents->by_id[at]);
    looks_by(&self->looks, at, self->due_us);
    /* Without memory for a place in a queue it is looked at by the clock. */
    if (looks_wait(&self->looks, at, self->waits) != STATUS_OK) {
        looks_by(&self->looks, at, now_us + AGAIN_US);
    }
}

static void look_at_all(struct exchange *self, uint64_t now_us)
{
    const uint32_t *places;

    /* What is due is among them: it is not to be looked at twice. */
    (void)looks_pop_due(&self->looks, ACTOR_NEVER - 1, &places);
    for (size_t i = 0; i < self->looks.count; i++) {
        look_at(self, now_us, i);
    }
}

static void look_at_due(struct exchange *self, uint64_t now_us)
{
    const uint32_t *places;
    size_t count = looks_pop_due(&self->looks, now_us, &places);

    for (size_t i = 0; i < count; i++) {
        look_at(self, now_us, places[i]);
    }
}

/* Can the others that wait for it only wait on? A node has been asked, a comparison been found. */
static bool is_used_up(const struct exchange *exchange, unsigned wait, size_t at)
{
    const struct repair_turn *next = &exchange->next_repair;

    switch (wait) {
    case LOOK_WAITS_LOG:
        return false;
    case LOOK_WAITS_URGENT:
        return next->any && next->urgent;
    case LOOK_WAITS_REPAIR:
        return next->any;
    default:
        return (exchange->asked & exchange->looks.items[at].queued & LOOK_BIT(wait)) != 0;
    }
}

static void look_at_waiting(struct exchange *self, uint64_t now_us, unsigned wait)
{
    size_t left = looks_waiting(&self->looks, wait);
    bool over = false;
    size_t at;

    for (; left > 0 && !over && looks_take(&self->looks, wait, &at); left--) {
        look_at(self, now_us, at);
        over = is_used_up(self, wait, at);
    }
}

/* Who has waited comes before those whose time is now: a filter with always more to ask would keep
 * the others waiting else. */
static void look(struct exchange *self, uint64_t now_us, bool all, uint64_t freed)
{
    if (all) {
        look_at_all(self, now_us);
        return;
    }
    for (unsigned wait = 0; wait < LOOK_NWAITS && freed >> wait != 0; wait++) {
        if ((freed & LOOK_BIT(wait)) != 0) {
            look_at_waiting(self, now_us, wait);
        }
    }
    look_at_due(self, now_us);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void pump_pulls(struct exchange *self, uint64_t now_us)
{
    uint64_t freed;
    uint64_t next_us;
    bool all;

    self->next_repair.any = false;
    self->asked = 0;
    /* First what frees nodes for questions: answers that never came, idle links, silences that are
     * over. */
    node_pull_expire(self, now_us);
    node_peers_close_idle(&self->peers, self->node.effects, now_us);
    self->freed |= node_silences_over(self, now_us);
    /* What stirs from here on is for the next turn. */
    all = self->stirred_all;
    freed = self->freed;
    self->stirred = looks_follow(&self->looks, self->node.documents) != STATUS_OK ||
                    batch_set_reserve(self->have, self->node.documents->count) != STATUS_OK;
    self->stirred_all = self->stirred;
    self->freed = 0;
    look(self, now_us, all, freed);
    next_us = node_watch_pump(self, now_us);
    self->awaits_log = looks_waiting(&self->looks, LOOK_WAITS_LOG) > 0;
    node_repair_pump(self, now_us);
    next_us = least(next_us, looks_next_us(&self->looks));
    next_us = least(next_us, node_peers_next_us(&self->peers));
    self->due_us = least(next_us, node_meet_pump(self, now_us));
}

/* ---- turns and answers ---- */

void node_exchange_turn(struct exchange *self, uint64_t now_us)
{
    if (is_off(self)) {
        return;
    }
    note_age(self, now_us);
    if (node_serve_next_us(self) <= now_us) {
        node_serve_pump(self, now_us);
    }
    if (node_tail_next_us(self) <= now_us) {
        node_tail_pump(self, now_us);
    }
    if (self->stirred || self->due_us <= now_us) {
        pump_pulls(self, now_us);
    }
    if (node_repair_next_us(self) <= now_us) {
        node_repair_pump(self, now_us);
    }
}

uint64_t node_exchange_next_us(const struct exchange *self)
{
    uint64_t serve_us;
    uint64_t repair_us;

    if (is_off(self)) {
        return ACTOR_NEVER;
    }
    serve_us = node_serve_next_us(self);
    if (self->stirred) {
        return 0;
    }
    repair_us = least(node_repair_next_us(self), node_tail_next_us(self));
    serve_us = repair_us < serve_us ? repair_us : serve_us;
    return serve_us < self->due_us ? serve_us : self->due_us;
}

bool node_exchange_on_answer(struct exchange *self, uint64_t now_us, uint32_t link,
                             const struct frame *frame, size_t size)
{
    if (!node_peers_has(&self->peers, link)) {
        return false;
    }
    self->node.counters[NODE_gossip_bytes_in_total] += size;
    self->answer_bytes = size;
    if (frame->kind == FRAME_PULL_REPLY) {
        node_pull_on_reply(self, now_us, link, frame->correlation, &frame->body.pull_reply);
    } else if (frame->kind == FRAME_BOOT_REPLY) {
        node_meet_on_reply(self, link, now_us, frame->correlation, &frame->body.boot_reply);
    } else {
        exchange_count(self, NODE_pull_mismatches_total);
        node_pull_on_error(self, now_us, link, frame->correlation);
    }
    return true;
}
