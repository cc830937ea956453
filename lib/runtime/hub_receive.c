/* From libzmq to the actor: requests by way of the inbox, answers of links at once, and what the
 * receiving thread has laid by. */
#include "runtime/hub_internal.h"
#include "runtime/hub_receive_part.h"

#include <assert.h>
#include <errno.h>
#include <zmq.h>

enum {
    HUB_DRAIN_FRAMES = 256,
    COLLECT_FRAMES = 4096,     /* taken from libzmq at once, into the inbox */
    COLLECT_INTERVAL_US = 500, /* ... and again when the actor has had this long */
    REST_US = 10000,           /* of a turn, for what the receiver says may wait */
    FIRST_US = 1000000,        /* ... and for what may not */
};

enum received { RECEIVED_NOTHING, RECEIVED_FRAME, RECEIVED_DROPPED, RECEIVED_TOO_MUCH };

static enum received receive_answer(struct hub_socket *self, uint64_t now_us)
{
    const struct actor *actor = &self->hub->actor;
    enum received received = RECEIVED_FRAME;
    zmq_msg_t frame;

    if (!hub_receive_part(self->zmq, &frame)) {
        return RECEIVED_NOTHING;
    }
    if (zmq_msg_more(&frame)) {
        hub_receive_skip(self->zmq, &frame);
        received = RECEIVED_DROPPED;
    } else {
        actor->on_answer(actor->self, now_us, self->link, hub_receive_content(&frame));
    }
    (void)zmq_msg_close(&frame);
    return received;
}

/* One request from libzmq into the inbox. */
static enum received collect_request(struct hub_socket *self)
{
    enum received received = RECEIVED_DROPPED;
    struct peer from = {.size = 0};
    zmq_msg_t part;

    if (!hub_receive_part(self->zmq, &part)) {
        return RECEIVED_NOTHING;
    }
    if (hub_receive_body(self->zmq, &part, &from)) {
        received = hub_inbox_push(&self->hub->inbox, 0, &from, &part) ? RECEIVED_FRAME
                                                                      : RECEIVED_TOO_MUCH;
    }
    (void)zmq_msg_close(&part);
    return received;
}

/* Two parts: the event, and the address that it is about. */
static enum received receive_event(struct hub_socket *self)
{
    zmq_msg_t part;

    if (!hub_receive_part(self->zmq, &part)) {
        return RECEIVED_NOTHING;
    }
    hub_receive_skip(self->zmq, &part);
    (void)zmq_msg_close(&part);
    return RECEIVED_DROPPED;
}

static void say_dropped(struct hub_socket *self, uint64_t now_us, enum received why)
{
    struct hub *hub = self->hub;

    hub_count(hub, self->monitor ? HUB_COUNTER_BROKEN_CONNECTIONS : HUB_COUNTER_DROPPED_FRAMES);
    if (why == RECEIVED_TOO_MUCH) {
        log_limited(&hub->dropped_log, now_us, LOG_WARN,
                    "dropped a request: %d MiB of others wait already", HUB_INBOX_MAX_BYTES >> 20);
        return;
    }
    if (hub->actor.refused != NULL) {
        hub->actor.refused(hub->actor.self);
    }
    if (self->monitor) {
        log_limited(&hub->dropped_log, now_us, LOG_WARN,
                    "closed a connection to %s without a ZMTP handshake in time", hub->endpoint);
    } else {
        log_limited(&hub->dropped_log, now_us, LOG_WARN,
                    "dropped a message that is not one frame, or of a peer whose name is longer "
                    "than %d bytes",
                    PEER_ID_BYTES);
    }
}

/* Empty libzmq's queue into the inbox. False: there may be more. */
static bool collect(struct hub_socket *self, uint64_t now_us)
{
    for (unsigned n = 0; n < COLLECT_FRAMES; n++) {
        enum received received = collect_request(self);

        if (received == RECEIVED_NOTHING) {
            return errno != EINTR;
        }
        if (received != RECEIVED_FRAME) {
            say_dropped(self, now_us, received);
        }
    }
    return false;
}

/* Requests, at most HUB_DRAIN_FRAMES of them; the queue is kept empty meanwhile. */
static bool drain_server(struct hub_socket *self, uint64_t now_us)
{
    struct hub *hub = self->hub;
    bool empty = collect(self, now_us);
    uint64_t collected_us = now_us;
    struct hub_request request;
    bool arrived = false;

    for (unsigned n = 0; n < HUB_DRAIN_FRAMES && hub_inbox_pop(&hub->inbox, &request); n++) {
        hub->actor.on_request(hub->actor.self, now_us, &request.from,
                              hub_receive_content(&request.frame));
        (void)zmq_msg_close(&request.frame);
        arrived = true;
        if (hub_now_us() - collected_us > COLLECT_INTERVAL_US) {
            collected_us = hub_now_us();
            empty = collect(self, now_us);
        }
    }
    if (!empty || hub->inbox.count > 0) {
        hub_socket_touch(self);
    }
    return arrived;
}

/* Answers on a link, or events of the monitor. */
static bool drain_client(struct hub_socket *self, uint64_t now_us)
{
    enum received received = RECEIVED_FRAME;
    bool arrived = false;

    /* The actor may close the very link that it gets an answer from. */
    for (unsigned n = 0; n < HUB_DRAIN_FRAMES && self->zmq != NULL; n++) {
        received = self->monitor ? receive_event(self) : receive_answer(self, now_us);
        if (received == RECEIVED_NOTHING) {
            break;
        }
        if (received == RECEIVED_DROPPED) {
            say_dropped(self, now_us, received);
        }
        arrived = true;
    }
    if (received != RECEIVED_NOTHING || errno == EINTR) {
        hub_socket_touch(self);
    }
    return arrived;
}

/* ---- what the receiving thread has laid by ---- */

static void say_losses(struct hub *hub)
{
    struct hub_losses losses = hub_receiver_take_losses(&hub->receiver);

    for (uint64_t i = 0; i < losses.malformed; i++) {
        say_dropped(hub->server, hub->pulse.last_us, RECEIVED_DROPPED);
    }
    for (uint64_t i = 0; i < losses.crowded; i++) {
        say_dropped(hub->server, hub->pulse.last_us, RECEIVED_TOO_MUCH);
    }
}

/* The actor may take its time, so each request has its own. */
static void deliver_one(struct hub *hub, uint64_t now_us, struct hub_request *request)
{
    pulse_beat(&hub->pulse, now_us);
    hub->since_us = request->since_us;
    hub->actor.on_request(hub->actor.self, now_us, &request->from,
                          hub_receive_content(&request->frame));
    hub->since_us = 0;
    (void)zmq_msg_close(&request->frame);
}

bool hub_receive_deliver(struct hub *hub)
{
    uint64_t start_us = hub_now_us();
    uint64_t now_us = start_us;
    bool arrived = false;

    if (!hub_receiver_runs(&hub->receiver) || !hub_receiver_ready(&hub->receiver)) {
        return false;
    }
    say_losses(hub);
    for (unsigned n = 0; n < HUB_DRAIN_FRAMES && now_us - start_us < FIRST_US; n++) {
        struct hub_request request;

        if (!hub_receiver_pop(&hub->receiver, now_us - start_us >= REST_US, &request)) {
            break;
        }
        deliver_one(hub, now_us, &request);
        now_us = hub_now_us();
        arrived = true;
    }
    pulse_beat(&hub->pulse, now_us);
    return arrived;
}

bool hub_socket_drain(struct hub_socket *socket, uint64_t now_us)
{
    struct hub *hub = socket->hub;

    assert(socket->dirty);
    TAILQ_REMOVE(&hub->dirty, socket, entry);
    hub->ndirty--;
    socket->dirty = false;
    return socket == hub->server ? drain_server(socket, now_us) : drain_client(socket, now_us);
}
