/* When all of a filter is compared with another site that has its stream: every site_scrub. It
 * mends what no log tells of: a replica whose disk has forgotten, a defect. What is compared are
 * the digests that copies are offered by (offer.c), of all that was acknowledged here; the other
 * site is sent what it lacks. The stream goes on meanwhile.
 *
 * One filter has its turn at a time, so that they don't slow down what is new: the one that is due
 * for longest. Slot groups that can't be compared now are left out, and a turn in which nothing
 * moves ends; then the filter is due again before long. The first turn is at a random moment, and
 * begins at a random slot group: links that start together do not compare together, and of a filter
 * whose streams never last for all of it each part has its turn. */
#include "link/private.h"

#include <assert.h>

enum {
    STUCK_US = 60000000, /* so long a turn may stand still */
    LATE_OFFERS = 3,     /* without an answer, in a row */
    RESTARTS = 3,        /* of one slot group, as there is another epoch */
    SOONER = 8,          /* what was left out is due after such a part of site_scrub */
};

static uint64_t draw(struct link *self)
{
    return self->inner.random(self->inner.context);
}

void scrub_open(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    outflow->scrub = (struct scrub){0};
    if (self->config.scrub_us > 0 && outflow->offers.answered) {
        outflow->scrub.due_us = now_us + 1 + draw(self) % self->config.scrub_us;
    }
}

static bool is_followed(const struct outflow *outflow)
{
    for (size_t i = 0; i < outflow->nfollows; i++) {
        if (outflow->follows[i].fills) {
            return false;
        }
    }
    return outflow->nfollows > 0;
}

void scrub_tick(struct link *self, uint64_t now_us)
{
    struct outflow *first = NULL;
    struct outflow *outflow;

    if (self->scrubbed != NULL) {
        return;
    }
    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        uint64_t due_us = outflow->scrub.due_us;

        if (due_us != 0 && due_us <= now_us && !outflow->over &&
            (first == NULL || due_us < first->scrub.due_us) && is_followed(outflow)) {
            first = outflow;
        }
    }
    if (first != NULL) {
        self->scrubbed = first;
        first->scrub = (struct scrub){
            .due_us = first->scrub.due_us, .begun = true, .from = draw(self), .moved_us = now_us};
    }
}

static void leave(struct outflow *outflow, uint64_t due_us)
{
    assert(outflow->self->scrubbed == outflow);
    outflow->scrub = (struct scrub){.due_us = due_us};
    outflow->self->scrubbed = NULL;
}

bool scrub_next(struct link *self, uint64_t now_us, struct outflow *outflow, uint32_t ngroups,
                uint32_t *group)
{
    struct scrub *scrub = &outflow->scrub;

    if (!scrub->begun) {
        return false;
    }
    if (scrub->ndone >= ngroups) {
        link_count(self, LINK_site_scrubs_total, !scrub->left_out);
        leave(outflow, now_us + 1 + self->config.scrub_us / (scrub->left_out ? SOONER : 1));
        return false;
    }
    *group = (uint32_t)((scrub->from + scrub->ndone) % ngroups);
    return true;
}

void scrub_did(struct outflow *outflow, uint64_t now_us, bool all)
{
    struct scrub *scrub = &outflow->scrub;

    assert(scrub->begun);
    scrub->ndone++;
    scrub->restarts = 0;
    scrub->left_out |= !all;
    scrub->moved_us = all ? now_us : scrub->moved_us;
}

void scrub_moved(struct outflow *outflow, uint64_t now_us)
{
    outflow->scrub.moved_us = now_us;
}

bool scrub_restarts(struct outflow *outflow)
{
    return ++outflow->scrub.restarts <= RESTARTS;
}

void scrub_answered(struct outflow *outflow, uint64_t now_us, bool sure)
{
    outflow->scrub.late = 0;
    outflow->scrub.moved_us = now_us;
    outflow->scrub.left_out |= !sure;
}

void scrub_late(struct outflow *outflow)
{
    outflow->scrub.late++;
    outflow->scrub.left_out = true;
}

bool scrub_is_stuck(const struct outflow *outflow, uint64_t now_us)
{
    return outflow->scrub.late >= LATE_OFFERS || now_us - outflow->scrub.moved_us >= STUCK_US ||
           !is_followed(outflow);
}

void scrub_put_off(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    if (outflow->scrub.begun) {
        leave(outflow, now_us + 1 + self->config.scrub_us / SOONER);
    }
}

void scrub_forget(struct outflow *outflow)
{
    if (outflow->scrub.begun) {
        leave(outflow, 0);
    }
}
