/* Who gets in at a hub's server by CURVE, what becomes of links that are refused, and what libzmq
 * does that a hub must not rely on. */
#include "runtime_probe.h"

#include <arpa/inet.h>
#include <criterion/redirect.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANY_PORT "tcp://127.0.0.1:*"

enum { SHORT_MS = 700, KEYS = 4, OPTION_ENFORCE_DOMAIN = 93, OFTEN = 6 };

TestSuite(runtime_hub_curve, .timeout = 120);

static struct curve_pair new_pair(void)
{
    struct curve_pair pair;
    char public[41];
    char secret[41];

    cr_assert_eq(zmq_curve_keypair(public, secret), 0);
    (void)zmq_z85_decode(pair.public, public);
    (void)zmq_z85_decode(pair.secret, secret);
    return pair;
}

/* One side's keys: whom it lets in, and what it dials with. */
struct side {
    struct hub_curve curve;
    uint8_t known[KEYS][CURVE_KEY_BYTES];
    size_t nknown;
    struct hub_dial dials[KEYS];
    size_t ndials;
    bool plain;      /* what it dials is taken to be plain */
    char dialed[64]; /* last */
    char counted[64];
    uint64_t dials_made; /* to `counted` */
    uint64_t asked;      /* who() */
    uint64_t judged;
    uint64_t strangers; /* of the frames that were judged */
    bool pending;       /* who it is can't be said yet */
};

static size_t on_dial(void *context, const char *endpoint, bool *plain,
                      struct hub_dial dials[HUB_MAX_DIALS])
{
    struct side *self = context;

    (void)snprintf(self->dialed, sizeof self->dialed, "%s", endpoint);
    self->dials_made += strcmp(endpoint, self->counted) == 0;
    *plain = self->plain;
    memcpy(dials, self->dials, self->ndials * sizeof dials[0]);
    return self->ndials;
}

static bool on_who(void *context, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer)
{
    struct side *self = context;

    self->asked++;
    for (size_t i = 0; i < self->nknown; i++) {
        if (memcmp(self->known[i], key, CURVE_KEY_BYTES) == 0) {
            peer->role = PEER_CLIENT;
            peer->user = self->pending ? PEER_PENDING : (uint32_t)i + 7;
            return true;
        }
    }
    return false;
}

static bool on_admits(void *context, const struct peer *from, bool known, struct span frame,
                      struct buffer *refusal)
{
    struct side *self = context;
    bool may = known && from->user != PEER_PENDING &&
               !(frame.size == 2 && memcmp(frame.data, "no", 2) == 0);

    self->judged++;
    self->strangers += !known;
    cr_assert(!known || from->role == PEER_CLIENT);
    if (!may) {
        cr_assert_eq(buffer_append(refusal, span_text("refused")), STATUS_OK);
    }
    return may;
}

static void side_init(struct side *self)
{
    *self = (struct side){
        .curve = {
            .context = self, .listens = true, .own = new_pair(), .dial = on_dial, .who = on_who}};
}

static void let_in(struct side *self, const struct curve_pair *pair)
{
    memcpy(self->known[self->nknown++], pair->public, CURVE_KEY_BYTES);
}

static void dial_with(struct side *self, const struct curve_pair *own,
                      const struct curve_pair *server)
{
    self->dials[self->ndials].own = *own;
    memcpy(self->dials[self->ndials++].server, server->public, CURVE_KEY_BYTES);
}

/* A server and a hub that dials it, each turned by the test itself. */
struct stage {
    struct side there;
    struct side here;
    struct probe server;
    struct probe player;
    uint32_t link;
};

static void stage_init(struct stage *self)
{
    memset(self, 0, sizeof *self);
    side_init(&self->there);
    side_init(&self->here);
    self->here.curve.listens = false;
    self->server.curve = &self->there.curve;
    self->player.curve = &self->here.curve;
}

static void stage_open(struct stage *self)
{
    probe_open(&self->server, ANY_PORT);
    probe_open(&self->player, NULL);
    self->link = self->player.effects->link_open(self->player.effects->context,
                                                 hub_endpoint(self->server.hub));
    cr_assert_neq(self->link, 0);
}

static void stage_close(struct stage *self)
{
    hub_destroy(&self->player.hub);
    hub_destroy(&self->server.hub);
}

static void turn(struct stage *self)
{
    hub_run_once(self->player.hub, 1000);
    hub_run_once(self->server.hub, 1000);
}

/* Ask until it is answered; what is sent as a connection breaks is lost. */
static void expect_answer(struct stage *self, const char *text)
{
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;
    uint64_t answers = self->player.answers;
    uint64_t next_us = 0;

    while (self->player.answers == answers) {
        uint64_t now_us = hub_now_us();

        cr_assert_lt(now_us, deadline_us, "no answer before the deadline");
        if (now_us >= next_us &&
            self->player.effects->send(self->player.effects->context, self->link,
                                       span_text(text)) == STATUS_OK) {
            next_us = now_us + 500000;
        }
        turn(self);
    }
}

static void expect_refusal(struct stage *self, const char *part)
{
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;

    while (self->player.refusals == 0) {
        cr_assert_lt(hub_now_us(), deadline_us, "no refusal before the deadline");
        turn(self);
    }
    cr_assert_eq(self->player.last_link, self->link);
    cr_assert_not_null(strstr(self->player.cause, part), "%s", self->player.cause);
    cr_assert_eq(self->server.requests, 0);
}

Test(runtime_hub_curve, a_known_key_gets_in_and_is_named)
{
    struct curve_pair pair = new_pair();
    struct stage stage;

    stage_init(&stage);
    let_in(&stage.there, &stage.here.curve.own);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_answer(&stage, "hello");
    cr_assert_str_eq(stage.player.last, "hello");
    cr_assert_eq(stage.server.last_peer.role, PEER_CLIENT);
    cr_assert_eq(stage.server.last_peer.user, 8);
    stage_close(&stage);
}

/* It is asked about once in a while, not for each message. */
Test(runtime_hub_curve, who_it_is_is_not_looked_up_for_each_message)
{
    struct curve_pair pair = new_pair();
    struct stage stage;
    uint64_t start_us;
    uint64_t looks;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_answer(&stage, "hello");
    start_us = hub_now_us();
    looks = stage.there.asked;
    for (int i = 0; i < 50; i++) {
        expect_answer(&stage, "again");
    }
    cr_assert_leq(stage.there.asked - looks, (hub_now_us() - start_us) / HUB_WHO_US + 2);
    stage_close(&stage);
}

/* The log has said that since cr_redirect_stderr(); once in a process. */
static void expect_log(const char *expected)
{
    FILE *file = cr_get_redirected_stderr();
    char text[4096] = "";

    (void)fflush(stderr);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    cr_assert_not_null(strstr(text, expected), "%s", text);
}

/* Of whom, by the key as credentials have it, and from where. */
static void expect_logged(const char *who, const struct curve_pair *pair, const char *what)
{
    char expected[256];
    int size = snprintf(expected, sizeof expected, "%s the public key ", who);

    for (size_t i = 0; i < CURVE_KEY_BYTES; i++) {
        size += snprintf(expected + size, sizeof expected - (size_t)size, "%02x", pair->public[i]);
    }
    (void)snprintf(expected + size, sizeof expected - (size_t)size, "%s", what);
    expect_log(expected);
}

/* The trap: with no handler, or an empty domain, libzmq lets it in. */
Test(runtime_hub_curve, an_unknown_key_is_refused_and_told_why, .init = cr_redirect_stderr)
{
    struct curve_pair pair = new_pair();
    struct stage stage;

    stage_init(&stage);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    cr_assert_str_eq(stage.here.dialed, hub_endpoint(stage.server.hub));
    expect_refusal(&stage, "does not know our key");
    cr_assert_gt(hub_counter(stage.server.hub, HUB_COUNTER_REFUSED_PEERS), 0);
    expect_logged("refused a peer from 127.0.0.1: nobody here has", &pair, "; give a process");
    stage_close(&stage);
}

static bool arrives(void *server)
{
    char got[8];

    return zmq_recv(server, got, sizeof got, 0) >= 0;
}

static void *bare_server(void *context, const struct curve_pair *own, const char *domain,
                         bool enforced, char endpoint[64])
{
    void *server = zmq_socket(context, ZMQ_ROUTER);
    size_t size = 64;
    int one = 1;
    int wait_ms = SHORT_MS;
    int linger = 0;

    cr_assert_eq(zmq_setsockopt(server, ZMQ_LINGER, &linger, sizeof linger), 0);
    cr_assert_eq(zmq_setsockopt(server, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms), 0);
    cr_assert_eq(zmq_setsockopt(server, ZMQ_CURVE_SERVER, &one, sizeof one), 0);
    cr_assert_eq(zmq_setsockopt(server, ZMQ_CURVE_SECRETKEY, own->secret, CURVE_KEY_BYTES), 0);
    if (domain[0] != '\0') { /* It is empty by itself. */
        cr_assert_eq(zmq_setsockopt(server, ZMQ_ZAP_DOMAIN, domain, strlen(domain)), 0);
    }
    if (enforced) {
        cr_assert_eq(zmq_setsockopt(server, OPTION_ENFORCE_DOMAIN, &one, sizeof one), 0);
    }
    cr_assert_eq(zmq_bind(server, ANY_PORT), 0);
    cr_assert_eq(zmq_getsockopt(server, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
    return server;
}

static void *bare_client(void *context, const struct curve_pair *own,
                         const struct curve_pair *server, const char *endpoint)
{
    void *client = zmq_socket(context, ZMQ_DEALER);
    int wait_ms = SHORT_MS;
    int linger = 0;

    cr_assert_eq(zmq_setsockopt(client, ZMQ_LINGER, &linger, sizeof linger), 0);
    cr_assert_eq(zmq_setsockopt(client, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms), 0);
    cr_assert_eq(zmq_setsockopt(client, ZMQ_CURVE_PUBLICKEY, own->public, CURVE_KEY_BYTES), 0);
    cr_assert_eq(zmq_setsockopt(client, ZMQ_CURVE_SECRETKEY, own->secret, CURVE_KEY_BYTES), 0);
    cr_assert_eq(zmq_setsockopt(client, ZMQ_CURVE_SERVERKEY, server->public, CURVE_KEY_BYTES), 0);
    cr_assert_eq(zmq_connect(client, endpoint), 0);
    return client;
}

static bool bare_server_admits(const char *domain, bool enforced)
{
    struct curve_pair own = new_pair();
    struct curve_pair stranger = new_pair();
    void *context = zmq_ctx_new();
    char endpoint[64];
    void *server = bare_server(context, &own, domain, enforced, endpoint);
    void *client = bare_client(context, &stranger, &own, endpoint);
    bool in;

    cr_assert_eq(zmq_send(client, "x", 1, 0), 1);
    in = arrives(server);
    cr_assert_eq(zmq_close(client), 0);
    cr_assert_eq(zmq_close(server), 0);
    cr_assert_eq(zmq_ctx_term(context), 0);
    return in;
}

/* Why the hub sets all of these: what libzmq does without a handler. Where a later version refuses
 * in the first two cases too, so much the better; this shows what is relied on is true. */
Test(runtime_hub_curve, only_an_enforced_domain_closes_a_server_without_a_handler)
{
    cr_assert_not(bare_server_admits("orbloom", true), "an enforced domain lets strangers in");
    (void)bare_server_admits("orbloom", false);
    (void)bare_server_admits("", true);
}

/* ... and that the hub's is one, also when its handler is gone. */
Test(runtime_hub_curve, a_server_without_its_handler_lets_nobody_in)
{
    struct curve_pair pair = new_pair();
    void *context = zmq_ctx_new();
    struct stage stage;
    void *client;
    char got[8];

    stage_init(&stage);
    let_in(&stage.there, &pair);
    probe_open(&stage.server, ANY_PORT);
    client = bare_client(context, &pair, &stage.there.curve.own, hub_endpoint(stage.server.hub));
    cr_assert_eq(zmq_send(client, "x", 1, 0), 1);
    /* The loop does not turn, so nobody answers what libzmq asks. */
    cr_assert_eq(zmq_recv(client, got, sizeof got, 0), -1);
    cr_assert_eq(stage.server.requests, 0);
    probe_run_until(&stage.server, &stage.server.requests, 1);
    cr_assert_eq(zmq_close(client), 0);
    cr_assert_eq(zmq_ctx_term(context), 0);
    hub_destroy(&stage.server.hub);
}

/* The trap: User-Id is not on the routing id's part once ZMQ_EVENTS was looked at. */
Test(runtime_hub_curve, the_body_names_the_user_where_the_routing_id_may_not)
{
    struct curve_pair pair = new_pair();
    void *context = zmq_ctx_new();
    struct stage stage;
    void *client;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    probe_open(&stage.server, ANY_PORT);
    probe_start(&stage.server);
    client = bare_client(context, &pair, &stage.there.curve.own, hub_endpoint(stage.server.hub));
    for (int i = 0; i < 20; i++) {
        client_send(client, "hello");
        client_expect(client, "hello");
    }
    client_send(client, "stop");
    probe_join(&stage.server);
    cr_assert_eq(stage.server.last_peer.user, 7);
    cr_assert_eq(zmq_close(client), 0);
    cr_assert_eq(zmq_ctx_term(context), 0);
    hub_destroy(&stage.server.hub);
}

/* Whoever hangs up first has seen why; the other one sees a connection that broke. */
static uint64_t refused_there(const struct stage *self)
{
    return hub_counter(self->server.hub, HUB_COUNTER_REFUSED_PEERS) +
           hub_counter(self->server.hub, HUB_COUNTER_BROKEN_CONNECTIONS);
}

Test(runtime_hub_curve, a_plain_peer_gets_nothing_and_is_told_why)
{
    struct stage stage;

    stage_init(&stage);
    stage.here.plain = true;
    stage_open(&stage);
    expect_refusal(&stage, "speaks CURVE only");
    while (refused_there(&stage) == 0) { /* The suite's limit ends it. */
        turn(&stage);
    }
    stage_close(&stage);
}

/* ... also one that knows nothing of CURVE at all. */
Test(runtime_hub_curve, a_hub_without_curve_is_told_why)
{
    struct stage stage;

    stage_init(&stage);
    stage.player.curve = NULL;
    stage_open(&stage);
    expect_refusal(&stage, "speaks CURVE only");
    cr_assert_eq(
        stage.player.effects->link_open(stage.player.effects->context, "curve://127.0.0.1:1"), 0);
    stage_close(&stage);
}

Test(runtime_hub_curve, nothing_is_said_in_plain_that_was_meant_for_curve)
{
    struct curve_pair pair = new_pair();
    struct stage stage;

    stage_init(&stage);
    stage.server.curve = NULL;
    dial_with(&stage.here, &pair, &pair);
    stage_open(&stage);
    expect_refusal(&stage, "speaks plain ZMTP");
    stage_close(&stage);
}

/* A cluster goes from plain to CURVE, a process after the other. */
Test(runtime_hub_curve, a_server_that_was_taken_for_plain_is_dialed_by_curve)
{
    struct curve_pair pair = new_pair();
    struct stage stage;

    stage_init(&stage);
    stage.here.plain = true;
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_answer(&stage, "hello");
    cr_assert_eq(stage.server.last_peer.role, PEER_CLIENT);
    cr_assert_eq(stage.player.refusals, 0);
    stage_close(&stage);
}

Test(runtime_hub_curve, a_server_with_another_key_is_told_of)
{
    struct curve_pair pair = new_pair();
    struct curve_pair other = new_pair();
    struct stage stage;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &other);
    stage_open(&stage);
    expect_refusal(&stage, "its key is not one that we know");
    stage_close(&stage);
}

/* What tells of CURVE in an endpoint is for dial(), and goes on no socket. */
Test(runtime_hub_curve, an_endpoint_tells_that_it_speaks_curve)
{
    struct curve_pair pair = new_pair();
    struct stage stage;
    char endpoint[64];

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    probe_open(&stage.server, ANY_PORT);
    probe_open(&stage.player, NULL);
    (void)snprintf(endpoint, sizeof endpoint, "curve://%s",
                   hub_endpoint(stage.server.hub) + strlen("tcp://"));
    stage.link = stage.player.effects->link_open(stage.player.effects->context, endpoint);
    expect_answer(&stage, "hello");
    cr_assert_str_eq(stage.here.dialed, endpoint);
    stage_close(&stage);
}

/* A ring: whichever fits is found, though each refusal is the end of a session. */
Test(runtime_hub_curve, each_key_is_tried_in_turn)
{
    struct curve_pair pair = new_pair();
    struct curve_pair other = new_pair();
    struct stage stage;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &other);
    dial_with(&stage.here, &other, &stage.there.curve.own);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_answer(&stage, "hello");
    cr_assert_eq(stage.player.refusals, 0);
    stage_close(&stage);
}

/* It asks only now and then, and hears at once how often libzmq has tried the first key meanwhile:
 * that is one refusal. */
Test(runtime_hub_curve, a_key_that_is_refused_often_while_nobody_looks_is_refused_once)
{
    struct curve_pair pair = new_pair();
    struct curve_pair former = new_pair();
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;
    struct stage stage;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &former);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    while (hub_counter(stage.server.hub, HUB_COUNTER_BROKEN_CONNECTIONS) < OFTEN) {
        cr_assert_lt(hub_now_us(), deadline_us, "it is not tried");
        hub_run_once(stage.server.hub, 1000);
    }
    expect_answer(&stage, "hello");
    cr_assert_eq(stage.player.refusals, 0, "%s", stage.player.cause);
    stage_close(&stage);
}

Test(runtime_hub_curve, who_was_refused_gets_in_once_it_may)
{
    struct curve_pair pair = new_pair();
    struct stage stage;

    stage_init(&stage);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_refusal(&stage, "does not know our key");
    let_in(&stage.there, &pair);
    expect_answer(&stage, "hello");
    stage_close(&stage);
}

/* No call of libzmq ends its connection, so each message is looked at. */
Test(runtime_hub_curve, a_key_that_is_withdrawn_gets_nothing_though_it_is_connected,
     .init = cr_redirect_stderr)
{
    struct curve_pair pair = new_pair();
    struct stage stage;
    uint64_t requests;
    uint64_t end_us;

    stage_init(&stage);
    stage.there.curve.admits = on_admits;
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_answer(&stage, "hello");
    stage.there.nknown = 0;
    end_us = hub_now_us() + HUB_WHO_US;
    while (hub_now_us() <= end_us) {
        turn(&stage);
    }
    requests = stage.server.requests;
    expect_answer(&stage, "again");
    cr_assert_str_eq(stage.player.last, "refused");
    cr_assert_eq(stage.server.requests, requests);
    cr_assert_gt(stage.there.strangers, 0);
    cr_assert_gt(hub_counter(stage.server.hub, HUB_COUNTER_REFUSED_FRAMES), 0);
    expect_logged("refused a request from 127.0.0.1 with", &pair, ": the key was withdrawn");
    stage_close(&stage);
}

/* It is put off, which is nobody's fault: neither counted nor worth a line. */
Test(runtime_hub_curve, who_can_not_be_known_yet_is_answered_and_not_counted)
{
    struct curve_pair pair = new_pair();
    struct stage stage;

    stage_init(&stage);
    stage.there.curve.admits = on_admits;
    stage.there.pending = true;
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_answer(&stage, "hello");
    cr_assert_str_eq(stage.player.last, "refused");
    cr_assert_eq(stage.server.requests, 0);
    cr_assert_eq(hub_counter(stage.server.hub, HUB_COUNTER_REFUSED_FRAMES), 0);
    stage_close(&stage);
}

Test(runtime_hub_curve, a_frame_that_is_not_admitted_is_answered_with_a_refusal,
     .init = cr_redirect_stderr)
{
    struct curve_pair pair = new_pair();
    struct stage stage;

    stage_init(&stage);
    stage.there.curve.admits = on_admits;
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_answer(&stage, "no");
    cr_assert_str_eq(stage.player.last, "refused");
    cr_assert_eq(stage.server.requests, 0);
    cr_assert_gt(hub_counter(stage.server.hub, HUB_COUNTER_REFUSED_FRAMES), 0);
    expect_logged("refused a request from 127.0.0.1 with", &pair, ": its role does not allow it");
    expect_answer(&stage, "yes");
    cr_assert_str_eq(stage.player.last, "yes");
    cr_assert_eq(stage.there.strangers, 0);
    cr_assert_eq(stage.there.judged,
                 stage.server.requests + hub_counter(stage.server.hub, HUB_COUNTER_REFUSED_FRAMES),
                 "each frame, once");
    stage_close(&stage);
}

/* add: the next key is known on both sides; promote: the server serves it; retire: the first one
 * is gone. The dialer, and then the server, hears of each step first. */
Test(runtime_hub_curve, keys_are_rotated_while_they_are_connected)
{
    struct stage stage;
    struct curve_pair first;
    struct curve_pair next = new_pair();
    struct curve_pair own = new_pair();
    struct curve_pair own_next = new_pair();
    char said[4096] = "";

    cr_redirect_stderr();
    stage_init(&stage);
    first = stage.there.curve.own;
    let_in(&stage.there, &own);
    dial_with(&stage.here, &own, &first);
    stage_open(&stage);
    expect_answer(&stage, "hello");

    let_in(&stage.there, &own_next);
    hub_rekey(stage.server.hub);
    dial_with(&stage.here, &own_next, &next);
    hub_rekey(stage.player.hub);
    expect_answer(&stage, "added");

    stage.there.curve.own = next;
    hub_rekey(stage.server.hub);
    expect_answer(&stage, "promoted there");
    stage.here.ndials = 0;
    dial_with(&stage.here, &own_next, &next);
    dial_with(&stage.here, &own, &first);
    hub_rekey(stage.player.hub);
    expect_answer(&stage, "promoted here");

    stage.here.ndials = 1;
    hub_rekey(stage.player.hub);
    stage.there.nknown = 0;
    let_in(&stage.there, &own_next);
    hub_rekey(stage.server.hub);
    expect_answer(&stage, "retired");
    cr_assert_eq(stage.player.refusals, 0);
    stage_close(&stage);
    (void)fflush(stderr);
    said[fread(said, 1, sizeof said - 1, cr_get_redirected_stderr())] = '\0';
    cr_assert_null(strstr(said, "cannot listen"), "what passes by itself is no trouble: %s", said);
}

/* The key that a link speaks with is none of ours any more: it does not go on with it. */
Test(runtime_hub_curve, a_link_gives_up_a_key_that_is_retired)
{
    struct curve_pair pair = new_pair();
    struct curve_pair other = new_pair();
    struct stage stage;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    expect_answer(&stage, "hello");
    stage.server.requests = 0;
    stage.here.ndials = 0;
    dial_with(&stage.here, &other, &other);
    hub_rekey(stage.player.hub);
    cr_assert_neq(
        stage.player.effects->send(stage.player.effects->context, stage.link, span_text("x")),
        STATUS_OK);
    expect_refusal(&stage, "its key is not one that we know");
    stage_close(&stage);
}

static void turn_for(struct probe *player, uint64_t span_us)
{
    uint64_t end_us = hub_now_us() + span_us;

    while (hub_now_us() < end_us) {
        hub_run_once(player->hub, 10000);
    }
}

/* A port of the kernel's where nobody listens any more. */
static void quiet_endpoint(struct stage *self, char out[64])
{
    probe_open(&self->server, ANY_PORT);
    (void)snprintf(out, 64, "%s", hub_endpoint(self->server.hub));
    hub_destroy(&self->server.hub);
}

/* Its watch went to another link while nobody listened there: it is well all the same. */
Test(runtime_hub_curve, a_link_that_lost_its_watch_is_left_alone_once_it_is_well)
{
    enum { OTHERS = 64, AGED_US = 5200000, BACK_US = 2000000, SILENCE_US = 4500000 };
    struct stage stage;
    const struct effects *effects;

    stage_init(&stage);
    stage.server.curve = NULL;
    stage.here.plain = true;
    quiet_endpoint(&stage, stage.here.counted);
    probe_open(&stage.player, NULL);
    effects = stage.player.effects;
    stage.link = effects->link_open(effects->context, stage.here.counted);
    turn_for(&stage.player, AGED_US);
    for (unsigned i = 0; i < OTHERS; i++) {
        cr_assert_neq(effects->link_open(effects->context, "tcp://127.0.0.1:1"), 0);
    }
    probe_open(&stage.server, stage.here.counted);
    turn_for(&stage.player, BACK_US);
    expect_answer(&stage, "hello");
    turn_for(&stage.player, SILENCE_US);
    cr_assert_eq(stage.here.dials_made, 1, "it was opened anew");
    stage_close(&stage);
}

static int connect_to(const char *endpoint)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int connection = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    cr_assert_eq(inet_pton(AF_INET, "127.0.0.1", &address.sin_addr), 1);
    cr_assert_eq(connect(connection, (struct sockaddr *)&address, sizeof address), 0);
    return connection;
}

static void shout(const char *endpoint, const uint8_t *bytes, size_t size)
{
    int connection = connect_to(endpoint);

    cr_assert_eq(send(connection, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
    (void)close(connection);
}

/* It has been let in so far that it was greeted, and says then what it speaks. */
Test(runtime_hub_curve, where_a_plain_peer_is_from_is_logged, .init = cr_redirect_stderr)
{
    static const uint8_t greeting[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                         1,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    struct curve_pair pair = new_pair();
    struct stage stage;
    uint8_t byte;
    int connection;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    connection = connect_to(hub_endpoint(stage.server.hub));
    cr_assert_eq(recv(connection, &byte, 1, 0), 1);
    for (int i = 0; i < 10; i++) {
        turn(&stage);
    }
    cr_assert_eq(send(connection, greeting, sizeof greeting, MSG_NOSIGNAL), sizeof greeting);
    while (hub_counter(stage.server.hub, HUB_COUNTER_REFUSED_PEERS) == 0) {
        turn(&stage); /* The suite's limit ends it. */
    }
    expect_log("that speaks plain ZMTP, not CURVE (the newest connection is from 127.0.0.1): ");
    (void)close(connection);
    stage_close(&stage);
}

/* Garbage, and handshakes that end at any byte, harm nobody. */
Test(runtime_hub_curve, handshakes_that_break_off_harm_nobody)
{
    static const uint8_t greeting[64] = {0xff, 0, 0, 0,   0,   0,   0,   0,  1,
                                         0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
    uint8_t bytes[264];
    struct curve_pair pair = new_pair();
    struct stage stage;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    memset(bytes, 0xa5, sizeof bytes);
    memcpy(bytes, greeting, sizeof greeting);
    memcpy(bytes + sizeof greeting, "\x04\xc8\x05HELLO\x01", 9); /* 200 bytes, as it should be */
    for (size_t size = 1; size <= sizeof bytes; size += 7) {
        shout(hub_endpoint(stage.server.hub), bytes, size);
        turn(&stage);
    }
    memset(bytes, 0xff, sizeof bytes);
    shout(hub_endpoint(stage.server.hub), bytes, sizeof bytes);
    expect_answer(&stage, "hello");
    cr_assert_eq(stage.server.last_peer.user, 7);
    stage_close(&stage);
}

/* Watching takes descriptors, so not all links are at once; those that are not find their key, too.
 */
Test(runtime_hub_curve, many_links_find_their_key)
{
    enum { MANY = 150 };
    struct curve_pair pair = new_pair();
    struct curve_pair other = new_pair();
    uint64_t deadline_us = hub_now_us() + 3 * (uint64_t)PROBE_DEADLINE_US;
    uint32_t links[MANY];
    struct stage stage;
    size_t up = 0;

    stage_init(&stage);
    let_in(&stage.there, &pair);
    dial_with(&stage.here, &pair, &other);
    dial_with(&stage.here, &pair, &stage.there.curve.own);
    stage_open(&stage);
    for (size_t i = 0; i < MANY; i++) {
        links[i] = stage.player.effects->link_open(stage.player.effects->context,
                                                   hub_endpoint(stage.server.hub));
        cr_assert_neq(links[i], 0);
    }
    while (up < MANY) {
        cr_assert_lt(hub_now_us(), deadline_us, "%zu of %d are up", up, MANY);
        up = 0;
        for (size_t i = 0; i < MANY; i++) {
            up += stage.player.effects->send(stage.player.effects->context, links[i],
                                             span_text("x")) == STATUS_OK;
        }
        turn(&stage);
    }
    stage_close(&stage);
}
