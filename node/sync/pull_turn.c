/* Which filters are looked at, now that something may be due: those whose time has come, and of
 * those that wait for what has come as many as can make use of it. All others cost nothing. */
#include "node/sync/exchange.h"

enum { AGAIN_US = 100000 };

/* One look: when the next is due, and what else it waits for. */
static void look_at(struct node *self, uint64_t now_us, size_t at)
{
    struct exchange *exchange = self->exchange;

    exchange->waits = 0;
    exchange->due_us = ACTOR_NEVER;
    exchange->turn++;
    node_pull_look(self, now_us, self->documents.by_id[at]);
    looks_by(&exchange->looks, at, exchange->due_us);
    if (looks_wait(&exchange->looks, at, exchange->waits) != STATUS_OK) {
        looks_by(&exchange->looks, at, now_us + AGAIN_US);
    }
}

static void look_at_all(struct node *self, uint64_t now_us)
{
    const uint32_t *places;

    (void)looks_pop_due(&self->exchange->looks, ACTOR_NEVER - 1, &places);
    for (size_t i = 0; i < self->exchange->looks.count; i++) {
        look_at(self, now_us, i);
    }
}

static void look_at_due(struct node *self, uint64_t now_us)
{
    const uint32_t *places;
    size_t count = looks_pop_due(&self->exchange->looks, now_us, &places);

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

static void look_at_waiting(struct node *self, uint64_t now_us, unsigned wait)
{
    struct exchange *exchange = self->exchange;
    size_t left = looks_waiting(&exchange->looks, wait);
    bool over = false;
    size_t at;

    for (; left > 0 && !over && looks_take(&exchange->looks, wait, &at); left--) {
        look_at(self, now_us, at);
        over = is_used_up(exchange, wait, at);
    }
}

/* Who has waited comes before those whose time is now: a filter with always more to ask would keep
 * the others waiting else. */
static void look(struct node *self, uint64_t now_us, bool all, uint64_t freed)
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

void node_pull_pump(struct node *self, uint64_t now_us)
{
    struct exchange *exchange = self->exchange;
    uint64_t freed;
    uint64_t next_us;
    bool all;

    exchange->next_repair.any = false;
    exchange->asked = 0;
    node_pull_expire(self, now_us);
    node_peers_close_idle(&exchange->peers, &self->effects, now_us);
    exchange->freed |= node_silences_over(self, now_us);
    all = exchange->stirred_all;
    freed = exchange->freed;
    exchange->stirred = looks_follow(&exchange->looks, &self->documents) != STATUS_OK ||
                        batch_set_reserve(exchange->have, self->documents.count) != STATUS_OK;
    exchange->stirred_all = exchange->stirred;
    exchange->freed = 0;
    look(self, now_us, all, freed);
    next_us = node_watch_pump(self, now_us);
    exchange->awaits_log = looks_waiting(&exchange->looks, LOOK_WAITS_LOG) > 0;
    node_repair_pump(self, now_us);
    next_us = least(next_us, looks_next_us(&exchange->looks));
    next_us = least(next_us, node_peers_next_us(&exchange->peers));
    exchange->due_us = least(next_us, node_meet_pump(self, now_us));
}
