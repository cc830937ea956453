/* The server on a real loop, with peers of every kind: each gets its answer or is cut, and what the
 * loop is for goes on meanwhile. */
#include "runtime/http/http.h"
#include "runtime_probe.h"
#include "tests/support/http_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_S = 60, BIG_BYTES = 15 << 20, SHORT_US = 300000, HEAD_BYTES = 10000 };

TestSuite(runtime_http, .timeout = LIMIT_S);

static enum status fill_hello(void *context, const struct http_query *query, struct buffer *body,
                              unsigned *code)
{
    (void)context;
    (void)query;
    (void)code;
    return buffer_append(body, span_text("hello\n"));
}

static enum status fill_ill(void *context, const struct http_query *query, struct buffer *body,
                            unsigned *code)
{
    (void)context;
    (void)query;
    *code = HTTP_UNAVAILABLE;
    return buffer_append(body, span_text("{}"));
}

static enum status fill_big(void *context, const struct http_query *query, struct buffer *body,
                            unsigned *code)
{
    uint8_t *at;
    enum status status = buffer_extend(body, BIG_BYTES, &at);

    (void)context;
    (void)query;
    (void)code;
    if (status == STATUS_OK) {
        memset(at, 'x', BIG_BYTES);
    }
    return status;
}

static enum status fill_not(void *context, const struct http_query *query, struct buffer *body,
                            unsigned *code)
{
    (void)context;
    (void)query;
    (void)body;
    (void)code;
    return STATUS_NOMEM;
}

/* What the query says of two names. */
static enum status fill_query(void *context, const struct http_query *query, struct buffer *body,
                              unsigned *code)
{
    const char *q = http_query_value(query, "q");
    const char *n = http_query_value(query, "n");
    char text[256];

    (void)context;
    (void)code;
    (void)snprintf(text, sizeof text, "%s|%s", q != NULL ? q : "-", n != NULL ? n : "-");
    return buffer_append(body, span_text(text));
}

static const struct http_page pages[] = {
    {"/query", "text/plain", fill_query},   {"/hello", "text/plain", fill_hello},
    {"/ill", "application/json", fill_ill}, {"/big", "text/plain", fill_big},
    {"/not", "text/plain", fill_not},
};

struct stage {
    struct probe probe;
    struct http *http;
    void *context;
    const char *endpoint;
};

static void start(struct stage *self, const struct password *token, uint64_t limit_us)
{
    const struct http_options options = {
        .endpoint = "tcp://127.0.0.1:*",
        .token = token,
        .pages = pages,
        .npages = sizeof pages / sizeof pages[0],
        .limit_us = limit_us,
    };

    *self = (struct stage){0};
    self->context = zmq_ctx_new();
    probe_open(&self->probe, "tcp://127.0.0.1:*");
    cr_assert_eq(http_open(self->probe.hub, &options, &self->http), STATUS_OK);
    self->endpoint = http_endpoint(self->http);
    probe_start(&self->probe);
}

static void expect_served(struct stage *self)
{
    void *client = client_open(self->context, hub_endpoint(self->probe.hub));

    client_send(client, "are you there?");
    client_expect(client, "are you there?");
    cr_assert_eq(zmq_close(client), 0);
}

/* What the loop is for is served to the end; the counters stay readable. */
static void stop_loop(struct stage *self)
{
    void *client = client_open(self->context, hub_endpoint(self->probe.hub));

    client_send(client, "stop");
    probe_join(&self->probe);
    cr_assert_eq(zmq_close(client), 0);
}

static uint64_t count_of(const struct http *http, const char *name)
{
    struct counter_table table = http_counters();
    size_t i = 0;

    while (i < table.count && strcmp(table.defs[i].name, name) != 0) {
        i++;
    }
    cr_assert_lt(i, table.count, "no counter %s", name);
    return http_counts(http)[i];
}

static void stop(struct stage *self)
{
    http_close(&self->http);
    hub_destroy(&self->probe.hub);
    cr_assert_eq(zmq_ctx_term(self->context), 0);
}

static void expect_code(char *answer, unsigned code)
{
    cr_expect_eq(http_peer_code(answer), code, "not %u: %.300s", code, answer);
    free(answer);
}

Test(runtime_http, a_page_is_read_and_the_connection_closed)
{
    struct stage stage;
    char *answer;

    start(&stage, NULL, 0);
    answer = http_peer_get(stage.endpoint, "/hello", "");
    cr_expect_eq(http_peer_code(answer), 200);
    cr_expect_not_null(strcasestr(answer, "\r\nConnection: close\r\n"));
    cr_expect_not_null(strcasestr(answer, "\r\nContent-Type: text/plain\r\n"));
    cr_expect_not_null(strcasestr(answer, "\r\nCache-Control: no-store\r\n"));
    cr_expect_not_null(strcasestr(answer, "\r\nX-Content-Type-Options: nosniff\r\n"));
    cr_expect_not_null(strcasestr(answer, "\r\nContent-Security-Policy: default-src 'self';"));
    cr_expect_str_eq(http_peer_body(answer), "hello\n");
    free(answer);
    answer = http_peer_get(stage.endpoint, "/ill?verbose=1", "");
    cr_expect_eq(http_peer_code(answer), 503);
    cr_expect_str_eq(http_peer_body(answer), "{}");
    free(answer);
    answer = http_peer_ask(stage.endpoint, span_text("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n"));
    cr_expect_eq(http_peer_code(answer), 200);
    cr_expect_not_null(strcasestr(answer, "\r\nContent-Length: 6\r\n"));
    cr_expect_str_eq(http_peer_body(answer), "");
    free(answer);
    expect_code(http_peer_ask(stage.endpoint, span_text("GET /hello HTTP/1.0\r\n\r\n")), 200);
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_pages_total"), 4);
    cr_expect_eq(count_of(stage.http, "http_connections_total"), 4);
    stop(&stage);
}

Test(runtime_http, a_page_is_told_what_the_query_says)
{
    static const struct {
        const char *path;
        const char *body;
    } cases[] = {
        {"/query", "-|-"},
        {"/query?", "-|-"},
        {"/query?q", "-|-"},
        {"/query?q=", "|-"},
        {"/query?n=7&q=a%3Cb%3E+c&n=8", "a<b> c|7"},
        {"/query?x=1&q=%zz", "%zz|-"},
    };
    struct stage stage;

    start(&stage, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *answer = http_peer_get(stage.endpoint, cases[i].path, "");

        cr_expect_eq(http_peer_code(answer), 200);
        cr_expect_str_eq(http_peer_body(answer), cases[i].body, "case %zu", i);
        free(answer);
    }
    stop_loop(&stage);
    stop(&stage);
}

Test(runtime_http, what_is_no_page_is_refused)
{
    struct stage stage;

    start(&stage, NULL, 0);
    expect_code(http_peer_get(stage.endpoint, "/nothing", ""), 404);
    expect_code(http_peer_get(stage.endpoint, "/", ""), 404);
    expect_code(http_peer_ask(stage.endpoint, span_text("POST /hello HTTP/1.1\r\nHost: x\r\n"
                                                        "Content-Length: 5\r\n\r\nhello")),
                405);
    expect_code(
        http_peer_ask(stage.endpoint, span_text("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n")), 405);
    expect_code(http_peer_get(stage.endpoint, "/not", ""), 500);
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_refused_total"), 4);
    cr_expect_eq(count_of(stage.http, "http_failed_total"), 1);
    stop(&stage);
}

Test(runtime_http, who_lacks_the_token_gets_nothing)
{
    struct password token;
    struct stage stage;
    char *answer;

    cr_assert_eq(password_read(&token, span_text("s3cret")), STATUS_OK);
    start(&stage, &token, 0);
    answer = http_peer_get(stage.endpoint, "/hello", "");
    cr_expect_eq(http_peer_code(answer), 401);
    cr_expect_not_null(strcasestr(answer, "\r\nWWW-Authenticate: Basic realm=\"orbloom\"\r\n"));
    free(answer);
    expect_code(http_peer_get(stage.endpoint, "/hello", "Authorization: Bearer wrong\r\n"), 401);
    expect_code(http_peer_get(stage.endpoint, "/hello", "Authorization: Bearer s3cret\r\n"), 200);
    expect_code(
        http_peer_get(stage.endpoint, "/hello", "Authorization: Basic YWRtaW46czNjcmV0\r\n"), 200);
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_denied_total"), 2);
    stop(&stage);
}

static void fill(char *text, size_t size, const char *head, char byte)
{
    size_t start = strlen(head);

    memset(text, byte, size);
    memcpy(text, head, start);
    text[size] = '\0';
}

/* None of it is answered with a page. */
Test(runtime_http, garbage_and_long_heads_do_no_harm)
{
    static const char *const heads[] = {
        "GET /hello HTTP/1.1\r\nHost: x\r\nX: ",
        "GET /",
        "",
        "GET /hello HTTP/1.1\r\nHost: x\r\n",
        "GET /hello HTTP/1.1\r\nAuthorization: Basic ",
    };
    static const char *const odd[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /hello\r\n\r\n",
        "GET /hello HTTP/9.9\r\n\r\n",
        "GET /hello HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "\xff\xfe\x16\x03\x01\x02\r\n\r\n",
        "GET /hello HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    };
    char text[HEAD_BYTES + 1];
    struct stage stage;

    start(&stage, NULL, SHORT_US);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        char *answer;

        fill(text, HEAD_BYTES, heads[i], i % 2 == 0 ? 'a' : '\xff');
        answer = http_peer_ask(stage.endpoint, span_text(text));
        cr_expect_null(strstr(answer, "hello\n"), "case %zu: %.300s", i, answer);
        free(answer);
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char *answer = http_peer_ask(stage.endpoint, span_text(odd[i]));

        cr_expect(answer[0] == '\0' || http_peer_code(answer) != 0, "%zu: %.300s", i, answer);
        free(answer);
    }
    expect_code(http_peer_get(stage.endpoint, "/hello", ""), 200);
    expect_served(&stage);
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_open_connections"), 0);
    stop(&stage);
}

/* As if they came on one connection: the first is answered, then it is closed. */
Test(runtime_http, a_connection_carries_one_request)
{
    struct stage stage;

    start(&stage, NULL, 0);
    free(http_peer_ask(stage.endpoint, span_text("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                                                 "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                                                 "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")));
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_pages_total"), 1);
    stop(&stage);
}

/* How many descriptors there may be. */
static void limit_descriptors(rlim_t most)
{
    struct rlimit limit;

    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = most;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int lowest_free(void)
{
    int fd = dup(STDERR_FILENO);

    cr_assert_geq(fd, 0);
    cr_assert_eq(close(fd), 0);
    return fd;
}

/* There is one left: whoever could not be let in for want of it is, once it is free again. */
Test(runtime_http, who_came_while_descriptors_were_short_is_let_in_later)
{
    enum { MANY = 5 };
    struct rlimit before;
    struct stage stage;
    int peers[MANY];

    start(&stage, NULL, 0);
    stop_loop(&stage);
    for (size_t i = 0; i < MANY; i++) {
        peers[i] = http_peer_open(stage.endpoint);
        http_peer_send(peers[i], span_text("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit_descriptors((rlim_t)lowest_free() + 1);
    probe_start(&stage.probe);
    for (size_t i = 0; i < MANY; i++) {
        expect_code(http_peer_hear(peers[i]), 200);
    }
    limit_descriptors(before.rlim_cur);
    for (size_t i = 0; i < MANY; i++) {
        (void)close(peers[i]);
    }
    stop_loop(&stage);
    stop(&stage);
}

/* Those who dawdle take all places, and lose them; who waits for one gets it. */
Test(runtime_http, one_too_many_waits_for_a_place)
{
    int idle[HTTP_MAX_CONNECTIONS];
    struct stage stage;

    start(&stage, NULL, SHORT_US);
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        idle[i] = http_peer_open(stage.endpoint);
        http_peer_send(idle[i], span_text("GET /hel"));
    }
    expect_code(http_peer_get(stage.endpoint, "/hello", ""), 200);
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        free(http_peer_hear(idle[i]));
        (void)close(idle[i]);
    }
    expect_served(&stage);
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_late_total"), HTTP_MAX_CONNECTIONS);
    cr_expect_eq(count_of(stage.http, "http_open_connections"), 0);
    stop(&stage);
}

/* All places are taken by such as ask for a page at once: a few have it in each turn, what else the
 * loop is for goes on between, and in the end all have it. Where it takes long the loop looks
 * several times at its timers and once at descriptors in one turn. */
Test(runtime_http, many_that_come_at_once_take_turns)
{
    enum { LOOKS = 4 };
    int peers[HTTP_MAX_CONNECTIONS];
    uint64_t pages_before = 0;
    struct stage stage;

    start(&stage, NULL, 0);
    stop_loop(&stage);
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        peers[i] = http_peer_open(stage.endpoint);
        http_peer_send(peers[i], span_text("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    while (pages_before < HTTP_MAX_CONNECTIONS) {
        uint64_t pages_now;

        hub_run_once(stage.probe.hub, PROBE_DEADLINE_US);
        pages_now = count_of(stage.http, "http_pages_total");
        cr_assert_leq(pages_now - pages_before, LOOKS * HTTP_TURN_PAGES);
        pages_before = pages_now;
    }
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        expect_code(http_peer_hear(peers[i]), 200);
        (void)close(peers[i]);
    }
    stop(&stage);
}

/* Also of those whose turn has not come. */
Test(runtime_http, it_ends_while_many_wait_for_their_turn)
{
    int peers[HTTP_MAX_CONNECTIONS];
    struct stage stage;

    start(&stage, NULL, 0);
    stop_loop(&stage);
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        peers[i] = http_peer_open(stage.endpoint);
        http_peer_send(peers[i], span_text("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    while (count_of(stage.http, "http_pages_total") == 0) {
        hub_run_once(stage.probe.hub, PROBE_DEADLINE_US);
    }
    cr_expect_lt(count_of(stage.http, "http_pages_total"), HTTP_MAX_CONNECTIONS);
    stop(&stage);
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        (void)close(peers[i]);
    }
}

/* A byte now and then does not buy more time. */
Test(runtime_http, a_request_that_trickles_is_cut)
{
    struct stage stage;
    ssize_t sent = 1;
    int fd;

    start(&stage, NULL, SHORT_US);
    fd = http_peer_open(stage.endpoint);
    http_peer_send(fd, span_text("GET /hello HTTP/1.1\r\nX: "));
    for (int i = 0; i < 2000 && sent == 1; i++) { /* 20 s */
        sent = send(fd, "a", 1, MSG_NOSIGNAL);
        hub_nap(10000);
    }
    cr_expect_neq(sent, 1, "it goes on and on");
    (void)close(fd);
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_late_total"), 1);
    stop(&stage);
}

/* What it does not read waits for it, and for nobody else, until its time is over. */
Test(runtime_http, who_does_not_read_holds_nobody_up)
{
    struct stage stage;
    char *answer;
    int fd;

    start(&stage, NULL, 0);
    fd = http_peer_open(stage.endpoint);
    http_peer_send(fd, span_text("GET /big HTTP/1.1\r\nHost: x\r\n\r\n"));
    expect_served(&stage);
    expect_code(http_peer_get(stage.endpoint, "/hello", ""), 200);
    answer = http_peer_hear(fd);
    cr_expect_eq(strlen(http_peer_body(answer)), BIG_BYTES);
    free(answer);
    (void)close(fd);
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_late_total"), 0);
    stop(&stage);
}

Test(runtime_http, who_never_reads_is_cut)
{
    struct stage stage;
    char *answer;
    int fd;

    start(&stage, NULL, SHORT_US);
    fd = http_peer_open(stage.endpoint);
    http_peer_send(fd, span_text("GET /big HTTP/1.1\r\nHost: x\r\n\r\n"));
    hub_nap(3 * SHORT_US);
    answer = http_peer_hear(fd);
    cr_expect_lt(strlen(answer), BIG_BYTES);
    free(answer);
    (void)close(fd);
    expect_served(&stage);
    stop_loop(&stage);
    cr_expect_eq(count_of(stage.http, "http_late_total"), 1);
    cr_expect_eq(count_of(stage.http, "http_open_connections"), 0);
    stop(&stage);
}

/* The end of the program is in no one's hands. */
Test(runtime_http, it_ends_in_the_midst_of_requests)
{
    struct stage stage;
    int fds[3];

    start(&stage, NULL, 0);
    for (int i = 0; i < 3; i++) {
        fds[i] = http_peer_open(stage.endpoint);
        http_peer_send(fds[i], span_text("GET /big HTTP/1.1\r\nHost: x\r\n"));
        http_peer_send(fds[i], span_text(i > 0 ? "\r\n" : "X: "));
    }
    expect_code(http_peer_get(stage.endpoint, "/hello", ""), 200);
    stop_loop(&stage);
    stop(&stage);
    for (int i = 0; i < 3; i++) {
        (void)close(fds[i]);
    }
}

Test(runtime_http, a_port_that_is_taken_is_refused)
{
    struct http_options options = {.pages = pages, .npages = 1};
    struct http *second = NULL;
    struct stage stage;

    start(&stage, NULL, 0);
    options.endpoint = stage.endpoint;
    stop_loop(&stage);
    cr_expect_eq(http_open(stage.probe.hub, &options, &second), STATUS_IO);
    options.endpoint = "tcp://no.such.host.invalid:1";
    cr_expect_eq(http_open(stage.probe.hub, &options, &second), STATUS_IO);
    cr_expect_null(second);
    stop(&stage);
}
