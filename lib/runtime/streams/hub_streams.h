/* hub_streams.h - byte streams on a hub's loop: connections that clients make by TCP, by a
 * unix-domain socket, or by TLS; of the last the handler hears when the handshake is over, and in
 * plain bytes. And those that this process makes, by TCP, or by TLS over it.
 *
 * Whatever has arrived is handed over in the loop's thread between two turns of the actor, which so
 * sees what several connections brought together. What is sent leaves at once as far as the
 * connection takes it; the rest waits here, and drained() tells when it has gone.
 *
 * End:     a socket that is closed while bytes wait to be read takes back what has been sent. So a
 *          close ends the way out, then throws away what comes until the peer has ended too, or has
 *          received all and is silent. By TLS close_notify goes before that.
 * Bounds:  whoever connects beyond max_streams is told so, and closed. Of those that shake hands
 * there are 1,024 at most, for 8 s; a turn of the loop spends half a millisecond on them, or as
 *          long as one step takes. The process' limit of
 *          descriptors is raised as far as needed and allowed; else there are fewer streams.
 * Errors:  hub_streams_open: STATUS_IO (address in use...: logged with the remedy), STATUS_NOMEM.
 * Owner:   hub_streams_open()'s caller calls hub_streams_close() before hub_destroy(). A stream is
 *          valid until its closed() has returned. Spans are borrowed for the call.
 * Threads: the loop's.
 */
#ifndef ORBLOOM_RUNTIME_HUB_STREAMS_H
#define ORBLOOM_RUNTIME_HUB_STREAMS_H

#include "base/span.h"
#include "runtime/hub.h"
#include "runtime/tls/source.h"

#include <stdint.h>
#include <sys/socket.h>

struct hub_streams;
struct hub_stream;

struct stream_handler {
    void *context;

    /* `peer`: "127.0.0.1:50312", or the path of the socket. What is returned is the `owner` of the
     * other calls; NULL: the connection is closed, and no other call follows. */
    void *(*opened)(void *context, uint64_t now_us, struct hub_stream *stream, const char *peer);
    void (*bytes)(void *context, uint64_t now_us, void *owner, struct span bytes);
    void (*drained)(void *context, uint64_t now_us, void *owner);
    void (*closed)(void *context, void *owner);

    /* The peer has ended its way out, and perhaps still reads: nothing comes any more, and the
     * owner closes it. NULL, and by TLS: whoever has ended is closed at once. */
    void (*ended)(void *context, uint64_t now_us, void *owner);

    /* A stream of hub_streams_connect() is there. NULL: nobody cares. */
    void (*connected)(void *context, uint64_t now_us, void *owner);

    /* A handshake has ended so, for one who was not opened() yet. Only with TLS. */
    void (*shaken)(void *context, enum tls_outcome outcome);
};

struct hub_streams_options {
    const char *endpoint; /* "tcp://127.0.0.1:6380", * for all hosts or a free port; "": none */
    const char *path;     /* of a unix-domain socket, made anew; "": none */
    uint32_t max_streams;

    /* For TLS, "tcp://..." as above, and what is shown there, which is borrowed: its files are
     * looked at every minute. NULL: no TLS. */
    const char *tls_endpoint;
    struct tls_source *tls;
};

MUST_USE enum status hub_streams_open(struct hub *hub, const struct hub_streams_options *options,
                                      const struct stream_handler *handler,
                                      struct hub_streams **out);

/* All connections are closed, what has not left is lost; closed() is called for each. */
void hub_streams_close(struct hub_streams **streams);

/* Connect to a server, which is the `owner`'s stream. What is sent before it is there waits; one
 * that can't be reached is closed. NULL: no memory, no descriptor; closed() is not called then. */
struct hub_stream *hub_streams_connect(struct hub_streams *streams,
                                       const struct sockaddr_storage *address, void *owner);

/* The same by TLS: connected() is told when the server has proved to be `host`, see tls.h; one that
 * does not in time, or has other things to say, is closed. The identity is a client's; connections
 * keep what they need of it. */
struct hub_stream *hub_streams_connect_tls(struct hub_streams *streams,
                                           const struct sockaddr_storage *address,
                                           const struct tls_identity *identity, const char *host,
                                           void *owner);

/* Why a stream is closed that was connected to a server: "connection refused", "connection reset by
 * peer", by TLS also "hostname mismatch"; "" where the server was there and has ended, or whoever
 * dropped it. In closed(). */
const char *hub_stream_failure(const struct hub_stream *stream);

/* Nobody can connect any more, and others may listen there; connections stay. */
void hub_streams_stop_listening(struct hub_streams *streams);

/* For those that connect from now on. */
void hub_streams_set_max(struct hub_streams *streams, uint32_t max_streams);

/* Where it really listens ("tcp://127.0.0.1:41703"); "" for none. */
const char *hub_streams_endpoint(const struct hub_streams *streams);
const char *hub_streams_tls_endpoint(const struct hub_streams *streams);

/* Copied as far as it has to wait. Memory that does not suffice closes the stream. */
void hub_stream_send(struct hub_stream *stream, struct span bytes);
size_t hub_stream_unsent(const struct hub_stream *stream);
void hub_stream_read(struct hub_stream *stream, bool wanted);

/* Once all has left; nothing that comes is handed over any more. */
void hub_stream_close(struct hub_stream *stream);

/* Now, whatever has not left. */
void hub_stream_drop(struct hub_stream *stream);

/* Whose certificate it has shown, as tls_subject(); "" of one that is not by TLS. */
void hub_stream_subject(const struct hub_stream *stream, char *text, size_t size);

/* This end of it: a numeric host, a port. Left as they are for one that is not TCP. */
void hub_stream_local(const struct hub_stream *stream, char *host, size_t size, uint32_t *port);

#endif
