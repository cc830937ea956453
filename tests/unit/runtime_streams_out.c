/* Streams to a server: what is sent before it is there arrives, both ways and in order; one that
 * can't be reached says why, and each is closed once. By TLS, too: there a server that is not the
 * right one hears nothing. */
#include "base/heap.h"
#include "runtime/streams/hub_streams.h"
#include "runtime_probe.h"
#include "tests/support/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct out {
    struct probe probe;
    struct hub_streams *streams;
    struct hub_stream *stream;
    struct sockaddr_storage address;
    int listener;
    unsigned connected;
    unsigned closed;
    char failure[64];
    char got[64];
} out;

static void *on_opened(void *context, uint64_t now_us, struct hub_stream *stream, const char *peer)
{
    (void)context, (void)now_us, (void)stream, (void)peer;
    cr_assert(false, "nobody listens");
    return NULL;
}

static void on_bytes(void *context, uint64_t now_us, void *owner, struct span bytes)
{
    (void)context, (void)now_us;
    cr_assert_eq(owner, &out);
    strncat(out.got, (const char *)bytes.data, bytes.size);
}

static void on_drained(void *context, uint64_t now_us, void *owner)
{
    (void)context, (void)now_us, (void)owner;
}

static void on_closed(void *context, void *owner)
{
    (void)context;
    cr_assert_eq(owner, &out);
    (void)snprintf(out.failure, sizeof out.failure, "%s", hub_stream_failure(out.stream));
    out.stream = NULL;
    out.closed++;
}

static void on_connected(void *context, uint64_t now_us, void *owner)
{
    (void)context, (void)now_us;
    cr_assert_eq(owner, &out);
    out.connected++;
}

/* At a port of loopback's that nobody else has. */
static void set_up(void)
{
    const struct hub_streams_options options = {.endpoint = "", .path = "", .max_streams = 1};
    const struct stream_handler handler = {.opened = on_opened,
                                           .bytes = on_bytes,
                                           .drained = on_drained,
                                           .closed = on_closed,
                                           .connected = on_connected};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof out.address;

    out.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(out.listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(getsockname(out.listener, (struct sockaddr *)&out.address, &size), 0);
    probe_open(&out.probe, NULL);
    cr_assert_eq(hub_streams_open(out.probe.hub, &options, &handler, &out.streams), STATUS_OK);
}

static void tear_down(void)
{
    hub_streams_close(&out.streams);
    hub_destroy(&out.probe.hub);
    (void)close(out.listener);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(runtime_streams_out, .init = set_up, .fini = tear_down, .timeout = 60);

static void turn_until(const unsigned *count)
{
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;

    while (*count == 0) {
        cr_assert_lt(hub_now_us(), deadline_us);
        hub_run_once(out.probe.hub, 1000);
    }
}

static void connect_out(void)
{
    out.stream = hub_streams_connect(out.streams, &out.address, &out);
    cr_assert_not_null(out.stream);
}

Test(runtime_streams_out, what_is_sent_before_the_server_is_there_arrives)
{
    char text[8] = "";
    int fd;

    cr_assert_eq(listen(out.listener, 1), 0);
    connect_out();
    hub_stream_read(out.stream, true); /* Too early: it is read once it is there. */
    hub_stream_send(out.stream, span_text("one"));
    turn_until(&out.connected);
    hub_stream_send(out.stream, span_text("two"));
    fd = accept(out.listener, NULL, NULL);
    hub_run_once(out.probe.hub, 1000);
    cr_assert_eq(recv(fd, text, 6, MSG_WAITALL), 6);
    cr_assert_str_eq(text, "onetwo");
    cr_assert_eq(send(fd, "three", 5, 0), 5);
    (void)close(fd);
    turn_until(&out.closed);
    cr_assert_str_eq(out.got, "three");
    cr_assert_str_eq(out.failure, "");
    cr_assert_eq(out.connected, 1);
}

Test(runtime_streams_out, a_server_that_is_not_there_is_named)
{
    connect_out();
    hub_stream_send(out.stream, span_text("lost"));
    turn_until(&out.closed);
    cr_assert_str_eq(out.failure, "connection refused");
    cr_assert_eq(out.connected, 0);
}

Test(runtime_streams_out, one_that_is_dropped_on_its_way_is_closed_once)
{
    cr_assert_eq(listen(out.listener, 1), 0);
    connect_out();
    hub_stream_drop(out.stream);
    turn_until(&out.closed);
    cr_assert_eq(out.closed, 1);
    cr_assert_eq(out.connected, 0);
    cr_assert_str_eq(out.failure, "connection timed out", "of whoever waited for it no longer");
}

/* As one does that goes away with what it has not read: what it said last may be lost with that. */
static void meet_one_that_breaks_off(void)
{
    const struct linger at_once = {.l_onoff = 1};
    int fd;

    cr_assert_eq(listen(out.listener, 1), 0);
    connect_out();
    turn_until(&out.connected);
    fd = accept(out.listener, NULL, NULL);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    (void)close(fd);
}

Test(runtime_streams_out, one_that_breaks_off_is_told_from_one_that_ends)
{
    meet_one_that_breaks_off();
    turn_until(&out.closed);
    cr_assert_str_eq(out.failure, "connection reset by peer");
}

Test(runtime_streams_out, what_is_sent_to_one_that_has_broken_off_fails)
{
    meet_one_that_breaks_off();
    hub_stream_send(out.stream, span_text("lost"));
    turn_until(&out.closed);
    cr_assert_neq(out.failure[0], '\0');
}

Test(runtime_streams_out, all_are_closed_with_the_hub)
{
    cr_assert_eq(listen(out.listener, 1), 0);
    connect_out();
    hub_stream_send(out.stream, span_text("lost"));
    hub_streams_close(&out.streams);
    cr_assert_eq(out.closed, 1);
}

/* ---- by TLS ---- */

/* The other end: a socket, and a server's end of TLS. */
static struct server {
    char folder[32];
    struct tls_identity *identity; /* of the client */
    struct tls *tls;
    struct buffer plain;
    struct buffer out;
    int fd;
} server;

static const char *in_folder(const char *name)
{
    static char paths[4][64];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", server.folder, name);
    return path;
}

static void set_up_tls(void)
{
    struct tls_files files = {.authority = "", .clients = TLS_CLIENTS_NONE};
    struct tls_identity *identity = NULL;

    (void)snprintf(server.folder, sizeof server.folder, "/tmp/orbloom-out-XXXXXX");
    cr_assert_not_null(mkdtemp(server.folder));
    certificates_make(server.folder);
    files.certificate = in_folder("server.pem");
    files.key = in_folder("server.key");
    cr_assert_eq(tls_identity_read(&files, &identity), STATUS_OK);
    cr_assert_eq(tls_create(identity, &server.tls), STATUS_OK);
    tls_identity_destroy(&identity);
    files = (struct tls_files){.authority = in_folder("ca.pem"), .certificate = "", .key = ""};
    cr_assert_eq(tls_identity_read_client(&files, "old_", &server.identity), STATUS_OK);
    buffer_init(&server.plain, 1 << 20);
    buffer_init(&server.out, 1 << 20);
    server.fd = -1;
    set_up();
    cr_assert_eq(listen(out.listener, 1), 0);
}

static void tear_down_tls(void)
{
    char command[64];

    (void)snprintf(command, sizeof command, "rm -r %s", server.folder);
    cr_assert_eq(system(command), 0);
    tls_identity_destroy(&server.identity);
    tls_destroy(&server.tls);
    buffer_fini(&server.plain);
    buffer_fini(&server.out);
    (void)close(server.fd);
    ERR_clear_error();
    tear_down();
}

TestSuite(runtime_streams_out_tls, .init = set_up_tls, .fini = tear_down_tls, .timeout = 60);

/* Nothing of the other end is here but the socket. */
static void connect_tls(const char *host)
{
    out.stream = hub_streams_connect_tls(out.streams, &out.address, server.identity, host, &out);
    cr_assert_not_null(out.stream);
    hub_stream_send(out.stream, span_text("one"));
    cr_assert_eq(hub_stream_unsent(out.stream), 3);
    server.fd = accept(out.listener, NULL, NULL);
    cr_assert_geq(server.fd, 0);
}

/* Both ends go on for a moment; what the owner wishes to read is not the handshake's affair. */
static void turn_both(void)
{
    uint8_t room[4096];
    ssize_t size = recv(server.fd, room, sizeof room, MSG_DONTWAIT);

    if (size > 0) {
        (void)tls_receive(server.tls, span_of(room, (size_t)size), &server.plain, &server.out);
    }
    if (server.out.size > 0) {
        (void)send(server.fd, server.out.data, server.out.size, MSG_NOSIGNAL);
        buffer_clear(&server.out);
    }
    if (out.stream != NULL) {
        hub_stream_read(out.stream, false);
        hub_stream_read(out.stream, true);
    }
    hub_run_once(out.probe.hub, 1000);
}

static void turn_both_until(const unsigned *count)
{
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;

    while (*count == 0) {
        cr_assert_lt(hub_now_us(), deadline_us);
        turn_both();
    }
}

Test(runtime_streams_out_tls, what_is_sent_before_hands_are_shaken_arrives)
{
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;

    connect_tls("127.0.0.1");
    turn_both_until(&out.connected);
    hub_stream_send(out.stream, span_text("two"));
    while (server.plain.size < 6 && hub_now_us() < deadline_us) {
        turn_both();
    }
    cr_assert(span_equal(buffer_span(&server.plain), span_text("onetwo")));
    cr_assert_eq(tls_send(server.tls, span_text("three"), &server.out), STATUS_OK);
    tls_end(server.tls, &server.out);
    turn_both_until(&out.closed);
    cr_assert_str_eq(out.got, "three");
    cr_assert_str_eq(out.failure, "");
    cr_assert_eq(out.connected, 1);
}

Test(runtime_streams_out_tls, a_server_that_is_another_host_hears_nothing)
{
    connect_tls("localhost");
    turn_both_until(&out.closed);
    cr_assert_str_eq(out.failure, "hostname mismatch");
    cr_assert_eq(out.connected, 0);
    turn_both();
    cr_assert_eq(server.plain.size, 0);
}

Test(runtime_streams_out_tls, one_that_speaks_no_tls_is_named)
{
    connect_tls("127.0.0.1");
    cr_assert_eq(send(server.fd, "-ERR what?\r\n", 12, 0), 12);
    turn_until(&out.closed);
    cr_assert_str_eq(out.failure, "it speaks no TLS");
}

/* As a plain server does that waits for the end of a line. */
Test(runtime_streams_out_tls, one_that_says_nothing_is_given_up)
{
    connect_tls("127.0.0.1");
    turn_until(&out.closed);
    cr_assert_str_eq(out.failure, "connection timed out");
    cr_assert_eq(out.connected, 0);
}

Test(runtime_streams_out_tls, one_that_leaves_in_the_midst_is_closed_once)
{
    connect_tls("127.0.0.1");
    (void)close(server.fd);
    turn_until(&out.closed);
    cr_assert_neq(out.failure[0], '\0');
    cr_assert_eq(out.closed, 1);
}

Test(runtime_streams_out_tls, it_may_be_dropped_in_the_midst)
{
    connect_tls("127.0.0.1");
    hub_run_once(out.probe.hub, 1000);
    hub_stream_drop(out.stream);
    turn_until(&out.closed);
    cr_assert_eq(out.closed, 1);
}
