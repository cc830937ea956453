/* Several connections between two links, as one carries little of a line that loses packets. All
 * goes by the first one, as if it were alone: what is said of streams, marks and sites comes in its
 * order. Only batches go by the others, too, which bear numbers: what comes in another order is put
 * in its own (inflow.c), and counts no sooner.
 *
 * Who has dialed the first dials the others, once either side has more under way than one should
 * carry, as many as both have; and closes them when that was long ago. Each is greeted by for
 * itself, with the key of the site: so what answers is the same link, and a connection that breaks
 * is missed. Before one is closed that is said by it, and answered by it as the last: nothing is
 * lost. What is lost by one that breaks is noticed by the others (spread.h); the stream begins
 * anew. */
#include "link/private.h"
#include "link/spread.h"

#include <stdio.h>

enum {
    REST_US = 5000000,    /* they are closed so long after they were wanted */
    AGAIN_US = 100000,    /* until those are answered that were just opened ... */
    HURRIED_US = 2000000, /* ... for so long; then with the others */
};

static bool is_open(const struct channel *channel, uint32_t connection)
{
    return connection == 0 || channel->strands[connection].heard_us != 0;
}

/* ---- sending ---- */

static void load(const struct channel *channel, struct spread_load loads[SITE_MAX_CONNECTIONS])
{
    for (uint32_t i = 0; i < SITE_MAX_CONNECTIONS; i++) {
        loads[i] = (struct spread_load){
            .open = is_open(channel, i) && !channel->strands[i].ends,
            .bytes = channel->strands[i].bytes,
        };
    }
}

/* Is one connection too few for what is under way, or was it just now? */
static bool is_crowded(const struct link *self, struct channel *channel)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < SITE_MAX_CONNECTIONS; i++) {
        bytes += channel->strands[i].bytes;
    }
    if (bytes >= self->config.crowd) {
        channel->crowded_us = self->now_us;
    }
    return channel->crowded_us != 0 && self->now_us - channel->crowded_us < REST_US;
}

/* One that takes nothing is in the way of none that does. */
bool strands_send(struct link *self, struct channel *channel, const struct frame *batch,
                  uint32_t gone, uint32_t *by)
{
    struct spread_load loads[SITE_MAX_CONNECTIONS];
    struct frame frame = *batch;

    frame.body.site_batch.wants_connections = is_crowded(self, channel);
    load(channel, loads);
    while ((*by = spread_choose(loads)) < SITE_MAX_CONNECTIONS) {
        uint32_t all = gone | UINT32_C(1) << *by;

        frame.body.site_batch.connections = all == 1 ? 0 : all;
        if (channel_send_by(self, channel, *by, &frame)) {
            return true;
        }
        loads[*by].open = false;
    }
    return false;
}

void strand_forget(struct link *self, struct channel *channel, uint32_t connection)
{
    struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        if (outflow->channel == channel->number) {
            under_way_forget_by(outflow, connection);
        }
    }
    channel->strands[connection] = (struct strand){0};
}

void strands_sweep(struct link *self, uint64_t now_us, struct channel *channel)
{
    for (uint32_t i = 1; channel->number != 0 && i < SITE_MAX_CONNECTIONS; i++) {
        struct strand *strand = &channel->strands[i];
        bool closed = strand_is_closed(strand);

        if (is_open(channel, i) && now_us - strand->heard_us <= LINK_SILENT_US) {
            self->counters[LINK_site_connections] += !closed;
        } else if (is_open(channel, i)) {
            if (!closed) {
                log_line(LOG_WARN, "a connection to a link of site %s is silent (%u)",
                         channel_site(self, channel), i);
            }
            strand_forget(self, channel, i);
        }
    }
}

/* ---- how many ---- */

void strands_tell(const struct link *self, struct channel *channel, struct site_hello *hello)
{
    hello->connections = (uint32_t)self->config.connections;
    hello->wants_connections = channel != NULL && is_crowded(self, channel);
}

static uint32_t wanted(const struct link *self, struct channel *channel)
{
    if (!channel->wants && !is_crowded(self, channel)) {
        return 1;
    }
    return (uint32_t)least(self->config.connections,
                           least(channel->connections, SITE_MAX_CONNECTIONS));
}

/* ---- greeting by them ---- */

static struct frame greeting(const struct link *self, uint32_t connection, bool in_use, bool answer,
                             uint64_t correlation)
{
    struct frame frame = hello_frame(self, answer, correlation);

    frame.body.site_hello.connection = connection;
    frame.body.site_hello.connections = (uint32_t)self->config.connections;
    frame.body.site_hello.wants_connections = in_use;
    return frame;
}

static void hang_up(struct link *self, struct channel *channel, uint32_t peer, uint32_t connection)
{
    uint32_t *link = &self->dialed[peer].links[connection];

    if (channel != NULL) {
        strand_forget(self, channel, connection);
    }
    if (*link != 0) {
        self->outer.link_close(self->outer.context, *link);
        *link = 0;
    }
}

static void greet(struct link *self, uint64_t now_us, struct channel *channel, uint32_t connection,
                  bool in_use)
{
    uint32_t *link = &self->dialed[channel->peer].links[connection];
    struct channel towards = {0};
    struct frame frame;

    if (*link == 0 && in_use) {
        *link = self->outer.link_open(self->outer.context,
                                      self->config.peers[channel->peer].endpoint);
    }
    if (*link == 0) {
        return;
    }
    if (!in_use && !is_open(channel, connection)) {
        hang_up(self, channel, channel->peer, connection);
        return;
    }
    channel->strands[connection].ends = !in_use;
    towards.strands[0].link = *link;
    frame = greeting(self, connection, in_use, false, now_us);
    (void)channel_send(self, &towards, &frame);
}

static struct channel *dialed_channel(struct link *self, uint32_t peer)
{
    uint32_t connection = 0;

    return channel_of_answer(self, self->dialed[peer].links[0], &connection);
}

void strands_tick(struct link *self, uint64_t now_us, uint32_t peer)
{
    struct channel *channel = dialed_channel(self, peer);
    uint32_t count = channel != NULL ? wanted(self, channel) : 0;

    for (uint32_t i = 1; i < SITE_MAX_CONNECTIONS; i++) {
        if (channel == NULL) {
            hang_up(self, NULL, peer, i);
        } else {
            greet(self, now_us, channel, i, i < count);
        }
    }
}

static void greet_closed(struct link *self, uint64_t now_us, uint32_t peer)
{
    struct channel *channel = dialed_channel(self, peer);
    uint32_t count = wanted(self, channel);

    for (uint32_t i = 1; i < count; i++) {
        if (!is_open(channel, i)) {
            greet(self, now_us, channel, i, true);
        }
    }
}

/* ---- what is heard ---- */

static void take(struct link *self, uint64_t now_us, struct channel *channel, uint32_t connection,
                 const struct peer *from, uint32_t link)
{
    struct strand *strand = &channel->strands[connection];
    bool same = is_open(channel, connection) &&
                (link != 0 ? strand->link == link : strand_is_from(strand, from));

    if (!same) { /* What was under way by the former is lost, or there. */
        strand_forget(self, channel, connection);
        strand->link = link;
        if (link == 0) {
            strand->from = *from;
        }
    }
    strand->heard_us = now_us;
}

static void take_answer(struct link *self, uint64_t now_us, uint32_t peer,
                        const struct site_hello *hello, uint32_t link)
{
    struct channel *channel = dialed_channel(self, peer);

    if (!hello->wants_connections) {
        hang_up(self, channel, peer, hello->connection);
    } else if (channel != NULL && channel->boot == hello->boot) {
        take(self, now_us, channel, hello->connection, NULL, link);
    }
}

/* The newest one by which that link has greeted: it may have broken and be there again. NULL: none
 * is. */
static struct channel *dialing_channel(struct link *self, uint32_t peer, uint64_t boot)
{
    struct channel *newest = NULL;

    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        struct channel *channel = &self->channels[i];

        if (channel->number != 0 && channel->peer == peer && channel->boot == boot &&
            channel->strands[0].link == 0 &&
            (newest == NULL || channel->heard_us > newest->heard_us)) {
            newest = channel;
        }
    }
    return newest;
}

/* It may have been that of another one, of another site too, or have another number by now. */
static void forget_former(struct link *self, const struct channel *channel, uint32_t connection,
                          const struct peer *from)
{
    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        struct channel *owner = &self->channels[i];

        for (uint32_t k = 1; owner->number != 0 && k < SITE_MAX_CONNECTIONS; k++) {
            if (strand_is_from(&owner->strands[k], from) && (owner != channel || k != connection)) {
                strand_forget(self, owner, k);
            }
        }
    }
}

/* What went by it is there, or on its way: it is named until that is applied. */
static void let_go(struct channel *channel, uint32_t connection)
{
    if (is_open(channel, connection)) {
        channel->strands[connection].ends = true;
    }
}

static void take_greeting(struct link *self, uint64_t now_us, uint32_t peer,
                          const struct frame *frame, const struct peer *from)
{
    const struct site_hello *hello = &frame->body.site_hello;
    struct channel *channel = dialing_channel(self, peer, hello->boot);
    struct channel towards = {.strands[0].from = *from};
    struct frame answer;

    if (channel == NULL || strand_is_from(&channel->strands[0], from)) {
        return; /* It comes again, once its link has greeted. */
    }
    forget_former(self, channel, hello->connection, from);
    if (hello->wants_connections) {
        take(self, now_us, channel, hello->connection, from, 0);
        channel->strands[hello->connection].ends = false;
    } else {
        let_go(channel, hello->connection);
    }
    answer = greeting(self, hello->connection, hello->wants_connections, true, frame->correlation);
    (void)channel_send(self, &towards, &answer);
}

void strand_heard(struct link *self, uint64_t now_us, uint32_t peer, const struct frame *frame,
                  const struct peer *from, uint32_t link)
{
    const struct site_hello *hello = &frame->body.site_hello;
    char text[160];

    if (hello->connection >= SITE_MAX_CONNECTIONS ||
        hello->connection >= self->config.connections) {
        (void)snprintf(text, sizeof text,
                       "a link of site %s wants more than the %llu connections of "
                       "site_connections here",
                       self->config.peers[peer].name, (unsigned long long)self->config.connections);
        hello_refuse(self, now_us, from, link, text);
    } else if (link != 0) {
        take_answer(self, now_us, peer, hello, link);
    } else {
        take_greeting(self, now_us, peer, frame, from);
    }
}

/* ---- the clock ---- */

/* Is one to be there that is not? */
static bool lacks_some(struct link *self, uint32_t peer)
{
    struct channel *channel = dialed_channel(self, peer);
    uint32_t count = channel != NULL ? wanted(self, channel) : 0;

    for (uint32_t i = 1; i < count; i++) {
        if (!is_open(channel, i)) {
            return true;
        }
    }
    return false;
}

/* What was just opened takes nothing until it is connected. */
void strands_turn(struct link *self, uint64_t now_us)
{
    if (now_us < self->strands_us) {
        return;
    }
    self->strands_us = now_us + AGAIN_US;
    for (uint32_t peer = 0; peer < self->config.npeers; peer++) {
        struct dialed *dialed = &self->dialed[peer];

        if (!lacks_some(self, peer)) {
            dialed->lacks_us = 0;
        } else if (dialed->lacks_us == 0 || now_us - dialed->lacks_us < HURRIED_US) {
            dialed->lacks_us = dialed->lacks_us == 0 ? now_us : dialed->lacks_us;
            greet_closed(self, now_us, peer);
        }
    }
}

uint64_t strands_next_us(const struct link *self)
{
    for (uint32_t peer = 0; peer < self->config.npeers; peer++) {
        uint64_t lacks_us = self->dialed[peer].lacks_us;

        if (lacks_us != 0 && self->now_us - lacks_us < HURRIED_US) {
            return self->strands_us;
        }
    }
    return ACTOR_NEVER;
}
