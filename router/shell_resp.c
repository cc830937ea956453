/* The front's connections as streams of libuv: bytes in and out, nothing is understood here. */
#include "router/shell_resp.h"

#include "base/log.h"

static void *opened(void *context, uint64_t now_us, struct hub_stream *stream, const char *peer)
{
    char subject[USER_SUBJECT_BYTES];

    hub_stream_subject(stream, subject, sizeof subject);
    return front_opened(context, now_us, stream, peer, subject);
}

static void bytes_came(void *context, uint64_t now_us, void *owner, struct span bytes)
{
    front_bytes(context, now_us, owner, bytes);
}

static void drained(void *context, uint64_t now_us, void *owner)
{
    front_drained(context, now_us, owner);
}

static void closed(void *context, void *owner)
{
    front_closed(context, owner);
}

static void shaken(void *context, enum tls_outcome outcome)
{
    static const enum front_handshake handshakes[TLS_NOUTCOMES] = {
        [TLS_DONE] = FRONT_TLS_DONE,       [TLS_PLAIN] = FRONT_TLS_PLAIN,
        [TLS_VERSION] = FRONT_TLS_VERSION, [TLS_CERTIFICATE] = FRONT_TLS_CERTIFICATE,
        [TLS_BROKEN] = FRONT_TLS_BROKEN,   [TLS_LATE] = FRONT_TLS_LATE,
        [TLS_CROWDED] = FRONT_TLS_CROWDED,
    };

    front_shaken(context, handshakes[outcome]);
}

static void stream_send(void *context, void *stream, struct span bytes)
{
    (void)context;
    hub_stream_send(stream, bytes);
}

static size_t stream_unsent(void *context, void *stream)
{
    (void)context;
    return hub_stream_unsent(stream);
}

static void stream_read(void *context, void *stream, bool wanted)
{
    (void)context;
    hub_stream_read(stream, wanted);
}

static void stream_close(void *context, void *stream)
{
    (void)context;
    hub_stream_close(stream);
}

static void stream_drop(void *context, void *stream)
{
    (void)context;
    hub_stream_drop(stream);
}

static void stream_local(void *context, void *stream, struct stream_address *address)
{
    (void)context;
    hub_stream_local(stream, address->host, sizeof address->host, &address->port);
}

static uint64_t wall_us(void *context)
{
    (void)context;
    return hub_wall_us();
}

struct stream_effects shell_resp_effects(void)
{
    return (struct stream_effects){
        .send = stream_send,
        .unsent = stream_unsent,
        .read = stream_read,
        .close = stream_close,
        .drop = stream_drop,
        .local = stream_local,
        .wall_us = wall_us,
    };
}

enum status shell_resp_open(struct hub *hub, const struct hub_streams_options *options,
                            struct front *front, struct hub_streams **out)
{
    const struct stream_handler handler = {
        .context = front,
        .opened = opened,
        .bytes = bytes_came,
        .drained = drained,
        .closed = closed,
        .shaken = shaken,
    };
    enum status status;
    bool plain = options->endpoint[0] != '\0' || options->path[0] != '\0';

    if (!plain && options->tls == NULL) {
        return STATUS_OK;
    }
    status = hub_streams_open(hub, options, &handler, out);
    if (status == STATUS_OK && plain) {
        log_line(LOG_INFO, "serves RESP clients on %s%s%s", hub_streams_endpoint(*out),
                 options->endpoint[0] != '\0' && options->path[0] != '\0' ? " and " : "",
                 options->path);
    }
    if (status == STATUS_OK && options->tls != NULL) {
        log_line(LOG_INFO, "serves RESP clients by TLS on %s", hub_streams_tls_endpoint(*out));
    }
    return status;
}
