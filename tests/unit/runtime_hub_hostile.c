/* What strangers do to a server socket, and addresses that can't be had. */
#include "runtime_probe.h"

#include <arpa/inet.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANY_PORT "tcp://127.0.0.1:*"

TestSuite(runtime_hub_hostile, .timeout = 120);

struct fixture {
    struct probe server;
    void *context;
};

static void set_up(struct fixture *self)
{
    *self = (struct fixture){.context = zmq_ctx_new()};
    probe_open(&self->server, ANY_PORT);
}

static void tear_down(struct fixture *self)
{
    cr_assert_eq(zmq_ctx_term(self->context), 0);
    hub_destroy(&self->server.hub);
}

/* An ordinary client is served, whatever happened before. Requests are not counted: some garbage
 * is a message of ZMTP 1.0. */
static void expect_served(struct fixture *self)
{
    void *client = client_open(self->context, hub_endpoint(self->server.hub));
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;
    char got[64] = "";

    client_send(client, "hello");
    while (zmq_recv(client, got, sizeof got - 1, ZMQ_DONTWAIT) < 0) {
        cr_assert_lt(hub_now_us(), deadline_us, "no answer before the deadline");
        hub_run_once(self->server.hub, 1000);
    }
    cr_assert_str_eq(got, "hello");
    cr_assert_eq(zmq_close(client), 0);
}

/* Only whole messages of one frame reach the actor; the next one is not disturbed. */
Test(runtime_hub_hostile, multipart_messages_are_dropped_and_counted)
{
    struct fixture fixture;
    void *client;

    set_up(&fixture);
    client = client_open(fixture.context, hub_endpoint(fixture.server.hub));
    cr_assert_eq(zmq_send(client, "", 0, ZMQ_SNDMORE), 0);
    cr_assert_eq(zmq_send(client, "one", 3, ZMQ_SNDMORE), 3);
    cr_assert_eq(zmq_send(client, "two", 3, 0), 3);
    client_send(client, "hello");
    probe_run_until(&fixture.server, &fixture.server.requests, 1);
    client_expect(client, "hello");
    cr_assert_eq(fixture.server.requests, 1);
    cr_assert_eq(hub_counter(fixture.server.hub, HUB_COUNTER_DROPPED_FRAMES), 1);
    cr_assert_eq(zmq_close(client), 0);
    tear_down(&fixture);
}

/* An empty frame is a frame: the actor judges it. */
Test(runtime_hub_hostile, an_empty_frame_reaches_the_actor)
{
    struct fixture fixture;
    void *client;

    set_up(&fixture);
    client = client_open(fixture.context, hub_endpoint(fixture.server.hub));
    cr_assert_eq(zmq_send(client, "", 0, 0), 0);
    probe_run_until(&fixture.server, &fixture.server.requests, 1);
    client_expect(client, "");
    cr_assert_eq(zmq_close(client), 0);
    tear_down(&fixture);
}

Test(runtime_hub_hostile, a_peer_with_too_long_a_name_is_dropped_and_counted)
{
    static const char name[] = "sixteen bytes...";
    struct fixture fixture;
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;
    void *client;

    set_up(&fixture);
    client = zmq_socket(fixture.context, ZMQ_DEALER);
    cr_assert_eq(zmq_setsockopt(client, ZMQ_ROUTING_ID, name, sizeof name - 1), 0);
    cr_assert_eq(zmq_connect(client, hub_endpoint(fixture.server.hub)), 0);
    client_send(client, "hello");
    while (hub_counter(fixture.server.hub, HUB_COUNTER_DROPPED_FRAMES) == 0) {
        hub_run_once(fixture.server.hub, 100000);
        cr_assert_lt(hub_now_us(), deadline_us);
    }
    cr_assert_eq(fixture.server.requests, 0);
    cr_assert_eq(zmq_close(client), 0);
    expect_served(&fixture);
    tear_down(&fixture);
}

/* A frame at the limit passes; one byte more cuts the connection, and only that one. */
Test(runtime_hub_hostile, an_oversized_frame_never_arrives)
{
    static char frame[PROBE_MAX_FRAME_BYTES + 1];
    struct fixture fixture;
    void *client;

    set_up(&fixture);
    client = client_open(fixture.context, hub_endpoint(fixture.server.hub));
    cr_assert_eq(zmq_send(client, frame, PROBE_MAX_FRAME_BYTES, 0), PROBE_MAX_FRAME_BYTES);
    probe_run_until(&fixture.server, &fixture.server.requests, 1);
    cr_assert_eq(zmq_send(client, frame, sizeof frame, 0), (int)sizeof frame);
    for (unsigned i = 0; i < 10; i++) {
        expect_served(&fixture);
    }
    cr_assert_eq(fixture.server.requests, 11);
    cr_assert_eq(zmq_close(client), 0);
    tear_down(&fixture);
}

/* What the other side would cut the connection for is not sent. */
Test(runtime_hub_hostile, an_oversized_reply_is_refused_here)
{
    static char frame[PROBE_MAX_FRAME_BYTES + 1];
    struct fixture fixture;
    const struct effects *effects;
    void *client;

    set_up(&fixture);
    effects = fixture.server.effects;
    client = client_open(fixture.context, hub_endpoint(fixture.server.hub));
    client_send(client, "hello");
    probe_run_until(&fixture.server, &fixture.server.requests, 1);
    cr_assert_eq(
        effects->reply(effects->context, &fixture.server.last_peer, span_of(frame, sizeof frame)),
        STATUS_TOO_LARGE);
    client_expect(client, "hello");
    cr_assert_eq(zmq_close(client), 0);
    tear_down(&fixture);
}

static int connect_plainly(const char *endpoint)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    cr_assert_geq(descriptor, 0);
    cr_assert_eq(connect(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    return descriptor;
}

struct garbage {
    const char *bytes;
    size_t size;
};

#define GARBAGE(text)          \
    {                          \
        text, sizeof(text) - 1 \
    }

/* The greeting of ZMTP 3.0, mechanism NULL. */
#define GREETING                                                       \
    "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

/* Other protocols, half a greeting, a greeting with garbage behind, a frame of 2^63 bytes. */
Test(runtime_hub_hostile, garbage_on_the_port_disturbs_nobody)
{
    static const struct garbage all[] = {
        GARBAGE(""),
        GARBAGE("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        GARBAGE("*1\r\n$4\r\nPING\r\n"),
        GARBAGE("\xff\0\0\0\0\0\0\0\1\x7f"),
        GARBAGE("\x16\3\1\2\0\1\0\1\xfc\3\3"),
        GARBAGE(GREETING "\xde\xad\xbe\xef\xde\xad\xbe\xef"),
        GARBAGE(GREETING "\2\x7f\xff\xff\xff\xff\xff\xff\xff"),
        GARBAGE(GREETING "\4\x05\5READY\2\x7f\xff\xff\xff\xff\xff\xff\xff"),
        GARBAGE("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        GARBAGE("\1\0\1\0\1\0"),
        GARBAGE("\x7f\xff\xff\xff\xff\xff\xff\xff\xff"),
    };
    enum { COUNT = sizeof all / sizeof all[0] };
    int descriptors[COUNT];
    struct fixture fixture;

    set_up(&fixture);
    for (unsigned i = 0; i < COUNT; i++) {
        descriptors[i] = connect_plainly(hub_endpoint(fixture.server.hub));
        cr_assert_eq(write(descriptors[i], all[i].bytes, all[i].size), (ssize_t)all[i].size);
        expect_served(&fixture); /* While the connection stands... */
    }
    for (unsigned i = 0; i < COUNT; i++) {
        cr_assert_eq(close(descriptors[i]), 0);
    }
    expect_served(&fixture); /* ... and when it is gone. */
    tear_down(&fixture);
}

/* A free port is a real one, and each server gets its own. */
Test(runtime_hub_hostile, a_free_port_is_told)
{
    struct probe one = {.hub = NULL};
    struct probe two = {.hub = NULL};
    struct probe none = {.hub = NULL};
    int port = 0;

    probe_open(&one, ANY_PORT);
    probe_open(&two, "tcp://127.0.0.1:0");
    probe_open(&none, NULL);
    cr_assert_eq(sscanf(hub_endpoint(one.hub), "tcp://127.0.0.1:%d", &port), 1);
    cr_assert_gt(port, 0);
    cr_assert_str_neq(hub_endpoint(one.hub), hub_endpoint(two.hub));
    cr_assert_str_eq(hub_endpoint(none.hub), "");
    hub_destroy(&one.hub);
    hub_destroy(&two.hub);
    hub_destroy(&none.hub);
}

static void refuse(const char *listen, const char *address, const char *remedy)
{
    struct hub_options options = {.listen = listen, .max_frame_bytes = 1};
    struct hub *hub = NULL;
    FILE *log = cr_get_redirected_stderr();
    char line[1024] = "";

    cr_assert_eq(hub_create(&options, &hub), STATUS_IO);
    cr_assert_null(hub);
    (void)fflush(stderr);
    cr_assert_not_null(fgets(line, sizeof line, log));
    cr_assert_not_null(strstr(line, address), "%s", line);
    cr_assert_not_null(strstr(line, remedy), "%s", line);
}

/* The message names the address and what to do. */
Test(runtime_hub_hostile, an_address_that_cannot_be_had_is_refused, .init = cr_redirect_stderr)
{
    struct probe server = {.hub = NULL};

    probe_open(&server, ANY_PORT);
    refuse(hub_endpoint(server.hub), hub_endpoint(server.hub), "choose another port");
    refuse("tcp://192.0.2.1:7401", "tcp://192.0.2.1:7401", "no such address");
    refuse("tcp://nonsense", "tcp://nonsense", "tcp://HOST:PORT");
    refuse("nonsense", "nonsense", "tcp://HOST:PORT");
    refuse("udp://127.0.0.1:1", "udp://127.0.0.1:1", "tcp://HOST:PORT");
    hub_destroy(&server.hub);
}
