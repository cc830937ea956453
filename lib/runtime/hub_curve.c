/* Who gets in at the server socket, and whose each request is.
 *
 * libzmq asks the handler of ZAP about each handshake and keeps what that says, the key as text,
 * as a property of all that comes by the connection. It is on every part of a message but the
 * routing id, which may lack it. What who() says of a key holds for a moment, in a small table: a
 * lookup among thousands of users is not made for each message. */
#include "base/log.h"
#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

/* Without it, or with an empty domain, libzmq 4.3 lets everybody in whom no handler refuses. It is
 * in the library since 4.3.0, and only the draft part of its header names it. */
#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
enum { ZMQ_ZAP_ENFORCE_DOMAIN = 93 };
#endif

#define ZAP_ENDPOINT "inproc://zeromq.zap.01"
#define ZAP_DOMAIN   "orbloom"
#define USER_ID      "User-Id"
#define PEER_ADDRESS "Peer-Address"

enum {
    ZAP_PARTS = 8, /* version, request, domain, address, identity, mechanism, key: 7 */
    ZAP_PART_BYTES = 256,
    KEY_DIGITS = 2 * CURVE_KEY_BYTES,
    REBIND_AGAIN_US = 2000,
    REBIND_PATIENCE_US = 1000000,
};

/* ---- keys of sockets ---- */

bool hub_curve_serve(const struct hub *hub, void *zmq)
{
    const int one = 1;

    if (hub->curve == NULL || !hub->curve->listens) {
        return true;
    }
    return zmq_setsockopt(zmq, ZMQ_CURVE_SERVER, &one, sizeof one) == 0 &&
           zmq_setsockopt(zmq, ZMQ_CURVE_SECRETKEY, hub->curve->own.secret, CURVE_KEY_BYTES) == 0 &&
           zmq_setsockopt(zmq, ZMQ_ZAP_DOMAIN, ZAP_DOMAIN, sizeof ZAP_DOMAIN - 1) == 0 &&
           zmq_setsockopt(zmq, ZMQ_ZAP_ENFORCE_DOMAIN, &one, sizeof one) == 0;
}

bool hub_curve_dial(void *zmq, const struct hub_dial *dial)
{
    return zmq_setsockopt(zmq, ZMQ_CURVE_PUBLICKEY, dial->own.public, CURVE_KEY_BYTES) == 0 &&
           zmq_setsockopt(zmq, ZMQ_CURVE_SECRETKEY, dial->own.secret, CURVE_KEY_BYTES) == 0 &&
           zmq_setsockopt(zmq, ZMQ_CURVE_SERVERKEY, dial->server, CURVE_KEY_BYTES) == 0;
}

/* ---- who asks to get in ---- */

/* What a session of libzmq asks, part by part. */
struct zap_request {
    uint8_t parts[ZAP_PARTS][ZAP_PART_BYTES];
    size_t sizes[ZAP_PARTS];
    size_t count;
};

enum zap_part {
    ZAP_VERSION,
    ZAP_REQUEST,
    ZAP_DOMAIN_PART,
    ZAP_ADDRESS,
    ZAP_IDENTITY,
    ZAP_MECHANISM,
    ZAP_KEY,
    ZAP_NPARTS
};

/* False: nobody asks. A part that is longer than any of libzmq's is taken for empty: a key or
 * mechanism that is empty is refused, an address or identity is only told. */
static bool receive_question(void *zmq, struct zap_request *out)
{
    bool more = true;

    out->count = 0;
    while (more) {
        zmq_msg_t part;
        size_t size;

        (void)zmq_msg_init(&part);
        if (zmq_msg_recv(&part, zmq, ZMQ_DONTWAIT) < 0) {
            (void)zmq_msg_close(&part);
            if (errno == EINTR && out->count > 0) {
                continue; /* The parts of one message arrive together. */
            }
            return false;
        }
        size = zmq_msg_size(&part);
        more = zmq_msg_more(&part) != 0;
        if (out->count < ZAP_PARTS) {
            size = size <= ZAP_PART_BYTES ? size : 0;
            memcpy(out->parts[out->count], zmq_msg_data(&part), size);
            out->sizes[out->count] = size;
        }
        out->count++;
        (void)zmq_msg_close(&part);
    }
    return true;
}

static bool is_about_curve(const struct zap_request *asked)
{
    return asked->count == ZAP_NPARTS && asked->sizes[ZAP_MECHANISM] == 5 &&
           memcmp(asked->parts[ZAP_MECHANISM], "CURVE", 5) == 0 &&
           asked->sizes[ZAP_KEY] == CURVE_KEY_BYTES;
}

/* The socket is a REP: it must answer before it hears the next question. */
static void answer_question(void *zmq, const struct zap_request *asked, const char *code,
                            const char *text, const char *user)
{
    const struct span parts[] = {
        span_text("1.0"),
        asked->count > ZAP_REQUEST ? span_of(asked->parts[ZAP_REQUEST], asked->sizes[ZAP_REQUEST])
                                   : span_text(""),
        span_text(code),
        span_text(text),
        span_text(user),
        span_text(""),
    };
    const size_t count = sizeof parts / sizeof parts[0];

    for (size_t i = 0; i < count; i++) {
        while (zmq_send(zmq, parts[i].data, parts[i].size,
                        ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0)) < 0 &&
               errno == EINTR) {
        }
    }
}

/* As credentials and `orbloom user` write a key. */
static void write_key(const uint8_t key[CURVE_KEY_BYTES], char text[KEY_DIGITS + 1])
{
    for (size_t i = 0; i < CURVE_KEY_BYTES; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", key[i]);
    }
}

static void say_refused_key(struct hub *hub, uint64_t now_us, const struct zap_request *asked)
{
    char key[KEY_DIGITS + 1];
    const char *remedy = hub->curve->stranger_remedy;
    bool has_address = asked->count > ZAP_ADDRESS && asked->sizes[ZAP_ADDRESS] < ZAP_PART_BYTES;

    write_key(asked->parts[ZAP_KEY], key);
    hub_refuse(hub, HUB_COUNTER_REFUSED_PEERS, ACTOR_REFUSED_PEER);
    log_limited(&hub->refused_peer_log, now_us, LOG_WARN,
                "refused a peer from %.*s: nobody here has the public key %s; %s",
                has_address ? (int)asked->sizes[ZAP_ADDRESS] : 1,
                has_address ? (const char *)asked->parts[ZAP_ADDRESS] : "?", key,
                remedy != NULL
                    ? remedy
                    : "give a process the cluster_key_file of this cluster, and a client a "
                      "credential file that is not withdrawn");
}

bool hub_zap_answer(struct hub_socket *zap, uint64_t now_us)
{
    struct hub *hub = zap->hub;
    struct zap_request asked;
    struct peer peer = {.size = 0};
    char key[HUB_KEY_TEXT_BYTES] = "";

    if (!receive_question(zap->zmq, &asked)) {
        return false;
    }
    if (!is_about_curve(&asked)) {
        answer_question(zap->zmq, &asked, "400", "no CURVE", "");
        return true;
    }
    (void)zmq_z85_encode(key, asked.parts[ZAP_KEY], CURVE_KEY_BYTES);
    if (hub->curve->who(hub->curve->context, asked.parts[ZAP_KEY], &peer)) {
        answer_question(zap->zmq, &asked, "200", "", key);
    } else {
        answer_question(zap->zmq, &asked, "400", "unknown key", "");
        say_refused_key(hub, now_us, &asked);
    }
    return true;
}

enum status hub_zap_open(struct hub *hub)
{
    enum status status = hub_socket_new(hub, HUB_ZAP, ZMQ_REP, &hub->zap);
    const int linger = 0;

    assert(hub->curve->who != NULL);
    if (status != STATUS_OK) {
        return status;
    }
    memcpy(hub->served, hub->curve->own.public, sizeof hub->served);
    if (zmq_setsockopt(hub->zap->zmq, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_bind(hub->zap->zmq, ZAP_ENDPOINT) != 0 || !hub_socket_watch(hub->zap)) {
        hub_socket_close(&hub->zap);
        return STATUS_IO;
    }
    return STATUS_OK;
}

/* ---- whose a request is ---- */

/* Keys are as good as random: what their text begins with spreads them. */
static struct hub_known *place_of(struct hub *hub, const char *text)
{
    uint32_t hash;

    memcpy(&hash, text, sizeof hash);
    return &hub->known[(hash * UINT32_C(2654435761)) >> 24 & (HUB_KNOWN_PEERS - 1)];
}

static const struct hub_known *look_up(struct hub *hub, uint64_t now_us, const char *text)
{
    struct hub_known *known = place_of(hub, text);
    struct peer peer = {.size = 0};
    uint8_t key[CURVE_KEY_BYTES];

    if (now_us >= hub->known_until_us) {
        memset(hub->known, 0, sizeof hub->known);
        hub->known_until_us = now_us + HUB_WHO_US;
    }
    if (memcmp(known->text, text, sizeof known->text) != 0) {
        memcpy(known->text, text, sizeof known->text);
        known->known = zmq_z85_decode(key, text) != NULL &&
                       hub->curve->who(hub->curve->context, key, &peer);
        known->role = peer.role;
        known->user = peer.user;
    }
    return known;
}

/* False: it is not known any more, or has come by a way that tells nothing. */
static bool identify(struct hub *hub, uint64_t now_us, struct hub_request *request)
{
    const char *text = zmq_msg_gets(&request->frame, USER_ID);
    const struct hub_known *known;

    if (text == NULL || strlen(text) != HUB_KEY_TEXT_BYTES - 1) {
        return false;
    }
    known = look_up(hub, now_us, text);
    request->from.role = known->role;
    request->from.user = known->user;
    return known->known;
}

static const char *told_address(zmq_msg_t *frame)
{
    const char *text = zmq_msg_gets(frame, PEER_ADDRESS);

    return text != NULL ? text : "?";
}

/* libzmq has it as hub_zap_answer() said it. */
static const char *told_key(zmq_msg_t *frame, char text[KEY_DIGITS + 1])
{
    const char *told = zmq_msg_gets(frame, USER_ID);
    uint8_t key[CURVE_KEY_BYTES];

    if (told == NULL || strlen(told) != HUB_KEY_TEXT_BYTES - 1 ||
        zmq_z85_decode(key, told) == NULL) {
        return "?";
    }
    write_key(key, text);
    return text;
}

static void say_refused(struct hub *hub, uint64_t now_us, struct hub_request *request, bool known)
{
    char key[KEY_DIGITS + 1];

    hub_refuse(hub, HUB_COUNTER_REFUSED_FRAMES, ACTOR_REFUSED_FRAME);
    log_limited(&hub->refused_frame_log, now_us, LOG_WARN,
                "refused a request from %s with the public key %s: %s",
                told_address(&request->frame), told_key(&request->frame, key),
                known ? "its role does not allow it; see docs/security.md for which does"
                      : "the key was withdrawn; give its owner one that is known");
}

/* Who is put off has done nothing wrong. */
static void refuse(struct hub *hub, uint64_t now_us, struct hub_request *request, bool known)
{
    if (!known || request->from.user != PEER_PENDING) {
        say_refused(hub, now_us, request, known);
    }
    if (hub->refusal.size > 0) {
        (void)hub->effects.reply(hub->effects.context, &request->from, buffer_span(&hub->refusal));
    }
}

bool hub_curve_admits(struct hub *hub, uint64_t now_us, struct hub_request *request)
{
    const struct hub_curve *curve = hub->curve;
    struct span frame = span_of(zmq_msg_data(&request->frame), zmq_msg_size(&request->frame));
    bool known;
    bool admitted;

    if (curve == NULL || !curve->listens) {
        return true;
    }
    known = identify(hub, now_us, request);
    buffer_clear(&hub->refusal);
    admitted = curve->admits == NULL
                   ? known
                   : curve->admits(curve->context, &request->from, known, frame, &hub->refusal);
    assert(known || !admitted);
    if (!admitted) {
        refuse(hub, now_us, request, known);
    }
    return admitted;
}

/* ---- other keys ---- */

/* What a listening socket was bound with stays: it is bound anew. libzmq lets go of the address a
 * moment later, so that has to be tried again as a rule, which is not worth a word. */
static void rebind(struct hub *hub, uint64_t now_us)
{
    void *zmq = hub->server->zmq;

    if (zmq_bind(zmq, hub->endpoint) == 0) {
        hub->rebind_us = ACTOR_NEVER;
        hub->unbound_us = 0;
        hub_socket_touch(hub->server);
        return;
    }
    hub->rebind_us = now_us + REBIND_AGAIN_US;
    if (log_level_lasting(&hub->unbound_us, now_us, REBIND_PATIENCE_US) == LOG_ERROR) {
        log_limited(&hub->rebind_log, now_us, LOG_ERROR,
                    "cannot listen on %s with the new key: %s; if another process has taken the "
                    "address, stop it",
                    hub->endpoint, zmq_strerror(errno));
    }
}

void hub_curve_tick(struct hub *hub, uint64_t now_us)
{
    if (now_us >= hub->rebind_us) {
        rebind(hub, now_us);
    }
}

void hub_rekey(struct hub *hub)
{
    const struct hub_curve *curve = hub->curve;

    assert(curve != NULL);
    hub->known_until_us = 0;
    if (hub->server != NULL && curve->listens &&
        memcmp(hub->served, curve->own.public, sizeof hub->served) != 0) {
        memcpy(hub->served, curve->own.public, sizeof hub->served);
        (void)zmq_unbind(hub->server->zmq, hub->endpoint); /* It may wait to be bound as it is. */
        (void)zmq_setsockopt(hub->server->zmq, ZMQ_CURVE_SECRETKEY, curve->own.secret,
                             CURVE_KEY_BYTES); /* As it went at the start. */
        rebind(hub, hub_now_us());
    }
    hub_links_rekey(hub);
}
