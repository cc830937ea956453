/* Runs an actor in turns, with an inbox, a clock and links of its own, until it is killed. */
#include "tests/sim/sim_process.h"

#include "base/heap.h"
#include "node/private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_damage.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_memory.h"
#include "tests/sim/sim_phase.h"
#include "tests/sim/sim_remade.h"
#include "tests/sim/sim_start.h"

#include <assert.h>
#include <stdio.h>

enum {
    TURN_LEAST_US = 2,   /* from the arrival of a message to the turn that serves it */
    TURN_MOST_US = 120,  /* longer turns gather more messages */
    WORK_PERMILLE = 700, /* how often a turn has time for background work */
    BUSY_US = 60,        /* until a process with work left comes round again */
    CLOCK_BITS = 44,
};

static const char *const kind_names[SIM_NKINDS] = {
    [SIM_CLIENT] = "client",           [SIM_ROUTER] = "router", [SIM_NODE] = "node",
    [SIM_COORDINATOR] = "coordinator", [SIM_LINK] = "link",
};

const char *sim_kind_name(enum sim_kind kind)
{
    return kind_names[kind];
}

struct sim_process *sim_process_add(struct sim *sim, enum sim_kind kind, uint32_t number)
{
    struct sim_process *self = sim_memory_alloc(1, sizeof *self);

    assert(sim->nprocesses < SIM_MAX_PROCESSES);
    self->sim = sim;
    self->index = sim->nprocesses;
    self->kind = kind;
    (void)snprintf(self->name, sizeof self->name, "%.12s%u", kind_names[kind], number + 1);
    memcpy(self->alias, self->name, sizeof self->alias);
    (void)snprintf(self->endpoint, sizeof self->endpoint, "tcp://%s:1", self->name);
    if (kind == SIM_NODE && sim->settings.disks) {
        self->disk = sim_memory_alloc(1, sizeof *self->disk);
        sim_disk_init(self->disk, sim->seed, SIM_STREAM_DISK + self->index, &sim->now_us);
        self->disk->on_fault = sim_damage_struck;
        self->disk->fault_context = self;
    }
    sim->processes[sim->nprocesses++] = self;
    return self;
}

void sim_process_free(struct sim_process **process)
{
    struct sim_process *self = *process;

    *process = NULL;
    assert(!self->alive);
    if (self->disk != NULL) {
        sim_disk_fini(self->disk);
        heap_free(self->disk);
    }
    heap_free(self->inbox);
    heap_free(self);
}

uint64_t sim_process_now(const struct sim_process *self)
{
    return self->sim->now_us + self->clock_offset;
}

bool sim_process_runs(const struct sim_process *self)
{
    return self->alive && !self->paused;
}

/* ---- effects ---- */

static enum status reply(void *context, const struct peer *to, struct span frame)
{
    struct sim_process *self = context;

    if (self->counters != NULL) { /* sim_process_count() asks from inside the process. */
        self->ncounters = sim_start_read_counters(self, frame);
        return STATUS_OK;
    }
    return sim_network_reply(self, to, frame);
}

static uint32_t link_open(void *context, const char *endpoint)
{
    return sim_network_open(context, endpoint);
}

static void link_close(void *context, uint32_t link)
{
    sim_network_close(context, link);
}

static enum status send_frame(void *context, uint32_t link, struct span frame)
{
    return sim_network_send(context, link, frame);
}

static uint64_t draw_random(void *context)
{
    struct sim_process *self = context;

    return sim_random_next(&self->random);
}

static uint64_t waited_us(void *context)
{
    const struct sim_process *self = context;

    return pulse_waited_us(&self->pulse, self->sim->now_us);
}

static uint64_t clock_us(void *context)
{
    return sim_process_now(context);
}

static void submit(void *context, enum job_lane lane, struct job *job)
{
    sim_jobs_submit(context, lane, job);
}

/* ---- turns ---- */

static void deliver_inbox(struct sim_process *self)
{
    size_t count = self->ninbox;

    for (size_t i = 0; i < count; i++) {
        sim_network_deliver(self, self->inbox[i]);
    }
    assert(self->ninbox == count); /* Nothing arrives at once. */
    self->ninbox = 0;
}

/* One round of the hub's loop. */
static void serve(struct sim_process *self)
{
    uint64_t now_us = sim_process_now(self);
    const struct actor *actor = &self->actor;
    bool busy = false;

    if (self->jobs.finished.first != NULL && sim_random_chance(&self->random, 500)) {
        sim_jobs_finish(self);
    }
    deliver_inbox(self);
    sim_jobs_finish(self);
    if (actor->next_us(actor->self) <= now_us) {
        actor->time(actor->self, now_us);
    }
    actor->turn(actor->self, now_us);
    if (sim_random_chance(&self->random, WORK_PERMILLE)) {
        busy = actor->work(actor->self, now_us);
    }
    if (busy) {
        sim_process_wake(self);
    }
    if (actor->over != NULL && actor->over(actor->self)) {
        sim_fault_ended(self->sim, self);
    }
    sim_phase_follow(self);
    sim_process_arm(self);
}

static void on_turn(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *self = data;

    if (number != self->generation || !self->serving) {
        return;
    }
    self->serving = false;
    if (sim_process_runs(self)) {
        serve(self);
        sim_view_follow(sim);
    }
}

static void on_timer(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *self = data;

    if (number != self->generation || sim->now_us != self->timer_at) {
        return; /* Of a former life, or an earlier one was planned meanwhile. */
    }
    self->timer_at = ACTOR_NEVER;
    if (sim_process_runs(self) && !self->serving) {
        serve(self);
        sim_view_follow(sim);
    }
}

void sim_process_wake(struct sim_process *self)
{
    if (!self->serving && sim_process_runs(self)) {
        self->serving = true;
        sim_after(self->sim, sim_random_between(&self->random, TURN_LEAST_US, TURN_MOST_US),
                  on_turn, self, self->generation);
    }
}

void sim_process_arm(struct sim_process *self)
{
    uint64_t next_us;
    uint64_t at_us;

    if (!sim_process_runs(self)) {
        return;
    }
    next_us = self->actor.next_us(self->actor.self);
    if (next_us == ACTOR_NEVER) {
        return;
    }
    at_us = next_us > sim_process_now(self) ? next_us - self->clock_offset
                                            : self->sim->now_us + BUSY_US;
    if (at_us < self->timer_at) {
        self->timer_at = at_us;
        sim_queue_push(&self->sim->queue, at_us, on_timer, self, self->generation);
    }
}

void sim_process_skip(struct sim_process *self, uint64_t by_us)
{
    self->clock_offset += by_us;
    sim_process_arm(self);
}

void sim_process_push(struct sim_process *self, uint32_t message)
{
    self->inbox = sim_memory_reserve(self->inbox, &self->inbox_capacity, self->ninbox + 1,
                                     sizeof *self->inbox);
    self->inbox[self->ninbox++] = message;
    sim_process_wake(self);
}

/* ---- life ---- */

/* What runs in it is gone already. */
static void end(struct sim_process *self)
{
    self->alive = false;
    self->phases = 0;
    if (self->disk != NULL) {
        sim_disk_detach(self->disk);
    } else if (self->kind == SIM_NODE) {
        sim_losses_note(self->sim, self, SIM_LOSS_SURE);
    }
}

void sim_process_start(struct sim_process *self)
{
    struct sim *sim = self->sim;

    assert(!self->alive);
    self->generation++;
    sim_random_init(&self->random, sim->seed,
                    SIM_STREAM_PROCESS + ((uint64_t)self->index << 16 | self->generation));
    self->clock_offset = sim_random_next(&self->random) >> (64 - CLOCK_BITS);
    self->effects = (struct effects){
        .context = self,
        .reply = reply,
        .link_open = link_open,
        .link_close = link_close,
        .send = send_frame,
        .random = draw_random,
        .waited_us = waited_us,
        .clock_us = clock_us,
        .submit = submit,
    };
    if (self->disk != NULL) {
        sim_disk_attach(self->disk);
    }
    self->alive = true;
    self->paused = false;
    self->pulse = (struct pulse){0};
    self->serving = false;
    self->timer_at = ACTOR_NEVER;
    if (!sim_start_actor(self)) {
        end(self); /* A coordinator whose store is broken: started again later. */
        return;
    }
    sim_phase_follow(self);
    sim_network_listen(self);
    sim_trace_line(&sim->trace, sim->now_us, "%s starts", self->name);
    sim_process_wake(self);
}

/* Its memory, its lanes and its links go. */
static void leave(struct sim_process *self, const char *how)
{
    sim_start_destroy(self);
    for (size_t i = 0; i < self->ninbox; i++) {
        sim_network_drop(self->sim, self->inbox[i]);
    }
    self->ninbox = 0;
    self->killed_us = self->sim->now_us;
    memset(self->links, 0, sizeof self->links);
    end(self);
    sim_trace_line(&self->sim->trace, self->sim->now_us, "%s %s", self->name, how);
}

void sim_process_kill(struct sim_process *self)
{
    assert(self->alive);
    sim_remade_check(self->sim, self);
    sim_process_count(self);
    sim_jobs_cut(self);
    if (self->disk != NULL) {
        sim_disk_freeze(self->disk);
    }
    leave(self, "is killed");
}

void sim_process_stop(struct sim_process *self)
{
    assert(sim_process_runs(self));
    sim_remade_check(self->sim, self);
    sim_process_count(self);
    sim_jobs_stop(self);
    sim_start_finish(self);
    leave(self, "ends in order");
}

void sim_process_pause(struct sim_process *self)
{
    self->paused = true;
    self->paused_us = self->sim->now_us;
    self->serving = false;
    self->timer_at = ACTOR_NEVER;
    sim_trace_line(&self->sim->trace, self->sim->now_us, "%s stops", self->name);
}

void sim_process_resume(struct sim_process *self)
{
    self->paused = false;
    self->pulse.last_us = self->paused_us - self->paused_us % PULSE_US;
    pulse_beat(&self->pulse, self->sim->now_us);
    sim_trace_line(&self->sim->trace, self->sim->now_us, "%s goes on", self->name);
    sim_jobs_resume(self);
    sim_process_wake(self);
}

void sim_process_count(struct sim_process *self)
{
    uint64_t values[SIM_MAX_COUNTERS] = {0};

    if (self->program != NULL) {
        return;
    }
    if (self->kind == SIM_CLIENT) {
        memcpy(values, session_values(self->session), session_counters().count * sizeof values[0]);
    } else {
        self->counters = values;
        sim_start_ask_counters(self);
        self->counters = NULL;
    }
    sim_coverage_counters(self->sim->coverage, self->kind, values);
    if (self->kind == SIM_NODE) {
        sim_coverage_steps(self->sim->coverage, &self->node->steps);
    }
}
