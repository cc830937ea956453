#include "runtime/hub_streams.h"

#include "base/buffer.h"
#include "base/heap.h"
#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 << 10,
    BACKLOG = 511,
    PEER_BYTES = 64,
    MOST_UNSENT = 1 << 30,
    NLISTENERS = 2,
    KEEPALIVE_S = 300,
    OTHER_FILES = 256, /* that the process has open besides */
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
    bool closing; /* once all has left */
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
    uint32_t count;
    uint64_t refused;
    struct hub_stream_list list;
    union stream_handle listeners[NLISTENERS];
    bool listening[NLISTENERS];
    uint32_t nclosing; /* handles that libuv has not let go of */
    char endpoint[HUB_ENDPOINT_BYTES];
    char path[HUB_ENDPOINT_BYTES];
    char room[READ_BYTES]; /* what is read is handed over before the next is */
};

const char *hub_streams_endpoint(const struct hub_streams *streams)
{
    return streams->endpoint;
}

uint64_t hub_streams_refused(const struct hub_streams *streams)
{
    return streams->refused;
}

/* ---- ends ---- */

static void on_closed(uv_handle_t *handle)
{
    struct hub_stream *stream = handle->data;
    struct hub_streams *streams = stream->streams;

    TAILQ_REMOVE(&streams->list, stream, entry);
    streams->nclosing--;
    if (stream->owner != NULL) {
        streams->handler.closed(streams->handler.context, stream->owner);
    }
    buffer_fini(&stream->leaving);
    buffer_fini(&stream->waiting);
    heap_free(stream);
}

static void end(struct hub_stream *stream)
{
    if (!uv_is_closing(&stream->uv.handle)) {
        stream->streams->count--; /* There is room for another from here on. */
        stream->streams->nclosing++;
        uv_close(&stream->uv.handle, on_closed);
    }
}

void hub_stream_close(struct hub_stream *stream)
{
    stream->closing = true;
    hub_stream_read(stream, false);
    if (!stream->writing) {
        end(stream);
    }
}

void hub_stream_drop(struct hub_stream *stream)
{
    end(stream);
}

/* ---- what comes ---- */

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct hub_stream *stream = handle->data;

    (void)suggested;
    *room = uv_buf_init(stream->streams->room, READ_BYTES);
}

static void on_read(uv_stream_t *uv, ssize_t size, const uv_buf_t *room)
{
    struct hub_stream *stream = uv->data;
    struct hub_streams *streams = stream->streams;

    if (size < 0) {
        end(stream); /* Whoever has closed does not read the rest. */
    } else if (size > 0) {
        streams->hub->streamed = true;
        streams->handler.bytes(streams->handler.context, hub_now_us(), stream->owner,
                               span_of(room->base, (size_t)size));
    }
}

void hub_stream_read(struct hub_stream *stream, bool wanted)
{
    if (wanted == stream->reading || (wanted && stream->closing)) {
        return;
    }
    stream->reading = wanted;
    if (!wanted) {
        (void)uv_read_stop(&stream->uv.stream);
    } else if (uv_read_start(&stream->uv.stream, give_room, on_read) != 0) {
        end(stream);
    }
}

/* ---- what goes ---- */

size_t hub_stream_unsent(const struct hub_stream *stream)
{
    return (stream->writing ? stream->leaving.size : 0) + stream->waiting.size;
}

static void write_on(struct hub_stream *stream);

static void on_written(uv_write_t *write, int error)
{
    struct hub_stream *stream = write->data;
    struct hub_streams *streams = stream->streams;

    stream->writing = false;
    buffer_clear(&stream->leaving);
    if (error != 0) {
        end(stream);
        return;
    }
    write_on(stream);
    if (stream->writing || uv_is_closing(&stream->uv.handle)) {
        return;
    }
    if (stream->closing) {
        end(stream);
    } else {
        streams->hub->streamed = true;
        streams->handler.drained(streams->handler.context, hub_now_us(), stream->owner);
    }
}

/* All that waits leaves in one piece; what comes meanwhile waits in turn. */
static void write_on(struct hub_stream *stream)
{
    struct buffer free = stream->leaving;
    uv_buf_t piece;

    if (stream->waiting.size == 0) {
        buffer_fini(&stream->leaving);
        buffer_fini(&stream->waiting);
        return;
    }
    stream->leaving = stream->waiting;
    stream->waiting = free;
    stream->write.data = stream;
    piece = uv_buf_init((char *)stream->leaving.data, (unsigned)stream->leaving.size);
    stream->writing = uv_write(&stream->write, &stream->uv.stream, &piece, 1, on_written) == 0;
    if (!stream->writing) {
        end(stream);
    }
}

void hub_stream_send(struct hub_stream *stream, struct span bytes)
{
    uv_buf_t piece = uv_buf_init((char *)(uintptr_t)bytes.data, (unsigned)bytes.size);
    int sent = 0;

    if (uv_is_closing(&stream->uv.handle)) {
        return;
    }
    if (!stream->writing) {
        sent = uv_try_write(&stream->uv.stream, &piece, 1);
        sent = sent == UV_EAGAIN ? 0 : sent;
    }
    if (sent < 0 ||
        buffer_append(&stream->waiting, span_of(bytes.data + sent, bytes.size - (size_t)sent)) !=
            STATUS_OK) {
        end(stream);
    } else if (!stream->writing && stream->waiting.size > 0) {
        write_on(stream);
    }
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
    end(stream);
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
        end(stream);
    } else {
        hub_stream_read(stream, true);
    }
}

static void on_connection(uv_stream_t *listener, int error)
{
    struct hub_streams *streams = listener->data;
    struct hub_stream *stream = error == 0 ? heap_zalloc(1, sizeof *stream) : NULL;

    if (stream == NULL || !open_like(streams, listener, stream)) {
        heap_free(stream);
        return; /* It stays in the backlog until there is memory. */
    }
    stream->streams = streams;
    stream->uv.handle.data = stream;
    buffer_init(&stream->leaving, MOST_UNSENT);
    buffer_init(&stream->waiting, MOST_UNSENT);
    TAILQ_INSERT_TAIL(&streams->list, stream, entry);
    streams->count++;
    if (uv_accept(listener, &stream->uv.stream) != 0) {
        end(stream);
        return;
    }
    greet(streams, stream);
}

/* ---- listening ---- */

static bool resolve(const char *endpoint, struct sockaddr_storage *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host[HUB_ENDPOINT_BYTES];
    const char *text = strstr(endpoint, "://") != NULL ? strstr(endpoint, "://") + 3 : endpoint;
    const char *colon = strrchr(text, ':');
    size_t size = colon != NULL ? (size_t)(colon - text) : 0;

    if (colon == NULL || size >= sizeof host) {
        return false;
    }
    if (size > 2 && text[0] == '[') { /* [::1] */
        text++;
        size -= 2;
    }
    memcpy(host, text, size);
    host[size] = '\0';
    if (getaddrinfo(strcmp(host, "*") == 0 ? NULL : host,
                    strcmp(colon, ":*") == 0 ? "0" : colon + 1, &hints, &found) != 0) {
        return false;
    }
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

static void tell_endpoint(struct hub_streams *streams)
{
    struct sockaddr_storage address;
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    int length = sizeof address;

    if (uv_tcp_getsockname(&streams->listeners[0].tcp, (struct sockaddr *)&address, &length) == 0 &&
        getnameinfo((struct sockaddr *)&address, (socklen_t)length, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        (void)snprintf(streams->endpoint, sizeof streams->endpoint,
                       address.ss_family == AF_INET6 ? "tcp://[%.200s]:%.5s" : "tcp://%.200s:%.5s",
                       host, port);
    }
}

static int listen_tcp(struct hub_streams *streams, const char *endpoint)
{
    union stream_handle *listener = &streams->listeners[0];
    struct sockaddr_storage address;
    int error;

    if (!resolve(endpoint, &address)) {
        return UV_EADDRNOTAVAIL;
    }
    error = uv_tcp_init(&streams->hub->loop, &listener->tcp);
    streams->listening[0] = error == 0;
    listener->handle.data = streams;
    error = error != 0 ? error : uv_tcp_bind(&listener->tcp, (struct sockaddr *)&address, 0);
    error = error != 0 ? error : uv_listen(&listener->stream, BACKLOG, on_connection);
    if (error == 0) {
        tell_endpoint(streams);
    }
    return error;
}

/* A socket that nobody listens on is left over from a process that was killed. */
static void remove_leftover(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0 &&
        errno == ECONNREFUSED) {
        (void)unlink(path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static int listen_path(struct hub_streams *streams, const char *path)
{
    union stream_handle *listener = &streams->listeners[1];
    int error = uv_pipe_init(&streams->hub->loop, &listener->pipe, 0);

    streams->listening[1] = error == 0;
    listener->handle.data = streams;
    remove_leftover(path);
    error = error != 0 ? error : uv_pipe_bind(&listener->pipe, path);
    error = error != 0 ? error : uv_listen(&listener->stream, BACKLOG, on_connection);
    if (error == 0) {
        (void)snprintf(streams->path, sizeof streams->path, "%s", path);
    }
    return error;
}

static bool listen_on(struct hub_streams *streams, const char *where,
                      int (*listen)(struct hub_streams *, const char *))
{
    int error = where[0] != '\0' ? listen(streams, where) : 0;

    if (error != 0) {
        log_line(LOG_ERROR,
                 "cannot listen on %s for RESP clients: %s; choose another address or port, or "
                 "stop what listens there",
                 where, uv_strerror(error));
    }
    return error == 0;
}

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
    if (!listen_on(self, options->endpoint, listen_tcp) ||
        !listen_on(self, options->path, listen_path)) {
        hub_streams_close(&self);
        return STATUS_IO;
    }
    *out = self;
    return STATUS_OK;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct hub_streams *streams = handle->data;

    streams->nclosing--;
}

void hub_streams_close(struct hub_streams **streams)
{
    struct hub_streams *self = *streams;
    struct hub_stream *stream;

    *streams = NULL;
    if (self == NULL) {
        return;
    }
    for (size_t i = 0; i < NLISTENERS; i++) {
        if (self->listening[i]) {
            self->nclosing++;
            uv_close(&self->listeners[i].handle, on_listener_closed);
        }
    }
    TAILQ_FOREACH(stream, &self->list, entry)
    {
        end(stream);
    }
    while (self->nclosing > 0) {
        (void)uv_run(&self->hub->loop, UV_RUN_NOWAIT);
    }
    if (self->path[0] != '\0') {
        (void)unlink(self->path);
    }
    heap_free(self);
}
