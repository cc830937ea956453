/* All streams of a hub: opened, accepted, closed. */
#include "base/heap.h"
#include "runtime/hub_streams_internal.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    PEER_BYTES = 64,
    MOST_UNSENT = 1 << 30,
    KEEPALIVE_S = 300,
    OTHER_FILES = 256, /* that the process has open besides */
};

const char *hub_streams_endpoint(const struct hub_streams *streams)
{
    return streams->endpoint;
}

uint64_t hub_streams_refused(const struct hub_streams *streams)
{
    return streams->refused;
}

/* ---- connections ---- */

/* "127.0.0.1:50312", or the path that it came by. */
static void name_peer(const struct hub_stream *stream, char *text, size_t size)
{
    struct sockaddr_storage address;
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    int length = sizeof address;

    (void)snprintf(text, size, "%.60s", stream->streams->path);
    if (stream->uv.handle.type == UV_TCP &&
        uv_tcp_getpeername(&stream->uv.tcp, (struct sockaddr *)&address, &length) == 0 &&
        getnameinfo((struct sockaddr *)&address, (socklen_t)length, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        (void)snprintf(text, size, address.ss_family == AF_INET6 ? "[%.45s]:%.5s" : "%.45s:%.5s",
                       host, port);
    }
}

void hub_stream_local(const struct hub_stream *stream, char *host, size_t size, uint32_t *port)
{
    struct sockaddr_storage address;
    char name[NI_MAXHOST];
    char number[NI_MAXSERV];
    int length = sizeof address;

    if (stream->uv.handle.type == UV_TCP &&
        uv_tcp_getsockname(&stream->uv.tcp, (struct sockaddr *)&address, &length) == 0 &&
        getnameinfo((struct sockaddr *)&address, (socklen_t)length, name, sizeof name, number,
                    sizeof number, NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        (void)snprintf(host, size, "%s", name);
        *port = (uint32_t)strtoul(number, NULL, 10);
    }
}

static bool open_like(struct hub_streams *streams, const uv_stream_t *listener,
                      struct hub_stream *stream)
{
    return (listener->type == UV_TCP ? uv_tcp_init(&streams->hub->loop, &stream->uv.tcp)
                                     : uv_pipe_init(&streams->hub->loop, &stream->uv.pipe, 0)) == 0;
}

/* What peers say, if it leaves at once. */
static void refuse(struct hub_streams *streams, struct hub_stream *stream)
{
    static const char text[] = "-ERR max number of clients reached\r\n";
    uv_buf_t piece = uv_buf_init((char *)(uintptr_t)text, sizeof text - 1);

    streams->refused++;
    (void)uv_try_write(&stream->uv.stream, &piece, 1);
    hub_stream_end(stream);
}

static void greet(struct hub_streams *streams, struct hub_stream *stream)
{
    char peer[PEER_BYTES];

    if (streams->count > streams->max_streams) {
        refuse(streams, stream);
        return;
    }
    if (stream->uv.handle.type == UV_TCP) {
        (void)uv_tcp_nodelay(&stream->uv.tcp, 1);
        (void)uv_tcp_keepalive(&stream->uv.tcp, 1, KEEPALIVE_S);
    }
    name_peer(stream, peer, sizeof peer);
    stream->owner = streams->handler.opened(streams->handler.context, hub_now_us(), stream, peer);
    if (stream->owner == NULL) {
        hub_stream_end(stream);
    } else {
        hub_stream_read(stream, true);
    }
}

/* False: no memory. */
static bool take(struct hub_streams *streams, uv_stream_t *listener)
{
    struct hub_stream *stream = heap_zalloc(1, sizeof *stream);

    if (stream == NULL || !open_like(streams, listener, stream)) {
        heap_free(stream);
        return false;
    }
    stream->streams = streams;
    stream->uv.handle.data = stream;
    buffer_init(&stream->leaving, MOST_UNSENT);
    buffer_init(&stream->waiting, MOST_UNSENT);
    TAILQ_INSERT_TAIL(&streams->list, stream, entry);
    streams->count++;
    if (uv_accept(listener, &stream->uv.stream) == 0) {
        greet(streams, stream);
    } else {
        hub_stream_end(stream);
    }
    return true;
}

/* libuv tells of nobody else before this one is accepted. */
void hub_streams_on_connection(uv_stream_t *listener, int error)
{
    struct hub_streams *streams = listener->data;
    size_t index = listener == &streams->listeners[0].stream ? 0 : 1;

    streams->unaccepted[index] = error == 0 && !take(streams, listener);
}

void hub_streams_accept_again(struct hub_streams *streams)
{
    for (size_t i = 0; i < STREAM_LISTENERS; i++) {
        union stream_handle *listener = &streams->listeners[i];

        if (streams->unaccepted[i] && !uv_is_closing(&listener->handle)) {
            hub_streams_on_connection(&listener->stream, 0);
        }
    }
}

/* ---- opened and closed ---- */

/* Every connection takes a descriptor, and the rest of the process must not run out of them. */
static uint32_t affordable(uint32_t wanted)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t)wanted + OTHER_FILES;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
        return wanted;
    }
    limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= needed) {
        return wanted;
    }
    needed = limit.rlim_cur > 2 * OTHER_FILES ? limit.rlim_cur - OTHER_FILES : limit.rlim_cur / 2;
    log_line(LOG_WARN,
             "serves at most %llu RESP clients at once, not %u: more descriptors than %llu are not "
             "allowed; raise the limit of open files (ulimit -n, LimitNOFILE=)",
             (unsigned long long)needed, wanted, (unsigned long long)limit.rlim_cur);
    return (uint32_t)needed;
}

enum status hub_streams_open(struct hub *hub, const struct hub_streams_options *options,
                             const struct stream_handler *handler, struct hub_streams **out)
{
    struct hub_streams *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->hub = hub;
    self->handler = *handler;
    self->max_streams = affordable(options->max_streams);
    TAILQ_INIT(&self->list);
    (void)uv_timer_init(&hub->loop, &self->timer); /* It can't fail. */
    self->timer.data = self;
    if (!hub_streams_listen(self, options->endpoint, options->path)) {
        hub_streams_close(&self);
        return STATUS_IO;
    }
    *out = self;
    return STATUS_OK;
}

static void on_own_closed(uv_handle_t *handle)
{
    struct hub_streams *streams = handle->data;

    streams->nclosing--;
}

void hub_streams_stop_listening(struct hub_streams *streams)
{
    for (size_t i = 0; i < STREAM_LISTENERS; i++) {
        if (streams->listening[i]) {
            streams->listening[i] = false;
            streams->nclosing++;
            uv_close(&streams->listeners[i].handle, on_own_closed);
        }
    }
    if (streams->path[0] != '\0') {
        (void)unlink(streams->path); /* Now: later it may be another's. */
        streams->path[0] = '\0';
    }
}

void hub_streams_set_max(struct hub_streams *streams, uint32_t max_streams)
{
    streams->max_streams = affordable(max_streams);
}

void hub_streams_close(struct hub_streams **streams)
{
    struct hub_streams *self = *streams;
    struct hub_stream *stream;

    *streams = NULL;
    if (self == NULL) {
        return;
    }
    hub_streams_stop_listening(self);
    self->nclosing++;
    uv_close((uv_handle_t *)&self->timer, on_own_closed);
    TAILQ_FOREACH(stream, &self->list, entry)
    {
        hub_stream_end(stream);
    }
    while (self->nclosing > 0) {
        (void)uv_run(&self->hub->loop, UV_RUN_NOWAIT);
    }
    heap_free(self);
}
