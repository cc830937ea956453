/* Greetings. One goes out by every connection that we dial, once a second; it is answered by the
 * same connection, so both sides know that both ways are open, and how long the way is. Each tells
 * what concerns all streams by the channel. */
#include "link/private.h"

/* By the first connection. Channel NULL: there is none yet. */
static struct frame make(struct link *self, uint32_t peer, struct channel *channel, bool answer,
                         uint64_t correlation)
{
    struct frame frame = hello_frame(self, answer, correlation);

    frame.body.site_hello.paused = pause_greets(self, peer);
    strands_tell(self, channel, &frame.body.site_hello);
    if (channel != NULL) {
        alive_tell(self, channel, &frame.body.site_hello);
        rest_tell(self, channel, &frame.body.site_hello);
    }
    return frame;
}

/* NULL: nobody has greeted by it as the first. */
static struct channel *first_of(struct link *self, const struct peer *from, uint32_t link)
{
    uint32_t connection = 0;
    struct channel *channel = link != 0 ? channel_of_answer(self, link, &connection)
                                        : channel_of_request(self, from, &connection);

    return connection == 0 ? channel : NULL;
}

/* The one that it is, or a free place; of a site that has as many as it may the one that was heard
 * of longest ago gives way, so that none takes the places of others. */
static struct channel *place_of(struct link *self, const struct peer *from, uint32_t link,
                                uint32_t peer)
{
    struct channel *place = first_of(self, from, link);
    struct channel *free_place = NULL;
    struct channel *oldest = NULL;
    size_t count = 0;

    for (size_t i = 0; place == NULL && i < LINK_MAX_CHANNELS; i++) {
        struct channel *one = &self->channels[i];

        if (one->number == 0) {
            free_place = one;
        } else if (one->peer == peer) {
            count++;
            oldest = oldest == NULL || one->heard_us < oldest->heard_us ? one : oldest;
        }
    }
    if (place == NULL && count >= LINK_MAX_CHANNELS / LINK_MAX_SITES) {
        *oldest = (struct channel){0};
        return oldest;
    }
    return place != NULL ? place : free_place;
}

/* The name of a connection that now is another one: what is said by it would go there. */
static void forget_named(struct link *self, const struct peer *from, const struct channel *now)
{
    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        struct channel *channel = &self->channels[i];

        if (channel != now && channel->number != 0 && strand_is_from(&channel->strands[0], from)) {
            *channel = (struct channel){0};
        }
        for (uint32_t k = 1; channel->number != 0 && k < SITE_MAX_CONNECTIONS; k++) {
            if (strand_is_from(&channel->strands[k], from)) {
                strand_forget(self, channel, k);
            }
        }
    }
}

static void take(struct link *self, uint64_t now_us, struct channel *place, uint32_t peer,
                 const struct site_hello *hello)
{
    if (place->number == 0 || place->boot != hello->boot) {
        /* Another link: what was said to the former is void. */
        for (uint32_t i = 1; i < SITE_MAX_CONNECTIONS; i++) {
            strand_forget(self, place, i);
        }
        place->number = ++self->last_number;
        place->strands[0].bytes = place->crowded_us = 0;
        place->peer = peer;
        place->boot = hello->boot;
        place->round_trip_us = 0;
        place->unequal = 0;
        place->rested_us = now_us;
        log_limited(&self->greeted_log, now_us, LOG_INFO, "a link of site %s is there (%016llx)",
                    channel_site(self, place), (unsigned long long)hello->boot);
    }
    place->heard_us = now_us;
    place->pauses = hello->paused;
    place->connections = hello->connections;
    place->wants = hello->wants_connections;
}

/* The first measurement counts at once, later ones by an eighth: one that waited for a slice of a
 * busy machine shows little. What an answer says of when it was asked for may be wrong: then it is
 * older than any that is waited for, or not over yet. */
static void measure(struct channel *channel, uint64_t now_us, const struct frame *answer)
{
    uint64_t took_us = now_us - answer->correlation;

    if (answer->correlation == 0 || answer->correlation >= now_us || took_us > LINK_SILENT_US) {
        return;
    }
    channel->round_trip_us = channel->round_trip_us == 0
                                 ? took_us
                                 : (7 * channel->round_trip_us + took_us) / 8;
}

/* Only who dials measures, and tells. */
static void note_round_trip(struct channel *channel, uint64_t now_us, const struct frame *frame)
{
    const struct site_hello *hello = &frame->body.site_hello;

    if (hello->answer) {
        measure(channel, now_us, frame);
    } else if (hello->round_trip_us <= LINK_SILENT_US) {
        channel->round_trip_us = hello->round_trip_us;
    }
}

/* False: nobody is dialed by it. */
static bool find_dialed(const struct link *self, uint32_t link, uint32_t *peer,
                        uint32_t *connection)
{
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        for (uint32_t k = 0; k < SITE_MAX_CONNECTIONS; k++) {
            if (self->dialed[i].links[k] == link) {
                *peer = i;
                *connection = k;
                return true;
            }
        }
    }
    return false;
}

void greeting_heard(struct link *self, uint64_t now_us, const struct frame *frame,
                    const struct peer *from, uint32_t link)
{
    const struct site_hello *hello = &frame->body.site_hello;
    uint32_t connection = hello->connection;
    uint32_t peer = self->config.npeers;
    struct frame answer;
    struct channel *place;
    char text[HELLO_FAULT_BYTES];
    const char *fault;

    if (link == 0) {
        peer = from->user - 1; /* Whoever has not proved to be a peer does not get here. */
    } else if (!find_dialed(self, link, &peer, &connection)) {
        return;
    }
    if (peer >= self->config.npeers || (link != 0) != hello->answer ||
        connection != hello->connection) {
        return;
    }
    fault = hello_fault(self, hello, &self->config.peers[peer], text);
    if (fault != NULL) {
        hello_refuse(self, now_us, from, link, fault);
        return;
    }
    if (connection != 0) {
        strand_heard(self, now_us, peer, frame, from, link);
        return;
    }
    place = place_of(self, from, link, peer);
    if (place == NULL) {
        return;
    }
    place->strands[0].link = link;
    if (link == 0) {
        forget_named(self, from, place);
        place->strands[0].from = *from;
    }
    take(self, now_us, place, peer, hello);
    note_round_trip(place, now_us, frame);
    alive_heard(self, now_us, place, hello);
    if (link == 0) {
        answer = make(self, peer, place, true, frame->correlation);
        (void)channel_send(self, place, &answer);
    }
}

void greeting_shut_out(struct link *self, uint64_t now_us, uint32_t link, const char *cause)
{
    link_count(self, LINK_site_shut_out_total, 1);
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        if (self->dialed[i].links[0] == link) {
            log_limited(&self->shut_out_log, now_us, LOG_WARN,
                        "what listens at %s does not let us in as site %s should: it has another "
                        "key than site_peers here has for that site, or its site_peers does not "
                        "have the key of this one, or no link listens there; compare both with "
                        "what `orbloom keygen --site` prints",
                        self->config.peers[i].endpoint, self->config.peers[i].name);
        }
    }
    log_line(LOG_DEBUG, "%s", cause);
}

/* It has answered our greeting so; there is no channel. */
void greeting_refused(struct link *self, uint64_t now_us, uint32_t link, const char *message)
{
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        if (self->dialed[i].links[0] == link) {
            log_limited(&self->shut_out_log, now_us, LOG_WARN,
                        "the link of site %s at %s refuses this one: %s",
                        self->config.peers[i].name, self->config.peers[i].endpoint, message);
        }
    }
}

/* ---- the clock ---- */

static void greet(struct link *self, uint64_t now_us, uint32_t peer)
{
    uint32_t *link = &self->dialed[peer].links[0];
    struct channel *known;
    struct channel towards;
    struct frame frame;

    if (*link == 0) {
        *link = self->outer.link_open(self->outer.context, self->config.peers[peer].endpoint);
    }
    if (*link != 0) {
        known = first_of(self, NULL, *link);
        frame = make(self, peer, known, false, now_us);
        frame.body.site_hello.round_trip_us = known != NULL ? known->round_trip_us : 0;
        towards = (struct channel){.strands[0].link = *link};
        (void)channel_send(self, &towards, &frame);
    }
}

void greetings_tick(struct link *self, uint64_t now_us)
{
    uint64_t count = 0;

    self->counters[LINK_site_connections] = 0;
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        if (self->config.peers[i].endpoint[0] != '\0') {
            greet(self, now_us, i);
            strands_tick(self, now_us, i);
        }
    }
    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        struct channel *channel = &self->channels[i];

        if (channel->number != 0 && now_us - channel->heard_us > LINK_SILENT_US) {
            log_line(LOG_WARN, "a link of site %s says nothing any more",
                     channel_site(self, channel));
            *channel = (struct channel){0};
        }
        strands_sweep(self, now_us, channel);
        count += channel->number != 0;
    }
    self->counters[LINK_site_channels] = count;
}
