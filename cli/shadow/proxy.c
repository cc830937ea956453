/* What is to be sent is gathered per connection and leaves at the end of a turn; then each client
 * is read, or not, by how much is kept for it. */
#include "cli/shadow/proxy.h"

#include "base/actor.h"
#include "base/heap.h"
#include "cli/cmd.h"
#include "cli/shadow/compare.h"
#include "cli/shadow/outlet.h"
#include "cli/shadow/server.h"
#include "cli/shadow/visit.h"
#include "runtime/streams/hub_streams.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_US = 100000,
    RETRY_US = 1000000,    /* between connections to the new server */
    SILENT_US = 10000000,  /* it owes something for so long: another connection is tried */
    LEFT_US = 30000000,    /* for what a client that has gone had sent */
    END_US = 5000000,      /* for what is under way at the end */
    LAST_REPORT_MS = 5000, /* until somebody reads it */
    UNSENT_MOST = 1 << 20,
    OUT_MOST = 1 << 30,
    HUB_FRAME_BYTES = 1024, /* no frame is ever sent or received */
};

struct proxy;
struct client;

/* One end of a connection. */
struct side {
    TAILQ_ENTRY(side) dirty_entry;
    struct proxy *proxy;
    struct client *client; /* NULL: the new server's */
    struct hub_stream *stream;
    struct buffer out;
    bool dirty;
};

TAILQ_HEAD(sides, side);

struct client {
    TAILQ_ENTRY(client) entry;
    struct side front; /* the client itself */
    struct side old_side;
    struct visit *visit;
    uint64_t left_us; /* when it went, or said that it says no more; 0: not yet */
    bool ended;       /* by us */
    bool heard;       /* something of the old server */
};

TAILQ_HEAD(clients, client);

struct proxy {
    const struct proxy_options *options;
    struct server old_server;
    struct server new_server;
    struct tls_source certificates; /* for clients */
    struct hub *hub;
    struct hub_streams *front;
    struct hub_streams *back;
    struct side new_side;
    struct mirror mirror;
    struct tally tally;
    struct visit_port port;
    struct clients clients;
    struct sides dirty;
    uint64_t begun_us;
    uint64_t reported_us; /* the last report that was read */
    uint64_t report_us;   /* the next one */
    uint64_t tick_us;     /* the next one */
    uint64_t retry_us;    /* to connect to the new server, or to ask it once more */
    uint64_t heard_us;    /* of the new server, or nothing was expected */
    uint64_t end_us;      /* asked for; 0: not yet */
};

/* ---- what leaves ---- */

static void put(struct side *side, struct span bytes)
{
    if (side->stream == NULL || buffer_append(&side->out, bytes) != STATUS_OK) {
        if (side->stream != NULL) {
            hub_stream_drop(side->stream);
        }
        return;
    }
    if (!side->dirty) {
        side->dirty = true;
        TAILQ_INSERT_TAIL(&side->proxy->dirty, side, dirty_entry);
    }
}

static void push_out(struct side *side)
{
    if (side->dirty) {
        side->dirty = false;
        TAILQ_REMOVE(&side->proxy->dirty, side, dirty_entry);
    }
    if (side->stream != NULL && side->out.size > 0) {
        hub_stream_send(side->stream, buffer_span(&side->out));
    }
    buffer_clear(&side->out);
}

static void to_client(void *owner, struct span bytes)
{
    put(&((struct client *)owner)->front, bytes);
}

static void to_old(void *owner, struct span bytes)
{
    put(&((struct client *)owner)->old_side, bytes);
}

static void to_new(void *context, struct span bytes)
{
    put(&((struct proxy *)context)->new_side, bytes);
}

static size_t unsent(const struct side *side)
{
    return side->stream != NULL ? side->out.size + hub_stream_unsent(side->stream) : 0;
}

/* ---- clients ---- */

static void init_side(struct side *side, struct proxy *proxy, struct client *client)
{
    *side = (struct side){.proxy = proxy, .client = client};
    buffer_init(&side->out, OUT_MOST);
}

static void fini_side(struct side *side)
{
    if (side->dirty) {
        TAILQ_REMOVE(&side->proxy->dirty, side, dirty_entry);
    }
    buffer_fini(&side->out);
}

static void destroy_client(struct client *client)
{
    struct proxy *proxy = client->front.proxy;

    assert(client->front.stream == NULL && client->old_side.stream == NULL);
    TAILQ_REMOVE(&proxy->clients, client, entry);
    visit_destroy(&client->visit);
    fini_side(&client->front);
    fini_side(&client->old_side);
    heap_free(client);
}

/* All that was for the client has left, then the end. */
static void end_client(struct client *client)
{
    client->ended = true;
    push_out(&client->front);
    if (client->front.stream != NULL) {
        hub_stream_close(client->front.stream);
    }
}

/* Whoever has gone is forgotten once the old server has answered what it had sent; whoever says no
 * more and still reads gets all answers before the end. */
static void let_go(struct client *client)
{
    struct hub_stream *old_stream = client->old_side.stream;

    if (client->front.stream == NULL && old_stream != NULL && visit_is_settled(client->visit)) {
        hub_stream_drop(old_stream);
    } else if (client->front.stream != NULL && client->left_us != 0 && !client->ended &&
               visit_is_answered(client->visit)) {
        end_client(client);
    }
}

/* Read each end as far as there is room at the other. */
static void balance(struct client *client)
{
    if (visit_is_torn(client->visit) && client->front.stream != NULL) {
        hub_stream_drop(client->front.stream);
        return;
    }
    if (client->front.stream != NULL && !client->ended) {
        hub_stream_read(client->front.stream, client->front.proxy->end_us == 0 &&
                                                  visit_reads_client(client->visit) &&
                                                  unsent(&client->old_side) < UNSENT_MOST);
    }
    if (client->old_side.stream != NULL) {
        hub_stream_read(client->old_side.stream,
                        visit_reads_old(client->visit) && unsent(&client->front) < UNSENT_MOST);
    }
}

static void *front_opened(void *context, uint64_t now_us, struct hub_stream *stream,
                          const char *peer)
{
    struct proxy *proxy = context;
    struct client *client = heap_zalloc(1, sizeof *client);

    (void)now_us;
    (void)peer;
    if (client == NULL) {
        return NULL;
    }
    init_side(&client->front, proxy, client);
    init_side(&client->old_side, proxy, client);
    TAILQ_INSERT_TAIL(&proxy->clients, client, entry);
    client->visit = visit_create(&proxy->port, client);
    if (client->visit != NULL) {
        client->old_side.stream = server_connect(&proxy->old_server, proxy->back,
                                                 &client->old_side);
    }
    if (client->old_side.stream == NULL) { /* No memory, or no descriptor for the other end. */
        hub_stream_send(stream, span_text("-ERR max number of clients reached\r\n"));
        destroy_client(client);
        return NULL;
    }
    client->front.stream = stream;
    return client;
}

static void front_bytes(void *context, uint64_t now_us, void *owner, struct span bytes)
{
    struct client *client = owner;

    (void)context;
    (void)now_us;
    visit_client_bytes(client->visit, bytes);
    balance(client);
}

static void front_drained(void *context, uint64_t now_us, void *owner)
{
    (void)context;
    (void)now_us;
    balance(owner);
}

static void front_ended(void *context, uint64_t now_us, void *owner)
{
    struct client *client = owner;

    (void)context;
    client->left_us = now_us;
    let_go(client);
}

static void front_closed(void *context, void *owner)
{
    struct client *client = owner;

    (void)context;
    client->front.stream = NULL;
    client->left_us = hub_now_us();
    push_out(&client->old_side);
    if (client->old_side.stream == NULL) {
        destroy_client(client);
    } else {
        balance(client);
        let_go(client);
    }
}

/* Those that did not get in were told of in the log. */
static void front_shaken(void *context, enum tls_outcome outcome)
{
    (void)context;
    (void)outcome;
}

/* ---- servers ---- */

static void *back_opened(void *context, uint64_t now_us, struct hub_stream *stream,
                         const char *peer)
{
    (void)context;
    (void)now_us;
    (void)stream;
    (void)peer;
    return NULL; /* Nobody listens there. */
}

static void back_connected(void *context, uint64_t now_us, void *owner)
{
    struct proxy *proxy = context;

    if (owner == &proxy->new_side) {
        proxy->heard_us = now_us;
        mirror_connected(&proxy->mirror);
    }
}

static void new_bytes(struct proxy *proxy, uint64_t now_us, struct span bytes)
{
    server_is_there(&proxy->new_server);
    proxy->heard_us = now_us;
    if (mirror_bytes(&proxy->mirror, now_us, bytes)) {
        return;
    }
    if (!mirror_ready(&proxy->mirror)) {
        tally_refusal(&proxy->tally, buffer_span(&proxy->mirror.reply));
    } else {
        tally_refusal(&proxy->tally, span_text("-what answers there is no Redis server"));
    }
    hub_stream_drop(proxy->new_side.stream);
}

static void back_bytes(void *context, uint64_t now_us, void *owner, struct span bytes)
{
    struct proxy *proxy = context;
    struct side *side = owner;

    if (side == &proxy->new_side) {
        new_bytes(proxy, now_us, bytes);
        return;
    }
    server_is_there(&proxy->old_server);
    side->client->heard = true;
    visit_old_bytes(side->client->visit, now_us, bytes);
    balance(side->client);
    let_go(side->client);
}

static void back_drained(void *context, uint64_t now_us, void *owner)
{
    struct side *side = owner;

    (void)context;
    (void)now_us;
    if (side->client != NULL) {
        balance(side->client);
    }
}

static void new_closed(struct proxy *proxy)
{
    const char *failure = hub_stream_failure(proxy->new_side.stream);
    struct client *client;

    if (failure[0] != '\0' && proxy->end_us == 0) {
        server_say_away(&proxy->new_server, failure);
    }
    proxy->tally.counts[TALLY_NEW_FAILED] += proxy->mirror.connected && proxy->end_us == 0;
    proxy->new_side.stream = NULL;
    proxy->retry_us = hub_now_us() + RETRY_US;
    buffer_clear(&proxy->new_side.out);
    mirror_disconnected(&proxy->mirror);
    TAILQ_FOREACH(client, &proxy->clients, entry)
    {
        visit_server_gone(client->visit);
    }
}

/* The client learns why, as far as it is told anything; not in the midst of an answer, which it
 * would take that for. */
static void say_failure(struct client *client)
{
    const char *failure = hub_stream_failure(client->old_side.stream);
    char text[160];

    if (failure[0] != '\0') {
        client->front.proxy->tally.counts[TALLY_OLD_FAILED]++;
        server_say_away(&client->front.proxy->old_server, failure);
    }
    if (failure[0] != '\0' && !client->heard) {
        (void)snprintf(text, sizeof text,
                       "-ERR orbloom shadow can't reach the old server: %.100s\r\n", failure);
        put(&client->front, span_text(text));
    }
}

static void back_closed(void *context, void *owner)
{
    struct proxy *proxy = context;
    struct side *side = owner;
    struct client *client = side->client;

    if (side == &proxy->new_side) {
        new_closed(proxy);
        return;
    }
    if (client->front.stream != NULL) {
        visit_server_gone(client->visit);
        say_failure(client);
    }
    side->stream = NULL;
    if (client->front.stream == NULL) {
        destroy_client(client);
    } else if (!client->ended) {
        end_client(client);
    }
}

static void answered(void *context, struct mirror_item *item, struct span reply)
{
    struct proxy *proxy = context;

    shadow_compare(&proxy->tally, item, reply);
    visit_new_answered(item, reply);
}

static void put_off(void *context, struct mirror_item *item)
{
    (void)context;
    visit_new_answered(item, span_of(NULL, 0)); /* For whoever waits it is none. */
}

/* ---- time ---- */

/* One that nobody reads is dropped: clients wait for no terminal, and the next one tells of all
 * since the last that was read. */
static void report(struct proxy *proxy, uint64_t now_us, int wait_ms)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return;
    }
    proxy->tally.late = proxy->options->answers_new && mirror_is_late(&proxy->mirror);
    tally_report(&proxy->tally, out, now_us - proxy->begun_us, now_us - proxy->reported_us,
                 proxy->mirror.count);
    if (fclose(out) == 0 && outlet_put(stdout, span_of(text, size), wait_ms)) {
        tally_reported(&proxy->tally);
        proxy->reported_us = now_us;
    } else {
        proxy->tally.counts[TALLY_UNREAD]++;
    }
    free(text);
}

static void look_at_clients(struct proxy *proxy, uint64_t now_us)
{
    struct client *client;

    TAILQ_FOREACH(client, &proxy->clients, entry)
    {
        if (proxy->options->answers_new && now_us > proxy->options->new_timeout_us) {
            visit_give_up(client->visit, now_us - proxy->options->new_timeout_us);
        }
        if (client->left_us != 0 && now_us - client->left_us > LEFT_US &&
            client->old_side.stream != NULL) {
            hub_stream_drop(client->old_side.stream);
        }
        if (proxy->end_us != 0 && !client->ended && visit_is_answered(client->visit) &&
            unsent(&client->old_side) == 0) {
            end_client(client);
        }
        balance(client);
    }
}

static void look_at_new(struct proxy *proxy, uint64_t now_us)
{
    if (mirror_is_idle(&proxy->mirror)) {
        proxy->heard_us = now_us;
    }
    if (now_us >= proxy->retry_us) {
        proxy->retry_us = now_us + RETRY_US;
        mirror_again(&proxy->mirror);
        if (proxy->new_side.stream == NULL) {
            proxy->heard_us = now_us;
            proxy->new_side.stream = server_connect(&proxy->new_server, proxy->back,
                                                    &proxy->new_side);
        }
    } else if (proxy->new_side.stream != NULL && now_us - proxy->heard_us > SILENT_US) {
        hub_stream_drop(proxy->new_side.stream);
        proxy->heard_us = now_us;
    }
}

static void on_time(void *self, uint64_t now_us)
{
    struct proxy *proxy = self;

    proxy->tick_us = now_us + TICK_US;
    look_at_new(proxy, now_us);
    look_at_clients(proxy, now_us);
    if (now_us >= proxy->report_us) {
        proxy->report_us = now_us + proxy->options->every_us;
        report(proxy, now_us, 0);
    }
}

static uint64_t next_us(void *self)
{
    return ((struct proxy *)self)->tick_us;
}

static void on_turn(void *self, uint64_t now_us)
{
    struct proxy *proxy = self;
    struct side *side;

    (void)now_us;
    while ((side = TAILQ_FIRST(&proxy->dirty)) != NULL) {
        push_out(side);
        if (side->client != NULL) {
            balance(side->client);
            let_go(side->client);
        }
    }
}

/* All is answered and has left, or nobody is there to answer, or there is no more time for that. */
static bool over(void *self)
{
    struct proxy *proxy = self;
    bool waits = !TAILQ_EMPTY(&proxy->clients) ||
                 (proxy->mirror.count > 0 && mirror_ready(&proxy->mirror));

    return proxy->end_us != 0 && (!waits || hub_now_us() - proxy->end_us > END_US);
}

static void on_signal(void *context, int number)
{
    struct proxy *proxy = context;
    uint64_t now_us = hub_now_us();

    if (number == SIGUSR1) {
        report(proxy, now_us, 0);
    } else if (proxy->end_us != 0) {
        hub_stop(proxy->hub);
    } else {
        proxy->end_us = now_us;
        hub_streams_stop_listening(proxy->front);
    }
}

/* ---- its life ---- */

static void on_request(void *self, uint64_t now_us, const struct peer *from, struct span frame)
{
    (void)self, (void)now_us, (void)from, (void)frame;
}

static void on_answer(void *self, uint64_t now_us, uint32_t link, struct span frame)
{
    (void)self, (void)now_us, (void)link, (void)frame;
}

static bool on_work(void *self, uint64_t now_us)
{
    (void)self, (void)now_us;
    return false;
}

static int open_hub(struct proxy *proxy)
{
    const struct hub_options options = {.max_frame_bytes = HUB_FRAME_BYTES,
                                        .on_signal = on_signal,
                                        .signal_context = proxy,
                                        .on_usr1 = true};
    const struct actor actor = {
        .self = proxy,
        .on_request = on_request,
        .on_answer = on_answer,
        .turn = on_turn,
        .next_us = next_us,
        .time = on_time,
        .work = on_work,
        .over = over,
    };

    if (hub_create(&options, &proxy->hub) != STATUS_OK) {
        return CMD_PARTIAL; /* It has said why. */
    }
    hub_attach(proxy->hub, &actor);
    return CMD_OK;
}

static int open_streams(struct proxy *proxy)
{
    const struct stream_handler front = {.context = proxy,
                                         .opened = front_opened,
                                         .bytes = front_bytes,
                                         .drained = front_drained,
                                         .ended = front_ended,
                                         .closed = front_closed,
                                         .shaken = front_shaken};
    const struct stream_handler back = {.context = proxy,
                                        .opened = back_opened,
                                        .bytes = back_bytes,
                                        .drained = back_drained,
                                        .closed = back_closed,
                                        .connected = back_connected};
    uint32_t most = (uint32_t)proxy->options->max_clients;
    const struct hub_streams_options none = {
        .endpoint = "", .path = "", .max_streams = 2 * most + 1};
    const bool plain = proxy->certificates.identity == NULL;
    const struct hub_streams_options clients = {
        .endpoint = plain ? proxy->options->listen : "",
        .path = "",
        .max_streams = most,
        .tls_endpoint = proxy->options->listen,
        .tls = plain ? NULL : &proxy->certificates,
    };

    return hub_streams_open(proxy->hub, &none, &back, &proxy->back) == STATUS_OK &&
                   hub_streams_open(proxy->hub, &clients, &front, &proxy->front) == STATUS_OK
               ? CMD_OK
               : CMD_PARTIAL;
}

static void init(struct proxy *proxy, const struct proxy_options *options)
{
    const struct mirror_port port = {
        .context = proxy, .send = to_new, .answered = answered, .put_off = put_off};

    *proxy = (struct proxy){
        .options = options,
        .old_server = {.name = "old",
                       .prefix = "old_",
                       .endpoint = options->old_server,
                       .files = &options->old_tls},
        .new_server = {.name = "new",
                       .prefix = "new_",
                       .endpoint = options->new_server,
                       .files = &options->new_tls},
        .begun_us = hub_now_us(),
    };
    proxy->reported_us = proxy->heard_us = proxy->begun_us;
    proxy->report_us = proxy->begun_us + options->every_us;
    proxy->tally.show_keys = options->show_keys;
    proxy->tally.new_answers = options->answers_new;
    TAILQ_INIT(&proxy->clients);
    TAILQ_INIT(&proxy->dirty);
    init_side(&proxy->new_side, proxy, NULL);
    mirror_init(&proxy->mirror, &port, options->queue_bytes, options->new_timeout_us,
                options->greeting);
    proxy->port = (struct visit_port){.to_client = to_client,
                                      .to_old = to_old,
                                      .mirror = &proxy->mirror,
                                      .tally = &proxy->tally,
                                      .database = (uint32_t)options->database,
                                      .answers_new = options->answers_new};
}

/* What is not answered now never is. */
static void fini(struct proxy *proxy)
{
    hub_streams_close(&proxy->front);
    hub_streams_close(&proxy->back);
    mirror_fini(&proxy->mirror);
    fini_side(&proxy->new_side);
    hub_destroy(&proxy->hub);
    server_fini(&proxy->old_server);
    server_fini(&proxy->new_server);
    tls_source_fini(&proxy->certificates);
}

static int find_all(struct proxy *proxy)
{
    const struct tls_files *files = &proxy->options->listen_tls;
    enum status status = server_find(&proxy->old_server);

    status = status == STATUS_OK ? server_find(&proxy->new_server) : status;
    if (status == STATUS_OK && files->certificate[0] != '\0') {
        status = tls_source_read(&proxy->certificates, files);
    }
    return status == STATUS_OK ? CMD_OK : CMD_USAGE;
}

int proxy_run(const struct proxy_options *options)
{
    struct proxy proxy;
    int code;

    init(&proxy, options);
    code = find_all(&proxy);
    code = code == CMD_OK ? open_hub(&proxy) : code;
    code = code == CMD_OK ? open_streams(&proxy) : code;
    if (code == CMD_OK) {
        (void)printf("ready %s\n", proxy.certificates.identity != NULL
                                       ? hub_streams_tls_endpoint(proxy.front)
                                       : hub_streams_endpoint(proxy.front));
        (void)fflush(stdout);
        hub_run(proxy.hub);
    }
    fini(&proxy);
    if (code != CMD_OK) {
        return code;
    }
    report(&proxy, hub_now_us(), LAST_REPORT_MS);
    return cmd_close_output(tally_missed(&proxy.tally) == 0 ? CMD_OK : CMD_PARTIAL);
}
