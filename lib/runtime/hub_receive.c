#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <zmq.h>

enum { HUB_DRAIN_FRAMES = 256 };

enum received { RECEIVED_NOTHING, RECEIVED_FRAME, RECEIVED_DROPPED };

/* True if a part was received; `part` must then be closed. */
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
static void skip_rest(void *zmq, zmq_msg_t *part)
{
    while (zmq_msg_more(part)) {
        if (zmq_msg_recv(part, zmq, ZMQ_DONTWAIT) < 0 && errno != EINTR) {
            break;
        }
    }
}

static struct span content(zmq_msg_t *part)
{
    return span_of(zmq_msg_data(part), zmq_msg_size(part));
}

static enum received receive_answer(struct hub_socket *self, uint64_t now_us)
{
    const struct actor *actor = &self->hub->actor;
    enum received received = RECEIVED_FRAME;
    zmq_msg_t frame;

    if (!receive_part(self->zmq, &frame)) {
        return RECEIVED_NOTHING;
    }
    if (zmq_msg_more(&frame)) {
        skip_rest(self->zmq, &frame);
        received = RECEIVED_DROPPED;
    } else {
        actor->on_answer(actor->self, now_us, self->link, content(&frame));
    }
    (void)zmq_msg_close(&frame);
    return received;
}

/* The first part names the peer; replaces it with the frame. False: not for the actor. */
static bool receive_body(struct hub_socket *self, zmq_msg_t *part, struct peer *from)
{
    size_t size = zmq_msg_size(part);
    bool fits = size > 0 && size <= sizeof from->id;

    if (fits) {
        from->size = (uint8_t)size;
        memcpy(from->id, zmq_msg_data(part), size);
    }
    while (zmq_msg_more(part) && zmq_msg_recv(part, self->zmq, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    if (!fits || zmq_msg_more(part)) {
        skip_rest(self->zmq, part);
        return false;
    }
    return true;
}

static enum received receive_request(struct hub_socket *self, uint64_t now_us)
{
    const struct actor *actor = &self->hub->actor;
    enum received received = RECEIVED_DROPPED;
    struct peer from = {.size = 0};
    zmq_msg_t part;

    if (!receive_part(self->zmq, &part)) {
        return RECEIVED_NOTHING;
    }
    if (receive_body(self, &part, &from)) {
        actor->on_request(actor->self, now_us, &from, content(&part));
        received = RECEIVED_FRAME;
    }
    (void)zmq_msg_close(&part);
    return received;
}

/* Two parts: the event, and the address that it is about. */
static enum received receive_event(struct hub_socket *self)
{
    zmq_msg_t part;

    if (!receive_part(self->zmq, &part)) {
        return RECEIVED_NOTHING;
    }
    skip_rest(self->zmq, &part);
    (void)zmq_msg_close(&part);
    return RECEIVED_DROPPED;
}

static enum received receive(struct hub_socket *self, uint64_t now_us)
{
    if (self->monitor) {
        return receive_event(self);
    }
    return self->link == 0 ? receive_request(self, now_us) : receive_answer(self, now_us);
}

static void say_dropped(struct hub_socket *self, uint64_t now_us)
{
    struct hub *hub = self->hub;

    hub_count(hub, self->monitor ? HUB_COUNTER_BROKEN_CONNECTIONS : HUB_COUNTER_DROPPED_FRAMES);
    if (hub->actor.refused != NULL) {
        hub->actor.refused(hub->actor.self);
    }
    if (self->monitor) {
        log_limited(&hub->dropped_log, now_us, LOG_WARN,
                    "closed a connection that does not speak ZMTP to %s", hub->endpoint);
    } else {
        log_limited(&hub->dropped_log, now_us, LOG_WARN,
                    "dropped a message that is not one frame, or of a peer whose name is longer "
                    "than %d bytes",
                    PEER_ID_BYTES);
    }
}

bool hub_socket_drain(struct hub_socket *socket, uint64_t now_us)
{
    struct hub *hub = socket->hub;
    enum received received = RECEIVED_FRAME;
    bool arrived = false;

    assert(socket->dirty);
    TAILQ_REMOVE(&hub->dirty, socket, entry);
    hub->ndirty--;
    socket->dirty = false;
    /* The actor may close the very link that it gets an answer from. */
    for (unsigned n = 0; n < HUB_DRAIN_FRAMES && socket->zmq != NULL; n++) {
        received = receive(socket, now_us);
        if (received == RECEIVED_NOTHING) {
            break;
        }
        if (received == RECEIVED_DROPPED) {
            say_dropped(socket, now_us);
        }
        arrived = true;
    }
    if (received != RECEIVED_NOTHING || errno == EINTR) {
        hub_socket_touch(socket);
    }
    return arrived;
}
