/* By which connections batches are under way. How many bytes each carries tells which one takes the
 * next batch (strands.c). */
#include "link/private.h"

#include <assert.h>

void under_way_begin(struct channel *channel, struct sent_batch *sent)
{
    assert(!sent->counted && sent->by < SITE_MAX_CONNECTIONS);
    channel->strands[sent->by].bytes += sent->bytes;
    sent->counted = true;
}

void under_way_end(struct channel *channel, struct sent_batch *sent)
{
    if (sent->counted && channel != NULL) {
        assert(channel->strands[sent->by].bytes >= sent->bytes);
        channel->strands[sent->by].bytes -= sent->bytes;
    }
    sent->counted = false;
}

void under_way_forget(struct outflow *outflow)
{
    struct channel *channel = channel_find(outflow->self, outflow->channel);

    for (size_t i = 0; i < outflow->nsent; i++) {
        under_way_end(channel, &outflow->sent[i]);
    }
}

void under_way_forget_by(struct outflow *outflow, uint32_t connection)
{
    struct channel *channel = channel_find(outflow->self, outflow->channel);

    for (size_t i = 0; i < outflow->nsent; i++) {
        if (outflow->sent[i].by == connection) {
            under_way_end(channel, &outflow->sent[i]);
        }
    }
}

uint32_t under_way_by(const struct outflow *outflow, const struct channel *channel)
{
    uint32_t gone = 0;

    for (size_t i = 0; i < outflow->nsent; i++) {
        uint32_t by = outflow->sent[i].by;

        if (by == 0 || (by < SITE_MAX_CONNECTIONS && channel->strands[by].heard_us != 0)) {
            gone |= UINT32_C(1) << by;
        }
    }
    return gone;
}
