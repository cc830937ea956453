/* Streams to a server: what is sent before it is there arrives, both ways and in order; one that
 * can't be reached says why, and each is closed once. */
#include "base/heap.h"
#include "runtime/streams/hub_streams.h"
#include "runtime_probe.h"

#include <arpa/inet.h>
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
}

Test(runtime_streams_out, all_are_closed_with_the_hub)
{
    cr_assert_eq(listen(out.listener, 1), 0);
    connect_out();
    hub_stream_send(out.stream, span_text("lost"));
    hub_streams_close(&out.streams);
    cr_assert_eq(out.closed, 1);
}
