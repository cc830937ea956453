/* Life of a router and its actor: which frame goes where, what a turn of the loop does, and when
 * the next one is due. */
#include "base/heap.h"
#include "map/access/identity.h"
#include "proto/answers.h"
#include "router/dump.h"
#include "router/site/cursors.h"

#include <assert.h>

enum { ROUTER_ARENA_BYTES = 64 << 20, SPIN_MOST_OPS = 2 };

enum status router_create(const struct router_config *config, const struct effects *effects,
                          struct router **out)
{
    struct router *self = heap_zalloc(1, sizeof *self);
    enum status status = STATUS_NOMEM;

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->effects = *effects;
    self->coordinators.count = config->ncoordinators;
    for (uint32_t i = 0; i < config->ncoordinators; i++) {
        self->coordinators.endpoints[i] = self->config.coordinators[i];
    }
    self->producer_id = effects->random(effects->context);
    hedge_init(self);
    turns_init(self);
    kept_init(self);
    buffer_init(&self->out, CODEC_MAX_FRAME_BYTES);
    self->ops = heap_zalloc(ROUTER_MAX_OPS, sizeof *self->ops);
    self->free_ops = heap_alloc(ROUTER_MAX_OPS, sizeof *self->free_ops);
    self->backends = heap_zalloc(DOCUMENT_MAX_NODES, sizeof *self->backends);
    if (self->ops != NULL && self->free_ops != NULL && self->backends != NULL &&
        dumps_create(&self->dumps) == STATUS_OK) {
        status = codec_arena_create(ROUTER_ARENA_BYTES, &self->arena);
    }
    if (status != STATUS_OK) {
        router_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

void router_destroy(struct router **router)
{
    struct router *self = *router;

    *router = NULL;
    if (self == NULL) {
        return;
    }
    dumps_destroy(self);
    site_asks_destroy(self);
    site_inquiries_fini(self);
    ends_stop(self);
    ops_fini(self);
    turns_fini(self);
    limits_fini(self);
    serve_fini(self);
    infos_fini(self);
    backends_fini(self);
    for (size_t i = 0; i < self->documents.count; i++) {
        routed_filter_destroy(self->documents.by_id[i]->attachment);
    }
    document_cache_fini(&self->documents);
    codec_arena_destroy(&self->arena);
    kept_fini(self);
    buffer_fini(&self->out);
    heap_free(self);
}

bool router_synced(const struct router *router)
{
    return router->synced;
}

bool router_identify(struct router *router, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer)
{
    struct user_use use;
    bool known = identity_judge(&router->effects, &router->documents.users,
                                router_heard_of_users(router), key, peer, &use);

    if (use.user != 0) {
        router_note_use(router, &use);
    }
    return known;
}

const struct user_list *router_users(const struct router *router)
{
    return &router->documents.users;
}

/* A record that was refused may be of somebody who is to be kept out. */
bool router_heard_of_users(const struct router *router)
{
    return router->synced && !router->users_refused;
}

void router_rekey(struct router *router, const struct cluster_key *key)
{
    router->config.key = *key;
}

void router_drain(struct router *router)
{
    router->draining = true;
}

bool router_busy(const struct router *router)
{
    return router->nused > 0 || router->nwaiting > 0 || arrivals_wait(&router->arrivals) ||
           !infos_idle(router);
}

static void refuse_late(struct router *self, const struct peer *from, const struct frame *frame)
{
    struct frame answer;

    answer_refusal(frame->correlation, STATUS_NOT_READY, &answer);
    answer.body.error.message = "this router is about to end; ask another one";
    router_reply(self, from, &answer);
}

static void on_request(void *context, uint64_t now_us, const struct peer *from, struct span bytes)
{
    struct router *self = context;
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, bytes, &frame);

    if (status != STATUS_OK) {
        router_refuse_frame(self, now_us, from, &frame, status);
    } else if (self->draining && from->size > 0 && frame.kind != FRAME_STATS_REQUEST) {
        refuse_late(self, from, &frame);
    } else if (frame.kind == FRAME_CLIENT_REQUEST || frame.kind == FRAME_INFO_REQUEST) {
        self->counters[ROUTER_requests_total] += frame.kind == FRAME_CLIENT_REQUEST;
        if (!turns_queue(self, now_us, from, &frame, bytes)) {
            serve_request(self, now_us, from, bytes, &frame);
        }
    } else if (frame.kind == FRAME_DUMP_REQUEST || frame.kind == FRAME_LOAD_REQUEST) {
        transfers_serve(self, now_us, from, &frame);
    } else if (frame.kind == FRAME_STATS_REQUEST) {
        router_on_stats(self, from, &frame);
    } else {
        router_refuse_frame(self, now_us, from, &frame, STATUS_INVALID);
    }
}

/* What waits for news goes on, and what runs under an older epoch begins anew. */
static void on_news(struct router *self, uint64_t now_us, const struct frame *frame)
{
    uint64_t taken = self->counters[ROUTER_documents_taken_total];

    if (sync_on_reply(self, now_us, frame->correlation, &frame->body.sync_reply)) {
        serve_settle(self, now_us, frame->correlation);
        dumps_settle(self, now_us, frame->correlation);
        if (self->counters[ROUTER_documents_taken_total] != taken) {
            /* Those under an older epoch begin anew at once, not with the next tick. */
            ops_tick(self, now_us);
        }
    }
}

static void on_coordinator(struct router *self, uint64_t now_us, const struct frame *frame)
{
    if (frame->kind == FRAME_SYNC_REPLY) {
        on_news(self, now_us, frame);
    } else if (frame->kind == FRAME_HINT) {
        if (frame->body.hint.change > self->since) {
            sync_hinted(self, now_us);
        }
    } else if (frame->kind == FRAME_ERROR) {
        sync_on_refusal(self, now_us, frame);
    } else {
        router_refuse_frame(self, now_us, NULL, frame, STATUS_INVALID);
    }
}

static void on_link(struct router *self, uint64_t now_us, const struct frame *frame)
{
    if (frame->kind == FRAME_SITE_AGE_REPLY) {
        site_waits_on_reply(self, now_us, frame);
    } else {
        router_refuse_frame(self, now_us, NULL, frame, STATUS_INVALID);
    }
}

static void on_answer(void *context, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct router *self = context;
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, bytes, &frame);

    if (status != STATUS_OK) {
        router_refuse_frame(self, now_us, NULL, &frame, status);
    } else if (link_ring_has(&self->coordinators, link)) {
        on_coordinator(self, now_us, &frame);
    } else if (site_links_has(self, link)) {
        on_link(self, now_us, &frame);
    } else if (frame.kind == FRAME_NODE_REPLY) {
        ops_on_reply(self, now_us, link, &frame);
    } else if (frame.kind == FRAME_INFO_REPLY) {
        (void)backend_heard(self, now_us, link, 0);
        info_on_reply(self, &frame);
    } else if (frame.kind == FRAME_PULL_REPLY) {
        (void)backend_heard(self, now_us, link, 0);
        dumps_on_reply(self, now_us, &frame);
    } else if (frame.kind == FRAME_SITE_CURSOR_REPLY) {
        (void)backend_heard(self, now_us, link, 0);
        site_asks_on_reply(self, now_us, &frame);
    } else {
        router_refuse_frame(self, now_us, NULL, &frame, STATUS_INVALID);
    }
}

static bool idle(const struct router *self)
{
    for (size_t i = 0; i < self->nbackends; i++) {
        if (self->backends[i].suspect || self->backends[i].unanswered_us != 0) {
            return false;
        }
    }
    return !router_busy(self) && dumps_idle(self) && site_asks_idle(self);
}

static void turn(void *context, uint64_t now_us)
{
    struct router *self = context;

    turns_serve(self, now_us);
    site_links_flush(self, now_us);
    backends_flush(self, now_us);
    /* The clock stands still while nothing is under way. */
    if (self->next_tick_us == ACTOR_NEVER && !idle(self)) {
        self->next_tick_us = now_us + hedge_tick_us(self);
    }
}

static uint64_t next_us(void *context)
{
    const struct router *self = context;
    uint64_t kept_us = kept_next_us(self);
    uint64_t next_us = self->next_tick_us < self->next_sync_us ? self->next_tick_us
                                                               : self->next_sync_us;

    return kept_us < next_us ? kept_us : next_us;
}

/* May the filter go, and what the router keeps of it? */
static bool let_go(void *context, struct document_entry *entry)
{
    const struct router *self = context;

    if (infos_use(self, entry->document.id) || dumps_use(self, entry->document.id) ||
        site_asks_use(self, entry->document.id)) {
        return false;
    }
    routed_filter_destroy(entry->attachment);
    return true;
}

/* Forget filters that are dropped for good, once no operation or question is about them. */
static void forget_dropped(struct router *self, uint64_t now_us)
{
    if (self->documents.ngone > 0) {
        ops_tick(self, now_us); /* Ends those that are about such filters. */
        document_cache_sweep(&self->documents, let_go, self);
    }
}

static void on_time(void *context, uint64_t now_us)
{
    struct router *self = context;

    kept_tick(self, now_us);
    if (now_us >= self->next_sync_us) {
        /* Here no entry is in use. */
        forget_dropped(self, now_us);
        sync_send(self, now_us);
    }
    if (now_us >= self->next_tick_us) {
        ops_tick(self, now_us);
        serve_tick(self, now_us);
        infos_tick(self, now_us);
        dumps_tick(self, now_us);
        site_asks_tick(self, now_us);
        backends_tick(self, now_us);
        site_links_flush(self, now_us);
        backends_flush(self, now_us);
        hedge_learn(self, now_us);
        self->next_tick_us = idle(self) ? ACTOR_NEVER : now_us + hedge_tick_us(self);
    }
}

/* What waits is served in the next turn, which is to come at once. */
static bool work(void *context, uint64_t now_us)
{
    const struct router *self = context;

    (void)now_us;
    return arrivals_wait(&self->arrivals);
}

static void refused(void *context, enum actor_refusal what)
{
    static const uint32_t counters[] = {
        [ACTOR_REFUSED_NOISE] = ROUTER_malformed_total,
        [ACTOR_REFUSED_PEER] = ROUTER_peers_refused_total,
        [ACTOR_REFUSED_FRAME] = ROUTER_frames_refused_total,
    };

    router_count(context, counters[what]);
}

static bool awaits(void *context)
{
    const struct router *self = context;

    /* With more under way there is always something to do, and others need the core. */
    return self->nused > 0 && self->nused <= SPIN_MOST_OPS;
}

struct actor router_actor(struct router *router)
{
    return (struct actor){
        .self = router,
        .on_request = on_request,
        .on_answer = on_answer,
        .turn = turn,
        .next_us = next_us,
        .time = on_time,
        .work = work,
        .refused = refused,
        .awaits = awaits,
    };
}
