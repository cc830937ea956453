/* Which streams are to be received, as each tick says for every filter and site anew: one that is
 * wanted with other lives, or after a loss or an order, is another one, and one that is not wanted
 * any more ends. */
#include "base/heap.h"
#include "link/private.h"

/* Lives and keyset name what is received: with others it is another stream, from the beginning. So
 * it is with a loss that was accepted here: what was acknowledged before may be with nobody; and
 * with an operator's order. */
static bool is_same(const struct inflow *inflow, const struct inflow_wish *wish)
{
    return site_life_compare(&inflow->source_life, &wish->source_life) == 0 &&
           site_life_compare(&inflow->own_life, &wish->own_life) == 0 &&
           inflow->keyset == wish->keyset && inflow->loss == wish->loss &&
           inflow->resync == wish->resync;
}

void inflow_want(struct link *self, const struct inflow_wish *wish)
{
    struct inflow *inflow = inflow_find(self, wish->filter_id, wish->peer);

    if (inflow != NULL && !is_same(inflow, wish)) {
        inflow_close(self, inflow, STATUS_STALE,
                     "a site has begun a new life, or the filter, or lost some of it, or an "
                     "operator has all of it compared");
        inflow_drop(self, inflow);
        inflow = NULL;
    }
    if (inflow == NULL) {
        inflow = heap_zalloc(1, sizeof *inflow);
        if (inflow == NULL) {
            return; /* Wanted again with the next tick. */
        }
        inflow->self = self;
        inflow->filter_id = wish->filter_id;
        inflow->uid = wish->uid;
        inflow->peer = wish->peer;
        inflow->source_life = wish->source_life;
        inflow->own_life = wish->own_life;
        inflow->keyset = wish->keyset;
        inflow->loss = wish->loss;
        inflow->resync = wish->resync;
        inflow->served_us = self->now_us;
        TAILQ_INIT(&inflow->arrivals);
        TAILQ_INSERT_TAIL(&self->inflows, inflow, link);
    }
    inflow->wanted = true;
    inflow->epoch = wish->epoch;
    inflow->marked.set_hash = wish->set_hash;
    inflow->marked.unsettled = wish->unsettled;
    inflow->paused_here = wish->paused;
    pause_look(self, inflow);
    self->pauses[inflow->peer] |= pause_is_on(inflow);
}

void inflows_sweep(struct link *self)
{
    struct inflow *inflow = TAILQ_FIRST(&self->inflows);

    self->ninflows = 0;
    while (inflow != NULL) {
        struct inflow *next = TAILQ_NEXT(inflow, link);

        self->ninflows += inflow->wanted;
        if (!inflow->wanted) {
            if (inflow->stream != 0) {
                inflow_close(self, inflow, STATUS_NOT_FOUND, "the filter is not in both sites");
            }
            inflow_drop(self, inflow);
        } else {
            inflow->wanted = false;
        }
        inflow = next;
    }
}
