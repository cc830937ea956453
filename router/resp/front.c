/* An actor around the router's actor: what the core answers to no peer is the front's, all else
 * goes on to the hub. */
#include "router/resp/front.h"

#include "base/heap.h"
#include "router/resp/private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { ARENA_BYTES = 64 << 20, TICK_US = 50000 };

/* ---- what the router acts through ---- */

static void take_answer(struct front *self, const struct frame *frame)
{
    if (frame->kind == FRAME_CLIENT_REPLY) {
        if (!loads_on_reply(self, frame)) {
            gather_on_reply(self, frame);
        }
    } else if (!questions_on_frame(self, frame) && frame->kind == FRAME_ERROR) {
        gather_on_error(self, frame);
    }
}

/* Answers for the front have no peer. */
static enum status inner_reply(void *context, const struct peer *to, struct span bytes)
{
    struct front *self = context;
    struct frame frame = {0};

    if (to->size > 0) {
        return self->outer.reply(self->outer.context, to, bytes);
    }
    if (codec_decode(self->arena, bytes, &frame) == STATUS_OK) {
        take_answer(self, &frame);
    }
    return STATUS_OK;
}

static uint32_t inner_link_open(void *context, const char *endpoint)
{
    struct front *self = context;

    return self->outer.link_open(self->outer.context, endpoint);
}

static void inner_link_close(void *context, uint32_t link)
{
    struct front *self = context;

    self->outer.link_close(self->outer.context, link);
}

static enum status inner_send(void *context, uint32_t link, struct span frame)
{
    struct front *self = context;

    return self->outer.send(self->outer.context, link, frame);
}

static uint64_t inner_random(void *context)
{
    struct front *self = context;

    return self->outer.random(self->outer.context);
}

static uint64_t inner_date_ms(void *context)
{
    struct front *self = context;

    return self->outer.date_ms(self->outer.context);
}

static uint8_t *inner_room(void *context, size_t size)
{
    struct front *self = context;

    return self->outer.room != NULL ? self->outer.room(self->outer.context, size) : NULL;
}

static void inner_submit(void *context, enum job_lane lane, struct job *job)
{
    struct front *self = context;

    self->outer.submit(self->outer.context, lane, job);
}

const struct effects *front_effects(struct front *front)
{
    return &front->inner;
}

/* ---- life ---- */

/* Drawn anew at each start: other routers may have the same name, and no client keeps it. */
static void draw_node_id(struct front *self)
{
    const struct effects *effects = &self->outer;

    (void)snprintf(self->node_id, sizeof self->node_id, "%016" PRIx64 "%016" PRIx64 "%08" PRIx32,
                   effects->random(effects->context), effects->random(effects->context),
                   (uint32_t)effects->random(effects->context));
}

enum status front_create(const struct front_config *config, const struct router_config *router,
                         const struct effects *effects, struct front **out)
{
    struct front *self = heap_zalloc(1, sizeof *self);

    if (self == NULL || codec_arena_create(ARENA_BYTES, &self->arena) != STATUS_OK) {
        heap_free(self);
        return STATUS_NOMEM;
    }
    self->config = *config;
    (void)snprintf(self->router_name, sizeof self->router_name, "%s", router->name);
    self->outer = *effects;
    self->inner = (struct effects){
        .context = self,
        .reply = inner_reply,
        .link_open = inner_link_open,
        .link_close = inner_link_close,
        .send = inner_send,
        .random = inner_random,
        .date_ms = effects->date_ms != NULL ? inner_date_ms : NULL,
        .room = inner_room,
        .submit = effects->submit != NULL ? inner_submit : NULL,
    };
    self->coordinators.count = router->ncoordinators;
    for (uint32_t i = 0; i < router->ncoordinators; i++) {
        (void)snprintf(self->endpoints[i], sizeof self->endpoints[i], "%s",
                       router->coordinators[i]);
        self->coordinators.endpoints[i] = self->endpoints[i];
    }
    self->op = (struct op_id){
        .session = {effects->random(effects->context), effects->random(effects->context)},
        .sequence = 1,
    };
    draw_node_id(self);
    self->next_tick_us = ACTOR_NEVER;
    buffer_init(&self->frame, CODEC_MAX_FRAME_BYTES);
    gathers_init(self);
    TAILQ_INIT(&self->questions);
    self->key = router->key;
    TAILQ_INIT(&self->loads);
    TAILQ_INIT(&self->sessions);
    TAILQ_INIT(&self->due);
    fair_queue_init(&self->turns, FRONT_TURN_COST);
    TAILQ_INIT(&self->slowed);
    memory_init(self);
    front_attach_audit(self, NULL);
    *out = self;
    return STATUS_OK;
}

void front_destroy(struct front **front)
{
    struct front *self = *front;

    *front = NULL;
    if (self == NULL) {
        return;
    }
    /* First the sessions: calls that are left have nobody to answer, and end with what they wait
     * for. */
    while (!TAILQ_EMPTY(&self->sessions)) {
        session_forget(self, TAILQ_FIRST(&self->sessions));
    }
    questions_fini(self);
    loads_fini(self);
    gathers_fini(self);
    slowlog_reset(self);
    if (audit_log_is_on(&self->audit)) {
        audit_log_leave_lanes(&self->audit);
    }
    audit_log_fini(&self->audit);
    users_forget(self);
    fair_queue_fini(&self->turns);
    codec_arena_destroy(&self->arena);
    buffer_fini(&self->frame);
    heap_free(self);
}

void front_attach(struct front *front, const struct actor *router,
                  const struct stream_effects *streams)
{
    assert(front->router.self == NULL);
    front->router = *router;
    if (streams != NULL) {
        front->streams = *streams;
    }
}

void front_configure(struct front *front, const struct front_config *config)
{
    struct session *session;

    front->config = *config;
    TAILQ_FOREACH(session, &front->sessions, entry)
    {
        session->let_in = session->let_in || (!config->guarded && !config->users_only);
        session_settle(front, session);
    }
}

void front_rekey(struct front *front, const struct cluster_key *key)
{
    front->key = *key;
    users_reopen(front);
}

void front_drain(struct front *front, uint64_t now_us, uint64_t timeout_us)
{
    struct session *session;

    front->draining = true;
    if (front->core != NULL) {
        router_drain(front->core);
    }
    front->drained_us = now_us + timeout_us;
    TAILQ_FOREACH(session, &front->sessions, entry)
    {
        session_stir(front, session);
    }
}

uint32_t front_connections(const struct front *front)
{
    return front->nsessions;
}

/* ---- the actor ---- */

static void on_request(void *context, uint64_t now_us, const struct peer *from, struct span frame)
{
    struct front *self = context;

    self->now_us = now_us;
    self->router.on_request(self->router.self, now_us, from, frame);
}

static void on_answer(void *context, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct front *self = context;
    struct frame frame = {0};

    self->now_us = now_us;
    if (!link_ring_has(&self->coordinators, link)) {
        self->router.on_answer(self->router.self, now_us, link, bytes);
    } else if (codec_decode(self->arena, bytes, &frame) == STATUS_OK) {
        (void)questions_on_frame(self, &frame);
    }
}

static bool is_waiting(const struct front *self)
{
    return self->ngathers > 0 || self->nquestions > 0 || self->nloads > 0 || self->nclosed > 0 ||
           self->nstrangers > 0 || !TAILQ_EMPTY(&self->slowed) ||
           (self->nbegun > 0 && self->config.request_us > 0) ||
           ((self->config.idle_us > 0 || !self->users_heard) && self->nsessions > 0) ||
           memory_is_loose(self);
}

static bool has_work(const struct front *self)
{
    return !TAILQ_EMPTY(&self->due) || !TAILQ_EMPTY(&self->open) || !TAILQ_EMPTY(&self->again) ||
           (self->turns.count > 0 && self->turns_cost < FRONT_TURNS_COST);
}

/* What came becomes requests; what is answered lets more of what came be taken. */
static void turn(void *context, uint64_t now_us)
{
    struct front *self = context;

    self->now_us = now_us;
    self->waited_us = self->outer.waited_us != NULL ? self->outer.waited_us(self->outer.context)
                                                    : 0;
    self->started_us = self->started_us != 0 ? self->started_us : now_us;
    self->turns_cost = 0;
    users_refresh(self);
    do { /* The router's turn may have answers, too. */
        while (has_work(self)) {
            sessions_run(self);
            gathers_send(self);
        }
        self->router.turn(self->router.self, now_us);
    } while (has_work(self));
    if (self->next_tick_us == ACTOR_NEVER && is_waiting(self)) {
        self->next_tick_us = now_us + TICK_US;
    }
}

static uint64_t next_us(void *context)
{
    struct front *self = context;
    uint64_t router_us = self->router.next_us(self->router.self);
    uint64_t tick_us = self->next_tick_us;

    if (self->draining && self->now_us < self->drained_us && self->drained_us < tick_us) {
        tick_us = self->drained_us;
    }

    return tick_us < router_us ? tick_us : router_us;
}

static void on_time(void *context, uint64_t now_us)
{
    struct front *self = context;

    self->now_us = now_us;
    if (now_us >= self->next_tick_us) {
        questions_tick(self);
        loads_tick(self);
        gathers_tick(self);
        sessions_let_go_on(self);
        if (!self->users_heard) {
            users_tick(self);
        }
        sessions_tick(self);
        self->next_tick_us = is_waiting(self) ? now_us + TICK_US : ACTOR_NEVER;
    }
    if (self->router.next_us(self->router.self) <= now_us) {
        self->router.time(self->router.self, now_us);
    }
}

static bool work(void *context, uint64_t now_us)
{
    struct front *self = context;
    bool more;

    self->now_us = now_us;
    more = self->router.work(self->router.self, now_us);
    return more || has_work(self) || self->turns.count > 0;
}

static void refused(void *context, enum actor_refusal what)
{
    struct front *self = context;

    if (self->router.refused != NULL) {
        self->router.refused(self->router.self, what);
    }
}

static bool awaits(void *context)
{
    struct front *self = context;

    return self->router.awaits != NULL && self->router.awaits(self->router.self);
}

static bool over(void *context)
{
    const struct front *self = context;
    bool busy = self->nsessions > 0 || (self->core != NULL && router_busy(self->core));

    return self->draining && (!busy || self->now_us >= self->drained_us);
}

void front_attach_users(struct front *front, const struct front_users_source *source)
{
    front->users_source = *source;
}

void front_attach_core(struct front *front, struct router *core)
{
    front->core = core;
}

struct actor front_actor(struct front *front)
{
    return (struct actor){
        .self = front,
        .on_request = on_request,
        .on_answer = on_answer,
        .turn = turn,
        .next_us = next_us,
        .time = on_time,
        .work = work,
        .refused = refused,
        .awaits = awaits,
        .over = over,
    };
}
