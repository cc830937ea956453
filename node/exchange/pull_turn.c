/* Which filters are looked at, now that something may be due. */
#include "node/exchange/exchange.h"

/* One look: when the next is due, and what else it waits for. */
static void look_at(struct node *self, uint64_t now_us, size_t at)
{
    struct exchange *exchange = self->exchange;
    struct look *look = &exchange->looks.items[at];

    exchange->waits = 0;
    exchange->due_us = ACTOR_NEVER;
    look->due_us = ACTOR_NEVER; /* What happens meanwhile may make it due again. */
    node_pull_look(self, now_us, self->documents.by_id[at]);
    look->due_us = exchange->due_us < look->due_us ? exchange->due_us : look->due_us;
    look->waits = exchange->waits;
}

/* Is it due, or has what it waits for come? Of those that wait only as many are looked at as it
 * takes until a question is sent, or a comparison found, as the others would wait on. */
static bool is_due(const struct exchange *exchange, const struct look *look, uint64_t now_us,
                   bool all, unsigned freed)
{
    unsigned waits = look->waits & freed;

    return all || look->due_us <= now_us || (waits & LOOK_WAITS_LOG) != 0 ||
           ((waits & LOOK_WAITS_PEER) != 0 && !exchange->asked) ||
           ((waits & LOOK_WAITS_REPAIR) != 0 && !exchange->next_repair.any) ||
           ((waits & LOOK_WAITS_URGENT) != 0 &&
            !(exchange->next_repair.any && exchange->next_repair.urgent));
}

static void look_at_due(struct node *self, uint64_t now_us, bool all, unsigned freed)
{
    struct exchange *exchange = self->exchange;
    size_t count = exchange->looks.count;
    size_t first = count > 0 ? exchange->turn % count : 0;

    exchange->asked = false;
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i < count ? first + i : first + i - count;

        if (is_due(exchange, &exchange->looks.items[at], now_us, all, freed)) {
            look_at(self, now_us, at);
            exchange->turn = (uint32_t)at + 1;
        }
    }
}

void node_pull_pump(struct node *self, uint64_t now_us)
{
    struct exchange *exchange = self->exchange;
    uint64_t peers_us;
    uint64_t meet_us;
    bool all;
    unsigned freed;

    exchange->next_repair.any = false;
    node_pull_expire(self, now_us);
    node_peers_close_idle(&exchange->peers, &self->effects, now_us);
    all = exchange->stirred_all;
    freed = exchange->freed;
    exchange->stirred = looks_follow(&exchange->looks, &self->documents) != STATUS_OK ||
                        batch_set_reserve(exchange->have, self->documents.count) != STATUS_OK;
    exchange->stirred_all = exchange->stirred;
    exchange->freed = 0;
    look_at_due(self, now_us, all, freed);
    exchange->due_us = looks_next_us(&exchange->looks);
    exchange->awaits_log = looks_any_waits(&exchange->looks, LOOK_WAITS_LOG);
    node_repair_pump(self, now_us);
    peers_us = node_peers_next_us(&exchange->peers);
    exchange->due_us = peers_us < exchange->due_us ? peers_us : exchange->due_us;
    meet_us = node_meet_pump(self, now_us);
    exchange->due_us = meet_us < exchange->due_us ? meet_us : exchange->due_us;
}
