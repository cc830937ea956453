/* The next endpoint in turn takes the frame; one that can't is passed over, and a link that is
 * not open yet is opened on the way. */
#include "base/link_ring.h"

bool link_ring_send(struct link_ring *self, const struct effects *effects, struct span frame)
{
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t which = self->next++ % self->count;
        uint32_t *link = &self->links[which];

        if (*link == 0) {
            *link = effects->link_open(effects->context, self->endpoints[which]);
        }
        if (*link != 0 && effects->send(effects->context, *link, frame) == STATUS_OK) {
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
