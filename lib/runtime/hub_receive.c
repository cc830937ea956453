/* From libzmq to the actor: requests by way of the inbox, answers of links at once. Messages are
 * read part by part; one of another shape than ours is taken off the socket whole and dropped. */
#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <zmq.h>

enum {
    HUB_DRAIN_FRAMES = 256,
    COLLECT_FRAMES = 4096,     /* taken from libzmq at once, into the inbox */
    COLLECT_INTERVAL_US = 500, /* ... and again when the actor has had this long */
};

enum received { RECEIVED_NOTHING, RECEIVED_FRAME, RECEIVED_DROPPED, RECEIVED_TOO_MUCH };

/* ---- parts ---- */

/* False: nothing was received; errno tells. What was is the caller's to close. */
static bool receive_part(void *zmq, zmq_msg_t *part)
{
    (void)zmq_msg_init(part);
    if (zmq_msg_recv(part, zmq, ZMQ_DONTWAIT) >= 0) {
        return true;
    }
    (void)zmq_msg_close(part);
    return false;
}

/* libzmq delivers the parts of a message together, so the rest is there already. */
static void skip_parts(void *zmq, zmq_msg_t *part)
{
    while (zmq_msg_more(part)) {
        if (zmq_msg_recv(part, zmq, ZMQ_DONTWAIT) < 0 && errno != EINTR) {
            break;
        }
    }
}

/* `part` names the peer, and is replaced with the frame. False: it is no request, and skipped. */
static bool receive_body(void *zmq, zmq_msg_t *part, struct peer *from)
{
    size_t size = zmq_msg_size(part);
    bool fits = size > 0 && size <= sizeof from->id;

    if (fits) {
        from->size = (uint8_t)size;
        memcpy(from->id, zmq_msg_data(part), size);
    }
    while (zmq_msg_more(part) && zmq_msg_recv(part, zmq, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    if (!fits || zmq_msg_more(part)) {
        skip_parts(zmq, part);
        return false;
    }
    return true;
}

static struct span content_of(zmq_msg_t *part)
{
    return span_of(zmq_msg_data(part), zmq_msg_size(part));
}

/* ---- messages ---- */

static enum received receive_answer(struct hub_socket *self, uint64_t now_us)
{
    const struct actor *actor = &self->hub->actor;
    enum received received = RECEIVED_FRAME;
    zmq_msg_t frame;

    if (!receive_part(self->zmq, &frame)) {
        return RECEIVED_NOTHING;
    }
    if (zmq_msg_more(&frame)) {
        skip_parts(self->zmq, &frame);
        received = RECEIVED_DROPPED;
    } else {
        actor->on_answer(actor->self, now_us, self->link, content_of(&frame));
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

    if (!receive_part(self->zmq, &part)) {
        return RECEIVED_NOTHING;
    }
    if (receive_body(self->zmq, &part, &from)) {
        received = hub_inbox_push(&self->hub->inbox, &from, &part) ? RECEIVED_FRAME
                                                                   : RECEIVED_TOO_MUCH;
    }
    (void)zmq_msg_close(&part);
    return received;
}

/* Two parts: the event with its value, and the address that it is about. */
bool hub_receive_event(void *zmq, uint16_t *event, uint32_t *value)
{
    zmq_msg_t part;

    if (!receive_part(zmq, &part)) {
        return false;
    }
    assert(zmq_msg_size(&part) == sizeof *event + sizeof *value);
    memcpy(event, zmq_msg_data(&part), sizeof *event);
    memcpy(value, (const uint8_t *)zmq_msg_data(&part) + sizeof *event, sizeof *value);
    skip_parts(zmq, &part);
    (void)zmq_msg_close(&part);
    return true;
}

/* ---- what is dropped ---- */

/* Events of a connection that comes to nothing name our address, and not the other one. So the
 * newest is remembered, which as a rule is who it is about. It may be gone by now. */
static void note_newest(struct hub *hub, int descriptor)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;

    if (getpeername(descriptor, (struct sockaddr *)&address, &size) != 0 ||
        getnameinfo((struct sockaddr *)&address, size, hub->newest, sizeof hub->newest, NULL, 0,
                    NI_NUMERICHOST) != 0) {
        hub->newest[0] = '\0';
    }
}

static const char *show_newest(const struct hub *hub)
{
    return hub->newest[0] != '\0' ? hub->newest : "an address that is not known";
}

/* Somebody does not speak what is spoken here. */
static enum received receive_broken(struct hub_socket *self, uint64_t now_us)
{
    struct hub *hub = self->hub;
    bool curve = hub->curve != NULL && hub->curve->listens;
    uint16_t event;
    uint32_t value;

    if (!hub_receive_event(self->zmq, &event, &value)) {
        return RECEIVED_NOTHING;
    }
    if (event == ZMQ_EVENT_ACCEPTED) {
        note_newest(hub, (int)value);
        return RECEIVED_FRAME;
    }
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
        value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
        hub_refuse(hub, HUB_COUNTER_REFUSED_PEERS, ACTOR_REFUSED_PEER);
        log_limited(&hub->dropped_log, now_us, LOG_WARN,
                    "refused a peer at %s that speaks %s (the newest connection is from %s): %s",
                    hub->endpoint, curve ? "plain ZMTP, not CURVE" : "CURVE, not plain ZMTP",
                    show_newest(hub),
                    curve ? "clients need a credential file, processes the cluster's transport"
                          : "this process runs with transport = \"plain\"");
        return RECEIVED_FRAME;
    }
    hub_refuse(hub, HUB_COUNTER_BROKEN_CONNECTIONS, ACTOR_REFUSED_NOISE);
    log_limited(&hub->dropped_log, now_us, LOG_WARN,
                "closed a connection to %s without a ZMTP handshake in time", hub->endpoint);
    return RECEIVED_FRAME;
}

static void say_dropped(struct hub_socket *self, uint64_t now_us, enum received why)
{
    struct hub *hub = self->hub;

    if (why == RECEIVED_TOO_MUCH) {
        hub_count(hub, HUB_COUNTER_DROPPED_FRAMES);
        log_limited(&hub->dropped_log, now_us, LOG_WARN,
                    "dropped a request: %d MiB of others wait already", HUB_INBOX_MAX_BYTES >> 20);
        return;
    }
    hub_refuse(hub, HUB_COUNTER_DROPPED_FRAMES, ACTOR_REFUSED_NOISE);
    log_limited(&hub->dropped_log, now_us, LOG_WARN,
                "dropped a message that is not one frame, or of a peer whose name is longer "
                "than %d bytes",
                PEER_ID_BYTES);
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
        if (hub_curve_admits(hub, now_us, &request)) {
            hub->actor.on_request(hub->actor.self, now_us, &request.from,
                                  content_of(&request.frame));
        }
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

static enum received receive_other(struct hub_socket *self, uint64_t now_us)
{
    switch (self->kind) {
    case HUB_LINK:
        return receive_answer(self, now_us);
    case HUB_MONITOR:
        return receive_broken(self, now_us);
    case HUB_WATCH:
        return hub_link_event(self, now_us) ? RECEIVED_FRAME : RECEIVED_NOTHING;
    case HUB_ZAP:
        return hub_zap_answer(self, now_us) ? RECEIVED_FRAME : RECEIVED_NOTHING;
    case HUB_SERVER:
        break; /* It has a way of its own. */
    }
    assert(false);
    return RECEIVED_NOTHING;
}

/* Answers on a link, events, or questions about who may get in. */
static bool drain_other(struct hub_socket *self, uint64_t now_us)
{
    enum received received = RECEIVED_FRAME;
    bool arrived = false;

    /* The actor may close the very link that it gets an answer from. */
    for (unsigned n = 0; n < HUB_DRAIN_FRAMES && self->zmq != NULL; n++) {
        received = receive_other(self, now_us);
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

bool hub_socket_drain(struct hub_socket *socket, uint64_t now_us)
{
    struct hub *hub = socket->hub;

    assert(socket->dirty);
    TAILQ_REMOVE(&hub->dirty, socket, entry);
    hub->ndirty--;
    socket->dirty = false;
    return socket == hub->server ? drain_server(socket, now_us) : drain_other(socket, now_us);
}
