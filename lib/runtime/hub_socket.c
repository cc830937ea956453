/* Options of ZeroMQ sockets, each set on purpose; opening, watching and closing one. */
#include "base/heap.h"
#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <zmq.h>

enum {
    SEND_HIGH_WATER_FRAMES = 1024,
    HEARTBEAT_INTERVAL_MS = 1000,
    HEARTBEAT_TIMEOUT_MS = 3000,
    HEARTBEAT_TTL_MS = 6000,
    HANDSHAKE_TIMEOUT_MS = 5000,
    CONNECT_TIMEOUT_MS = 3000,
    RECONNECT_FIRST_MS = 50,
    RECONNECT_MAX_MS = 1000,
    LISTEN_BACKLOG = 512,
};

struct int_option {
    int option;
    int value;
};

static const struct int_option common_options[] = {
    /* What was not sent when a socket closes is worth nothing: every request is asked again
     * until the application itself has answered. */
    {ZMQ_LINGER, 0},

    /* A full queue for sending answers UNAVAILABLE; it never blocks and never grows. That for
     * receiving must never be full, see hub_inbox.h; links get no more than was asked for. Where it
     * is full and its peer goes away, libzmq 4.3.4 aborts at that connection's next heartbeat. */
    {ZMQ_SNDHWM, SEND_HIGH_WATER_FRAMES},
    {ZMQ_RCVHWM, 0},

    /* A stopped or cut-off peer is found in seconds, in both directions; the TTL is what the
     * peer is told to apply to us. TCP's own probes would find it in minutes: off. */
    {ZMQ_HEARTBEAT_IVL, HEARTBEAT_INTERVAL_MS},
    {ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS},
    {ZMQ_HEARTBEAT_TTL, HEARTBEAT_TTL_MS},
    {ZMQ_TCP_KEEPALIVE, 0},

    /* Whoever connects and does not speak ZMTP is cut off after this. */
    {ZMQ_HANDSHAKE_IVL, HANDSHAKE_TIMEOUT_MS},
};

static const struct int_option server_options[] = {
    /* A reply to a peer that is gone is refused instead of silently dropped. */
    {ZMQ_ROUTER_MANDATORY, 1},

    /* A stranger that claims the routing id of a connected peer does not get its place. */
    {ZMQ_ROUTER_HANDOVER, 0},
    {ZMQ_BACKLOG, LISTEN_BACKLOG},
};

static const struct int_option link_options[] = {
    /* No queue before the connection stands, and none is kept when it breaks: a send says
     * UNAVAILABLE at once, and a restarted peer is not flooded with requests long given up. What
     * came just before it breaks is lost, too, if it is not read by then: see hub_destroy(). */
    {ZMQ_IMMEDIATE, 1},
    {ZMQ_CONNECT_TIMEOUT, CONNECT_TIMEOUT_MS},
    {ZMQ_RECONNECT_IVL, RECONNECT_FIRST_MS},
    {ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS},
};

static bool set_options(void *zmq, const struct int_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (zmq_setsockopt(zmq, options[i].option, &options[i].value, sizeof options[i].value) !=
            0) {
            return false;
        }
    }
    return true;
}

#define SET_OPTIONS(zmq, table) set_options(zmq, table, sizeof(table) / sizeof((table)[0]))

static bool configure(const struct hub *hub, void *zmq, const char *endpoint,
                      const struct hub_dial *dial, bool server)
{
    int64_t max = (int64_t)hub->max_frame_bytes;
    /* Only for a literal address: with it libzmq asks for IPv6 addresses of host names too,
     * tries the first alone, and "localhost" would miss a server on 127.0.0.1. */
    int ipv6 = strchr(endpoint, '[') != NULL;

    return SET_OPTIONS(zmq, common_options) &&
           (server ? SET_OPTIONS(zmq, server_options) : SET_OPTIONS(zmq, link_options)) &&
           zmq_setsockopt(zmq, ZMQ_MAXMSGSIZE, &max, sizeof max) == 0 &&
           zmq_setsockopt(zmq, ZMQ_IPV6, &ipv6, sizeof ipv6) == 0 &&
           (server ? hub_curve_serve(hub, zmq) : dial == NULL || hub_curve_dial(zmq, dial));
}

static void wake(uv_poll_t *poll, int status, int events)
{
    (void)status; /* Whatever it is, the next receive shows. */
    (void)events;
    hub_socket_touch(poll->data);
}

bool hub_socket_watch(struct hub_socket *self)
{
    int descriptor;
    size_t size = sizeof descriptor;

    if (zmq_getsockopt(self->zmq, ZMQ_FD, &descriptor, &size) != 0 ||
        uv_poll_init(&self->hub->loop, &self->poll, descriptor) != 0) {
        return false;
    }
    self->poll.data = self;
    if (uv_poll_start(&self->poll, UV_READABLE, wake) != 0) {
        return false;
    }
    hub_socket_touch(self);
    return true;
}

static void released(uv_handle_t *poll)
{
    heap_free(poll->data);
}

void hub_socket_close(struct hub_socket **socket)
{
    struct hub_socket *self = *socket;
    int reason = errno; /* A caller's message about why it closes is still to come. */

    *socket = NULL;
    if (self == NULL) {
        return;
    }
    if (self->dirty) {
        TAILQ_REMOVE(&self->hub->dirty, self, entry);
        self->hub->ndirty--;
    }
    if (self->poll.data != NULL) {
        uv_close((uv_handle_t *)&self->poll, released);
    }
    if (self->zmq != NULL) {
        (void)zmq_close(self->zmq);
        self->zmq = NULL;
    }
    if (self->poll.data == NULL) {
        heap_free(self);
    }
    errno = reason;
}

enum status hub_socket_new(struct hub *hub, enum hub_socket_kind kind, int type,
                           struct hub_socket **out)
{
    struct hub_socket *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL);
    if (self == NULL) {
        errno = ENOMEM;
        return STATUS_NOMEM;
    }
    self->hub = hub;
    self->kind = kind;
    self->zmq = zmq_socket(hub->zmq_context, type);
    if (self->zmq == NULL) {
        hub_socket_close(&self);
        return STATUS_IO;
    }
    *out = self;
    return STATUS_OK;
}

enum status hub_socket_monitor(struct hub *hub, struct hub_socket **out)
{
    static const char endpoint[] = "inproc://monitor"; /* Each hub has a context of its own. */
    const int events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
    enum status status = hub_socket_new(hub, HUB_MONITOR, ZMQ_PAIR, out);

    if (status != STATUS_OK) {
        return status;
    }
    if (zmq_socket_monitor(hub->server->zmq, endpoint, events) != 0 ||
        zmq_connect((*out)->zmq, endpoint) != 0 || !hub_socket_watch(*out)) {
        hub_socket_close(out);
        return STATUS_IO;
    }
    return STATUS_OK;
}

enum status hub_socket_open(struct hub *hub, const char *endpoint, uint32_t link,
                            const struct hub_dial *dial, struct hub_socket **out)
{
    bool server = link == 0;
    struct hub_socket *self = NULL;
    enum status status = hub_socket_new(hub, server ? HUB_SERVER : HUB_LINK,
                                        server ? ZMQ_ROUTER : ZMQ_DEALER, &self);

    assert(*out == NULL);
    if (status != STATUS_OK) {
        return status;
    }
    self->link = link;
    if (!configure(hub, self->zmq, endpoint, dial, server) ||
        (server ? zmq_bind(self->zmq, endpoint) : zmq_connect(self->zmq, endpoint)) != 0 ||
        !hub_socket_watch(self)) {
        hub_socket_close(&self);
        return STATUS_IO;
    }
    *out = self;
    return STATUS_OK;
}

void hub_socket_touch(struct hub_socket *socket)
{
    if (!socket->dirty && socket->zmq != NULL) {
        socket->dirty = true;
        TAILQ_INSERT_TAIL(&socket->hub->dirty, socket, entry);
        socket->hub->ndirty++;
    }
}
