/* Streams that share a loop: whoever sends without end has its turn, and others have theirs. Both
 * ends are in this process, and the busy peer sends more each time that something of it was handed
 * over, so that it never runs dry. */
#include "runtime/streams/hub_streams_internal.h"
#include "runtime_probe.h"
#include "tests/support/certificates.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BUSY, /* sends TOTAL bytes as fast as they are taken */
    CALM, /* ... a byte whenever the last one was handed over */
    NENDS,
    TOTAL = 16 << 20,
    PIECE = 32 << 10,
    MOST_APART = STREAM_TURN_BYTES + STREAM_READ_BYTES,
    MOST_ON_THE_WAY = 1 << 20, /* what a unix-domain socket holds is less */
};

struct stage;

struct end {
    struct stage *stage;
    struct hub_stream *stream;
    int fd;
    SSL *ssl; /* NULL: plain */
    uint64_t sent;
    uint64_t got;
};

struct stage {
    struct probe probe;
    struct hub_streams *streams;
    struct tls_source tls;
    char folder[32];
    char path[64];
    struct end ends[NENDS];
    uint64_t opened;
    uint64_t apart;      /* bytes of the busy one since the calm one was heard last */
    uint64_t most_apart; /* ... at most */
    uint64_t calm;       /* how often it was heard while the other one was sending */
    uint64_t bytes_us;   /* when any were handed over last, as was told */
};

static uint8_t byte_at(uint64_t at)
{
    return (uint8_t)(at * 7 + at / 251);
}

/* ---- what peers send ---- */

static ssize_t send_some(struct end *end, const void *bytes, size_t size)
{
    int sent;

    if (end->ssl == NULL) {
        return send(end->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    ERR_clear_error();
    sent = SSL_write(end->ssl, bytes, (int)size);
    return sent > 0 ? sent : -1;
}

/* Until its socket takes no more. A record that did not leave is offered again, unchanged. */
static void pump(struct end *end)
{
    uint8_t bytes[PIECE];
    ssize_t sent = 1;

    while (sent > 0 && end->sent < TOTAL) {
        size_t size = TOTAL - end->sent < PIECE ? TOTAL - end->sent : PIECE;

        for (size_t i = 0; i < size; i++) {
            bytes[i] = byte_at(end->sent + i);
        }
        sent = send_some(end, bytes, size);
        end->sent += sent > 0 ? (uint64_t)sent : 0;
    }
}

static void say(struct end *calm)
{
    cr_assert_eq(send_some(calm, "x", 1), 1);
    calm->sent++;
}

/* ---- what the hub hands over ---- */

static void *on_opened(void *context, uint64_t now_us, struct hub_stream *stream, const char *peer)
{
    struct stage *self = context;
    struct end *end = &self->ends[self->opened++];

    (void)now_us;
    (void)peer;
    end->stream = stream;
    return end;
}

static void heard_busy(struct end *end, struct span bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        cr_assert_eq(bytes.data[i], byte_at(end->got + i), "byte %zu", (size_t)end->got + i);
    }
    end->stage->apart += bytes.size;
    pump(end);
}

static void heard_calm(struct stage *self)
{
    struct end *calm = &self->ends[CALM];

    self->most_apart = self->apart > self->most_apart ? self->apart : self->most_apart;
    self->apart = 0;
    if (self->ends[BUSY].sent < TOTAL) {
        self->calm++;
        say(calm);
    }
}

static void on_bytes(void *context, uint64_t now_us, void *owner, struct span bytes)
{
    struct stage *self = context;
    struct end *end = owner;

    self->bytes_us = now_us;
    if (end == &self->ends[BUSY]) {
        heard_busy(end, bytes);
    } else {
        heard_calm(self);
    }
    end->got += bytes.size;
}

static void on_drained(void *context, uint64_t now_us, void *owner)
{
    (void)context;
    (void)now_us;
    (void)owner;
}

static void on_closed(void *context, void *owner)
{
    (void)context;
    ((struct end *)owner)->stream = NULL;
}

static void on_shaken(void *context, enum tls_outcome outcome)
{
    (void)context;
    cr_assert_eq(outcome, TLS_DONE);
}

/* ---- both ends ---- */

static void open_streams(struct stage *self, bool tls)
{
    static const struct stream_handler handler = {.opened = on_opened,
                                                  .bytes = on_bytes,
                                                  .drained = on_drained,
                                                  .closed = on_closed,
                                                  .shaken = on_shaken};
    struct stream_handler mine = handler;
    struct hub_streams_options options = {
        .endpoint = "",
        .path = self->path,
        .max_streams = NENDS,
        .tls_endpoint = "tcp://127.0.0.1:*",
        .tls = tls ? &self->tls : NULL,
    };

    mine.context = self;
    probe_open(&self->probe, NULL);
    cr_assert_eq(hub_streams_open(self->probe.hub, &options, &mine, &self->streams), STATUS_OK);
}

static void read_identity(struct stage *self)
{
    char certificate[64];
    char key[64];
    struct tls_files files = {.certificate = certificate, .key = key, .authority = ""};

    certificates_make(self->folder);
    (void)snprintf(certificate, sizeof certificate, "%s/server.pem", self->folder);
    (void)snprintf(key, sizeof key, "%s/server.key", self->folder);
    cr_assert_eq(tls_source_read(&self->tls, &files), STATUS_OK);
}

static void set_up(struct stage *self, bool tls)
{
    *self = (struct stage){.folder = "/tmp/orbloom-streams-XXXXXX"};
    cr_assert_not_null(mkdtemp(self->folder));
    (void)snprintf(self->path, sizeof self->path, "%s/socket", self->folder);
    if (tls) {
        read_identity(self);
    }
    open_streams(self, tls);
}

static void tear_down(struct stage *self)
{
    char command[64];

    for (size_t i = 0; i < NENDS; i++) {
        SSL_free(self->ends[i].ssl);
        (void)close(self->ends[i].fd);
    }
    hub_streams_close(&self->streams);
    hub_destroy(&self->probe.hub);
    tls_source_fini(&self->tls);
    (void)snprintf(command, sizeof command, "rm -rf %s", self->folder);
    cr_assert_eq(system(command), 0);
}

static int dial_path(const struct stage *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", self->path);
    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static int dial_tls(const struct stage *self)
{
    const char *port = strrchr(hub_streams_tls_endpoint(self->streams), ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int now = 1;

    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &now, sizeof now), 0);
    cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static void turn(struct stage *self)
{
    hub_run_once(self->probe.hub, 1000);
}

static void shake(struct stage *self, struct end *end)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    uint64_t deadline_us = hub_now_us() + PROBE_DEADLINE_US;

    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    end->ssl = SSL_new(context);
    SSL_CTX_free(context);
    cr_assert_eq(SSL_set_fd(end->ssl, end->fd), 1);
    while (SSL_connect(end->ssl) != 1) {
        cr_assert_lt(hub_now_us(), deadline_us);
        turn(self);
    }
}

static void dial(struct stage *self, size_t index, bool tls)
{
    struct end *end = &self->ends[index];

    end->stage = self;
    end->fd = tls ? dial_tls(self) : dial_path(self);
    if (tls) {
        shake(self, end);
    }
    probe_run_until(&self->probe, &self->opened, index + 1);
}

/* ---- tests ---- */

TestSuite(runtime_streams, .timeout = 120);

static void expect_turns(bool tls)
{
    static struct stage stage;
    struct end *busy = &stage.ends[BUSY];
    struct end *calm = &stage.ends[CALM];

    set_up(&stage, tls);
    dial(&stage, BUSY, tls);
    dial(&stage, CALM, tls);
    pump(busy);
    say(calm);
    probe_run_until(&stage.probe, &busy->got, TOTAL);
    probe_run_until(&stage.probe, &calm->got, calm->sent);
    cr_assert_eq(busy->got, TOTAL);
    cr_assert_gt(stage.calm, 0);
    cr_assert_leq(stage.most_apart, MOST_APART, "%zu bytes came first", (size_t)stage.most_apart);
    tear_down(&stage);
}

Test(runtime_streams, whoever_sends_without_end_leaves_turns_to_others)
{
    expect_turns(false);
}

Test(runtime_streams, so_does_whoever_sends_by_tls)
{
    expect_turns(true);
}

/* Alone it has all turns, and none of its bytes is lost between two of them. */
Test(runtime_streams, one_that_is_alone_gets_through)
{
    static struct stage stage;
    struct end *busy = &stage.ends[BUSY];

    set_up(&stage, false);
    dial(&stage, BUSY, false);
    pump(busy);
    probe_run_until(&stage.probe, &busy->got, TOTAL);
    stage.ends[CALM].fd = -1;
    tear_down(&stage);
}

/* ---- beside a busy actor ---- */

enum { TURN_US = 400, MOST_TURNS = 3, TIMES = 50 };

struct hurry {
    struct stage *stage;
    uint32_t link;
    uint64_t said;  /* turns when the calm one spoke */
    uint64_t most;  /* ... until it was heard, at most */
    uint64_t heard; /* how often it was */
};

/* An actor with much to do, which sends something in each of its turns. */
static void hurry(struct probe *probe)
{
    struct hurry *self = probe->extra;
    struct end *calm = &self->stage->ends[CALM];
    uint64_t end_us = hub_now_us() + TURN_US;

    cr_assert_geq(probe->turn_us, self->stage->bytes_us, "the clock has gone back");
    (void)probe->effects->send(probe->effects->context, self->link, span_text("x"));
    if (calm->got == calm->sent) {
        uint64_t took = probe->turns - self->said;

        self->most = self->heard > 0 && took > self->most ? took : self->most;
        self->heard++;
        self->said = probe->turns;
        say(calm);
    }
    while (hub_now_us() < end_us) {
    }
}

/* What comes by streams is looked for between its turns. */
Test(runtime_streams, an_actor_that_is_busy_hears_of_them_in_time)
{
    static struct stage stage;
    struct hurry self = {.stage = &stage};
    struct probe *probe = &stage.probe;

    set_up(&stage, false);
    dial(&stage, BUSY, false);
    dial(&stage, CALM, false);
    stage.ends[BUSY].sent = TOTAL; /* It says nothing. */
    self.link = probe->effects->link_open(probe->effects->context, "tcp://127.0.0.1:1");
    cr_assert_neq(self.link, 0);
    probe->extra = &self;
    probe->turn_hook = hurry;
    probe_run_until(probe, &self.heard, TIMES);
    cr_assert_leq(self.most, MOST_TURNS, "%zu turns", (size_t)self.most);
    tear_down(&stage);
}

/* ---- what is thrown away ---- */

struct flood {
    int fd;
    _Atomic uint64_t sent;
    atomic_bool stop;
};

/* Nobody is told of what a lingering stream brings, so a thread keeps its socket full. */
static void *flood(void *context)
{
    static const char bytes[PIECE];
    struct flood *self = context;

    while (!self->stop) {
        ssize_t sent = send(self->fd, bytes, sizeof bytes, MSG_NOSIGNAL);

        if (sent <= 0) {
            break;
        }
        self->sent += (uint64_t)sent;
    }
    return NULL;
}

/* How much of the flood is read at most before the calm one is heard. */
static uint64_t most_before_calm(struct stage *self, struct flood *busy)
{
    struct end *calm = &self->ends[CALM];
    uint64_t most = 0;
    uint64_t begin = busy->sent;

    while (busy->sent - begin < TOTAL) {
        uint64_t before = busy->sent;

        cr_assert_eq(send_some(calm, "x", 1), 1);
        calm->sent++;
        probe_run_until(&self->probe, &calm->got, calm->sent);
        most = busy->sent - before > most ? busy->sent - before : most;
    }
    return most;
}

Test(runtime_streams, one_that_lingers_has_turns_like_others)
{
    static struct stage stage;
    struct flood busy = {0};
    pthread_t thread;
    uint64_t most;

    set_up(&stage, false);
    dial(&stage, BUSY, false);
    dial(&stage, CALM, false);
    stage.ends[BUSY].sent = TOTAL; /* the thread does it */
    busy.fd = stage.ends[BUSY].fd;
    hub_stream_close(stage.ends[BUSY].stream);
    cr_assert_eq(pthread_create(&thread, NULL, flood, &busy), 0);
    most = most_before_calm(&stage, &busy);
    cr_assert_not_null(stage.ends[BUSY].stream, "it lingers as long as its peer sends");
    cr_assert_eq(stage.ends[BUSY].got, 0);
    cr_assert_lt(most, MOST_APART + MOST_ON_THE_WAY, "%zu bytes came first", (size_t)most);
    busy.stop = true;
    (void)shutdown(busy.fd, SHUT_RDWR);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    tear_down(&stage);
}
