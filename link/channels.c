/* Who of other sites is there, and by which connections. Where both sides dial there are two
 * channels between the same links: both know which of them is used. */
#include "link/private.h"

#include <string.h>

const char *channel_site(const struct link *self, const struct channel *channel)
{
    return self->config.peers[channel->peer].name;
}

static bool send_bytes(struct link *self, const struct strand *strand, struct span bytes)
{
    return (strand->link != 0
                ? self->outer.send(self->outer.context, strand->link, bytes)
                : self->outer.reply(self->outer.context, &strand->from, bytes)) == STATUS_OK;
}

bool channel_send_by(struct link *self, struct channel *channel, uint32_t connection,
                     const struct frame *frame)
{
    struct span bytes;

    return codec_encode_out(frame, &self->outer, &self->out, &bytes) == STATUS_OK &&
           send_bytes(self, &channel->strands[connection], bytes);
}

bool channel_send(struct link *self, struct channel *channel, const struct frame *frame)
{
    return channel_send_by(self, channel, 0, frame);
}

/* Not by the room that the hub lends for what is encoded: that is not ours to wipe. */
bool channel_send_secret(struct link *self, struct channel *channel, const struct frame *frame)
{
    bool sent;

    buffer_clear(&self->out);
    sent = codec_encode(frame, &self->out) == STATUS_OK &&
           send_bytes(self, &channel->strands[0], buffer_span(&self->out));
    if (self->out.size > 0) {
        explicit_bzero(self->out.data, self->out.size);
    }
    return sent;
}

/* ---- finding one ---- */

bool strand_is_from(const struct strand *strand, const struct peer *from)
{
    return strand->link == 0 && from->size > 0 && strand->from.size == from->size &&
           memcmp(strand->from.id, from->id, from->size) == 0;
}

/* Names of connections may be taken by others once they are closed: the key that was proved counts,
 * too. */
struct channel *channel_of_request(struct link *self, const struct peer *from, uint32_t *connection)
{
    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        struct channel *channel = &self->channels[i];

        for (uint32_t k = 0; channel->number != 0 && k < SITE_MAX_CONNECTIONS; k++) {
            if (strand_is_from(&channel->strands[k], from) && channel->peer + 1 == from->user) {
                *connection = k;
                return channel;
            }
        }
    }
    return NULL;
}

struct channel *channel_of_answer(struct link *self, uint32_t link, uint32_t *connection)
{
    for (size_t i = 0; link != 0 && i < LINK_MAX_CHANNELS; i++) {
        struct channel *channel = &self->channels[i];

        for (uint32_t k = 0; channel->number != 0 && k < SITE_MAX_CONNECTIONS; k++) {
            if (channel->strands[k].link == link) {
                *connection = k;
                return channel;
            }
        }
    }
    return NULL;
}

struct channel *channel_find(struct link *self, uint64_t number)
{
    for (size_t i = 0; number != 0 && i < LINK_MAX_CHANNELS; i++) {
        if (self->channels[i].number == number) {
            return &self->channels[i];
        }
    }
    return NULL;
}

/* Of two between the same links the one counts that the link with the lower boot has dialed. */
bool channel_is_spare(const struct link *self, const struct channel *channel)
{
    bool by_lower = (channel->strands[0].link != 0) == (self->boot < channel->boot);

    for (size_t i = 0; !by_lower && i < LINK_MAX_CHANNELS; i++) {
        const struct channel *other = &self->channels[i];

        if (other->number != 0 && other != channel && other->boot == channel->boot &&
            other->peer == channel->peer) {
            return true;
        }
    }
    return false;
}

/* Filters are spread over the links of a site, and stay where they are when others come. */
static uint64_t rank(const struct filter_uid *uid, uint64_t boot)
{
    uint64_t mixed = (uid->high ^ boot) * UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 32 ^ uid->low) * UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ mixed >> 32;
}

static bool is_used(const struct link *self, const struct channel *channel, uint32_t peer)
{
    return channel->number != 0 && channel->peer == peer && !channel_is_spare(self, channel);
}

/* The best one of those that are worse than `above`; NULL: of all. */
static struct channel *best_below(struct link *self, uint32_t peer, const struct filter_uid *uid,
                                  const struct channel *above)
{
    struct channel *best = NULL;

    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        struct channel *channel = &self->channels[i];

        if (is_used(self, channel, peer) &&
            (above == NULL || rank(uid, channel->boot) < rank(uid, above->boot)) &&
            (best == NULL || rank(uid, channel->boot) > rank(uid, best->boot))) {
            best = channel;
        }
    }
    return best;
}

struct channel *channel_for(struct link *self, uint32_t peer, const struct filter_uid *uid)
{
    return best_below(self, peer, uid, NULL);
}

struct channel *channel_in_turn(struct link *self, uint32_t peer, const struct filter_uid *uid,
                                uint32_t turn)
{
    struct channel *channel = channel_for(self, peer, uid);

    for (uint32_t i = 0; channel != NULL && i < turn; i++) {
        channel = best_below(self, peer, uid, channel);
        if (channel == NULL) { /* Behind the last one is the first. */
            channel = channel_for(self, peer, uid);
        }
    }
    return channel;
}
