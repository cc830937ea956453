/* When a check should stop waiting for the replicas that it asked and ask the others too.
 *
 * Source: Dean and Barroso, "The Tail at Scale" (2013): a second request sent only once the first
 * is slower than most costs little and cuts the tail. How slow that is differs from cluster
 * to cluster and from minute to minute, so it is learned: of each node the time within which
 * 99 of 100 checks are answered, and of the nodes the median one, so that neither a single slow
 * node nor a single fast one sets the pace.
 */
#include "router/private.h"

enum {
    FIRST_US = 20000, /* until enough is known */
    LEAST_US = 1000,
    MOST_US = 250000, /* whatever the nodes took lately: patience must not outlast a stall */
    ENOUGH_ANSWERS = 64,
    LEARN_INTERVAL_US = 50000,
    FADE_INTERVAL_US = 1000000,
    TICKS_A_DELAY = 4,
    TICK_LEAST_US = 500,
};

#define HEDGE_SHARE 0.99

/* Put `value` into its place among the first `count` of sorted values. */
static void insert(uint64_t *sorted, size_t count, uint64_t value)
{
    size_t at = count;

    for (; at > 0 && sorted[at - 1] > value; at--) {
        sorted[at] = sorted[at - 1];
    }
    sorted[at] = value;
}

static uint64_t median_of_nodes(const struct router *self)
{
    uint64_t sorted[DOCUMENT_MAX_NODES];
    size_t count = 0;

    for (size_t i = 0; i < self->nbackends; i++) {
        const struct backend *backend = &self->backends[i];

        if (!backend->suspect && backend->checks.total >= ENOUGH_ANSWERS) {
            insert(sorted, count++, latency_quantile_us(&backend->checks, HEDGE_SHARE));
        }
    }
    return count > 0 ? sorted[(count - 1) / 2] : 0;
}

void hedge_init(struct router *self)
{
    self->hedge_us = self->config.hedge_us > 0 ? self->config.hedge_us : FIRST_US;
    self->counters[ROUTER_hedge_delay_us] = self->hedge_us;
}

/* Answers make old ones fade, but after a stall there may be few: then time does. */
static void fade(struct router *self, uint64_t now_us)
{
    uint64_t times = (now_us - self->faded_us) / FADE_INTERVAL_US;

    if (times == 0) {
        return;
    }
    self->faded_us = now_us;
    if (self->hedge_us <= FIRST_US) {
        return;
    }
    for (size_t i = 0; i < self->nbackends; i++) {
        for (uint64_t n = 0; n < times && self->backends[i].checks.total > 0; n++) {
            latency_fade(&self->backends[i].checks);
        }
    }
}

void hedge_learn(struct router *self, uint64_t now_us)
{
    uint64_t median_us;

    if (self->config.hedge_us > 0 || now_us < self->next_learn_us) {
        return;
    }
    self->next_learn_us = now_us + LEARN_INTERVAL_US;
    fade(self, now_us);
    median_us = median_of_nodes(self);
    if (median_us == 0) {
        /* Too little is known, or too little is left. */
        median_us = self->hedge_us < FIRST_US ? self->hedge_us : FIRST_US;
    }
    /* Within bounds whatever the nodes took. */
    self->hedge_us = median_us < LEAST_US ? LEAST_US : median_us > MOST_US ? MOST_US : median_us;
    self->counters[ROUTER_hedge_delay_us] = self->hedge_us;
}

uint64_t hedge_patience_us(const struct router *self)
{
    return self->hedge_us > FIRST_US ? self->hedge_us : FIRST_US;
}

uint64_t hedge_tick_us(const struct router *self)
{
    uint64_t tick_us = self->hedge_us / TICKS_A_DELAY;

    return tick_us < TICK_LEAST_US    ? TICK_LEAST_US
           : tick_us > ROUTER_TICK_US ? ROUTER_TICK_US
                                      : tick_us;
}
