/* http.h - a few pages by HTTP, for what watches a process: read-only, and out of its way.
 *
 * libmicrohttpd without a thread: the hub's loop watches its descriptor, and what has come is
 * answered there. A connection carries one request and is closed, so nobody has the loop at work
 * for longer than a request takes, and with TLS for a handshake; of many that come at once a few
 * get their page in each turn of the loop; who reads slowly has what is left sent as it goes.
 *
 * Bounds:  GET and HEAD; HTTP_MAX_CONNECTIONS, beyond which whoever connects waits until another
 * one has gone; HTTP_REQUEST_BYTES for a request; HTTP_LIMIT_US for all
 * of it, from the connect on. Errors:  http_open: STATUS_IO (address in use...: logged with the
 * remedy), STATUS_NOMEM. Owner:   http_open()'s caller calls http_close() before hub_destroy().
 * Threads: the loop's.
 */
#ifndef ORBLOOM_RUNTIME_HTTP_HTTP_H
#define ORBLOOM_RUNTIME_HTTP_HTTP_H

#include "base/buffer.h"
#include "base/password.h"
#include "base/telemetry/counter.h"
#include "runtime/http/certificate.h"
#include "runtime/hub.h"

enum {
    HTTP_MAX_CONNECTIONS = 64,
    HTTP_TURN_PAGES = 4, /* that are made before the loop is for others again */
    HTTP_REQUEST_BYTES = 8 << 10,
    HTTP_LIMIT_US = 10000000,
    HTTP_ASK_PART = 5, /* ... of which a fifth is for the request */
    HTTP_MAX_PAGE_BYTES = 16 << 20,
};

enum { HTTP_OK = 200, HTTP_BAD_REQUEST = 400, HTTP_UNAVAILABLE = 503 };

/* What follows the "?" of a path. */
struct http_query;

/* The value that it gives a name, decoded, for the call it is passed to; NULL: it gives none. */
const char *http_query_value(const struct http_query *query, const char *name);

struct http_page {
    const char *path; /* "/metrics" */
    const char *type; /* "text/plain; charset=utf-8" */

    /* Fill the empty `body`; *code becomes the answer's. Not OK: whoever asks is told that. */
    enum status (*fill)(void *context, const struct http_query *query, struct buffer *body,
                        unsigned *code);
};

struct http_options {
    const char *endpoint;          /* "tcp://127.0.0.1:9090", * for all hosts or a free port */
    const struct password *token;  /* that whoever asks must know; it may change. NULL: none */
    const struct http_page *pages; /* these are all borrowed */
    size_t npages;
    void *context;                              /* of the pages */
    const struct http_certificate *certificate; /* shown by TLS, and read now only; NULL: plain */
    uint64_t limit_us;                          /* 0: HTTP_LIMIT_US */
};

struct http;

MUST_USE enum status http_open(struct hub *hub, const struct http_options *options,
                               struct http **out);

/* From now on another certificate is shown; connections that are open are cut. Only where there is
 * one. Not OK, after saying why: the one before stays. */
MUST_USE enum status http_certify(struct http *http, const struct http_certificate *certificate);

/* Connections are cut. NULL: nothing. */
void http_close(struct http **http);

/* Where it really listens ("tcp://127.0.0.1:41703"). */
const char *http_endpoint(const struct http *http);

/* What it counts. */
struct counter_table http_counters(void);
const uint64_t *http_counts(const struct http *http);

#endif
