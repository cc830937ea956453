/* Frames between hubs, and between a hub and plain clients of libzmq. */
#include "runtime_probe.h"

#define ANY_PORT "tcp://127.0.0.1:*"

enum { STRESS_FRAMES = 200000, STRESS_MAX_BATCH = 97, STRESS_DEADLINE_US = 55000000 };
enum { LAST_ANSWERS = 20, LAST_ANSWER_US = 2000000 };

TestSuite(runtime_hub, .timeout = 120);

struct stress {
    uint32_t link;
    uint64_t sent;
    uint64_t wanted; /* of the batch, not sent yet */
    uint64_t state;
    bool late;
};

static void stress_send(struct probe *self)
{
    struct stress *stress = self->extra;
    uint8_t frame[200] = {0};
    size_t size;

    if (stress->wanted == 0 && self->answers == stress->sent && stress->sent < STRESS_FRAMES) {
        stress->state = stress->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        stress->wanted = (stress->state >> 40) % STRESS_MAX_BATCH + 1;
    }
    while (stress->wanted > 0) {
        size = (stress->state >> 20) % sizeof frame + 1;
        if (self->effects->send(self->effects->context, stress->link, span_of(frame, size)) !=
            STATUS_OK) {
            return; /* Not connected yet: turn() comes again when it is. */
        }
        stress->wanted--;
        stress->sent++;
    }
    if (stress->sent >= STRESS_FRAMES && self->answers == stress->sent) {
        hub_stop(self->hub);
    }
}

static void stress_late(struct probe *self)
{
    ((struct stress *)self->extra)->late = true;
    hub_stop(self->hub);
}

/* No event is slept over: neither side has a timer that would wake it, so one missed edge of a
 * descriptor stops the game until the deadline. */
Test(runtime_hub, two_hubs_play_ping_pong_without_a_stall)
{
    struct stress stress = {.state = 42};
    struct probe server = {.hub = NULL};
    struct probe player = {.turn_hook = stress_send, .time_hook = stress_late, .extra = &stress};
    void *context = zmq_ctx_new();
    uint64_t start_us = hub_now_us();

    probe_open(&server, ANY_PORT);
    probe_open(&player, NULL);
    probe_start(&server);
    stress.link = player.effects->link_open(player.effects->context, hub_endpoint(server.hub));
    cr_assert_neq(stress.link, 0);
    player.next_us = start_us + STRESS_DEADLINE_US;
    hub_run(player.hub);
    cr_assert_lt(hub_now_us(), start_us + STRESS_DEADLINE_US, "it came to a stop too late");
    cr_assert_not(stress.late, "stalled after %llu answers to %llu frames",
                  (unsigned long long)player.answers, (unsigned long long)stress.sent);
    cr_assert_eq(player.answers, stress.sent);
    probe_stop(&server, context);
    hub_destroy(&player.hub);
    cr_assert_eq(zmq_ctx_term(context), 0);
}

struct asker {
    uint32_t link;
    bool sent;
};

static void ask_once(struct probe *self)
{
    struct asker *asker = self->extra;

    asker->sent = asker->sent || self->effects->send(self->effects->context, asker->link,
                                                     span_text("last")) == STATUS_OK;
}

static void stop_asking(struct probe *self)
{
    hub_stop(self->hub);
}

static void ask_one_that_ends(void)
{
    struct asker asker = {.sent = false};
    struct probe server = {.hub = NULL};
    struct probe player = {.turn_hook = ask_once,
                           .answer_hook = stop_asking,
                           .time_hook = stop_asking,
                           .extra = &asker};

    probe_open(&server, ANY_PORT);
    probe_open(&player, NULL);
    asker.link = player.effects->link_open(player.effects->context, hub_endpoint(server.hub));
    player.next_us = hub_now_us() + LAST_ANSWER_US;
    probe_start(&player);
    probe_run_until(&server, &server.requests, 1);
    hub_destroy(&server.hub);
    probe_join(&player);
    cr_assert_eq(player.answers, 1);
    hub_destroy(&player.hub);
}

/* Again and again, as it is a race between the client and libzmq's thread. */
Test(runtime_hub, a_last_answer_arrives)
{
    for (int i = 0; i < LAST_ANSWERS; i++) {
        ask_one_that_ends();
    }
}

Test(runtime_hub, a_server_answers_a_plain_client)
{
    struct probe server = {.hub = NULL};
    void *context = zmq_ctx_new();
    void *client;

    probe_open(&server, ANY_PORT);
    client = client_open(context, hub_endpoint(server.hub));
    client_send(client, "hello");
    probe_run_until(&server, &server.requests, 1);
    client_expect(client, "hello");
    cr_assert_eq(zmq_close(client), 0);
    cr_assert_eq(zmq_ctx_term(context), 0);
    hub_destroy(&server.hub);
}

/* A reply to a peer that is gone is refused, and counted. */
Test(runtime_hub, a_reply_to_a_gone_peer_is_unavailable)
{
    struct probe server = {.quiet = true};
    enum status status = STATUS_OK;
    void *context = zmq_ctx_new();
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;
    void *client;

    probe_open(&server, ANY_PORT);
    client = client_open(context, hub_endpoint(server.hub));
    client_send(client, "hello");
    probe_run_until(&server, &server.requests, 1);
    cr_assert_eq(zmq_close(client), 0);
    while (status == STATUS_OK && hub_now_us() < deadline_us) {
        status = server.effects->reply(server.effects->context, &server.last_peer, span_text("x"));
        hub_run_once(server.hub, 1000);
    }
    cr_assert_eq(status, STATUS_UNAVAILABLE);
    cr_assert_eq(hub_counter(server.hub, HUB_COUNTER_DROPPED_SENDS), 1);
    cr_assert_eq(zmq_ctx_term(context), 0);
    hub_destroy(&server.hub);
}

/* A port where nobody listens, from the kernel. */
static void unused_endpoint(char endpoint[64])
{
    struct probe server = {.hub = NULL};

    probe_open(&server, ANY_PORT);
    (void)snprintf(endpoint, 64, "%s", hub_endpoint(server.hub));
    hub_destroy(&server.hub);
}

/* A link without a peer queues nothing and keeps nobody waiting. */
Test(runtime_hub, sending_on_an_unconnected_link_is_unavailable_at_once)
{
    struct probe player = {.hub = NULL};
    uint64_t start_us;
    char endpoint[64];
    uint32_t link;

    unused_endpoint(endpoint);
    probe_open(&player, NULL);
    link = player.effects->link_open(player.effects->context, endpoint);
    cr_assert_neq(link, 0);
    start_us = hub_now_us();
    for (unsigned i = 0; i < 1000; i++) {
        cr_assert_eq(player.effects->send(player.effects->context, link, span_text("x")),
                     STATUS_UNAVAILABLE);
    }
    cr_assert_lt(hub_now_us() - start_us, 2000000);
    cr_assert_eq(hub_counter(player.hub, HUB_COUNTER_DROPPED_SENDS), 1000);
    hub_destroy(&player.hub);
}

static void send_once(struct probe *self)
{
    bool *sent = self->extra;

    if (!*sent) {
        *sent = self->effects->send(self->effects->context, 2048, span_text("x")) == STATUS_OK;
    }
}

/* A link connects when its server appears, and again when it comes back. */
Test(runtime_hub, a_link_survives_its_server)
{
    bool sent = false;
    struct probe player = {.turn_hook = send_once, .extra = &sent};
    void *context = zmq_ctx_new();
    char endpoint[64];

    unused_endpoint(endpoint);
    probe_open(&player, NULL);
    cr_assert_eq(player.effects->link_open(player.effects->context, endpoint), 2048);
    for (uint64_t life = 1; life <= 2; life++) {
        struct probe server = {.hub = NULL};

        probe_open(&server, endpoint);
        probe_start(&server);
        /* A frame that was sent as the old server died is lost, as it may be: send another. */
        while (player.answers < life) {
            sent = false;
            hub_run_once(player.hub, 50000);
        }
        probe_stop(&server, context);
    }
    hub_destroy(&player.hub);
    cr_assert_eq(zmq_ctx_term(context), 0);
}

static void close_that_link(struct probe *self)
{
    self->effects->link_close(self->effects->context, self->last_link);
}

/* An actor may close a link from within the answer it gets from it; the number is not used again.
 */
Test(runtime_hub, a_link_can_be_closed_by_its_answer)
{
    bool sent = false;
    struct probe player = {.turn_hook = send_once, .answer_hook = close_that_link, .extra = &sent};
    struct probe server = {.hub = NULL};
    void *context = zmq_ctx_new();
    uint32_t link;

    probe_open(&server, ANY_PORT);
    probe_open(&player, NULL);
    probe_start(&server);
    link = player.effects->link_open(player.effects->context, hub_endpoint(server.hub));
    cr_assert_eq(link, 2048);
    probe_run_until(&player, &player.answers, 1);
    cr_assert_eq(player.effects->send(player.effects->context, link, span_text("x")),
                 STATUS_UNAVAILABLE);
    cr_assert_neq(player.effects->link_open(player.effects->context, hub_endpoint(server.hub)),
                  link);
    player.effects->link_close(player.effects->context, link); /* Nobody's: nothing happens. */
    probe_stop(&server, context);
    hub_destroy(&player.hub);
    cr_assert_eq(zmq_ctx_term(context), 0);
}

Test(runtime_hub, a_malformed_endpoint_gives_no_link)
{
    struct probe player = {.hub = NULL};

    probe_open(&player, NULL);
    cr_assert_eq(player.effects->link_open(player.effects->context, "nonsense"), 0);
    cr_assert_eq(player.effects->link_open(player.effects->context, "tcp://127.0.0.1:http"), 0);
    hub_destroy(&player.hub);
}

/* A queue that is full says so; nothing blocks, nothing grows without bound. */
Test(runtime_hub, a_link_to_a_server_that_does_not_read_fills_up)
{
    enum { MANY = 100000, FRAME_BYTES = 4096 };
    static const uint8_t frame[FRAME_BYTES];
    struct probe server = {.hub = NULL};
    struct probe player = {.hub = NULL};
    unsigned accepted = 0;
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;
    uint32_t link;

    probe_open(&server, ANY_PORT);
    probe_open(&player, NULL);
    link = player.effects->link_open(player.effects->context, hub_endpoint(server.hub));
    while (accepted == 0 && hub_now_us() < deadline_us) {
        hub_run_once(player.hub, 1000);
        accepted = player.effects->send(player.effects->context, link,
                                        span_of(frame, sizeof frame)) == STATUS_OK;
    }
    while (accepted < MANY && player.effects->send(player.effects->context, link,
                                                   span_of(frame, sizeof frame)) == STATUS_OK) {
        accepted++;
    }
    cr_assert_gt(accepted, 0);
    cr_assert_lt(accepted, MANY);
    hub_destroy(&player.hub);
    hub_destroy(&server.hub);
}

struct draft {
    uint32_t dead;
    uint32_t link;
    bool sent;
};

/* Encode in place, fail to send it on a link that leads nowhere, then send the same elsewhere. */
static void send_draft(struct probe *self)
{
    static const char text[] = "encoded in place, and longer than a short message";
    struct draft *draft = self->extra;
    const struct effects *effects = self->effects;
    uint8_t *room;

    if (draft->sent) {
        return;
    }
    cr_assert_not_null(effects->room(effects->context, 100), "room that is never used");
    cr_assert_null(effects->room(effects->context, PROBE_MAX_FRAME_BYTES + 1));
    room = effects->room(effects->context, sizeof text - 1);
    cr_assert_not_null(room);
    memcpy(room, text, sizeof text - 1);
    cr_assert_eq(effects->send(effects->context, draft->dead, span_of(room, sizeof text - 1)),
                 STATUS_UNAVAILABLE);
    draft->sent = effects->send(effects->context, draft->link, span_of(room, sizeof text - 1)) ==
                  STATUS_OK;
}

static void stop_on_answer(struct probe *self)
{
    hub_stop(self->hub);
}

Test(runtime_hub, what_is_encoded_in_place_survives_a_send_that_fails)
{
    struct draft draft = {.sent = false};
    struct probe server = {.hub = NULL};
    struct probe player = {.turn_hook = send_draft,
                           .answer_hook = stop_on_answer,
                           .time_hook = stop_on_answer,
                           .extra = &draft};
    void *context = zmq_ctx_new();

    probe_open(&server, ANY_PORT);
    probe_open(&player, NULL);
    probe_start(&server);
    draft.dead = player.effects->link_open(player.effects->context, "tcp://127.0.0.1:1");
    draft.link = player.effects->link_open(player.effects->context, hub_endpoint(server.hub));
    player.next_us = hub_now_us() + PROBE_DEADLINE_US;
    hub_run(player.hub);
    cr_assert_eq(player.answers, 1);
    cr_assert_str_eq(player.last, "encoded in place, and longer than a short message");
    cr_assert_not_null(player.effects->room(player.effects->context, 100)); /* left at the end */
    probe_stop(&server, context);
    hub_destroy(&player.hub);
    cr_assert_eq(zmq_ctx_term(context), 0);
}
