/* Runs the core of a link as two processes, one in either network, that live and die together. */
#include "tests/sim_sites/sites_link.h"

#include "link/private.h"
#include "tests/sim/sim_start.h"
#include "tests/sim_sites/sites.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Its place in the configuration. */
static uint32_t peer_of(const struct sites_link *self, const struct site *other)
{
    return other->number - (other->number > self->site->number);
}

/* ---- what it is told ---- */

static void add_peer(const struct sites_link *self, const struct site *other,
                     struct link_config *config)
{
    const struct sites_settings *settings = &self->site->all->settings;
    struct other_site *peer = &config->peers[config->npeers++];
    const struct sites_link *theirs = &other->links[self->number % other->nlinks];

    (void)snprintf(peer->name, sizeof peer->name, "%s", other->name);
    peer->id = other->id;
    if (settings->dials[self->site->number][other->number]) {
        memcpy(peer->endpoint, theirs->outer->endpoint, sizeof peer->endpoint);
    }
}

static struct link_config configure(const struct sites_link *self)
{
    const struct sites *all = self->site->all;
    struct link_config config = {
        .id = self->site->id,
        .flush_us = all->settings.flush_us,
        .mark_interval_us = all->settings.mark_interval_us,
        .scrub_us = all->settings.scrub_us,
        .window = all->settings.window,
        .held = all->settings.held,
        .offered = all->settings.offered,
        .rate = all->settings.rate,
        .connections = all->settings.connections[self->site->number],
        .crowd = all->settings.crowd,
    };

    (void)snprintf(config.name, sizeof config.name, "%s", self->inner->name);
    (void)snprintf(config.site, sizeof config.site, "%s", self->site->name);
    memcpy(config.endpoint, self->inner->endpoint, sizeof config.endpoint);
    for (uint32_t i = 0; i < all->count; i++) {
        if (i != self->site->number) {
            add_peer(self, &all->items[i], &config);
        }
    }
    return config;
}

/* ---- the inner face ---- */

static bool start_inner(void *context, struct sim_process *process, struct actor *actor)
{
    struct sites_link *self = context;
    struct link_config config = configure(self);
    struct router_config router;
    struct actor core;

    sim_start_router_config(process, &router);
    if (link_create(&config, &process->effects, &self->outer->effects, &self->core) != STATUS_OK ||
        router_create(&router, link_router_effects(self->core), &self->router) != STATUS_OK) {
        abort();
    }
    core = router_actor(self->router);
    link_attach(self->core, self->router, &core);
    self->face = link_outer_actor(self->core);
    self->outer->clock_offset = process->clock_offset;
    *actor = link_inner_actor(self->core);
    return true;
}

static void count(const struct sites_link *self)
{
    uint64_t values[SIM_MAX_COUNTERS] = {0};

    _Static_assert(LINK_NCOUNTERS <= (int)SIM_MAX_COUNTERS, "there is room for all");
    memcpy(values, link_counts(self->core), LINK_NCOUNTERS * sizeof values[0]);
    sim_coverage_counters(self->inner->sim->coverage, SIM_LINK, values);
}

static void destroy_inner(void *context)
{
    struct sites_link *self = context;

    self->face = (struct actor){0};
    count(self);
    router_destroy(&self->router);
    link_destroy(&self->core);
}

static void finish(void *context)
{
    (void)context;
}

/* ---- the outer one, while there is a core ---- */

static void on_request(void *context, uint64_t now_us, const struct peer *from, struct span frame)
{
    const struct sites_link *self = context;

    if (self->face.self == NULL) {
        return; /* It starts, and nobody is there yet. */
    }
    self->face.on_request(self->face.self, now_us, from, frame);
}

static void on_answer(void *context, uint64_t now_us, uint32_t link, struct span frame)
{
    const struct sites_link *self = context;

    if (self->face.self == NULL) {
        return;
    }
    self->face.on_answer(self->face.self, now_us, link, frame);
}

/* What came may have moved what the core waits for. */
static void turn(void *context, uint64_t now_us)
{
    const struct sites_link *self = context;

    if (self->face.self == NULL) {
        return;
    }
    self->face.turn(self->face.self, now_us);
    sim_process_arm(self->inner);
}

static uint64_t never(void *context)
{
    (void)context;
    return ACTOR_NEVER;
}

static void on_time(void *context, uint64_t now_us)
{
    (void)context;
    (void)now_us;
}

static bool no_work(void *context, uint64_t now_us)
{
    (void)context;
    (void)now_us;
    return false;
}

static bool start_outer(void *context, struct sim_process *process, struct actor *actor)
{
    (void)process;
    *actor = (struct actor){
        .self = context,
        .on_request = on_request,
        .on_answer = on_answer,
        .turn = turn,
        .next_us = never,
        .time = on_time,
        .work = no_work,
    };
    return true;
}

/* Its key: which site that is, by the place in the configuration. */
static void identify(void *context, const struct sim_process *from, struct peer *peer)
{
    const struct sites_link *self = context;
    const struct sites_link *theirs = from->program->context;

    peer->role = PEER_ROUTER;
    peer->user = peer_of(self, theirs->site) + 1;
}

static void destroy_outer(void *context)
{
    (void)context;
}

/* ---- life ---- */

void sites_link_add(struct site *site, uint32_t number)
{
    struct sites_link *self = &site->links[number];

    self->site = site;
    self->number = number;
    self->inner = sim_process_add(site->sim, SIM_LINK, number);
    self->outer = sim_process_add(site->all->between, SIM_LINK, site->all->between->nprocesses);
    self->inner_program = (struct sim_program){
        .context = self, .start = start_inner, .finish = finish, .destroy = destroy_inner};
    self->outer_program = (struct sim_program){.context = self,
                                               .start = start_outer,
                                               .finish = finish,
                                               .destroy = destroy_outer,
                                               .identify = identify};
    self->inner->program = &self->inner_program;
    self->outer->program = &self->outer_program;
    (void)snprintf(self->outer->name, sizeof self->outer->name, "%s-%u", site->name, number + 1);
}

/* The outer one first: by its effects the core acts, which begins with the inner one. */
void sites_link_start(struct sites_link *self)
{
    sim_process_start(self->outer);
    sim_process_start(self->inner);
}

void sites_link_kill(struct sites_link *self)
{
    sim_process_kill(self->inner);
    sim_process_kill(self->outer);
}

void sites_link_pause(struct sites_link *self)
{
    sim_process_pause(self->inner);
    sim_process_pause(self->outer);
}

void sites_link_resume(struct sites_link *self)
{
    sim_process_resume(self->inner);
    sim_process_resume(self->outer);
}

void sites_link_hold(struct sites_link *self)
{
    self->outer->sim->accept.off |= UINT32_C(1) << self->outer->index;
}

void sites_link_release(struct sites_link *self)
{
    self->outer->sim->accept.off &= ~(UINT32_C(1) << self->outer->index);
}

static bool sends(const struct sites_link *self, uint64_t stream)
{
    const struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->core->outflows, link)
    {
        if (outflow->stream == stream) {
            return true;
        }
    }
    return false;
}

static bool any_sends(const struct site *site, uint64_t stream)
{
    bool any = false;

    for (uint32_t i = 0; i < site->nlinks; i++) {
        any = any || (sites_link_lives(&site->links[i]) && sends(&site->links[i], stream));
    }
    return any;
}

bool sites_link_receives(const struct sites_link *self, const struct site *from)
{
    const struct inflow *inflow;
    bool any = false;

    TAILQ_FOREACH(inflow, &self->core->inflows, link)
    {
        any = any || (inflow->stream != 0 && inflow->peer == peer_of(self, from) &&
                      any_sends(from, inflow->stream));
    }
    return any;
}

bool sites_link_lives(const struct sites_link *self)
{
    assert(self->inner->alive == self->outer->alive);
    return self->inner->alive;
}
