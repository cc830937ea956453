/* Configures, creates and destroys nodes, routers, coordinators and clients as actors of a
 * process. */
#include "tests/sim/sim_start.h"

#include "coordinator/coordinator.h"
#include "node/node.h"
#include "router/router.h"
#include "tests/sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define NODE_MEMORY_BYTES  (UINT64_C(64) << 20)
#define PROBE_RATE         1000 /* some turns a second */
#define MAX_INFLIGHT_BYTES (UINT64_C(4) << 20)
#define MAX_TIMEOUT_US     UINT64_C(10000000)

/* The endpoints of all processes of a kind. Returns how many. */
static uint32_t list_endpoints(const struct sim *sim, enum sim_kind kind,
                               char list[][DOCUMENT_TEXT_BYTES])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        if (sim->processes[i]->kind == kind) {
            memcpy(list[count++], sim->processes[i]->endpoint, DOCUMENT_TEXT_BYTES);
        }
    }
    return count;
}

static void give_disk(const struct sim_process *process, struct node_config *config)
{
    const struct sim_settings *settings = &process->sim->settings;

    if (process->disk != NULL) {
        config->disk = &process->disk->memory.seam;
        config->kernel_boot = process->disk->kernel_boot;
        config->segment_bytes = settings->segment_bytes;
        config->retain_bytes = settings->retain_bytes;
        config->retain_us = settings->retain_us;
        config->site_retain_bytes = settings->site_retain_bytes;
        config->reserve_bytes = settings->reserve_bytes;
        config->imprint_bytes = settings->imprint_bytes;
        config->merge_runs = settings->merge_runs;
        config->imprint_eager =
            true; /* Filters of some hundred keys have runs of less than their arrays. */
        config->gossip_delay_us = settings->gossip_delay_us;
        config->gossip_rate = settings->gossip_rate;
        config->catch_up_wait_us = 600000;
        config->scrub_interval_us = settings->scrub_interval_us;
        memcpy(config->steps, settings->steps, sizeof config->steps);
        config->growth_rate = process->sim->expansion.rate;
    }
}

static enum status start_node(struct sim_process *process)
{
    struct sim *sim = process->sim;
    struct node_config config = {
        .zone = "zone",
        .key = sim->key,
        .memory_limit_bytes = NODE_MEMORY_BYTES,
        .retry_memory_bytes = sim->settings.retry_memory_bytes,
        .retry_memory_us = sim->settings.retry_memory_us,
        .sync_interval_us = sim->settings.sync_us,
        .report_groups = sim->settings.report_groups,
        .probe_rate = PROBE_RATE,
    };
    enum status status;

    (void)snprintf(config.name, sizeof config.name, "%s", process->alias);
    (void)snprintf(config.host, sizeof config.host, "host-%s", process->name);
    (void)snprintf(config.endpoint, sizeof config.endpoint, "%s", process->endpoint);
    config.ncoordinators = list_endpoints(sim, SIM_COORDINATOR, config.coordinators);
    give_disk(process, &config);
    status = node_create(&config, &process->effects, &process->node);
    if (status == STATUS_OK) {
        process->actor = node_actor(process->node);
    }
    return status;
}

void sim_start_router_config(const struct sim_process *process, struct router_config *config)
{
    const struct sim *sim = process->sim;

    *config = (struct router_config){
        .key = sim->key,
        .max_inflight_bytes = MAX_INFLIGHT_BYTES,
        .hedge_us = sim->settings.hedge_us,
        .retry_us = sim->settings.retry_us,
        .max_timeout_us = MAX_TIMEOUT_US,
        .sync_interval_us = sim->settings.sync_us,
    };
    (void)snprintf(config->name, sizeof config->name, "%s", process->name);
    config->ncoordinators = list_endpoints(sim, SIM_COORDINATOR, config->coordinators);
}

static enum status start_router(struct sim_process *process)
{
    struct router_config config;
    enum status status;

    sim_start_router_config(process, &config);
    status = router_create(&config, &process->effects, &process->router);
    if (status == STATUS_OK) {
        process->actor = router_actor(process->router);
    }
    return status;
}

static enum status start_coordinator(struct sim_process *process)
{
    struct sim *sim = process->sim;
    struct coordinator_config config = {
        .key = sim->key,
        .max_timeout_us = MAX_TIMEOUT_US,
        .node_timeout_us = sim->settings.node_timeout_us,
        .fence_retry_us = sim->settings.fence_retry_us,
        .replace_after_us = sim->settings.replace_after_us,
        .moves_at_once = sim->settings.moves_at_once,
        .growth_hosts = sim->expansion.hosts,
    };
    enum status status;

    (void)snprintf(config.name, sizeof config.name, "%s", process->name);
    memcpy(config.site, sim->settings.site, sizeof config.site);
    status = coordinator_create(&config, &process->effects, &sim->store.store,
                                &process->coordinator);
    if (status == STATUS_OK) {
        process->actor = coordinator_actor(process->coordinator);
    }
    return status;
}

/* Each client begins with another router, so that all of them are used. */
static enum status start_client(struct sim_process *process)
{
    struct sim *sim = process->sim;
    struct session_config config = {
        .attempt_us = sim->settings.attempt_us,
        .max_inflight_bytes = MAX_INFLIGHT_BYTES,
    };
    char routers[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    enum status status;

    config.nrouters = list_endpoints(sim, SIM_ROUTER, routers);
    config.ncoordinators = list_endpoints(sim, SIM_COORDINATOR, config.coordinators);
    for (uint32_t i = 0; i < config.nrouters; i++) {
        memcpy(config.routers[i], routers[(i + process->index) % config.nrouters],
               DOCUMENT_TEXT_BYTES);
    }
    status = session_create(&config, &process->effects, &process->session);
    if (status == STATUS_OK) {
        process->actor = session_actor(process->session);
    }
    return status;
}

bool sim_start_actor(struct sim_process *process)
{
    static enum status (*const starts[SIM_NKINDS])(struct sim_process * process) = {
        [SIM_CLIENT] = start_client,
        [SIM_ROUTER] = start_router,
        [SIM_NODE] = start_node,
        [SIM_COORDINATOR] = start_coordinator,
    };
    enum status status;

    if (process->program != NULL) {
        return process->program->start(process->program->context, process, &process->actor);
    }
    status = starts[process->kind](process);
    if (status != STATUS_OK && status != STATUS_IO) {
        abort();
    }
    return status == STATUS_OK;
}

void sim_start_finish(struct sim_process *process)
{
    bool can = process->node != NULL && !node_failed(process->node);
    enum status status = can ? node_finish(process->node) : STATUS_OK;

    if (process->program != NULL) {
        process->program->finish(process->program->context);
    }
    if (status != STATUS_OK && status != STATUS_IO && status != STATUS_NO_SPACE) {
        abort();
    }
}

void sim_start_destroy(struct sim_process *process)
{
    if (process->program != NULL) {
        process->program->destroy(process->program->context);
    }
    if (process->node != NULL) {
        node_destroy(&process->node);
    }
    if (process->router != NULL) {
        router_destroy(&process->router);
    }
    if (process->coordinator != NULL) {
        coordinator_destroy(&process->coordinator);
    }
    session_destroy(&process->session);
    process->actor = (struct actor){0};
}

void sim_start_ask_counters(struct sim_process *process)
{
    const struct peer asker = {.size = 1};
    struct frame frame = {.kind = FRAME_STATS_REQUEST};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    if (codec_encode(&frame, &bytes) != STATUS_OK) {
        abort();
    }
    process->actor.on_request(process->actor.self, sim_process_now(process), &asker,
                              buffer_span(&bytes));
    assert(process->ncounters == sim_start_counters(process->kind).count);
    buffer_fini(&bytes);
}

size_t sim_start_read_counters(struct sim_process *process, struct span bytes)
{
    struct frame frame = {0};
    const struct stats_reply *reply = &frame.body.stats_reply;

    if (codec_decode(process->sim->show.arena, bytes, &frame) != STATUS_OK ||
        frame.kind != FRAME_STATS_REPLY || reply->nvalues > SIM_MAX_COUNTERS) {
        abort();
    }
    for (size_t i = 0; i < reply->nvalues; i++) {
        process->counters[i] = reply->values[i].value;
    }
    return reply->nvalues;
}

struct counter_table sim_start_counters(enum sim_kind kind)
{
    switch (kind) {
    case SIM_ROUTER:
        return router_counters();
    case SIM_NODE:
        return node_counters();
    case SIM_COORDINATOR:
        return coordinator_counters();
    case SIM_CLIENT:
    case SIM_LINK: /* It is a program, which counts by itself. */
    case SIM_NKINDS:
        break;
    }
    return session_counters();
}
