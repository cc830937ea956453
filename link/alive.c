/* That streams go on, said for all of a channel at once: each greeting tells how many streams its
 * sender sends by it, and the sum of their names, which are random. Where those are the ones that
 * the other side receives, all of them are there. Where they are not, for longer than an opening or
 * closing takes on its way, that side asks, and hears of each by itself: who is not spoken of ends
 * (LINK_SILENT_US), and who is not known is told so.
 *
 * A batch that is lost on its way is no matter of this: by each stream it is said which was the
 * last one until that is applied (section.c). So a stream without traffic costs nothing. */
#include "link/private.h"

enum { UNEQUAL_MOST = 2 /* greetings in a row */ };

struct streams {
    uint32_t count;
    uint64_t sum;
};

static void add(struct streams *streams, uint64_t stream)
{
    streams->count++;
    streams->sum += stream;
}

static bool is_sent_by(const struct outflow *outflow, const struct channel *channel)
{
    return outflow->channel == channel->number && !outflow->over;
}

static bool is_received_by(const struct inflow *inflow, const struct channel *channel)
{
    return inflow->stream != 0 && inflow->channel == channel->number;
}

void alive_tell(const struct link *self, const struct channel *channel, struct site_hello *hello)
{
    struct streams sent = {0};
    const struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        if (is_sent_by(outflow, channel)) {
            add(&sent, outflow->stream);
        }
    }
    hello->streams = sent.count;
    hello->streams_sum = sent.sum;
    hello->asks_streams = channel->unequal > 0 && channel->unequal % UNEQUAL_MOST == 0;
}

/* Are those that are received the ones that the other side sends? */
static bool are_equal(const struct link *self, const struct channel *channel,
                      const struct site_hello *hello)
{
    struct streams received = {0};
    const struct inflow *inflow;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (is_received_by(inflow, channel)) {
            add(&received, inflow->stream);
        }
    }
    return received.count == hello->streams && received.sum == hello->streams_sum;
}

static void note_all(struct link *self, uint64_t now_us, const struct channel *channel)
{
    struct inflow *inflow;

    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (is_received_by(inflow, channel)) {
            inflow->heard_us = now_us;
        }
    }
}

static void ask_all(struct link *self, const struct channel *channel)
{
    struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        outflow->alive_asked |= is_sent_by(outflow, channel);
    }
}

void alive_heard(struct link *self, uint64_t now_us, struct channel *channel,
                 const struct site_hello *hello)
{
    if (are_equal(self, channel, hello)) {
        channel->unequal = 0;
        note_all(self, now_us, channel);
        rest_heard(self, channel, hello);
    } else {
        channel->unequal++;
    }
    if (hello->asks_streams) {
        ask_all(self, channel);
    }
}
