/* One connection: what comes, what goes, its end. Then all of them: where clients find them, how
 * they are accepted, and how all end with the hub. */
#include "runtime/streams/hub_streams.h"

#include "base/heap.h"
#include "runtime/address.h"
#include "runtime/streams/hub_streams_internal.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    STREAM_LINGERING_MOST = 128,
    TICK_MS = 100,
    BACKLOG = 511,
    MOST_UNSENT = 1 << 30,
    KEEPALIVE_S = 300,
    OTHER_FILES = 256, /* that the process has open besides */
};

static void accept_again(struct hub_streams *streams);

/* ---- its end ---- */

static void linger(struct hub_stream *stream);

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
    buffer_fini(&stream->early);
    tls_destroy(&stream->tls);
    heap_free(stream);
    accept_again(streams);
}

/* There is room for another from here on: what libuv still has to let go of counts no more. */
static void make_room(struct hub_stream *stream)
{
    if (stream->lingering) {
        stream->streams->nlingering--;
    } else if (stream->shaking) {
        hub_stream_tls_forget(stream);
    } else {
        stream->streams->count--;
    }
}

void hub_stream_drop(struct hub_stream *stream)
{
    if (!uv_is_closing(&stream->uv.handle)) {
        make_room(stream);
        stream->streams->nclosing++;
        uv_close(&stream->uv.handle, on_closed);
    }
}

/* Of one that this process makes the owner learns why. */
static void break_off(struct hub_stream *stream, int error)
{
    if (stream->outgoing && !uv_is_closing(&stream->uv.handle)) {
        stream->failure = error;
    }
    hub_stream_drop(stream);
}

void hub_stream_close(struct hub_stream *stream)
{
    stream->closing = true;
    hub_stream_read_raw(stream, false);
    if (stream->tls != NULL) {
        hub_stream_tls_end(stream);
    }
    if (!stream->writing) {
        linger(stream);
    }
}

/* ---- what comes ---- */

/* libuv goes on reading a stream whose peer sends as fast as it is read, and a crowd of these made
 * a turn of the loop last for as long as all that they send. So a stream gets no room once it has
 * had its part; the rest is read in the next turn. */
static bool had_its_part(struct hub_stream *stream)
{
    struct hub_streams *streams = stream->streams;

    if (streams->read_last != stream) {
        streams->read_last = stream;
        streams->read_in_a_row = 0;
    }
    if (streams->read_in_a_row < STREAM_TURN_BYTES) {
        return false;
    }
    streams->read_in_a_row = 0;
    return true;
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct hub_stream *stream = handle->data;
    unsigned size = stream->shaking ? STREAM_SHAKING_BYTES : STREAM_READ_BYTES;

    (void)suggested;
    *room = uv_buf_init(stream->streams->room, had_its_part(stream) ? 0 : size);
}

/* False: it had no room. */
static bool has_read(struct hub_stream *stream, ssize_t size)
{
    stream->streams->read_in_a_row += size > 0 ? (size_t)size : 0;
    return size != UV_ENOBUFS;
}

/* Who does not care takes whoever has ended for gone: he does not read the rest. */
static void end_input(struct hub_stream *stream, ssize_t why)
{
    const struct stream_handler *handler = &stream->streams->handler;

    if (why != UV_EOF || handler->ended == NULL || stream->tls != NULL || stream->shaking) {
        hub_stream_tls_left(stream);
        break_off(stream, why != UV_EOF ? (int)why : stream->failure);
        return;
    }
    hub_stream_read(stream, false);
    stream->ended = true;
    stream->streams->hub->streamed = true;
    handler->ended(handler->context, hub_now_us(), stream->owner);
}

static void on_read(uv_stream_t *uv, ssize_t size, const uv_buf_t *room)
{
    struct hub_stream *stream = uv->data;
    struct hub_streams *streams = stream->streams;

    if (!has_read(stream, size)) {
        return;
    }
    if (size < 0) {
        end_input(stream, size);
    } else if (size > 0 && (stream->shaking || stream->tls != NULL)) {
        hub_stream_tls_came(stream, span_of(room->base, (size_t)size));
    } else if (size > 0) {
        streams->hub->streamed = true;
        streams->handler.bytes(streams->handler.context, hub_now_us(), stream->owner,
                               span_of(room->base, (size_t)size));
    }
}

/* A handshake reads for itself. */
void hub_stream_read(struct hub_stream *stream, bool wanted)
{
    if (!stream->shaking) {
        hub_stream_read_raw(stream, wanted);
    }
}

void hub_stream_read_raw(struct hub_stream *stream, bool wanted)
{
    if (wanted == stream->reading || (wanted && (stream->closing || stream->ended)) ||
        stream->failure != 0) {
        return;
    }
    stream->reading = wanted;
    if (!wanted) {
        (void)uv_read_stop(&stream->uv.stream);
    } else if (uv_read_start(&stream->uv.stream, give_room, on_read) != 0) {
        hub_stream_drop(stream);
    }
}

/* ---- what comes after the end ---- */

static void on_rest(uv_stream_t *uv, ssize_t size, const uv_buf_t *room)
{
    struct hub_stream *stream = uv->data;

    (void)room;
    stream->stirred = true;
    if (has_read(stream, size) && size < 0) {
        hub_stream_drop(stream);
    }
}

/* Has the peer's machine all that was sent, and the end? What a unix-domain socket was given is the
 * peer's at once. */
static bool arrived(const struct hub_stream *stream)
{
    uv_os_fd_t fd;
    int outstanding = 0;

    return stream->uv.handle.type != UV_TCP || uv_fileno(&stream->uv.handle, &fd) != 0 ||
           ioctl(fd, SIOCOUTQ, &outstanding) != 0 || outstanding == 0;
}

static void end_lingering(struct hub_streams *streams)
{
    struct hub_stream *stream;

    TAILQ_FOREACH(stream, &streams->list, entry)
    {
        if (stream->lingering && !stream->stirred && arrived(stream)) {
            hub_stream_drop(stream);
        }
        stream->stirred = false;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct hub_streams *streams = timer->data;

    if (streams->nlingering > 0) {
        end_lingering(streams);
    }
    hub_streams_tls_expire(streams);
    if (streams->nlingering == 0 && streams->nshaking == 0) {
        (void)uv_timer_stop(timer);
    }
}

void hub_streams_tick(struct hub_streams *streams)
{
    if (!uv_is_active((const uv_handle_t *)&streams->timer)) {
        (void)uv_timer_start(&streams->timer, on_timer, TICK_MS, TICK_MS);
    }
}

/* New ones may have come in place of those that linger, which so take descriptors beyond the bound:
 * there are not many of these. */
static void linger(struct hub_stream *stream)
{
    struct hub_streams *streams = stream->streams;
    uv_os_fd_t fd;

    if (stream->lingering || uv_is_closing(&stream->uv.handle)) {
        return;
    }
    if (streams->count + streams->nlingering > streams->max_streams + STREAM_LINGERING_MOST ||
        uv_fileno(&stream->uv.handle, &fd) != 0 || shutdown(fd, SHUT_WR) != 0 ||
        uv_read_start(&stream->uv.stream, give_room, on_rest) != 0) {
        hub_stream_drop(stream);
        return;
    }
    make_room(stream);
    stream->lingering = stream->stirred = true;
    streams->nlingering++;
    hub_streams_tick(streams);
}

/* ---- what goes ---- */

size_t hub_stream_unsent(const struct hub_stream *stream)
{
    return (stream->writing ? stream->leaving.size : 0) + stream->waiting.size + stream->early.size;
}

static void write_on(struct hub_stream *stream);

static void on_written(uv_write_t *write, int error)
{
    struct hub_stream *stream = write->data;
    struct hub_streams *streams = stream->streams;

    stream->writing = false;
    buffer_clear(&stream->leaving);
    if (error != 0) {
        break_off(stream, error);
        return;
    }
    write_on(stream);
    if (stream->writing || uv_is_closing(&stream->uv.handle)) {
        return;
    }
    if (stream->closing) {
        linger(stream);
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
        hub_stream_drop(stream);
    }
}

void hub_stream_send(struct hub_stream *stream, struct span bytes)
{
    if (stream->tls != NULL) {
        hub_stream_tls_send(stream, bytes);
    } else {
        hub_stream_send_raw(stream, bytes);
    }
}

void hub_stream_send_raw(struct hub_stream *stream, struct span bytes)
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
    if (sent < 0) {
        break_off(stream, sent);
    } else if (buffer_append(&stream->waiting,
                             span_of(bytes.data + sent, bytes.size - (size_t)sent)) != STATUS_OK) {
        break_off(stream, UV_ENOMEM);
    } else if (!stream->writing && stream->waiting.size > 0) {
        write_on(stream);
    }
}

/* ---- those that this process makes ---- */

static struct hub_stream *make(struct hub_streams *streams)
{
    struct hub_stream *stream = heap_zalloc(1, sizeof *stream);

    if (stream != NULL) {
        stream->streams = streams;
        buffer_init(&stream->leaving, MOST_UNSENT);
        buffer_init(&stream->waiting, MOST_UNSENT);
        buffer_init(&stream->early, MOST_UNSENT);
    }
    return stream;
}

static void keep(struct hub_stream *stream)
{
    stream->uv.handle.data = stream;
    TAILQ_INSERT_TAIL(&stream->streams->list, stream, entry);
}

static void tune(struct hub_stream *stream)
{
    if (stream->uv.handle.type == UV_TCP) {
        (void)uv_tcp_nodelay(&stream->uv.tcp, 1);
        (void)uv_tcp_keepalive(&stream->uv.tcp, 1, KEEPALIVE_S);
    }
}

void hub_stream_tell_connected(struct hub_stream *stream)
{
    const struct stream_handler *handler = &stream->streams->handler;

    if (handler->connected != NULL) {
        stream->streams->hub->streamed = true;
        handler->connected(handler->context, hub_now_us(), stream->owner);
    }
}

static void on_connected(uv_connect_t *connect, int error)
{
    struct hub_stream *stream = connect->data;

    if (uv_is_closing(&stream->uv.handle)) {
        return; /* It was late. */
    }
    stream->failure = error;
    if (error != 0) {
        hub_stream_drop(stream);
        return;
    }
    tune(stream);
    hub_stream_read_raw(stream, true);
    if (stream->tls != NULL) {
        hub_stream_tls_reach(stream);
    } else {
        hub_stream_tell_connected(stream);
    }
}

static struct hub_stream *make_outgoing(struct hub_streams *streams, void *owner)
{
    struct hub_stream *stream = make(streams);

    if (stream == NULL || uv_tcp_init(&streams->hub->loop, &stream->uv.tcp) != 0) {
        heap_free(stream);
        return NULL;
    }
    stream->owner = owner;
    stream->outgoing = true;
    stream->connect.data = stream;
    stream->failure = UV_ETIMEDOUT; /* of whoever drops it before it is there */
    streams->count++;
    keep(stream);
    return stream;
}

/* Nobody is to hear of it. */
static void unmake(struct hub_stream *stream)
{
    stream->owner = NULL;
    hub_stream_drop(stream);
}

static bool set_out(struct hub_stream *stream, const struct sockaddr_storage *address)
{
    return uv_tcp_connect(&stream->connect, &stream->uv.tcp, (const struct sockaddr *)address,
                          on_connected) == 0;
}

struct hub_stream *hub_streams_connect(struct hub_streams *streams,
                                       const struct sockaddr_storage *address, void *owner)
{
    struct hub_stream *stream = make_outgoing(streams, owner);

    if (stream != NULL && !set_out(stream, address)) {
        unmake(stream);
        return NULL;
    }
    return stream;
}

struct hub_stream *hub_streams_connect_tls(struct hub_streams *streams,
                                           const struct sockaddr_storage *address,
                                           const struct tls_identity *identity, const char *host,
                                           void *owner)
{
    struct hub_stream *stream = make_outgoing(streams, owner);

    if (stream != NULL && (hub_stream_tls_prepare(stream, identity, host) != STATUS_OK ||
                           !set_out(stream, address))) {
        unmake(stream);
        return NULL;
    }
    return stream;
}

/* ---- those that connect ---- */

void hub_stream_name_peer(const struct hub_stream *stream, char text[STREAM_PEER_BYTES])
{
    struct sockaddr_storage address;
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    int length = sizeof address;

    (void)snprintf(text, STREAM_PEER_BYTES, "%.60s", stream->streams->path);
    if (stream->uv.handle.type == UV_TCP &&
        uv_tcp_getpeername(&stream->uv.tcp, (struct sockaddr *)&address, &length) == 0 &&
        getnameinfo((struct sockaddr *)&address, (socklen_t)length, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        (void)snprintf(text, STREAM_PEER_BYTES,
                       address.ss_family == AF_INET6 ? "[%.45s]:%.5s" : "%.45s:%.5s", host, port);
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

/* What peers say, if it leaves at once; by TLS it does. */
static void refuse(struct hub_stream *stream)
{
    static const char text[] = "-ERR max number of clients reached\r\n";
    uv_buf_t piece = uv_buf_init((char *)(uintptr_t)text, sizeof text - 1);

    if (stream->tls != NULL) {
        hub_stream_send(stream, span_of(text, sizeof text - 1));
        hub_stream_close(stream);
        return;
    }
    (void)uv_try_write(&stream->uv.stream, &piece, 1);
    hub_stream_drop(stream);
}

void hub_stream_greet(struct hub_stream *stream)
{
    struct hub_streams *streams = stream->streams;
    char peer[STREAM_PEER_BYTES];

    if (streams->count > streams->max_streams) {
        refuse(stream);
        return;
    }
    hub_stream_name_peer(stream, peer);
    stream->owner = streams->handler.opened(streams->handler.context, hub_now_us(), stream, peer);
    if (stream->owner == NULL) {
        hub_stream_drop(stream);
    } else {
        hub_stream_read(stream, true);
    }
}

/* False: no memory. */
static bool take(struct hub_streams *streams, uv_stream_t *listener, bool secure)
{
    struct hub_stream *stream = make(streams);

    if (stream == NULL || !open_like(streams, listener, stream)) {
        heap_free(stream);
        return false;
    }
    keep(stream);
    if (uv_accept(listener, &stream->uv.stream) != 0) {
        streams->count++;
        hub_stream_drop(stream);
        return true;
    }
    tune(stream);
    if (secure) {
        hub_stream_tls_begin(stream);
    } else {
        streams->count++;
        hub_stream_greet(stream);
    }
    return true;
}

/* libuv tells of nobody else before this one is accepted. */
static void on_connection(uv_stream_t *listener, int error)
{
    struct hub_streams *streams = listener->data;
    size_t index = (size_t)((union stream_handle *)(void *)listener - streams->listeners);

    streams->unaccepted[index] = error == 0 && !take(streams, listener, index == STREAM_TLS);
}

static void accept_again(struct hub_streams *streams)
{
    for (size_t i = 0; i < STREAM_LISTENERS; i++) {
        union stream_handle *listener = &streams->listeners[i];

        if (streams->unaccepted[i] && !uv_is_closing(&listener->handle)) {
            on_connection(&listener->stream, 0);
        }
    }
}

/* ---- where clients find them ---- */

static void tell_endpoint(const uv_tcp_t *listener, char endpoint[HUB_ENDPOINT_BYTES])
{
    struct sockaddr_storage address;
    int length = sizeof address;

    if (uv_tcp_getsockname(listener, (struct sockaddr *)&address, &length) == 0) {
        address_tell(&address, (socklen_t)length, endpoint);
    }
}

static int listen_tcp(struct hub_streams *streams, const char *endpoint, size_t index,
                      char told[HUB_ENDPOINT_BYTES])
{
    union stream_handle *listener = &streams->listeners[index];
    struct sockaddr_storage address;
    int error;

    if (address_resolve(endpoint, &address) == 0) {
        return UV_EADDRNOTAVAIL;
    }
    error = uv_tcp_init(&streams->hub->loop, &listener->tcp);
    streams->listening[index] = error == 0;
    listener->handle.data = streams;
    error = error != 0 ? error : uv_tcp_bind(&listener->tcp, (struct sockaddr *)&address, 0);
    error = error != 0 ? error : uv_listen(&listener->stream, BACKLOG, on_connection);
    if (error == 0) {
        tell_endpoint(&listener->tcp, told);
    }
    return error;
}

static int listen_plain(struct hub_streams *streams, const char *endpoint)
{
    return listen_tcp(streams, endpoint, 0, streams->endpoint);
}

static int listen_tls(struct hub_streams *streams, const char *endpoint)
{
    return listen_tcp(streams, endpoint, STREAM_TLS, streams->tls_endpoint);
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
    union stream_handle *listener = &streams->listeners[STREAM_PATH];
    int error = uv_pipe_init(&streams->hub->loop, &listener->pipe, 0);

    streams->listening[STREAM_PATH] = error == 0;
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

static bool listen_at(struct hub_streams *streams, const struct hub_streams_options *options)
{
    return listen_on(streams, options->endpoint, listen_plain) &&
           listen_on(streams, options->path, listen_path) &&
           (options->tls == NULL || listen_on(streams, options->tls_endpoint, listen_tls));
}

/* ---- all of them ---- */

const char *hub_streams_endpoint(const struct hub_streams *streams)
{
    return streams->endpoint;
}

const char *hub_streams_tls_endpoint(const struct hub_streams *streams)
{
    return streams->tls_endpoint;
}

/* Every connection takes a descriptor, and the rest of the process must not run out of them. */
static uint32_t affordable(uint32_t wanted, bool tls)
{
    struct rlimit limit;
    rlim_t others = OTHER_FILES + (tls ? STREAM_SHAKING_MOST : 0);
    rlim_t needed = (rlim_t)wanted + others;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
        return wanted;
    }
    limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= needed) {
        return wanted;
    }
    needed = limit.rlim_cur > 2 * others ? limit.rlim_cur - others : limit.rlim_cur / 2;
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

    assert(*out == NULL && options->max_streams > 0);
    assert(handler->opened != NULL && handler->bytes != NULL);
    assert(handler->drained != NULL && handler->closed != NULL);
    assert(options->tls == NULL || handler->shaken != NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->hub = hub;
    self->handler = *handler;
    self->max_streams = affordable(options->max_streams, options->tls != NULL);
    TAILQ_INIT(&self->list);
    (void)uv_timer_init(&hub->loop, &self->timer); /* It can't fail. */
    self->timer.data = self;
    hub_streams_tls_open(self, options->tls);
    if (!listen_at(self, options)) {
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
    hub_streams_tls_drop_shaking(streams); /* They have asked for nothing yet. */
    if (streams->path[0] != '\0') {
        (void)unlink(streams->path); /* Now: later it may be another's. */
        streams->path[0] = '\0';
    }
}

void hub_streams_set_max(struct hub_streams *streams, uint32_t max_streams)
{
    streams->max_streams = affordable(max_streams, streams->tls != NULL);
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
    hub_streams_tls_close(self, on_own_closed);
    TAILQ_FOREACH(stream, &self->list, entry)
    {
        hub_stream_drop(stream);
    }
    while (self->nclosing > 0) {
        (void)uv_run(&self->hub->loop, UV_RUN_NOWAIT);
    }
    buffer_fini(&self->plain);
    buffer_fini(&self->sealed);
    heap_free(self);
}
