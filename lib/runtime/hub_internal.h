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
#include "runtime/address.h"
#include "runtime/hub.h"
#include "runtime/hub_inbox.h"
#include "runtime/hub_lanes.h"
#include "runtime/hub_watch.h"

#include <sys/queue.h>
#include <uv.h>

enum {
    HUB_MAX_LINKS = 2048,
    HUB_MAX_WATCHES = 64,
    HUB_ENDPOINT_BYTES = ADDRESS_BYTES,
    HUB_ADDRESS_BYTES = 64,
    HUB_NSIGNALS = 4,
    HUB_KNOWN_PEERS = 256, /* a power of two */
    HUB_KEY_TEXT_BYTES = 41,
};

enum hub_socket_kind {
    HUB_SERVER,
    HUB_MONITOR, /* tells of connections to the server, and of those that came to nothing */
    HUB_LINK,
    HUB_WATCH, /* tells how a link's handshakes end */
    HUB_ZAP,   /* is asked who may get in */
};

struct hub_socket {
    struct hub *hub;
    void *zmq; /* NULL once closed; the struct lives until libuv lets go of `poll` */
    enum hub_socket_kind kind;
    uint32_t link; /* of a link and its watch */
    bool dirty;
    uv_poll_t poll;
    TAILQ_ENTRY(hub_socket) entry; /* in the dirty list */
};

TAILQ_HEAD(hub_socket_list, hub_socket);

/* What an outgoing link is, whatever socket it has just now. */
struct hub_link {
    struct hub_socket *socket; /* NULL: it could not be opened anew yet */
    struct hub_socket *watch;  /* NULL: nobody looks */
    uint32_t number;
    char endpoint[HUB_ENDPOINT_BYTES];
    unsigned trial;    /* which of its keys it uses, or did last */
    unsigned failures; /* handshakes that were refused, in a row */
    unsigned refusal;  /* why, at best */
    bool spent;        /* ... that of this socket: by another key next */
    bool curve;
    uint8_t server_key[CURVE_KEY_BYTES];
    uint64_t watched_us;         /* since when it is watched */
    uint64_t connected_us;       /* the last time; 0: not since it is watched */
    uint64_t down_us;            /* since when nothing can be sent; 0: it can */
    uint32_t sent;               /* frames lately: see hub_links.c */
    uint64_t sent_us;            /* ... since then */
    uint64_t reopen_us;          /* ACTOR_NEVER: stays as it is */
    TAILQ_ENTRY(hub_link) entry; /* among those that are watched, the oldest first */
};

TAILQ_HEAD(hub_link_list, hub_link);

/* Whom a key belongs to, as who() has said lately. */
struct hub_known {
    char text[HUB_KEY_TEXT_BYTES]; /* "": nobody */
    bool known;
    uint8_t role;
    uint32_t user;
};

struct hub {
    pid_t owner; /* the process that has opened it */
    uv_loop_t loop;
    bool loop_ready;
    bool stopping;
    uv_timer_t timer;
    uv_async_t finished; /* jobs have run, or hub_wake(): ends the sleep */
    struct hub_lanes lanes;
    uv_signal_t signals[HUB_NSIGNALS];
    void (*on_signal)(void *context, int number);
    void *signal_context;
    hub_turn_fn *turn; /* NULL: it was done */
    void *turn_context;
    void *zmq_context;
    uint64_t max_frame_bytes;
    uint64_t spin_us;
    struct pulse pulse; /* last beat: the time of the event under way */
    bool streamed;      /* a stream has told its handler something since the last turn */
    uint64_t spun_ns;   /* in all */
    struct histogram turns;
    struct hub_socket *server;
    struct hub_socket *monitor;
    char newest[HUB_ADDRESS_BYTES]; /* where the newest connection to the server is from; "": ? */
    struct hub_inbox inbox;         /* of the server */
    struct hub_link *links[HUB_MAX_LINKS]; /* a link's number modulo HUB_MAX_LINKS */
    uint32_t link_round;                   /* ... and its number divided by that: never reused */
    struct hub_link_list watched;
    unsigned nwatched;
    uint64_t watch_number;  /* names the inproc address of the next one */
    uint64_t links_next_us; /* when a link is to be opened anew, at the earliest */
    struct log_limit refused_link_log;

    const struct hub_curve *curve; /* NULL: all is plain */
    struct hub_socket *zap;
    uint8_t served[CURVE_KEY_BYTES]; /* the public key that the server socket was bound with */
    uint64_t rebind_us;              /* it is to be bound anew then; ACTOR_NEVER: it is bound */
    uint64_t unbound_us;             /* since when that fails; 0: it does not */
    struct log_limit rebind_log;
    struct hub_known known[HUB_KNOWN_PEERS];
    uint64_t known_until_us;
    struct buffer refusal;
    struct log_limit refused_peer_log;
    struct log_limit refused_frame_log;
    struct hub_socket_list dirty;
    size_t ndirty;
    zmq_msg_t draft; /* the frame that is being encoded, when `drafted` */
    bool drafted;
    struct actor actor;
    struct effects effects;
    uint64_t counters[HUB_NCOUNTERS];
    struct log_limit dropped_log;
    uint64_t replied_us;    /* the last time; 0: never */
    struct hub *rider;      /* NULL: none */
    struct hub_watch *ride; /* ... of its loop's descriptor */
    char endpoint[HUB_ENDPOINT_BYTES];
};

/* A bound ROUTER (`dial` is not looked at; link 0) or a connecting DEALER, with those keys or plain
 * (NULL). STATUS_IO, STATUS_NOMEM; errno tells. */
MUST_USE enum status hub_socket_open(struct hub *hub, const char *endpoint, uint32_t link,
                                     const struct hub_dial *dial, struct hub_socket **out);

/* A socket of another kind, for whatever it is bound or connected to by its caller. */
MUST_USE enum status hub_socket_new(struct hub *hub, enum hub_socket_kind kind, int type,
                                    struct hub_socket **out);

/* Let the loop know of it, once it is bound or connected. */
MUST_USE bool hub_socket_watch(struct hub_socket *self);

/* Watch the server socket for peers that do not speak ZMTP, or break it. */
MUST_USE enum status hub_socket_monitor(struct hub *hub, struct hub_socket **out);
void hub_socket_close(struct hub_socket **socket);

/* The socket was used or its descriptor was readable. */
void hub_socket_touch(struct hub_socket *socket);

/* Give the actor what has arrived on one socket, in bounds. True if it was given anything. */
bool hub_socket_drain(struct hub_socket *socket, uint64_t now_us);

/* An event of a monitor. False: there is none. */
bool hub_receive_event(void *zmq, uint16_t *event, uint32_t *value);

/* Fill hub->effects. */
void hub_effects_init(struct hub *hub);
void hub_effects_fini(struct hub *hub);

/* ---- links ---- */

uint32_t hub_link_open(void *hub, const char *endpoint);
void hub_link_close(void *hub, uint32_t link);
struct hub_link *hub_link_find(struct hub *hub, uint32_t link);

/* A send on it has just failed, or not. */
void hub_link_sent(struct hub_link *link, bool sent);

/* An event of its watch. False: there was none. */
bool hub_link_event(struct hub_socket *watch, uint64_t now_us);

/* Open those anew whose time has come. */
void hub_links_tick(struct hub *hub, uint64_t now_us);

/* Another key may be theirs. */
void hub_links_rekey(struct hub *hub);
void hub_links_close(struct hub *hub);

/* ---- who gets in ---- */

/* The server socket's options, before it is bound. */
MUST_USE bool hub_curve_serve(const struct hub *hub, void *zmq);
MUST_USE bool hub_curve_dial(void *zmq, const struct hub_dial *dial);

/* The handler of ZAP, before the server socket is bound. */
MUST_USE enum status hub_zap_open(struct hub *hub);

/* Answer one who asks. False: nobody does. */
bool hub_zap_answer(struct hub_socket *zap, uint64_t now_us);

/* Whose request is that, and may it be served? Sets role and user of its peer. Where not it has
 * been told. */
bool hub_curve_admits(struct hub *hub, uint64_t now_us, struct hub_request *request);

/* Bind the server socket anew, if that is wanted. */
void hub_curve_tick(struct hub *hub, uint64_t now_us);

/* Count one more. */
void hub_count(struct hub *hub, unsigned counter);

/* ... and tell the actor. */
void hub_refuse(struct hub *hub, unsigned counter, enum actor_refusal what);

#endif
