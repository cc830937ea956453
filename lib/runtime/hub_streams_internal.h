/* hub_streams_internal.h - what the files of a hub's streams share; no one else includes it.
 *
 *   hub_streams.c         all of them: opened, accepted, closed
 *   hub_streams_listen.c  where clients find them
 *   hub_stream.c          one connection: what comes, what goes, its end
 */
#ifndef ORBLOOM_RUNTIME_HUB_STREAMS_INTERNAL_H
#define ORBLOOM_RUNTIME_HUB_STREAMS_INTERNAL_H

#include "base/buffer.h"
#include "runtime/hub_internal.h"
#include "runtime/hub_streams.h"

enum { STREAM_READ_BYTES = 64 << 10, STREAM_LISTENERS = 2, STREAM_LINGERING_MOST = 128 };

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
    bool closing;   /* once all has left */
    bool lingering; /* all has left, and what still comes is thrown away */
    bool stirred;   /* ... something came lately */
    uv_write_t write;
    struct buffer leaving; /* while `writing` */
    bool writing;
    struct buffer waiting; /* behind that */
};

TAILQ_HEAD(hub_stream_list, hub_stream);

struct hub_streams {
    struct hub *hub;
    struct stream_handler handler;
    uint32_t max_streams;
    uint32_t count; /* without those that linger */
    uint32_t nlingering;
    uv_timer_t timer; /* while any lingers */
    uint64_t refused;
    struct hub_stream_list list;
    union stream_handle listeners[STREAM_LISTENERS];
    bool listening[STREAM_LISTENERS];
    bool unaccepted[STREAM_LISTENERS]; /* somebody waits there until there is memory */
    uint32_t nclosing;                 /* handles that libuv has not let go of */
    char endpoint[HUB_ENDPOINT_BYTES];
    char path[HUB_ENDPOINT_BYTES];
    char room[STREAM_READ_BYTES]; /* what is read is handed over before the next is */
};

/* Nothing more comes or goes; closed() follows. */
void hub_stream_end(struct hub_stream *stream);

/* End those that linger for nothing. */
void hub_streams_on_timer(uv_timer_t *timer);

/* Those that memory did not suffice for are tried again. */
void hub_streams_accept_again(struct hub_streams *streams);

/* For libuv: somebody has connected. */
void hub_streams_on_connection(uv_stream_t *listener, int error);

/* Listen on the endpoint and the path, each unless it is "". False after saying why not. */
bool hub_streams_listen(struct hub_streams *streams, const char *endpoint, const char *path);

#endif
