/* Makes the parts of a cluster, and steps from event to event until nothing is planned. */
#include "tests/sim/sim.h"

#include "base/heap.h"
#include "tests/sim/sim_memory.h"

#include <stdarg.h>
#include <stdio.h>

enum { START_US = 1000000 /* no clock reads 0 */ };

static void add_processes(struct sim *self, enum sim_kind kind, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)sim_process_add(self, kind, i);
    }
}

/* The operators are clients too, after those of the load. */
static void add_operators(struct sim *self)
{
    for (uint32_t i = 0; i < SIM_MAX_NAMES; i++) {
        self->operator.names[i].process = sim_process_add(self, SIM_CLIENT,
                                                          self->settings.nclients + i);
    }
}

struct sim *sim_create_empty(uint64_t seed, struct sim_options options,
                             struct sim_coverage *coverage)
{
    struct sim *self = sim_memory_alloc(1, sizeof *self);
    const uint8_t master[SEAL_KEY_BYTES] = {0x5a};

    self->seed = seed;
    self->options = options;
    self->now_us = START_US;
    self->load.nkeys = SIM_MAX_KEYS;
    self->coverage = coverage;
    sim_random_init(&self->random, seed, SIM_STREAM_SCENARIO);
    sim_random_init(&self->network_random, seed, SIM_STREAM_NETWORK);
    sim_random_init(&self->load_random, seed, SIM_STREAM_LOAD);
    cluster_key_derive(master, &self->key);
    memory_store_init(&self->store);
    self->store.written = sim_written_note;
    self->store.written_context = self;
    sim_oracle_init(&self->oracle);
    sim_show_init(&self->show);
    memset(coverage->inflight, 0, sizeof coverage->inflight);
    return self;
}

void sim_populate(struct sim *self)
{
    add_processes(self, SIM_CLIENT, self->settings.nclients);
    add_operators(self);
    add_processes(self, SIM_ROUTER, self->settings.nrouters);
    add_processes(self, SIM_COORDINATOR, self->settings.ncoordinators);
    add_processes(self, SIM_NODE, self->settings.nnodes + self->settings.nspares);
    for (uint32_t i = 0; i < self->settings.nstandbys; i++) {
        sim_process_add(self, SIM_NODE, self->settings.nnodes + self->settings.nspares + i)
            ->standby = true;
    }
    sim_users_add_processes(self);
}

struct sim *sim_create(uint64_t seed, struct sim_options options, struct sim_coverage *coverage)
{
    struct sim *self = sim_create_empty(seed, options, coverage);

    sim_scenario_draw(self);
    sim_populate(self);
    return self;
}

void sim_destroy(struct sim **sim)
{
    struct sim *self = *sim;

    *sim = NULL;
    for (uint32_t i = 0; i < self->nprocesses; i++) {
        if (self->processes[i]->alive) {
            sim_process_kill(self->processes[i]);
        }
    }
    for (uint32_t i = 0; i < self->nprocesses; i++) {
        sim_process_free(&self->processes[i]);
    }
    sim_network_fini(&self->network);
    sim_queue_fini(&self->queue);
    memory_store_fini(&self->store);
    sim_written_fini(&self->written);
    sim_oracle_fini(&self->oracle);
    sim_view_fini(&self->view);
    sim_show_fini(&self->show);
    heap_free(self);
}

bool sim_step(struct sim *self)
{
    struct sim_event event;

    if (!sim_queue_pop(&self->queue, &event)) {
        return false;
    }
    self->now_us = event.at_us;
    event.run(self, event.data, event.number);
    sim_users_look(self);
    sim_invariant_check_all(self);
    return true;
}

static void note_least(const struct sim *self)
{
    struct sim_coverage *coverage = self->coverage;
    bool first = coverage->least_delivered == 0;

    if (first || self->network.delivered < coverage->least_delivered) {
        coverage->least_delivered = self->network.delivered;
    }
    if (first || self->faults < coverage->least_events) {
        coverage->least_events = self->faults;
    }
}

void sim_run(struct sim *self)
{
    self->coverage->runs++;
    self->coverage->lengthy_runs += self->options.lengthy;
    self->coverage->disk_runs += self->settings.disks;
    self->coverage->user_runs += self->users.on;
    self->coverage->scenarios[self->scenario.kind]++;
    sim_trace_line(&self->trace, self->now_us, "scenario: %s",
                   sim_scenario_words(self->scenario.kind));
    sim_scenario_begin(self);
    while (!self->done && !self->failed && sim_step(self)) {
    }
    sim_trace_hash(&self->trace, self->now_us, self->network.delivered, self->oracle.answers);
    self->coverage->delivered += self->network.delivered;
    self->coverage->answers += self->oracle.answers;
    if (!self->failed) {
        note_least(self);
    }
    self->coverage->events += self->faults;
    self->coverage->held += self->invariant.checks;
    self->coverage->virtual_us += self->now_us - START_US;
}

void sim_fail(struct sim *self, const char *format, ...)
{
    va_list arguments;

    if (self->failed) {
        return;
    }
    self->failed = true;
    va_start(arguments, format);
    (void)vsnprintf(self->failure, sizeof self->failure, format, arguments);
    va_end(arguments);
    sim_trace_line(&self->trace, self->now_us, "BROKEN: %s", self->failure);
}

void sim_after(struct sim *self, uint64_t delay_us, sim_event_fn run, void *data, uint64_t number)
{
    sim_queue_push(&self->queue, self->now_us + delay_us, run, data, number);
}

struct sim_process *sim_process_of(const struct sim *self, enum sim_kind kind, uint32_t number)
{
    for (uint32_t i = 0; i < self->nprocesses; i++) {
        if (self->processes[i]->kind == kind && number-- == 0) {
            return self->processes[i];
        }
    }
    return NULL;
}

uint32_t sim_count(const struct sim *self, enum sim_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < self->nprocesses; i++) {
        count += self->processes[i]->kind == kind;
    }
    return count;
}
