/* One connection: what comes, what goes, its end. */
#include "base/heap.h"
#include "runtime/hub_streams_internal.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { LINGER_TICK_MS = 100 };

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
    heap_free(stream);
    hub_streams_accept_again(streams);
}

/* There is room for another from here on. */
static void make_room(struct hub_stream *stream)
{
    if (stream->lingering) {
        stream->streams->nlingering--;
    } else {
        stream->streams->count--;
    }
}

void hub_stream_end(struct hub_stream *stream)
{
    if (!uv_is_closing(&stream->uv.handle)) {
        make_room(stream);
        stream->streams->nclosing++;
        uv_close(&stream->uv.handle, on_closed);
    }
}

void hub_stream_close(struct hub_stream *stream)
{
    stream->closing = true;
    hub_stream_read(stream, false);
    if (!stream->writing) {
        linger(stream);
    }
}

void hub_stream_drop(struct hub_stream *stream)
{
    hub_stream_end(stream);
}

/* ---- what comes ---- */

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct hub_stream *stream = handle->data;

    (void)suggested;
    *room = uv_buf_init(stream->streams->room, STREAM_READ_BYTES);
}

static void on_read(uv_stream_t *uv, ssize_t size, const uv_buf_t *room)
{
    struct hub_stream *stream = uv->data;
    struct hub_streams *streams = stream->streams;

    if (size < 0) {
        hub_stream_end(stream); /* Whoever has closed does not read the rest. */
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
        hub_stream_end(stream);
    }
}

/* ---- what comes after the end ---- */

static void on_rest(uv_stream_t *uv, ssize_t size, const uv_buf_t *room)
{
    struct hub_stream *stream = uv->data;

    (void)room;
    stream->stirred = true;
    if (size < 0) {
        hub_stream_end(stream);
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

void hub_streams_on_timer(uv_timer_t *timer)
{
    struct hub_streams *streams = timer->data;
    struct hub_stream *stream;

    TAILQ_FOREACH(stream, &streams->list, entry)
    {
        if (stream->lingering && !stream->stirred && arrived(stream)) {
            hub_stream_end(stream);
        }
        stream->stirred = false;
    }
    if (streams->nlingering == 0) {
        (void)uv_timer_stop(timer);
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
        hub_stream_end(stream);
        return;
    }
    make_room(stream);
    stream->lingering = stream->stirred = true;
    streams->nlingering++;
    if (!uv_is_active((const uv_handle_t *)&streams->timer)) {
        (void)uv_timer_start(&streams->timer, hub_streams_on_timer, LINGER_TICK_MS, LINGER_TICK_MS);
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
        hub_stream_end(stream);
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
        hub_stream_end(stream);
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
        hub_stream_end(stream);
    } else if (!stream->writing && stream->waiting.size > 0) {
        write_on(stream);
    }
}
