/* Something may be due now: all filters are looked at with the next turn, or only some. */
#include "node/sync/exchange.h"

enum { ROUND_EACH_US = 1000 }; /* a look takes about a microsecond */

void node_exchange_stir(struct exchange *self)
{
    self->stirred = self->stirred_all = true;
    self->changes++;
}

void node_exchange_look(struct exchange *self, uint64_t filter_id)
{
    self->stirred = true;
    self->changes++;
    looks_now(&self->looks, filter_id);
}

void node_exchange_look_round(struct exchange *self, uint64_t now_us)
{
    uint64_t round_us = self->node.documents->count * ROUND_EACH_US;

    if (now_us >= self->all_us) {
        node_exchange_stir(self);
        self->all_us = now_us + round_us;
    }
}

void node_exchange_moved(struct exchange *self)
{
    node_tail_moved(self);
    if (self->awaits_log) {
        self->stirred = true;
        self->freed |= LOOK_BIT(LOOK_WAITS_LOG);
    }
}
