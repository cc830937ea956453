/* libmicrohttpd on a hub's loop: what comes is judged, and a page, or why there is none, goes back.
 *
 * libmicrohttpd's own timeout begins anew with each byte. Here a connection has so long and no
 * longer: its socket is shut down then, which libmicrohttpd finds out as it does when a peer goes.
 */
#include "runtime/http/http.h"

#include "base/heap.h"
#include "base/log.h"
#include "runtime/address.h"
#include "runtime/http/access.h"
#include "runtime/hub_watch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <string.h>
#include <unistd.h>

/* name, unit, help */
#define HTTP_COUNTERS(X)                                                                         \
    X(http_pages_total, "requests", "answered with a page")                                      \
    X(http_denied_total, "requests", "refused as they do not tell the token of http_token_file") \
    X(http_refused_total, "requests", "for what is no page, or by other methods than GET, HEAD") \
    X(http_failed_total, "requests", "that memory did not suffice for")                          \
    X(http_connections_total, "connections", "made by whoever asks")                             \
    X(http_late_total, "connections", "cut as their request, or its answer, took too long")      \
    X(http_open_connections, "connections", "open now (a gauge)")

enum http_counter {
#define X(name, unit, help) HTTP_##name,
    HTTP_COUNTERS(X)
#undef X
        HTTP_NCOUNTERS
};

enum {
    NOBODY = -1,
    MS = 1000,
    TURN_MS = 1, /* to the next turn: with 0 the loop would come back before it looks at others */
    ANSWER_HEAD_BYTES = 2048,
};

struct visitor {
    int fd; /* NOBODY: this place is free */
    uint64_t since_us;
    bool asked; /* the head of its request has come */
    bool turn;  /* it has waited for it, and has it */
    bool cut;
};

struct http {
    struct http_options options;
    struct hub *hub;
    bool encrypted;
    int listening; /* of it each server has a copy; NOBODY: not yet */
    struct MHD_Daemon *server;
    struct hub_watch *watch;
    struct visitor visitors[HTTP_MAX_CONNECTIONS];
    struct MHD_Connection *waiting[HTTP_MAX_CONNECTIONS]; /* for their turn, suspended */
    size_t nwaiting;
    size_t free_turns; /* for whoever has not waited, until the loop turns */
    char endpoint[ADDRESS_BYTES];
    uint64_t counters[HTTP_NCOUNTERS];
};

/* ---- one answer ---- */

/* Of all answers: nobody keeps them, and what a browser shows of them is theirs alone. */
static const struct {
    const char *name;
    const char *value;
} common_headers[] = {
    {"Connection", "close"},
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Content-Security-Policy",
     "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Referrer-Policy", "no-referrer"},
};

static bool add_headers(struct MHD_Response *response)
{
    bool added = true;

    for (size_t i = 0; i < sizeof common_headers / sizeof common_headers[0]; i++) {
        added = added && MHD_add_response_header(response, common_headers[i].name,
                                                 common_headers[i].value) == MHD_YES;
    }
    return added;
}

struct answer {
    unsigned code;
    const char *type;
    const char *header; /* one more; NULL: none */
    const char *value;
};

static enum MHD_Result send_answer(struct MHD_Connection *connection, const struct answer *answer,
                                   struct span body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body.size, (void *)(uintptr_t)body.data, MHD_RESPMEM_MUST_COPY);
    bool made = response != NULL &&
                MHD_add_response_header(response, "Content-Type", answer->type) == MHD_YES &&
                add_headers(response) &&
                (answer->header == NULL ||
                 MHD_add_response_header(response, answer->header, answer->value) == MHD_YES);
    enum MHD_Result sent = made ? MHD_queue_response(connection, answer->code, response) : MHD_NO;

    if (response != NULL) {
        MHD_destroy_response(response);
    }
    return sent; /* MHD_NO: the connection is closed. */
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *text,
                              const char *header, const char *value)
{
    const struct answer answer = {code, "text/plain; charset=utf-8", header, value};

    return send_answer(connection, &answer, span_text(text));
}

const char *http_query_value(const struct http_query *query, const char *name)
{
    struct MHD_Connection *connection = (struct MHD_Connection *)(uintptr_t)query;

    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result serve(struct http *self, struct MHD_Connection *connection,
                             const struct http_page *page)
{
    struct answer answer = {.code = HTTP_OK, .type = page->type};
    enum MHD_Result sent;
    struct buffer body;

    buffer_init(&body, HTTP_MAX_PAGE_BYTES);
    if (page->fill(self->options.context, (const struct http_query *)connection, &body,
                   &answer.code) == STATUS_OK) {
        sent = send_answer(connection, &answer, buffer_span(&body));
        self->counters[sent == MHD_YES ? HTTP_http_pages_total : HTTP_http_failed_total]++;
    } else {
        self->counters[HTTP_http_failed_total]++;
        sent = refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
                      "memory did not suffice for this page\n", NULL, NULL);
    }
    buffer_fini(&body);
    return sent;
}

static int fd_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct visitor *find(struct http *self, int fd)
{
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        if (self->visitors[i].fd == fd) {
            return &self->visitors[i];
        }
    }
    return NULL;
}

static void note_asked(struct http *self, struct MHD_Connection *connection)
{
    struct visitor *visitor = find(self, fd_of(connection));

    if (visitor != NULL) {
        visitor->asked = true;
    }
}

/* ---- turns: a few pages, and the loop is for others ---- */

static bool has_turn(struct http *self, struct MHD_Connection *connection)
{
    struct visitor *visitor = find(self, fd_of(connection));

    if (visitor != NULL && visitor->turn) {
        visitor->turn = false;
        return true;
    }
    if (self->free_turns > 0) {
        self->free_turns--;
        return true;
    }
    return false;
}

/* libmicrohttpd asks for its answer again once it is resumed. */
static enum MHD_Result wait_turn(struct http *self, struct MHD_Connection *connection)
{
    assert(self->nwaiting < HTTP_MAX_CONNECTIONS);
    self->waiting[self->nwaiting++] = connection;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

/* In the next turn of the loop the first that wait have theirs. False: nobody waits. */
static bool give_turns(struct http *self)
{
    size_t count = self->nwaiting < HTTP_TURN_PAGES ? self->nwaiting : HTTP_TURN_PAGES;

    for (size_t i = 0; i < count; i++) {
        struct visitor *visitor = find(self, fd_of(self->waiting[i]));

        if (visitor != NULL) {
            visitor->turn = true;
        }
        MHD_resume_connection(self->waiting[i]);
    }
    self->nwaiting -= count;
    memmove(self->waiting, self->waiting + count, self->nwaiting * sizeof *self->waiting);
    self->free_turns = HTTP_TURN_PAGES - count;
    return count > 0;
}

/* Once the head of a request has come; what may follow it is not read. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **request_context)
{
    struct http *self = context;
    const struct http_request request = {
        .method = method,
        .path = path,
        .authorization = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                     MHD_HTTP_HEADER_AUTHORIZATION),
    };
    size_t page;

    (void)version;
    (void)upload;
    (void)upload_size;
    (void)request_context;
    note_asked(self, connection);
    switch (http_judge(&request, self->options.token, self->options.pages, self->options.npages,
                       &page)) {
    case HTTP_SERVE:
        return has_turn(self, connection) ? serve(self, connection, &self->options.pages[page])
                                          : wait_turn(self, connection);
    case HTTP_DENY:
        self->counters[HTTP_http_denied_total]++;
        return refuse(connection, MHD_HTTP_UNAUTHORIZED,
                      "say what http_token_file holds: as a bearer token, or as the password of "
                      "basic authentication with any name\n",
                      MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Basic realm=\"orbloom\"");
    case HTTP_NO_METHOD:
        self->counters[HTTP_http_refused_total]++;
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "pages are only read here\n",
                      MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    case HTTP_NO_PAGE:
        self->counters[HTTP_http_refused_total]++;
        return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such page\n", NULL, NULL);
    }
    return MHD_NO;
}

/* ---- connections, and how long they have been there ---- */

static struct visitor *welcome(struct http *self, int fd)
{
    struct visitor *visitor = find(self, NOBODY);

    if (visitor == NULL) { /* There should be no more of them than places; a crash is no answer. */
        (void)shutdown(fd, SHUT_RDWR);
        return NULL;
    }
    *visitor = (struct visitor){.fd = fd, .since_us = hub_now_us()};
    self->counters[HTTP_http_connections_total]++;
    self->counters[HTTP_http_open_connections]++;
    return visitor;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *self = context;
    struct visitor *visitor = *socket_context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = welcome(self, fd_of(connection));
    } else if (visitor != NULL) {
        visitor->fd = NOBODY;
        self->counters[HTTP_http_open_connections]--;
    }
}

/* Those whose time is over are cut. In how many ms the next one's is; UINT64_MAX: there is none. */
static uint64_t cut_late(struct http *self, uint64_t now_us)
{
    uint64_t next_us = UINT64_MAX;

    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        struct visitor *visitor = &self->visitors[i];
        uint64_t end_us = visitor->since_us +
                          self->options.limit_us / (visitor->asked ? 1 : HTTP_ASK_PART);

        if (visitor->fd == NOBODY || visitor->cut) {
            continue;
        }
        if (end_us <= now_us) {
            visitor->cut = true;
            self->counters[HTTP_http_late_total]++;
            (void)shutdown(visitor->fd, SHUT_RDWR);
        } else if (end_us - now_us < next_us) {
            next_us = end_us - now_us;
        }
    }
    return next_us == UINT64_MAX ? UINT64_MAX : (next_us + MS - 1) / MS;
}

/* ---- the loop ---- */

/* hub_watch_fn */
static void on_event(void *context)
{
    struct http *self = context;
    unsigned long long own_ms;
    uint64_t wait_ms;
    uint64_t open;

    /* It looks for new ones before it lets go of old ones, and where there was no place or
     * descriptor for them it looks again only in a further run. */
    do {
        open = self->counters[HTTP_http_open_connections];
        (void)MHD_run(self->server);
    } while (self->counters[HTTP_http_open_connections] < open);
    wait_ms = cut_late(self, hub_now_us());
    if (give_turns(self)) {
        wait_ms = TURN_MS;
    } else if (MHD_get_timeout(self->server, &own_ms) == MHD_YES && own_ms < wait_ms) {
        wait_ms = own_ms;
    }
    hub_watch_within(self->watch, wait_ms);
}

/* ---- its life ---- */

static int listen_at(struct http *self)
{
    const int on = 1;
    struct sockaddr_storage address = {0};
    socklen_t length = address_resolve(self->options.endpoint, &address);
    int fd;

    if (length == 0) {
        errno = EADDRNOTAVAIL;
        return NOBODY;
    }
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return NOBODY;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&address, length) != 0 ||
        listen(fd, HTTP_MAX_CONNECTIONS) != 0) {
        int error = errno;

        (void)close(fd);
        errno = error;
        return NOBODY;
    }
    length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        address_tell(&address, length, self->endpoint);
    }
    return fd;
}

/* TLS 1.2 and 1.3, as all other doors of ours. */
#define TLS_RULES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

static struct MHD_Daemon *start(struct http *self, const struct http_certificate *certificate)
{
    const struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, certificate != NULL ? certificate->chain.data : NULL},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, certificate != NULL ? certificate->key.data : NULL},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_RULES},
        {MHD_OPTION_END, 0, NULL},
    };
    int fd = fcntl(self->listening, F_DUPFD_CLOEXEC, 0); /* which is closed also where it fails */
    struct MHD_Daemon *server =
        fd < 0 ? NULL
               : MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
                                      (certificate != NULL ? MHD_USE_TLS : 0U),
                                  0, NULL, NULL, on_request, self, MHD_OPTION_LISTEN_SOCKET, fd,
                                  MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_MAX_CONNECTIONS,
                                  MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                  (size_t)HTTP_REQUEST_BYTES + ANSWER_HEAD_BYTES,
                                  MHD_OPTION_NOTIFY_CONNECTION, on_connection, self,
                                  MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY,
                                  certificate != NULL ? tls : plain, MHD_OPTION_END);

    if (server == NULL) {
        log_line(LOG_ERROR, "cannot serve HTTP at %s: no memory or descriptors%s",
                 self->options.endpoint,
                 certificate != NULL ? ", or the certificate is of no use" : "");
    }
    return server;
}

static enum status watch(struct http *self, struct MHD_Daemon *server, struct hub_watch **out)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_EPOLL_FD);

    assert(info != NULL && info->epoll_fd >= 0);
    return hub_watch_open(self->hub, info->epoll_fd, on_event, self, out);
}

static void stop(struct http *self)
{
    hub_watch_close(&self->watch);
    while (give_turns(self)) { /* It does not end with any that are suspended. */
    }
    self->free_turns = HTTP_TURN_PAGES;
    if (self->server != NULL) {
        MHD_stop_daemon(self->server);
    }
    self->server = NULL;
}

/* In the place of the server that there was, if any, once there is another one. */
static enum status serve_with(struct http *self, const struct http_certificate *certificate)
{
    struct MHD_Daemon *server = start(self, certificate);
    struct hub_watch *watched = NULL;
    enum status status = server != NULL ? watch(self, server, &watched) : STATUS_IO;

    if (status != STATUS_OK) {
        if (server != NULL) {
            MHD_stop_daemon(server);
        }
        return status;
    }
    stop(self);
    self->server = server;
    self->watch = watched;
    return STATUS_OK;
}

enum status http_certify(struct http *self, const struct http_certificate *certificate)
{
    assert(self->encrypted && certificate->chain.size > 0);
    return serve_with(self, certificate);
}

enum status http_open(struct hub *hub, const struct http_options *options, struct http **out)
{
    struct http *self = heap_zalloc(1, sizeof *self);
    enum status status = STATUS_IO;

    assert(*out == NULL && options->npages > 0);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->options = *options;
    self->options.limit_us = options->limit_us > 0 ? options->limit_us : HTTP_LIMIT_US;
    self->options.certificate = NULL; /* Its reader may forget it. */
    self->encrypted = options->certificate != NULL;
    self->hub = hub;
    self->free_turns = HTTP_TURN_PAGES;
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        self->visitors[i].fd = NOBODY;
    }
    self->listening = listen_at(self);
    if (self->listening == NOBODY) {
        log_line(LOG_ERROR,
                 "cannot listen on %s for HTTP: %s; choose another address or port, or stop what "
                 "listens there",
                 options->endpoint, strerror(errno));
    } else {
        status = serve_with(self, options->certificate);
    }
    if (status != STATUS_OK) {
        http_close(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

void http_close(struct http **http)
{
    struct http *self = *http;

    *http = NULL;
    if (self == NULL) {
        return;
    }
    stop(self);
    if (self->listening != NOBODY) {
        (void)close(self->listening);
    }
    heap_free(self);
}

const char *http_endpoint(const struct http *http)
{
    return http->endpoint;
}

/* ---- counters ---- */

static const struct counter_def counter_defs[] = {
#define X(name, unit, help) {#name, unit, help},
    HTTP_COUNTERS(X)
#undef X
};

struct counter_table http_counters(void)
{
    return (struct counter_table){.defs = counter_defs, .count = HTTP_NCOUNTERS};
}

const uint64_t *http_counts(const struct http *http)
{
    return http->counters;
}
