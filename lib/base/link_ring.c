/* The next endpoint in turn takes the frame; one that can't is passed over, and a link that is
 * not open yet is opened on the way. */
#include "base/link_ring.h"

#include <assert.h>

uint32_t link_ring_turn(struct link_ring *self)
{
    assert(self->count > 0);
    return self->next++ % self->count;
}

bool link_ring_send_to(struct link_ring *self, const struct effects *effects, uint32_t which,
                       struct span frame)
{
    uint32_t *link = &self->links[which];

    assert(which < self->count);
    if (*link == 0) {
        *link = effects->link_open(effects->context, self->endpoints[which]);
    }
    return *link != 0 && effects->send(effects->context, *link, frame) == STATUS_OK;
}

bool link_ring_send(struct link_ring *self, const struct effects *effects, struct span frame)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (link_ring_send_to(self, effects, link_ring_turn(self), frame)) {
            return true;
        }
    }
    return false;
}

bool link_ring_has(const struct link_ring *self, uint32_t link)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->links[i] == link) {
            return true;
        }
    }
    return false;
}
