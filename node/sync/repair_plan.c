/* Which replica is compared next, and when again. */
#include "node/sync/exchange.h"

#include <assert.h>
#include <inttypes.h>

enum {
    RETRY_DOUBLINGS = 4, /* 1.6 s, and as much again by chance */
    FULL_RETRY_US = 60000000,
    COPY_AFTER = 3, /* refusals, if it is urgent */
};

/* ---- when ---- */

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

void node_repair_end(struct exchange *self)
{
    struct node_repair *repair = &self->repair;

    assert(repair->active);
    storage_view_close(&repair->view);
    if (repair->appended > self->repaired_end) {
        self->repaired_end = repair->appended;
    }
    self->node.counters[NODE_repair_ranges_total] += repair->machine.ranges;
    repair_fini(&repair->machine);
    node_repair_forget(repair);
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

void node_repair_fail(struct exchange *self, uint64_t now_us, enum status status)
{
    struct node_repair *repair = &self->repair;
    struct document_entry *entry = NULL;
    struct pull_item *item = node_pull_item(self, &repair->topic, &entry);

    exchange_count(self, NODE_repair_failures_total);
    if (item != NULL) {
        put_off(self, now_us, item, status);
    }
    node_repair_end(self);
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

void node_repair_succeed(struct exchange *self, uint64_t now_us, const struct document_entry *entry,
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
    node_repair_end(self);
}
