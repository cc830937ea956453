/* Connections by TLS. What comes in the midst of a handshake waits in a queue, of which each turn
 * of the loop works through a part: a handshake takes as long as some thousand lookups, and a storm
 * of them must not hold up those who are in. While it waits a connection is not read from.
 *
 * Whoever has not finished takes a place among STREAM_SHAKING_MOST, which the newest get: a client
 * needs its place for milliseconds, and whoever only holds places loses them. */
#include "base/log.h"
#include "runtime/streams/hub_streams_internal.h"

#include <assert.h>

enum {
    SHAKING_US = 8000000,   /* a handshake is over within this */
    TURN_US = 500,          /* of a turn that handshakes take; one of them always */
    LOOK_MS = 60000,        /* how often the files are looked at */
    SEND_BYTES = 256 << 10, /* sealed at a time */
    PLAIN_MOST = STREAM_READ_BYTES + TLS_PLAIN_BYTES,
    SEALED_MOST = 1 << 20,
};

/* ---- what has become of handshakes ---- */

static void tell(struct hub_stream *stream, enum tls_outcome outcome)
{
    struct hub_streams *streams = stream->streams;

    streams->handler.shaken(streams->handler.context, outcome);
}

/* Of one that this process makes the owner learns why it failed, and says so. */
static void fail(struct hub_stream *stream, int error)
{
    stream->failure = error;
    hub_stream_drop(stream);
}

const char *hub_stream_failure(const struct hub_stream *stream)
{
    const char *refused = stream->tls != NULL ? tls_reason(stream->tls) : "";

    if (stream->failure == 0) {
        return "";
    }
    return refused[0] != '\0' ? refused : uv_strerror(stream->failure);
}

static const char *remedy_of(enum tls_outcome outcome)
{
    switch (outcome) {
    case TLS_PLAIN:
        return "clients of this address must use TLS (redis-cli --tls)";
    case TLS_VERSION:
        return "TLS 1.2 and 1.3 are spoken here";
    case TLS_CERTIFICATE:
        return "tls_clients asks for a certificate that tls_ca_file vouches for";
    case TLS_BROKEN:
    case TLS_LATE:
    case TLS_CROWDED:
    case TLS_DONE:
    case TLS_NOUTCOMES:
        break;
    }
    return "it is closed";
}

/* What strangers do is counted, and said once a second. */
static void complain(struct hub_stream *stream, enum tls_outcome outcome, const char *reason)
{
    char peer[STREAM_PEER_BYTES];

    hub_stream_name_peer(stream, peer);
    log_limited(&stream->streams->logs[outcome], hub_now_us(), LOG_WARN,
                "a TLS client at %s %s: %s; %s", peer,
                stream->shaking ? "does not get in" : "is cut off", reason, remedy_of(outcome));
    tell(stream, outcome);
}

static void run_out(struct hub_stream *stream)
{
    if (stream->outgoing) {
        fail(stream, UV_ENOMEM);
    } else {
        complain(stream, TLS_BROKEN, "out of memory");
        hub_stream_drop(stream);
    }
}

/* ---- those that shake hands ---- */

static void leave_queue(struct hub_stream *stream)
{
    struct hub_streams *streams = stream->streams;

    if (stream->queued) {
        stream->queued = false;
        TAILQ_REMOVE(&streams->queue, stream, queue_entry);
    }
    if (TAILQ_EMPTY(&streams->queue)) {
        (void)uv_idle_stop(&streams->shaker);
    }
}

void hub_stream_tls_forget(struct hub_stream *stream)
{
    assert(stream->shaking);
    leave_queue(stream);
    stream->shaking = false;
    TAILQ_REMOVE(&stream->streams->shaking, stream, shaking_entry);
    stream->streams->nshaking--;
    buffer_fini(&stream->came);
}

/* It gets to know why as far as there is a way to say so. */
static void turn_away(struct hub_stream *stream)
{
    static const char text[] = "-ERR this address takes TLS only (redis-cli --tls)\r\n";
    enum tls_outcome outcome = tls_outcome(stream->tls);

    if (stream->outgoing) {
        fail(stream, UV_EPROTO);
        return;
    }

    complain(stream, outcome, tls_reason(stream->tls));
    if (outcome == TLS_PLAIN) {
        hub_stream_send_raw(stream, span_of(text, sizeof text - 1));
    }
    hub_stream_close(stream);
}

static void hand_over(struct hub_stream *stream)
{
    struct hub_streams *streams = stream->streams;

    if (streams->plain.size > 0 && stream->owner != NULL && !stream->closing &&
        !uv_is_closing(&stream->uv.handle)) {
        streams->hub->streamed = true;
        streams->handler.bytes(streams->handler.context, hub_now_us(), stream->owner,
                               buffer_span(&streams->plain));
    }
}

/* What the owner has said so far leaves, and what comes is its own from here on. */
static void begin_talk(struct hub_stream *stream)
{
    struct buffer early = stream->early;

    buffer_init(&stream->early, 0);
    hub_stream_read_raw(stream, true);
    hub_stream_tls_send(stream, buffer_span(&early));
    buffer_fini(&early);
    hub_stream_tell_connected(stream);
}

/* What it said behind the last word of its handshake is its first request. */
static void welcome(struct hub_stream *stream)
{
    hub_stream_tls_forget(stream);
    stream->streams->count++;
    if (stream->outgoing) {
        begin_talk(stream);
    } else {
        tell(stream, TLS_DONE);
        hub_stream_greet(stream);
    }
    hand_over(stream);
}

static enum tls_state receive(struct hub_stream *stream, struct span bytes)
{
    struct hub_streams *streams = stream->streams;
    enum tls_state state;

    buffer_clear(&streams->plain);
    buffer_clear(&streams->sealed);
    state = tls_receive(stream->tls, bytes, &streams->plain, &streams->sealed);
    if (streams->sealed.size > 0) {
        hub_stream_send_raw(stream, buffer_span(&streams->sealed));
    }
    return state;
}

/* The peer has ended in good order: so do we, and do not wait for it to read the rest. */
static void part(struct hub_stream *stream)
{
    hub_stream_tls_end(stream);
    hub_stream_drop(stream);
}

/* In the midst of its handshake, or at its very end. */
static void end_early(struct hub_stream *stream)
{
    if (stream->outgoing) {
        fail(stream, UV_EOF);
        return;
    }
    tell(stream, TLS_DONE);
    part(stream);
}

/* The next step of one handshake. */
static void shake(struct hub_stream *stream)
{
    leave_queue(stream);
    assert(stream->tls != NULL || !stream->outgoing);
    if (stream->tls == NULL &&
        tls_create(stream->streams->tls->identity, &stream->tls) != STATUS_OK) {
        run_out(stream);
        return;
    }
    switch (receive(stream, buffer_span(&stream->came))) {
    case TLS_SHAKING:
        buffer_fini(&stream->came);
        hub_stream_read_raw(stream, true);
        break;
    case TLS_OPEN:
        welcome(stream);
        break;
    case TLS_ENDED:
        end_early(stream);
        break;
    case TLS_FAILED:
        turn_away(stream);
        break;
    }
}

static void on_idle(uv_idle_t *idle)
{
    struct hub_streams *streams = idle->data;
    uint64_t end_us = hub_now_us() + TURN_US;

    do {
        shake(TAILQ_FIRST(&streams->queue));
    } while (!TAILQ_EMPTY(&streams->queue) && hub_now_us() < end_us);
}

static void begin_shaking(struct hub_stream *stream)
{
    struct hub_streams *streams = stream->streams;

    stream->shaking = true;
    stream->since_us = hub_now_us();
    buffer_init(&stream->came, STREAM_SHAKING_BYTES);
    TAILQ_INSERT_TAIL(&streams->shaking, stream, shaking_entry);
    streams->nshaking++;
    hub_streams_tick(streams);
}

void hub_stream_tls_begin(struct hub_stream *stream)
{
    struct hub_streams *streams = stream->streams;
    struct hub_stream *oldest = TAILQ_FIRST(&streams->shaking);

    if (streams->nshaking >= STREAM_SHAKING_MOST) {
        assert(!oldest->outgoing); /* Streams come in, or go out. */
        complain(oldest, TLS_CROWDED, "too many others have begun a handshake since");
        hub_stream_drop(oldest);
    }
    begin_shaking(stream);
    hub_stream_read_raw(stream, true);
}

enum status hub_stream_tls_prepare(struct hub_stream *stream, const struct tls_identity *identity,
                                   const char *host)
{
    enum status status = tls_create_client(identity, host, &stream->tls);

    if (status == STATUS_OK) {
        stream->streams->count--; /* It counts from the end of the handshake on. */
        begin_shaking(stream);
    }
    return status;
}

/* Our own first words. */
void hub_stream_tls_reach(struct hub_stream *stream)
{
    if (receive(stream, span_of(NULL, 0)) != TLS_SHAKING) {
        fail(stream, UV_EPROTO);
    }
}

static void enqueue(struct hub_stream *stream, struct span bytes)
{
    struct hub_streams *streams = stream->streams;

    assert(!stream->queued);
    hub_stream_read_raw(stream, false);
    if (buffer_append(&stream->came, bytes) != STATUS_OK) {
        run_out(stream);
        return;
    }
    stream->queued = true;
    TAILQ_INSERT_TAIL(&streams->queue, stream, queue_entry);
    (void)uv_idle_start(&streams->shaker, on_idle);
}

void hub_streams_tls_expire(struct hub_streams *streams)
{
    struct hub_stream *oldest;

    while ((oldest = TAILQ_FIRST(&streams->shaking)) != NULL &&
           hub_now_us() - oldest->since_us >= SHAKING_US) {
        if (oldest->outgoing) {
            fail(oldest, UV_ETIMEDOUT);
            continue;
        }
        complain(oldest, TLS_LATE, "its handshake takes too long");
        hub_stream_drop(oldest);
    }
}

void hub_streams_tls_drop_shaking(struct hub_streams *streams)
{
    while (!TAILQ_EMPTY(&streams->shaking)) {
        hub_stream_drop(TAILQ_FIRST(&streams->shaking));
    }
}

/* ---- those that are in ---- */

static void open_bytes(struct hub_stream *stream, struct span bytes)
{
    enum tls_state state = receive(stream, bytes);

    hand_over(stream);
    if (stream->closing || uv_is_closing(&stream->uv.handle)) {
        return;
    }
    if (state == TLS_ENDED) {
        part(stream);
    } else if (state == TLS_FAILED && stream->outgoing) {
        fail(stream, UV_EPROTO);
    } else if (state == TLS_FAILED) {
        complain(stream, TLS_BROKEN, tls_reason(stream->tls));
        hub_stream_drop(stream);
    }
}

void hub_stream_tls_came(struct hub_stream *stream, struct span bytes)
{
    if (stream->shaking) {
        enqueue(stream, bytes);
    } else {
        open_bytes(stream, bytes);
    }
}

void hub_stream_tls_left(struct hub_stream *stream)
{
    if (stream->shaking && stream->outgoing) {
        stream->failure = UV_EOF;
    } else if (stream->shaking && stream->tls != NULL) {
        complain(stream, TLS_BROKEN, "it left in the midst of the handshake");
    }
}

void hub_stream_tls_send(struct hub_stream *stream, struct span bytes)
{
    struct buffer *sealed = &stream->streams->sealed;

    if (stream->shaking) { /* An outgoing one: nobody knows of others yet. */
        if (buffer_append(&stream->early, bytes) != STATUS_OK) {
            fail(stream, UV_ENOMEM);
        }
        return;
    }
    while (bytes.size > 0 && !uv_is_closing(&stream->uv.handle)) {
        struct span piece = span_of(bytes.data, bytes.size < SEND_BYTES ? bytes.size : SEND_BYTES);

        buffer_clear(sealed);
        if (tls_send(stream->tls, piece, sealed) != STATUS_OK) {
            hub_stream_drop(stream);
            return;
        }
        hub_stream_send_raw(stream, buffer_span(sealed));
        bytes = span_of(bytes.data + piece.size, bytes.size - piece.size);
    }
}

void hub_stream_tls_end(struct hub_stream *stream)
{
    struct buffer *sealed = &stream->streams->sealed;

    buffer_clear(sealed);
    tls_end(stream->tls, sealed);
    if (sealed->size > 0) {
        hub_stream_send_raw(stream, buffer_span(sealed));
    }
}

/* ---- all of them ---- */

static void on_look(uv_timer_t *timer)
{
    struct hub_streams *streams = timer->data;

    (void)tls_source_look(streams->tls);
}

void hub_streams_tls_open(struct hub_streams *streams, struct tls_source *tls)
{
    uv_loop_t *loop = &streams->hub->loop;

    streams->tls = tls;
    TAILQ_INIT(&streams->shaking);
    TAILQ_INIT(&streams->queue);
    buffer_init(&streams->plain, PLAIN_MOST);
    buffer_init(&streams->sealed, SEALED_MOST);
    (void)uv_timer_init(loop, &streams->look); /* They can't fail. */
    (void)uv_idle_init(loop, &streams->shaker);
    streams->look.data = streams->shaker.data = streams;
    if (tls != NULL) {
        (void)uv_timer_start(&streams->look, on_look, LOOK_MS, LOOK_MS);
    }
}

void hub_streams_tls_close(struct hub_streams *streams, uv_close_cb on_closed)
{
    streams->nclosing += 2;
    uv_close((uv_handle_t *)&streams->look, on_closed);
    uv_close((uv_handle_t *)&streams->shaker, on_closed);
}

void hub_stream_subject(const struct hub_stream *stream, char *text, size_t size)
{
    if (stream->tls != NULL) {
        tls_subject(stream->tls, text, size);
    } else {
        text[0] = '\0';
    }
}
