/* Outgoing links under numbers, and the keys that they try.
 *
 * A link is watched, by a monitor of its socket, from when it is opened until its handshake has
 * succeeded, and again once nothing could be sent for a while. A monitor takes two sockets and
 * their descriptors, so only HUB_MAX_WATCHES are at once; a link that is not watched gets its turn
 * with a later send that fails. What happened before is not told: a link of which nothing at all
 * is heard is opened anew. One that is alive tells at least that it tries. But a link that is
 * connected tells nothing either, and its queue may be full: where it had much to send it gets more
 * time, as what is queued would be lost. */
#include "base/heap.h"
#include "runtime/hub_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#define CURVE_SCHEME "curve://"
#define TCP_SCHEME   "tcp://"

enum {
    DOWN_US = 20000,           /* sends fail for so long before anybody looks why */
    SILENT_US = 4000000,       /* longer than a try to connect takes */
    BUSY_SILENT_US = 20000000, /* ... where the queue may be full */
    BUSY_FRAMES = 256,         /* far less than a queue takes */
    BUSY_US = 10000000,        /* of so long */
    SHAKING_US = 7000000,      /* ... or a handshake, once it is connected */
    WATCH_LEAST_US = 5000000,  /* no other link takes its place before */
    PROMPT_US = 2500000,     /* a server that cuts a handshake off later was slow, not unwilling */
    ROUNDS = 2,              /* each key is tried so often before the actor is told */
    REOPEN_FIRST_US = 50000, /* between rounds, doubled each time */
    REOPEN_DOUBLINGS = 5,
};

static const int watched_events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_DELAYED |
                                  ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_CLOSED |
                                  ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                  ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                  ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_SUCCEEDED;

/* ---- which key ---- */

/* What a link may try: plain first where that is expected, then the keys. */
struct trials {
    bool plain;
    size_t nkeys;
    struct hub_dial keys[HUB_MAX_DIALS];
};

static void find_trials(const struct hub *hub, const char *endpoint, struct trials *out)
{
    memset(out, 0, sizeof *out);
    if (hub->curve == NULL) {
        out->plain = strncmp(endpoint, CURVE_SCHEME, sizeof CURVE_SCHEME - 1) != 0;
        return;
    }
    out->nkeys = hub->curve->dial(hub->curve->context, endpoint, &out->plain, out->keys);
    assert(out->nkeys <= HUB_MAX_DIALS);
}

static size_t ntrials(const struct trials *trials)
{
    return trials->nkeys + (trials->plain ? 1 : 0);
}

/* NULL: plain. */
static const struct hub_dial *trial_of(const struct trials *trials, unsigned trial)
{
    size_t at = trial % ntrials(trials);

    if (trials->plain) {
        return at == 0 ? NULL : &trials->keys[at - 1];
    }
    return &trials->keys[at];
}

static void forget(struct trials *trials)
{
    explicit_bzero(trials, sizeof *trials);
}

/* ---- watches ---- */

static void due(struct hub *hub, uint64_t at_us)
{
    hub->links_next_us = at_us < hub->links_next_us ? at_us : hub->links_next_us;
}

static void reopen_at(struct hub *hub, struct hub_link *self, uint64_t at_us)
{
    self->reopen_us = at_us;
    due(hub, at_us);
}

static void unwatch(struct hub *hub, struct hub_link *self)
{
    if (self->watch != NULL) {
        if (self->socket != NULL && self->socket->zmq != NULL) {
            (void)zmq_socket_monitor(self->socket->zmq, NULL, 0);
        }
        hub_socket_close(&self->watch);
        TAILQ_REMOVE(&hub->watched, self, entry);
        hub->nwatched--;
    }
}

static bool has_place(struct hub *hub, uint64_t now_us)
{
    struct hub_link *oldest = TAILQ_FIRST(&hub->watched);

    if (hub->nwatched >= HUB_MAX_WATCHES && now_us - oldest->watched_us >= WATCH_LEAST_US) {
        unwatch(hub, oldest);
    }
    return hub->nwatched < HUB_MAX_WATCHES;
}

/* Where there is no place, or no descriptor, it goes unwatched. */
static void watch(struct hub *hub, struct hub_link *self, uint64_t now_us)
{
    char endpoint[64];

    if (self->watch != NULL || self->socket == NULL || !has_place(hub, now_us)) {
        return;
    }
    (void)snprintf(endpoint, sizeof endpoint, "inproc://watch-%llu",
                   (unsigned long long)++hub->watch_number);
    if (hub_socket_new(hub, HUB_WATCH, ZMQ_PAIR, &self->watch) != STATUS_OK) {
        return;
    }
    self->watch->link = self->number;
    if (zmq_socket_monitor(self->socket->zmq, endpoint, watched_events) != 0 ||
        zmq_connect(self->watch->zmq, endpoint) != 0 || !hub_socket_watch(self->watch)) {
        (void)zmq_socket_monitor(self->socket->zmq, NULL, 0);
        hub_socket_close(&self->watch);
        return;
    }
    self->watched_us = now_us;
    self->connected_us = 0;
    TAILQ_INSERT_TAIL(&hub->watched, self, entry);
    hub->nwatched++;
    reopen_at(hub, self, now_us + (self->sent < BUSY_FRAMES ? SILENT_US : BUSY_SILENT_US));
}

/* ---- opening and closing ---- */

/* "curve://" is for us to tell, not for libzmq; the other scheme is shorter. */
static void address_of(const char *endpoint, char address[HUB_ENDPOINT_BYTES])
{
    const size_t scheme = sizeof CURVE_SCHEME - 1;

    if (strncmp(endpoint, CURVE_SCHEME, scheme) == 0) {
        memcpy(address, TCP_SCHEME, sizeof TCP_SCHEME - 1);
        memcpy(address + sizeof TCP_SCHEME - 1, endpoint + scheme, strlen(endpoint + scheme) + 1);
    } else {
        memcpy(address, endpoint, strlen(endpoint) + 1);
    }
}

static bool open_socket(struct hub *hub, struct hub_link *self, uint64_t now_us)
{
    char address[HUB_ENDPOINT_BYTES];
    struct trials trials;
    const struct hub_dial *dial;
    bool opened = false;

    assert(self->socket == NULL && self->watch == NULL);
    self->reopen_us = ACTOR_NEVER;
    self->spent = false;
    find_trials(hub, self->endpoint, &trials);
    if (ntrials(&trials) > 0) {
        address_of(self->endpoint, address);
        dial = trial_of(&trials, self->trial);
        self->curve = dial != NULL;
        if (dial != NULL) {
            memcpy(self->server_key, dial->server, sizeof self->server_key);
        }
        opened = hub_socket_open(hub, address, self->number, dial, &self->socket) == STATUS_OK;
    }
    forget(&trials);
    watch(hub, self, now_us);
    return opened;
}

static void close_socket(struct hub *hub, struct hub_link *self)
{
    unwatch(hub, self);
    hub_socket_close(&self->socket);
}

struct hub_link *hub_link_find(struct hub *hub, uint32_t link)
{
    struct hub_link *self = hub->links[link % HUB_MAX_LINKS];

    return link != 0 && self != NULL && self->number == link ? self : NULL;
}

/* Numbers go round the table, so a closed link's number comes back only after 2^32 / 2048. */
static uint32_t free_number(struct hub *hub)
{
    uint32_t place = 0;

    while (place < HUB_MAX_LINKS && hub->links[place] != NULL) {
        place++;
    }
    if (place == HUB_MAX_LINKS) {
        return 0;
    }
    hub->link_round = hub->link_round % (UINT32_MAX / HUB_MAX_LINKS - 1) + 1;
    return hub->link_round * HUB_MAX_LINKS + place;
}

uint32_t hub_link_open(void *context, const char *endpoint)
{
    struct hub *hub = context;
    size_t size = strlen(endpoint) + 1;
    uint32_t number = size <= HUB_ENDPOINT_BYTES ? free_number(hub) : 0;
    struct hub_link *self = number != 0 ? heap_zalloc(1, sizeof *self) : NULL;

    if (self == NULL) {
        return 0;
    }
    self->number = number;
    memcpy(self->endpoint, endpoint, size);
    if (!open_socket(hub, self, hub_now_us())) {
        heap_free(self);
        return 0;
    }
    hub->links[number % HUB_MAX_LINKS] = self;
    return number;
}

static void destroy(struct hub *hub, struct hub_link *self)
{
    close_socket(hub, self);
    hub->links[self->number % HUB_MAX_LINKS] = NULL;
    heap_free(self);
}

void hub_link_close(void *context, uint32_t link)
{
    struct hub_link *self = hub_link_find(context, link);

    if (self != NULL) {
        destroy(context, self);
    }
}

void hub_links_close(struct hub *hub)
{
    for (size_t i = 0; i < HUB_MAX_LINKS; i++) {
        if (hub->links[i] != NULL) {
            destroy(hub, hub->links[i]);
        }
    }
}

/* ---- what becomes of them ---- */

/* It is in. */
static void settle(struct hub *hub, struct hub_link *self)
{
    unwatch(hub, self);
    self->reopen_us = ACTOR_NEVER;
    self->failures = 0;
    self->spent = false;
    self->down_us = 0;
}

static void count_sent(struct hub_link *self, uint64_t now_us)
{
    if (now_us - self->sent_us >= BUSY_US) {
        self->sent_us = now_us;
        self->sent /= 2;
    }
    self->sent += self->sent < BUSY_FRAMES * 2;
}

void hub_link_sent(struct hub_link *self, bool sent)
{
    struct hub *hub = self->socket->hub;
    uint64_t now_us;

    if (sent) {
        count_sent(self, hub->pulse.last_us);
        if (self->reopen_us != ACTOR_NEVER || self->down_us != 0 || self->watch != NULL) {
            settle(hub, self);
        }
        return;
    }
    if (self->watch != NULL) {
        return;
    }
    now_us = hub_now_us();
    if (self->down_us == 0) {
        self->down_us = now_us;
    } else if (now_us - self->down_us >= DOWN_US) {
        watch(hub, self, now_us);
    }
}

/* What tells most comes first: of several it is said. */
enum refusal { REFUSED_KEY, REFUSED_PLAIN, REFUSED_CURVE, REFUSED_NOISE, REFUSED_CUT };

static const char *const refusals[] = {
    [REFUSED_KEY] = "it does not know our key; give all processes of a cluster the same "
                    "cluster_key_file, and a client a credential file that is not withdrawn",
    [REFUSED_PLAIN] = "it speaks CURVE only, and we have no key for it; give a credential file "
                      "(--credential FILE, ORBLOOM_CREDENTIAL; where a user's key is made: --as "
                      "FILE, or --cluster-key FILE)",
    [REFUSED_CURVE] =
        "it speaks plain ZMTP, and what is said by CURVE must not be said in plain; "
        "set transport = \"curve\" there, or \"plain\" here; a client that is to speak "
        "plain: --credential none",
    [REFUSED_CUT] =
        "it ends each handshake, so its key is not one that we know, or it speaks plain ZMTP; give "
        "all processes of a cluster the same cluster_key_file and transport, and a client a "
        "credential file of this cluster (orbloom user renew)",
    [REFUSED_NOISE] = "it does not speak ZMTP; look at what listens there",
};

static void tell(struct hub *hub, struct hub_link *self, uint64_t now_us)
{
    char cause[512];

    (void)snprintf(cause, sizeof cause, "%s does not let us in: %s", self->endpoint,
                   refusals[self->refusal]);
    if (hub->actor.on_shut_out != NULL) {
        hub->actor.on_shut_out(hub->actor.self, now_us, self->number, cause);
    } else {
        log_limited(&hub->refused_link_log, now_us, LOG_WARN, "%s", cause);
    }
}

/* The next key at once; when all were tried, more and more slowly. */
static void refused(struct hub *hub, struct hub_link *self, uint64_t now_us, enum refusal refusal)
{
    struct trials trials;
    size_t count;
    unsigned rounds;

    find_trials(hub, self->endpoint, &trials);
    count = ntrials(&trials) > 0 ? ntrials(&trials) : 1;
    forget(&trials);
    self->trial = (unsigned)((self->trial + 1) % count);
    self->refusal = self->failures == 0 || refusal < self->refusal ? refusal : self->refusal;
    self->failures++;
    self->spent = true;
    rounds = (unsigned)(self->failures / count);
    if (self->failures % count != 0) {
        reopen_at(hub, self, now_us);
        return;
    }
    rounds = rounds < REOPEN_DOUBLINGS ? rounds : REOPEN_DOUBLINGS;
    reopen_at(hub, self, now_us + ((uint64_t)REOPEN_FIRST_US << (rounds - 1)));
    if (rounds >= ROUNDS || (refusal == REFUSED_PLAIN && count == 1)) {
        tell(hub, self, now_us); /* That it speaks CURVE only it has said itself. */
    }
}

static void on_protocol_error(struct hub *hub, struct hub_link *self, uint64_t now_us,
                              uint32_t error)
{
    if (error != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
        refused(hub, self, now_us, REFUSED_NOISE);
    } else {
        refused(hub, self, now_us, self->curve ? REFUSED_CURVE : REFUSED_PLAIN);
    }
}

/* A server with another key than we expect can't read what we say, and hangs up. libzmq would try
 * the same again for ever. One that speaks another mechanism hangs up, too, and its greeting, which
 * says so, may be lost with the connection: the next one may tell. */
static void on_cut_off(struct hub *hub, struct hub_link *self, uint64_t now_us)
{
    /* On loopback it may be connected before anybody watches. */
    uint64_t since_us = self->connected_us != 0 ? self->connected_us : self->watched_us;

    if (now_us - since_us >= PROMPT_US) {
        return;
    }
    if (self->curve) {
        refused(hub, self, now_us, REFUSED_CUT);
    } else {
        reopen_at(hub, self, now_us + REOPEN_FIRST_US);
    }
}

/* libzmq goes on trying the key that was refused until the socket is opened anew. In a process that
 * asks now and then all of that is heard at once: it says nothing of the other keys. */
static void on_event(struct hub *hub, struct hub_link *self, uint64_t now_us, uint16_t event,
                     uint32_t value)
{
    if (self->spent && event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
        return;
    }
    switch (event) {
    case ZMQ_EVENT_CONNECTED:
        self->connected_us = now_us;
        reopen_at(hub, self, now_us + SHAKING_US);
        return;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        settle(hub, self);
        return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        refused(hub, self, now_us, REFUSED_KEY);
        return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        on_protocol_error(hub, self, now_us, value);
        return;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        on_cut_off(hub, self, now_us);
        return;
    case ZMQ_EVENT_CLOSED: /* Nobody listens there. */
        self->failures = 0;
        break;
    default:
        break;
    }
    if (self->reopen_us != ACTOR_NEVER && self->failures == 0) {
        reopen_at(hub, self, now_us + SILENT_US);
    }
}

bool hub_link_event(struct hub_socket *watch, uint64_t now_us)
{
    struct hub *hub = watch->hub;
    struct hub_link *self = hub_link_find(hub, watch->link);
    uint16_t event;
    uint32_t value;

    assert(self != NULL && self->watch == watch);
    if (!hub_receive_event(watch->zmq, &event, &value)) {
        return false;
    }
    on_event(hub, self, now_us, event, value);
    return true;
}

static void reopen(struct hub *hub, struct hub_link *self, uint64_t now_us)
{
    close_socket(hub, self);
    if (!open_socket(hub, self, now_us)) {
        reopen_at(hub, self, now_us + SILENT_US); /* No descriptor just now, or no key. */
    }
}

void hub_links_tick(struct hub *hub, uint64_t now_us)
{
    if (now_us < hub->links_next_us) {
        return;
    }
    hub->links_next_us = ACTOR_NEVER;
    for (size_t i = 0; i < HUB_MAX_LINKS; i++) {
        struct hub_link *self = hub->links[i];

        if (self != NULL && self->reopen_us <= now_us) {
            reopen(hub, self, now_us);
        }
        if (self != NULL) {
            due(hub, self->reopen_us);
        }
    }
}

/* The trial with the key that it speaks with; how many there are if that is none of ours. */
static unsigned trial_in_use(const struct hub_link *self, const struct trials *trials)
{
    unsigned at = 0;

    while (at < ntrials(trials)) {
        const struct hub_dial *dial = trial_of(trials, at);

        if (dial != NULL && memcmp(dial->server, self->server_key, CURVE_KEY_BYTES) == 0) {
            break;
        }
        at++;
    }
    return at;
}

/* At once where it must not go on: what is sent until the next tick would go by the old key. */
static void rekey(struct hub *hub, struct hub_link *self, uint64_t now_us)
{
    struct trials trials;
    unsigned at;
    bool ours;

    find_trials(hub, self->endpoint, &trials);
    at = trial_in_use(self, &trials);
    ours = at < ntrials(&trials);
    forget(&trials);
    self->trial = ours ? at : 0;
    if (!ours || self->failures > 0) {
        reopen(hub, self, now_us);
    }
}

void hub_links_rekey(struct hub *hub)
{
    uint64_t now_us = hub_now_us();

    for (size_t i = 0; i < HUB_MAX_LINKS; i++) {
        struct hub_link *self = hub->links[i];

        if (self != NULL && (self->curve || self->failures > 0)) {
            rekey(hub, self, now_us);
        }
    }
}
