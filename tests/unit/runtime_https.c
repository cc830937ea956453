/* Pages by TLS: to whom the certificate is shown, who gets nothing, and another one in its place.
 */
#include "runtime/http/http.h"
#include "runtime_probe.h"
#include "tests/support/certificates.h"
#include "tests/support/http_peer.h"
#include "tests/support/https_peer.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 60, SHORT_US = 300000, BIG_BYTES = 900000, PATH_BYTES = 256 };

TestSuite(runtime_https, .timeout = LIMIT_S);

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

static const struct http_page pages[] = {{"/big", "text/plain", fill_big}};

struct stage {
    struct probe probe;
    struct http *http;
    void *context;
    char folder[PATH_BYTES];
};

/* With certificates in it. */
static void make_folder(struct stage *self)
{
    (void)snprintf(self->folder, sizeof self->folder, "/tmp/orbloom-https-XXXXXX");
    cr_assert_not_null(mkdtemp(self->folder));
    certificates_make(self->folder);
}

static void remove_folder(const struct stage *self)
{
    char command[PATH_BYTES + 16];

    (void)snprintf(command, sizeof command, "rm -rf %s", self->folder);
    cr_assert_eq(system(command), 0);
}

static const char *file(const struct stage *self, const char *name)
{
    static char paths[4][PATH_BYTES + 32];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", self->folder, name);
    return path;
}

static enum status read_pair(const struct stage *self, const char *cert, const char *key,
                             struct http_certificate *out)
{
    *out = (struct http_certificate){0};
    return http_certificate_read(file(self, cert), file(self, key), out);
}

static void start(struct stage *self)
{
    struct http_certificate certificate;
    const struct http_options options = {
        .endpoint = "tcp://127.0.0.1:*",
        .pages = pages,
        .npages = 1,
        .certificate = &certificate,
        .limit_us = SHORT_US * 10,
    };

    *self = (struct stage){.context = zmq_ctx_new()};
    make_folder(self);
    cr_assert_eq(read_pair(self, "server.pem", "server.key", &certificate), STATUS_OK);
    probe_open(&self->probe, "tcp://127.0.0.1:*");
    cr_assert_eq(http_open(self->probe.hub, &options, &self->http), STATUS_OK);
    http_certificate_fini(&certificate); /* It is not needed any more. */
    probe_start(&self->probe);
}

static void stop_loop(struct stage *self)
{
    void *client = client_open(self->context, hub_endpoint(self->probe.hub));

    client_send(client, "stop");
    probe_join(&self->probe);
    cr_assert_eq(zmq_close(client), 0);
}

static void stop(struct stage *self)
{
    http_close(&self->http);
    hub_destroy(&self->probe.hub);
    cr_assert_eq(zmq_ctx_term(self->context), 0);
    remove_folder(self);
}

/* The page comes whole from who shows that name. */
static void expect_page(const struct stage *self, const char *name)
{
    struct https_answer answer = https_peer_get(http_endpoint(self->http), "/big", "",
                                                file(self, "ca.pem"), 0);

    cr_assert_not_null(answer.text);
    cr_expect_eq(http_peer_code(answer.text), 200);
    cr_expect_eq(strlen(http_peer_body(answer.text)), BIG_BYTES);
    cr_expect_str_eq(answer.name, name);
    free(answer.text);
}

static void expect_nothing(const struct stage *self, const char *authority, int most)
{
    struct https_answer answer = https_peer_get(http_endpoint(self->http), "/big", "",
                                                file(self, authority), most);

    cr_expect_null(answer.text);
    free(answer.text);
}

Test(runtime_https, a_page_comes_whole_from_who_shows_the_certificate)
{
    struct stage stage;

    start(&stage);
    expect_page(&stage, "/CN=server");
    expect_nothing(&stage, "other.pem", 0); /* The client turns away. */
    expect_page(&stage, "/CN=server");
    stop_loop(&stage);
    stop(&stage);
}

Test(runtime_https, what_is_plain_or_old_gets_nothing)
{
    struct stage stage;
    char garbage[5000];
    char *answer;

    start(&stage);
    answer = http_peer_get(http_endpoint(stage.http), "/big", "");
    cr_expect_eq(http_peer_code(answer), 0, "%.100s", answer);
    free(answer);
    memset(garbage, 0x16, sizeof garbage);
    free(http_peer_ask(http_endpoint(stage.http), span_of(garbage, sizeof garbage)));
    expect_nothing(&stage, "ca.pem", TLS1_1_VERSION);
    expect_page(&stage, "/CN=server");
    stop_loop(&stage);
    stop(&stage);
}

/* All places are taken by such as begin a handshake and say no more, until their time is over. */
Test(runtime_https, who_does_not_go_on_is_cut)
{
    struct stage stage;
    int idle[HTTP_MAX_CONNECTIONS];

    start(&stage);
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        idle[i] = http_peer_open(http_endpoint(stage.http));
        http_peer_send(idle[i], span_of("\x16\x03\x01\x02", 4));
    }
    expect_page(&stage, "/CN=server");
    for (size_t i = 0; i < HTTP_MAX_CONNECTIONS; i++) {
        free(http_peer_hear(idle[i]));
        (void)close(idle[i]);
    }
    stop_loop(&stage);
    stop(&stage);
}

/* At the same port, while somebody is in the middle of a request. */
Test(runtime_https, another_certificate_takes_its_place)
{
    struct http_certificate second;
    struct stage stage;
    int idle;

    start(&stage);
    expect_page(&stage, "/CN=server");
    idle = http_peer_open(http_endpoint(stage.http));
    http_peer_send(idle, span_of("\x16\x03\x01\x02", 4));
    stop_loop(&stage);
    cr_assert_eq(read_pair(&stage, "second.pem", "second.key", &second), STATUS_OK);
    cr_assert_eq(http_certify(stage.http, &second), STATUS_OK);
    probe_start(&stage.probe);
    expect_page(&stage, "/CN=second");
    free(http_peer_hear(idle)); /* It was cut. */
    (void)close(idle);
    second.chain.data[7] ^= 1; /* ... and one that is none does not. */
    stop_loop(&stage);
    cr_assert_neq(http_certify(stage.http, &second), STATUS_OK);
    probe_start(&stage.probe);
    expect_page(&stage, "/CN=second");
    http_certificate_fini(&second);
    stop_loop(&stage);
    stop(&stage);
}

Test(runtime_https, two_files_that_do_not_belong_together_are_refused)
{
    struct http_certificate certificate;
    struct http_certificate again;
    struct stage stage = {0};

    make_folder(&stage);
    cr_expect_neq(read_pair(&stage, "server.pem", "second.key", &certificate), STATUS_OK);
    cr_expect_neq(read_pair(&stage, "none.pem", "server.key", &certificate), STATUS_OK);
    cr_expect_neq(read_pair(&stage, "server.pem", "none.key", &certificate), STATUS_OK);
    cr_expect_neq(read_pair(&stage, "server.key", "server.key", &certificate), STATUS_OK);
    cr_assert_eq(chmod(file(&stage, "server.key"), 0644), 0);
    cr_expect_neq(read_pair(&stage, "server.pem", "server.key", &certificate), STATUS_OK,
                  "others may read the key");
    cr_expect_null(certificate.key.data);
    cr_assert_eq(chmod(file(&stage, "server.key"), 0600), 0);
    cr_assert_eq(read_pair(&stage, "server.pem", "server.key", &certificate), STATUS_OK);
    cr_expect_gt(certificate.ends_s, time(NULL) + 86400);
    cr_expect_lt(certificate.ends_s, time(NULL) + 3 * 86400);
    cr_assert_eq(read_pair(&stage, "server.pem", "server.key", &again), STATUS_OK);
    cr_expect(http_certificate_equal(&certificate, &again));
    http_certificate_fini(&again);
    cr_assert_eq(read_pair(&stage, "second.pem", "second.key", &again), STATUS_OK);
    cr_expect_not(http_certificate_equal(&certificate, &again));
    http_certificate_fini(&again);
    http_certificate_fini(&certificate);
    remove_folder(&stage);
}
