/* A hub whose requests come through a thread of their own, while its actor is held up. */
#include "base/heap.h"
#include "runtime_probe.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define ANY_PORT "tcp://127.0.0.1:*"

TestSuite(runtime_hub_receiver, .timeout = 120);

enum {
    FRAME_BYTES = 1 << 16,
    FLOOD_FRAMES = 8192, /* 512 MiB */
    INBOX_MIB = 64,
    SPARE_MIB = 192, /* on their way: 1,000 frames in the client alone; and what the heap keeps */
    MAX_SERVED = 4096,
    PINNING_FRAMES = 20000,
    ECHOES = 2000,
    ECHO_CLIENTS = 4,
};

static struct probe server;
static void *context;
static sem_t held_up;
static sem_t released;
static char served[MAX_SERVED][8]; /* the beginnings of what came after the release */
static size_t nserved;
static uint64_t least_waited_us;
static uint64_t first_waited_us; /* of what comes first, and when it was handed over */
static uint64_t first_handed_us;
static char filler[FRAME_BYTES];

static bool comes_first(struct span frame)
{
    return frame.size > 0 && frame.data[0] == 'n';
}

/* What was sent, with an "R" before its first bytes. */
static bool refuse(struct span frame, struct buffer *out)
{
    size_t size = frame.size < 7 ? frame.size : 7;

    return buffer_append(out, span_text("R")) == STATUS_OK &&
           buffer_append(out, span_of(frame.data, size)) == STATUS_OK;
}

static const struct hub_intake intake = {.comes_first = comes_first, .refuse = refuse};

static void on_request(struct probe *self, struct span frame)
{
    uint64_t waited_us = self->effects->waited_us(self->effects->context);

    if (strcmp(self->last, "hold") == 0) {
        (void)sem_post(&held_up);
        (void)sem_wait(&released);
        return;
    }
    if (nserved < MAX_SERVED) {
        (void)snprintf(served[nserved++], sizeof served[0], "%.*s",
                       frame.size < 7 ? (int)frame.size : 7, (const char *)frame.data);
    }
    if (self->last[0] == 'n') {
        first_waited_us = waited_us;
        first_handed_us = hub_now_us();
    }
    if (strcmp(self->last, "stop") != 0 && waited_us < least_waited_us) {
        least_waited_us = waited_us;
    }
}

static void set_up(void)
{
    context = zmq_ctx_new();
    server = (struct probe){.intake = &intake, .quiet = true, .request_hook = on_request};
    nserved = 0;
    least_waited_us = UINT64_MAX;
    cr_assert_eq(sem_init(&held_up, 0, 0), 0);
    cr_assert_eq(sem_init(&released, 0, 0), 0);
    memset(filler, 'x', sizeof filler);
    probe_open(&server, ANY_PORT);
}

static void tear_down(void)
{
    cr_assert_eq(zmq_ctx_term(context), 0);
    cr_assert_eq(heap_live(), 0);
}

static void await(sem_t *one)
{
    struct timespec limit;

    (void)clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += PROBE_DEADLINE_MS / 1000;
    cr_assert_eq(sem_timedwait(one, &limit), 0);
}

/* A client, and an actor that does not come back before release(). */
static void *hold_up(void)
{
    void *client = client_open(context, hub_endpoint(server.hub));

    probe_start(&server);
    client_send(client, "hold");
    await(&held_up);
    return client;
}

/* `kind` and a number, and then so much that it is of FRAME_BYTES. */
static void send_long(void *client, char kind, unsigned number)
{
    char head[8];

    (void)snprintf(head, sizeof head, "%c%06u", kind, number);
    memcpy(filler, head, 7);
    cr_assert_eq(zmq_send(client, filler, sizeof filler, 0), (int)sizeof filler);
}

/* The hub has received all that was sent before: it refuses this one, which is as long as those
 * that have filled its inbox. */
static void await_received(void *client)
{
    static unsigned number;
    char wanted[16];
    char got[16] = "";

    send_long(client, 'l', ++number);
    (void)snprintf(wanted, sizeof wanted, "Rl%06u", number);
    while (strcmp(got, wanted) != 0) {
        int size = zmq_recv(client, got, sizeof got - 1, 0);

        cr_assert_geq(size, 0, "no answer before the deadline");
        got[size] = '\0';
    }
}

static uint64_t resident_mib(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%*u %lu", &pages), 1);
    (void)fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

static void expect_bounded(uint64_t before_mib, uint64_t more_mib)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    cr_assert_leq(resident_mib(), before_mib + more_mib);
#else
    (void)before_mib;
    (void)more_mib;
#endif
}

static void release(void *client)
{
    (void)sem_post(&released);
    probe_stop(&server, context);
    cr_assert_eq(zmq_close(client), 0);
}

static void fill_the_rest(void *client)
{
    for (unsigned i = 0; i < FLOOD_FRAMES; i++) {
        send_long(client, 'r', i);
    }
}

/* The issue itself: the actor is in its store while much more comes than there is room for. */
Test(runtime_hub_receiver, a_flood_meets_a_bound_and_passes_nobody_that_comes_first)
{
    uint64_t before_mib = resident_mib();
    void *nodes[2];
    void *client;

    set_up();
    client = hold_up();
    nodes[0] = client_open(context, hub_endpoint(server.hub));
    nodes[1] = client_open(context, hub_endpoint(server.hub));
    fill_the_rest(client);
    await_received(client); /* Those without room are told, while the actor is still away. */
    client_send(nodes[0], "n0");
    client_send(nodes[1], "n1");
    client_send(nodes[0], "n2");
    await_received(nodes[1]);
    await_received(nodes[0]);
    expect_bounded(before_mib, INBOX_MIB + SPARE_MIB);
    release(client);
    cr_assert_eq(zmq_close(nodes[0]), 0);
    cr_assert_eq(zmq_close(nodes[1]), 0);
    cr_assert(strcmp(served[0], "n2") == 0 || strcmp(served[1], "n2") == 0);
    cr_assert(strcmp(served[0], "n1") == 0 || strcmp(served[1], "n1") == 0);
    cr_assert_str_eq(served[2], "r000000", "the oldest of the others are kept");
    tear_down();
}

/* However many come of one peer before the actor is back, it is given the newest alone. */
Test(runtime_hub_receiver, a_newer_one_takes_the_place_of_the_older_one)
{
    uint64_t before_mib = resident_mib();
    char last[8];
    void *client;

    set_up();
    client = hold_up();
    for (unsigned i = 0; i < FLOOD_FRAMES; i++) {
        send_long(client, 'n', i);
    }
    fill_the_rest(client); /* ... and none of them is in another's way. */
    await_received(client);
    expect_bounded(before_mib, INBOX_MIB + SPARE_MIB);
    release(client);
    (void)snprintf(last, sizeof last, "n%06u", FLOOD_FRAMES - 1);
    cr_assert_str_eq(served[0], last);
    cr_assert_str_eq(served[1], "r000000");
    tear_down();
}

/* libzmq reads 8 KiB at once, and short frames would keep all of that: between two that are kept,
 * one is dropped that fills it. */
Test(runtime_hub_receiver, a_short_frame_keeps_no_more_than_its_own_bytes)
{
    uint64_t before_mib = resident_mib();
    void *client;

    set_up();
    client = hold_up();
    for (unsigned i = 0; i < PINNING_FRAMES; i++) {
        cr_assert_eq(zmq_send(client, filler, 100, 0), 100);
        cr_assert_eq(zmq_send(client, "", 0, ZMQ_SNDMORE), 0);
        cr_assert_eq(zmq_send(client, filler, 7900, 0), 7900);
    }
    client_send(client, "n"); /* It is behind them, and comes before them. */
    fill_the_rest(client);
    await_received(client);
    expect_bounded(before_mib, INBOX_MIB + SPARE_MIB);
    release(client);
    cr_assert_str_eq(served[0], "n");
    tear_down();
}

/* Each is handed over with the time that it has waited itself, as it was received in time: not that
 * for which the actor was held up. */
Test(runtime_hub_receiver, tells_how_long_a_request_has_waited)
{
    uint64_t held_us;
    uint64_t received_us;
    uint64_t released_us;
    void *client;

    set_up();
    client = hold_up();
    held_us = hub_now_us();
    hub_nap(900000);
    client_send(client, "n1");
    fill_the_rest(client);
    await_received(client);
    received_us = hub_now_us();
    hub_nap(50000);
    released_us = hub_now_us();
    (void)sem_post(&released);
    probe_stop(&server, context);
    cr_assert_eq(zmq_close(client), 0);
    cr_assert_geq(least_waited_us, released_us - received_us);
    cr_assert_lt(first_waited_us + 100000, first_handed_us - held_us);
    tear_down();
}

static void *ask_often(void *client)
{
    char text[16];

    for (unsigned i = 0; i < ECHOES; i++) {
        (void)snprintf(text, sizeof text, "%s%u", i % 2 == 0 ? "n" : "r", i);
        client_send(client, text);
        client_expect(client, text);
    }
    return NULL;
}

/* Both threads use the socket, and libzmq's descriptor tells whoever is first: nothing stays. */
Test(runtime_hub_receiver, answers_and_requests_do_not_lose_each_other)
{
    void *clients[ECHO_CLIENTS];
    pthread_t threads[ECHO_CLIENTS];

    set_up();
    server.quiet = false;
    probe_start(&server);
    for (unsigned i = 0; i < ECHO_CLIENTS; i++) {
        clients[i] = client_open(context, hub_endpoint(server.hub));
        cr_assert_eq(pthread_create(&threads[i], NULL, ask_often, clients[i]), 0);
    }
    for (unsigned i = 0; i < ECHO_CLIENTS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(zmq_close(clients[i]), 0);
    }
    probe_stop(&server, context);
    tear_down();
}

/* What is no request is counted by the loop's thread, and ends its sleep. */
Test(runtime_hub_receiver, what_is_no_request_is_counted)
{
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;
    void *client;

    set_up();
    client = client_open(context, hub_endpoint(server.hub));
    cr_assert_eq(zmq_send(client, "", 0, ZMQ_SNDMORE), 0);
    cr_assert_eq(zmq_send(client, "two", 3, 0), 3);
    while (hub_counter(server.hub, HUB_COUNTER_DROPPED_FRAMES) == 0) {
        cr_assert_lt(hub_now_us(), deadline_us);
        hub_run_once(server.hub, PROBE_DEADLINE_US);
    }
    cr_assert_eq(server.requests, 0);
    cr_assert_eq(zmq_close(client), 0);
    hub_destroy(&server.hub);
    tear_down();
}
