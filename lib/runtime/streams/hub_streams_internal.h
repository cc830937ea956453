/* hub_streams_internal.h - what the files of the streams share; no one else includes it.
 *
 *   hub_streams.c      connections as they are: where they come from, bytes, the end
 *   hub_streams_tls.c  those by TLS: handshakes in their turn, then plain bytes in and out
 *
 * A connection by TLS is nobody's at first: the handler hears of it when its handshake is over, and
 * only then it counts as one of max_streams. One that this process makes is its owner's from the
 * beginning; what that sends waits for the end of the handshake, and until then it reads nothing.
 */
#ifndef ORBLOOM_RUNTIME_HUB_STREAMS_INTERNAL_H
#define ORBLOOM_RUNTIME_HUB_STREAMS_INTERNAL_H

#include "base/buffer.h"
#include "runtime/hub_internal.h"
#include "runtime/streams/hub_streams.h"

enum {
    STREAM_READ_BYTES = 64 << 10,
    STREAM_TURN_BYTES = 128 << 10,  /* of one stream before others have their turn */
    STREAM_SHAKING_BYTES = 4 << 10, /* read at a time while hands are shaken */
    STREAM_SHAKING_MOST = 1024,     /* ... at once; beyond it the oldest one gives way */
    STREAM_LISTENERS = 3,           /* an address, a path and an address for TLS, in this order */
    STREAM_PATH = 1,
    STREAM_TLS = 2,
    STREAM_PEER_BYTES = 64,
};

union stream_handle {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct hub_stream {
    TAILQ_ENTRY(hub_stream) entry;
    struct hub_streams *streams;
    union stream_handle uv;
    void *owner;
    bool reading;
    bool ended;           /* by the peer: nothing comes any more */
    bool closing;         /* once all has left */
    bool lingering;       /* all has left, and what still comes is thrown away */
    bool stirred;         /* ... something came lately */
    uv_connect_t connect; /* of one that this process makes */
    int failure;          /* ... libuv's error */
    uv_write_t write;
    struct buffer leaving; /* while `writing` */
    bool writing;
    struct buffer waiting; /* behind that */

    /* By TLS only. */
    bool shaking;  /* in streams->shaking */
    bool queued;   /* ... and in streams->queue: `came` is to be looked at */
    bool outgoing; /* ... to a server */
    uint64_t since_us;
    struct tls *tls; /* NULL: nothing has come yet, or it is plain */
    struct buffer came;
    struct buffer early; /* what the owner has sent, of an outgoing one that shakes hands */
    TAILQ_ENTRY(hub_stream) shaking_entry;
    TAILQ_ENTRY(hub_stream) queue_entry;
};

TAILQ_HEAD(hub_stream_list, hub_stream);

struct hub_streams {
    struct hub *hub;
    struct stream_handler handler;
    uint32_t max_streams;
    uint32_t count; /* without those that linger or shake hands */
    uint32_t nlingering;
    uv_timer_t timer; /* while any lingers or shakes hands */
    struct hub_stream_list list;
    union stream_handle listeners[STREAM_LISTENERS];
    bool listening[STREAM_LISTENERS];
    bool unaccepted[STREAM_LISTENERS]; /* somebody waits there until there is memory */
    uint32_t nclosing;                 /* handles that libuv has not let go of */
    char endpoint[HUB_ENDPOINT_BYTES];
    char tls_endpoint[HUB_ENDPOINT_BYTES];
    char path[HUB_ENDPOINT_BYTES];
    const struct hub_stream *read_last; /* only compared: it may be gone */
    size_t read_in_a_row;               /* bytes */
    char room[STREAM_READ_BYTES];       /* what is read is handed over before the next is */

    /* By TLS only. */
    struct tls_source *tls;
    uv_timer_t look;  /* at its files */
    uv_idle_t shaker; /* while any is queued */
    uint32_t nshaking;
    struct hub_stream_list shaking; /* the oldest first */
    struct hub_stream_list queue;
    struct buffer plain;  /* of the call under way */
    struct buffer sealed; /* ... */
    struct log_limit logs[TLS_NOUTCOMES];
};

/* ---- hub_streams.c ---- */

/* Its handshake is over: there is a client, if there is room for one. */
void hub_stream_greet(struct hub_stream *stream);

/* Of one that shakes hands, too. */
void hub_stream_read_raw(struct hub_stream *stream, bool wanted);

/* A server is there, and is what it must be. */
void hub_stream_tell_connected(struct hub_stream *stream);

/* As they are, whether there is TLS or not. */
void hub_stream_send_raw(struct hub_stream *stream, struct span bytes);

/* "127.0.0.1:50312", or the path that it came by. */
void hub_stream_name_peer(const struct hub_stream *stream, char text[STREAM_PEER_BYTES]);

/* The timer runs while there is something to wait for. */
void hub_streams_tick(struct hub_streams *streams);

/* ---- hub_streams_tls.c ---- */

void hub_streams_tls_open(struct hub_streams *streams, struct tls_source *tls);

/* Handles that are let go of are counted in nclosing; `on_closed` is told. */
void hub_streams_tls_close(struct hub_streams *streams, uv_close_cb on_closed);

/* It was accepted: begin. */
void hub_stream_tls_begin(struct hub_stream *stream);

/* It is to be connected to a server: STATUS_NOMEM, STATUS_INVALID as of tls_create_client(). And
 * it is: begin. */
MUST_USE enum status hub_stream_tls_prepare(struct hub_stream *stream,
                                            const struct tls_identity *identity, const char *host);
void hub_stream_tls_reach(struct hub_stream *stream);

/* Bytes of the peer, in the midst of the handshake or later. */
void hub_stream_tls_came(struct hub_stream *stream, struct span bytes);

/* The peer has gone. */
void hub_stream_tls_left(struct hub_stream *stream);

void hub_stream_tls_send(struct hub_stream *stream, struct span bytes);

/* Nothing follows. */
void hub_stream_tls_end(struct hub_stream *stream);

/* It is no more one of those that shake hands. */
void hub_stream_tls_forget(struct hub_stream *stream);

/* Those that have taken too long; all of them. */
void hub_streams_tls_expire(struct hub_streams *streams);
void hub_streams_tls_drop_shaking(struct hub_streams *streams);

#endif
