/* hub_internal.h - what the files of the hub share; no one else includes it.
 *
 * A ZeroMQ descriptor tells only that commands wait, and any call on the socket may take
 * them. So a socket is kept on the hub's dirty list from the moment that its descriptor
 * was readable, or that it was used, until a receive has said EAGAIN: only then are all
 * its commands taken, and only then will the descriptor tell of what comes next.
 * The loop never sleeps while the list holds anything.
 */
#ifndef ORBLOOM_RUNTIME_HUB_INTERNAL_H
#define ORBLOOM_RUNTIME_HUB_INTERNAL_H

#include "base/log.h"
#include "base/pulse.h"
#include "runtime/hub.h"
#include "runtime/hub_inbox.h"
#include "runtime/hub_lanes.h"

#include <sys/queue.h>
#include <uv.h>

enum { HUB_MAX_LINKS = 2048, HUB_ENDPOINT_BYTES = 256, HUB_NSIGNALS = 3 };

struct hub_socket {
    struct hub *hub;
    void *zmq;     /* NULL once closed; the struct lives until libuv lets go of `poll` */
    uint32_t link; /* 0: the server, or its monitor */
    bool monitor;  /* tells of connections to the server that came to nothing */
    bool dirty;
    uv_poll_t poll;
    TAILQ_ENTRY(hub_socket) entry; /* in the dirty list */
};

TAILQ_HEAD(hub_socket_list, hub_socket);

struct hub {
    uv_loop_t loop;
    bool loop_ready;
    bool stopping;
    uv_timer_t timer;
    uv_async_t finished; /* jobs have run, or hub_wake(): ends the sleep */
    struct hub_lanes lanes;
    uv_signal_t signals[HUB_NSIGNALS];
    void (*on_signal)(void *context, int number);
    void *signal_context;
    void *zmq_context;
    uint64_t max_frame_bytes;
    uint64_t spin_us;
    struct pulse pulse; /* last beat: the time of the event under way */
    bool streamed;      /* a stream has told its handler something since the last turn */
    struct hub_socket *server;
    struct hub_socket *monitor;
    struct hub_inbox inbox;                  /* of the server */
    struct hub_socket *links[HUB_MAX_LINKS]; /* a link's number modulo HUB_MAX_LINKS */
    uint32_t link_round;                     /* ... and its number divided by that: never reused */
    struct hub_socket_list dirty;
    size_t ndirty;
    zmq_msg_t draft; /* the frame that is being encoded, when `drafted` */
    bool drafted;
    struct actor actor;
    struct effects effects;
    uint64_t counters[HUB_NCOUNTERS];
    struct log_limit dropped_log;
    uint64_t replied_us; /* the last time; 0: never */
    char endpoint[HUB_ENDPOINT_BYTES];
};

/* A bound ROUTER (link 0) or a connecting DEALER. STATUS_IO, STATUS_NOMEM; errno tells. */
MUST_USE enum status hub_socket_open(struct hub *hub, const char *endpoint, uint32_t link,
                                     struct hub_socket **out);

/* Watch the server socket for peers that do not speak ZMTP, or break it. */
MUST_USE enum status hub_socket_monitor(struct hub *hub, struct hub_socket **out);
void hub_socket_close(struct hub_socket **socket);

/* The socket was used or its descriptor was readable. */
void hub_socket_touch(struct hub_socket *socket);

/* Give the actor what has arrived on one socket, in bounds. True if it was given anything. */
bool hub_socket_drain(struct hub_socket *socket, uint64_t now_us);

/* Fill hub->effects. */
void hub_effects_init(struct hub *hub);
void hub_effects_fini(struct hub *hub);

/* Count one more. */
void hub_count(struct hub *hub, unsigned counter);

#endif
