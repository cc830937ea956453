/* The two faces, the clock, and which filters are sent and received: those whose document names the
 * other site. An actor around the router's actor: what the core answers to no peer is the link's.
 */
#include "link/link.h"

#include "base/heap.h"
#include "link/private.h"
#include "link/received/evidence.h"
#include "link/states.h"
#include "map/history/rebuild.h"

#include <assert.h>
#include <string.h>

enum { ARENA_BYTES = 64 << 20 };

/* ---- which filters ---- */

/* Who joins, leaves or is being filled waits for marks. */
static bool is_settled(const struct site_set *set)
{
    bool settled = set->says_absent && set->settled;

    for (uint32_t i = 0; i < set->count; i++) {
        settled &= set->entries[i].state == SITE_COUNTED || set->entries[i].state == SITE_GONE;
    }
    return settled;
}

static void want(struct link *self, const struct document_entry *entry)
{
    const struct site_entry *own = site_filter_own(self, entry);

    struct inflow_wish wish;

    if (own == NULL) {
        return;
    }
    wish = (struct inflow_wish){
        .filter_id = entry->document.id,
        .uid = entry->document.content.uid,
        .own_life = own->life,
        .keyset = rebuild_serving(&entry->document),
        .epoch = entry->document.epoch,
        .loss = places_loss(&entry->document),
        .set_hash = mark_set_hash(document_sites(&entry->document)),
        .unsettled = !is_settled(document_sites(&entry->document)),
    };
    for (wish.peer = 0; wish.peer < self->config.npeers; wish.peer++) {
        const struct site_entry *other = site_filter_peer(self, entry, wish.peer);

        if (other != NULL) {
            wish.source_life = other->life;
            wish.resync = other->resync;
            wish.paused = pause_is_here(self, entry, wish.peer);
            inflow_want(self, &wish);
        }
    }
}

static void look_through(struct link *self)
{
    const struct document_cache *documents = router_documents(self->router);

    memset(self->pauses, 0, sizeof self->pauses);
    for (size_t i = 0; i < documents->count; i++) {
        want(self, documents->by_id[i]);
    }
    inflows_sweep(self);
}

/* ---- what the router acts through ---- */

static enum status router_reply(void *context, const struct peer *to, struct span bytes)
{
    struct link *self = context;
    struct frame frame = {0};

    if (to->size > 0) {
        return self->inner.reply(self->inner.context, to, bytes);
    }
    if (codec_decode(self->reply_arena, bytes, &frame) == STATUS_OK &&
        frame.kind == FRAME_CLIENT_REPLY) {
        (void)inflows_on_reply(self, self->now_us, &frame);
    }
    return STATUS_OK;
}

static uint32_t router_link_open(void *context, const char *endpoint)
{
    struct link *self = context;

    return self->inner.link_open(self->inner.context, endpoint);
}

static void router_link_close(void *context, uint32_t link)
{
    struct link *self = context;

    self->inner.link_close(self->inner.context, link);
}

static enum status router_send(void *context, uint32_t link, struct span frame)
{
    struct link *self = context;

    return self->inner.send(self->inner.context, link, frame);
}

static uint64_t router_random(void *context)
{
    struct link *self = context;

    return self->inner.random(self->inner.context);
}

static uint64_t router_date_ms(void *context)
{
    struct link *self = context;

    return self->inner.date_ms(self->inner.context);
}

static uint64_t router_waited_us(void *context)
{
    struct link *self = context;

    return self->inner.waited_us(self->inner.context);
}

static uint64_t router_clock_us(void *context)
{
    struct link *self = context;

    return self->inner.clock_us(self->inner.context);
}

static void router_submit(void *context, enum job_lane lane, struct job *job)
{
    struct link *self = context;

    self->inner.submit(self->inner.context, lane, job);
}

static uint8_t *router_room(void *context, size_t size)
{
    struct link *self = context;

    return self->inner.room(self->inner.context, size);
}

const struct effects *link_router_effects(struct link *link)
{
    return &link->router_effects;
}

/* ---- life ---- */

enum status link_create(const struct link_config *config, const struct effects *inner,
                        const struct effects *outer, struct link **out)
{
    struct link *self = heap_zalloc(1, sizeof *self);

    assert(config->npeers <= LINK_MAX_SITES);
    assert(config->connections <= SITE_MAX_CONNECTIONS);
    if (self == NULL || codec_arena_create(ARENA_BYTES, &self->arena) != STATUS_OK ||
        codec_arena_create(ARENA_BYTES, &self->reply_arena) != STATUS_OK ||
        states_create(&self->states) != STATUS_OK) {
        link_destroy(&self);
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->config.window = config->window < LINK_WINDOW_MIN   ? LINK_WINDOW_MIN
                          : config->window > LINK_WINDOW_MAX ? LINK_WINDOW_MAX
                                                             : config->window;
    self->config.held = config->held != 0 ? config->held : LINK_HELD_BYTES;
    self->config.connections = config->connections != 0 ? config->connections : 1;
    self->config.crowd = config->crowd != 0 ? config->crowd : LINK_CROWD_BYTES;
    self->config.offered = config->offered != 0 ? config->offered : LINK_OFFERED_KEYS;
    self->inner = *inner;
    self->outer = *outer;
    self->router_effects = (struct effects){
        .context = self,
        .reply = router_reply,
        .link_open = router_link_open,
        .link_close = router_link_close,
        .send = router_send,
        .random = router_random,
        .date_ms = inner->date_ms != NULL ? router_date_ms : NULL,
        .waited_us = inner->waited_us != NULL ? router_waited_us : NULL,
        .clock_us = inner->clock_us != NULL ? router_clock_us : NULL,
        .room = inner->room != NULL ? router_room : NULL,
        .submit = inner->submit != NULL ? router_submit : NULL,
        .slow_pages = inner->slow_pages,
    };
    buffer_init(&self->out, CODEC_MAX_FRAME_BYTES);
    TAILQ_INIT(&self->inflows);
    TAILQ_INIT(&self->leaving);
    TAILQ_INIT(&self->outflows);
    TAILQ_INIT(&self->readers);
    ages_init(self);
    confirms_init(self);
    self->boot = inner->random(inner->context);
    *out = self;
    return STATUS_OK;
}

void link_destroy(struct link **link)
{
    struct link *self = *link;

    *link = NULL;
    if (self == NULL) {
        return;
    }
    if (self->boot != 0) { /* It was made whole. */
        inflows_fini(self);
        outflows_fini(self);
        readers_fini(self);
        ages_fini(self);
        confirms_fini(self);
        put_back_fini(self);
    }
    buffer_fini(&self->out);
    states_destroy(&self->states);
    heap_free(self->evidence_page);
    heap_free(self->rest_logs);
    heap_free(self->rest_busy);
    heap_free(self->filters);
    heap_free(self->spare);
    codec_arena_destroy(&self->arena);
    codec_arena_destroy(&self->reply_arena);
    heap_free(self);
}

static void fill_sync(void *context, uint64_t now_us, uint32_t coordinator,
                      struct sync_request *request)
{
    states_fill(context, now_us, coordinator, request);
}

static void on_sync_answered(void *context, uint64_t now_us, const struct sync_reply *reply,
                             bool last)
{
    states_answered(context, now_us, reply, last);
}

void link_attach(struct link *link, struct router *router, const struct actor *actor)
{
    const struct router_sync_extra extra = {
        .context = link, .fill = fill_sync, .answered = on_sync_answered};

    assert(link->router == NULL);
    link->router = router;
    link->core = *actor;
    router_set_sync_extra(router, &extra);
}

const uint64_t *link_counts(const struct link *link)
{
    return link->counters;
}

/* ---- towards its own site ---- */

static void on_inner_request(void *context, uint64_t now_us, const struct peer *from,
                             struct span bytes)
{
    struct link *self = context;
    enum frame_kind kind = codec_peek(bytes).kind;
    struct frame frame = {0};

    self->now_us = now_us;
    if (kind != FRAME_STATS_REQUEST && kind != FRAME_CLIENT_REQUEST && kind != FRAME_INFO_REQUEST &&
        kind != FRAME_SITE_AGE_REQUEST && kind != FRAME_SITE_LAG_REQUEST) {
        self->core.on_request(self->core.self, now_us, from, bytes);
    } else if (codec_decode(self->arena, bytes, &frame) != STATUS_OK) {
        self->core.on_request(self->core.self, now_us, from, bytes); /* It says what is wrong. */
    } else if (frame.kind == FRAME_STATS_REQUEST) {
        report_on_stats(self, from, &frame);
    } else if (frame.kind == FRAME_SITE_AGE_REQUEST) {
        ages_on_request(self, now_us, from, &frame);
    } else if (frame.kind == FRAME_SITE_LAG_REQUEST) {
        lag_on_request(self, now_us, from, &frame);
    } else {
        report_refuse_client(self, from, &frame);
    }
}

static void on_inner_answer(void *context, uint64_t now_us, uint32_t link, struct span frame)
{
    struct link *self = context;

    self->now_us = now_us;
    if (!readers_on_answer(self, now_us, link, frame)) {
        self->core.on_answer(self->core.self, now_us, link, frame);
    }
}

/* Who waits for marks of what is received hears of those that count for more by now. */
static void tell_confirmed(struct link *self)
{
    struct inflow *inflow;

    if (!self->confirmed_news) {
        return;
    }
    self->confirmed_news = false;
    TAILQ_FOREACH(inflow, &self->inflows, link)
    {
        if (inflow->marked.news) {
            inflow->marked.news = false;
            ages_marked(self, inflow->filter_id);
            confirms_marked(inflow);
        }
    }
}

/* ... and of ends of this site's logs who is to ask others with them. */
static void tell_ends(struct link *self, uint64_t now_us)
{
    struct outflow *outflow;

    if (!self->ends_news) {
        return;
    }
    self->ends_news = false;
    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        struct outmark *own = &outflow->marks[OUTFLOW_OWN];

        if (own->told) {
            own->told = own->used = false;
            if (!outflow->over) {
                ages_on_ends(self, now_us, outflow, own);
            }
        }
    }
}

/* What came from other sites becomes the router's, and what that has learned theirs. */
static void turn(void *context, uint64_t now_us)
{
    struct link *self = context;

    self->now_us = now_us;
    evidence_turn(self, now_us);
    confirms_reach(self, now_us);
    inflows_turn(self, now_us);
    states_turn(self, now_us);
    self->core.turn(self->core.self, now_us);
    readers_turn(self, now_us);
    outflows_turn(self, now_us);
    strands_turn(self, now_us);
    tell_ends(self, now_us);
    inflows_turn(self, now_us);
    tell_confirmed(self);
    ages_turn(self, now_us);
    confirms_turn(self, now_us);
    self->core.turn(self->core.self, now_us); /* What these have asked nodes leaves at once. */
}

static uint64_t next_us(void *context)
{
    struct link *self = context;
    uint64_t own_us = least(readers_next_us(self), outflows_next_us(self));

    own_us = least(own_us, least(inflows_next_us(self), self->next_tick_us));
    own_us = least(own_us, least(states_next_us(self), ages_next_us(self)));
    own_us = least(own_us, least(confirms_next_us(self), strands_next_us(self)));
    return least(own_us, self->core.next_us(self->core.self));
}

/* turn() follows, and does what is due. */
static void on_time(void *context, uint64_t now_us)
{
    struct link *self = context;

    self->now_us = now_us;
    if (now_us >= self->next_tick_us) {
        self->next_tick_us = now_us + LINK_HELLO_US;
        greetings_tick(self, now_us);
        look_through(self);
        inflows_tick(self, now_us);
        states_tick(self, now_us);
        evidence_tick(self, now_us);
        put_back_tick(self, now_us);
        outflows_tick(self);
        readers_tick(self);
        lag_tick(self, now_us);
        report_tick(self);
    }
    if (self->core.next_us(self->core.self) <= now_us) {
        self->core.time(self->core.self, now_us);
    }
}

static bool work(void *context, uint64_t now_us)
{
    struct link *self = context;

    self->now_us = now_us;
    return self->core.work(self->core.self, now_us);
}

static void refused(void *context, enum actor_refusal what)
{
    struct link *self = context;

    if (self->core.refused != NULL) {
        self->core.refused(self->core.self, what);
    }
}

static bool awaits(void *context)
{
    struct link *self = context;

    return self->core.awaits != NULL && self->core.awaits(self->core.self);
}

struct actor link_inner_actor(struct link *link)
{
    return (struct actor){
        .self = link,
        .on_request = on_inner_request,
        .on_answer = on_inner_answer,
        .turn = turn,
        .next_us = next_us,
        .time = on_time,
        .work = work,
        .refused = refused,
        .awaits = awaits,
    };
}

/* ---- towards the others ---- */

/* That may come by any connection. */
static void take_batch(struct link *self, uint64_t now_us, struct channel *channel,
                       uint32_t connection, const struct site_batch_message *message)
{
    channel->wants |= message->wants_connections;
    inflow_on_batch(self, now_us, channel, connection, message);
}

/* By the first one. */
static void take_frame(struct link *self, uint64_t now_us, struct channel *channel,
                       const struct frame *frame)
{
    channel->heard_us = now_us;
    if (frame->kind == FRAME_SITE_OPEN) {
        outflow_on_open(self, now_us, channel, &frame->body.site_open);
    } else if (frame->kind == FRAME_SITE_BATCH) {
        take_batch(self, now_us, channel, 0, &frame->body.site_batch);
    } else if (frame->kind == FRAME_SITE_APPLIED) {
        outflow_on_applied(self, now_us, channel, &frame->body.site_applied);
    } else if (frame->kind == FRAME_SITE_MARK) {
        outflow_on_mark(self, now_us, channel, &frame->body.site_mark);
    } else if (frame->kind == FRAME_SITE_MARKED) {
        inflow_on_marked(self, channel, &frame->body.site_marked);
    } else if (frame->kind == FRAME_SITE_OFFER) {
        inflow_on_offer(self, now_us, channel, &frame->body.site_offer);
    } else if (frame->kind == FRAME_SITE_HELD) {
        outflow_on_held(self, channel, &frame->body.site_held);
    } else if (frame->kind == FRAME_SITE_CONFIRM) {
        confirms_on_confirm(self, now_us, channel, &frame->body.site_confirm);
    } else if (frame->kind == FRAME_SITE_CONFIRMED) {
        ages_on_confirmed(self, channel, &frame->body.site_confirmed);
    } else if (frame->kind == FRAME_SITE_FILTERS) {
        states_on_filters(self, now_us, channel, &frame->body.site_filters);
    } else if (frame->kind == FRAME_SITE_CLOSE) {
        outflow_on_close(self, channel, &frame->body.site_close);
        inflow_on_close(self, now_us, channel, &frame->body.site_close);
    } else {
        link_count(self, LINK_site_refused_total, 1);
    }
}

/* By another than the first. */
static void take_further(struct link *self, uint64_t now_us, struct channel *channel,
                         uint32_t connection, const struct frame *frame)
{
    channel->strands[connection].heard_us = now_us;
    if (frame->kind == FRAME_SITE_BATCH) {
        take_batch(self, now_us, channel, connection, &frame->body.site_batch);
    } else {
        link_count(self, LINK_site_refused_total, 1);
    }
}

/* Whoever has not greeted is not listened to. */
static void take_outer(struct link *self, uint64_t now_us, struct channel *channel,
                       uint32_t connection, const struct peer *from, uint32_t link,
                       struct span bytes)
{
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, bytes, &frame);

    self->now_us = now_us;
    if (status != STATUS_OK) {
        link_count(self, LINK_site_refused_total, 1);
        log_limited(&self->refused_log, now_us, LOG_WARN,
                    "refused a frame of %zu bytes of another site's link: %s", bytes.size,
                    status_meaning(status));
    } else if (frame.kind == FRAME_SITE_HELLO) {
        greeting_heard(self, now_us, &frame, from, link);
    } else if (channel != NULL && connection != 0) {
        take_further(self, now_us, channel, connection, &frame);
    } else if (channel != NULL) {
        take_frame(self, now_us, channel, &frame);
    } else if (link != 0 && frame.kind == FRAME_SITE_CLOSE) {
        greeting_refused(self, now_us, link, frame.body.site_close.message);
    }
}

static void on_outer_request(void *context, uint64_t now_us, const struct peer *from,
                             struct span bytes)
{
    struct link *self = context;
    uint32_t connection = 0;
    struct channel *channel = channel_of_request(self, from, &connection);

    take_outer(self, now_us, channel, connection, from, 0, bytes);
}

static void on_outer_answer(void *context, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct link *self = context;
    uint32_t connection = 0;
    struct channel *channel = channel_of_answer(self, link, &connection);

    take_outer(self, now_us, channel, connection, NULL, link, bytes);
}

static uint64_t outer_next_us(void *context)
{
    (void)context;
    return ACTOR_NEVER;
}

static void outer_time(void *context, uint64_t now_us)
{
    (void)context;
    (void)now_us;
}

static bool outer_work(void *context, uint64_t now_us)
{
    (void)context;
    (void)now_us;
    return false;
}

static void outer_refused(void *context, enum actor_refusal what)
{
    struct link *self = context;

    link_count(self,
               what == ACTOR_REFUSED_PEER ? LINK_site_refused_peers_total : LINK_site_refused_total,
               1);
}

static void on_outer_shut_out(void *context, uint64_t now_us, uint32_t link, const char *cause)
{
    greeting_shut_out(context, now_us, link, cause);
}

struct actor link_outer_actor(struct link *link)
{
    return (struct actor){
        .self = link,
        .on_request = on_outer_request,
        .on_answer = on_outer_answer,
        .turn = turn,
        .next_us = outer_next_us,
        .time = outer_time,
        .work = outer_work,
        .refused = outer_refused,
        .on_shut_out = on_outer_shut_out,
    };
}
