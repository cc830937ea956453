/* When all of a filter is compared with another site that has its stream: every site_scrub, from a
 * random moment on, so that links that start together do not compare together. It mends what no log
 * tells of: a replica whose disk has forgotten, a defect. What is compared are the digests that
 * copies are offered by (offer.c), of all that enough replicas here have; the other site is sent
 * what it lacks. The stream goes on meanwhile.
 *
 * One filter at a time, so that they don't slow down what is new; and one that can't be compared
 * now makes room for the others. */
#include "link/private.h"

#include <assert.h>

enum { PUT_OFF_US = 600000000 };

static bool is_followed(const struct outflow *outflow)
{
    for (size_t i = 0; i < outflow->nfollows; i++) {
        if (outflow->follows[i].fills) {
            return false;
        }
    }
    return outflow->nfollows > 0;
}

static void leave(struct outflow *outflow, uint64_t due_us)
{
    outflow->scrub = (struct scrub){.due_us = due_us};
    outflow->self->scrubbed = NULL;
}

/* Whether it is this one's turn. Of those that answer no offers all would be sent. */
static bool begin(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    struct scrub *scrub = &outflow->scrub;

    if (self->config.scrub_us == 0 || !outflow->offers.answered || !is_followed(outflow)) {
        return false;
    }
    if (scrub->due_us == 0) {
        scrub->due_us = now_us + 1 +
                        self->inner.random(self->inner.context) % self->config.scrub_us;
    }
    if (now_us < scrub->due_us || self->scrubbed != NULL) {
        return false;
    }
    self->scrubbed = outflow;
    scrub->begun = true;
    scrub->group = 0;
    offers_begin(outflow);
    return true;
}

bool scrub_next(struct link *self, uint64_t now_us, struct outflow *outflow, uint32_t ngroups,
                uint32_t *group)
{
    struct scrub *scrub = &outflow->scrub;

    if (!scrub->begun && !begin(self, now_us, outflow)) {
        return false;
    }
    assert(self->scrubbed == outflow);
    if (scrub->group >= ngroups) {
        leave(outflow, now_us + self->config.scrub_us);
        link_count(self, LINK_site_scrubs_total, 1);
        return false;
    }
    *group = scrub->group;
    return true;
}

void scrub_did(struct outflow *outflow)
{
    assert(outflow->scrub.begun);
    outflow->scrub.group++;
}

void scrub_put_off(struct link *self, uint64_t now_us, struct outflow *outflow)
{
    assert(outflow->scrub.begun);
    leave(outflow, now_us + least(PUT_OFF_US, self->config.scrub_us));
}

void scrub_forget(struct outflow *outflow)
{
    if (outflow->scrub.begun) {
        leave(outflow, 0);
    }
}

uint64_t scrub_next_us(const struct outflow *outflow)
{
    return outflow->scrub.begun || outflow->scrub.due_us == 0 ? ACTOR_NEVER : outflow->scrub.due_us;
}
