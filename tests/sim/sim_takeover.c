/* Cuts a node off, starts another machine under its name, and lets both live on. */
#include "tests/sim/sim_takeover.h"

#include "node/private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_faults.h"

#define MS UINT64_C(1000)

enum {
    NAME = 0,
    LOOK_US = 80,
    DROP_PERMILLE = 250,
    DROP_LASTS_US = 12000,
    BOOT_PERMILLE = 150,
    BOOT_PATIENCE_US = 40000,
};

static uint32_t bit(const struct sim_process *process)
{
    return UINT32_C(1) << process->index;
}

static uint32_t set_of(const struct sim *sim, enum sim_kind kind)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        set |= sim->processes[i]->kind == kind ? bit(sim->processes[i]) : 0;
    }
    return set;
}

static struct sim_process *find_standby(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        if (sim->processes[i]->standby) {
            return sim->processes[i];
        }
    }
    return NULL;
}

/* ---- whose place it is ---- */

static bool is_registered(const struct sim *sim, const struct sim_process *process)
{
    for (uint32_t i = 0; i < sim->view.nodes.count; i++) {
        if (sim->view.processes[i] == process) {
            return true;
        }
    }
    return false;
}

/* Its machine has no process any more, until it is needed again. */
static void retire(struct sim *sim, struct sim_process *process)
{
    process->standby = true;
    if (process->alive) {
        sim_process_kill(process);
    }
    sim_trace_line(&sim->trace, sim->now_us, "%s is given up", process->name);
}

/* A machine with an empty disk, under the name of the one whose place it takes. */
static void take_place(struct sim *sim)
{
    struct sim_process *next = sim->takeover.next;
    const struct sim_process *old = sim->takeover.old;

    sim_coverage_fault(sim, SIM_FAULT_TAKE_OVER);
    sim_trace_line(&sim->trace, sim->now_us, "%s takes the place of %s", next->name, old->name);
    sim_disk_wipe(next->disk);
    sim_disk_forget_copy(next->disk);
    memcpy(next->alias, old->alias, sizeof next->alias);
    next->incarnation = 0;
    next->confirmed = false;
    next->standby = false;
    sim_process_start(next);
}

/* Whoever has begun to take the place gets it: a registration may be on its way. */
static void settle(struct sim *sim)
{
    struct sim_takeover *self = &sim->takeover;

    if (!self->old->standby) {
        retire(sim, self->old);
    }
    self->old = NULL;
}

bool sim_takeover_retires(struct sim *sim, struct sim_process *process)
{
    struct sim_takeover *self = &sim->takeover;
    bool retires = process == self->old && is_registered(sim, self->next);

    if (retires) {
        retire(sim, process);
    }
    return retires;
}

/* ---- its course ---- */

/* Every cut is gone: mostly the old life hears from a coordinator that it is replaced, and ends. */
static void on_healed(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    (void)number;
    if (sim->takeover.old != NULL) {
        settle(sim);
    }
}

static void heal(struct sim *sim)
{
    struct sim_takeover *self = &sim->takeover;
    bool knows = self->old->alive && self->old->confirmed && is_registered(sim, self->next);

    sim_network_heal(sim);
    if (knows) {
        sim_after(sim, sim_random_below(&sim->random, 2 * sim->settings.sync_us), on_healed, NULL,
                  0);
    } else {
        settle(sim);
    }
}

static void on_paired(struct sim *sim)
{
    struct sim_takeover *self = &sim->takeover;

    self->paired = true;
    if (sim_random_chance(&sim->random, 600) && self->next->alive) {
        sim_coverage_fault(sim, SIM_FAULT_STALL);
        sim_jobs_stall(self->next, sim_random_between(&sim->random, 30 * MS, 150 * MS));
    }
}

/* Its copy is there, and no coordinator has heard so yet. */
static bool is_complete(const struct sim_process *next, const struct filter_document *document)
{
    const struct document_entry *entry =
        next->alive ? document_cache_find(&next->node->documents, document->id) : NULL;
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

    return hosted != NULL && hosted->set != NULL &&
           hosted->set->groups[0].complete == document->epoch;
}

static void on_complete(struct sim *sim)
{
    struct sim_takeover *self = &sim->takeover;
    uint64_t rest_us = sim_random_between(&sim->random, 80 * MS, 200 * MS);
    uint32_t behind = bit(self->old) | bit(self->witness) | bit(self->router);

    self->completed = true;
    self->until_us = sim->now_us + rest_us;
    if (sim_random_chance(&sim->random, 800)) {
        sim_fault_separate(sim, bit(self->witness), ~(behind | set_of(sim, SIM_CLIENT)), rest_us);
    }
}

/* Where the first name's document stands with the two. */
static void look(struct sim *sim)
{
    struct sim_takeover *self = &sim->takeover;
    const struct filter_document *document = sim_view_document(sim, NAME);

    if (document == NULL || self->completed || self->next->incarnation == 0) {
        return;
    }
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct slot *slot = &document->content.groups[0].slots[i];

        if (!self->paired && slot->incoming.incarnation == self->next->incarnation) {
            on_paired(sim);
        }
    }
    if (self->paired && is_complete(self->next, document)) {
        on_complete(sim);
    }
}

static void on_look(struct sim *sim, void *data, uint64_t number)
{
    struct sim_takeover *self = &sim->takeover;

    (void)data;
    if (self->old == NULL) {
        return;
    }
    sim_view_follow(sim);
    look(sim);
    if (is_registered(sim, self->next) && self->old->alive && !self->old->node->life.confirmed) {
        retire(sim, self->old); /* It was started again, and would come back as somebody new. */
    }
    if (sim->now_us >= self->until_us) {
        heal(sim);
    } else {
        sim_after(sim, LOOK_US, on_look, NULL, number);
    }
}

static void start(struct sim *sim)
{
    struct sim_takeover *self = &sim->takeover;
    uint64_t lasts_us = 3 * sim->settings.node_timeout_us + 200 * MS;

    self->started = true;
    self->until_us = sim->now_us + lasts_us;
    sim_losses_note(sim, self->old, SIM_LOSS_SURE);
    sim_fault_separate(sim, bit(self->old), ~(bit(self->old) | bit(self->router)), lasts_us);
    sim_fault_separate(sim, bit(self->router),
                       set_of(sim, SIM_COORDINATOR) | bit(self->absent) | bit(self->next),
                       lasts_us);
    take_place(sim);
    sim_after(sim, LOOK_US, on_look, NULL, 0);
}

static void on_start(struct sim *sim, void *data, uint64_t number)
{
    struct sim_takeover *self = &sim->takeover;

    (void)data;
    (void)number;
    if (self->old != NULL && sim_losses_allow(sim, self->old)) {
        start(sim);
    } else {
        self->old = NULL;
    }
}

/* In the midst of a drop, or of the create that follows. */
static void start_in_drop(struct sim *sim)
{
    uint32_t name = (uint32_t)sim_random_below(&sim->random, sim->load.nnames);

    (void)sim_operator_drop(sim, name, true);
    sim_after(sim, sim_random_below(&sim->random, DROP_LASTS_US), on_start, NULL, 0);
}

/* Until C has read its log and no coordinator has heard of that. */
static void on_boot(struct sim *sim, void *data, uint64_t until_us)
{
    struct sim_takeover *self = &sim->takeover;

    (void)data;
    if (self->old == NULL) {
        return;
    }
    if ((self->absent->phases >> SIM_PHASE_BOOT & 1) == 0 && sim->now_us < until_us) {
        sim_after(sim, LOOK_US, on_boot, NULL, until_us);
    } else {
        on_start(sim, NULL, 0);
    }
}

bool sim_takeover_begin(struct sim *sim, struct sim_process *const replicas[3])
{
    struct sim_takeover *self = &sim->takeover;
    struct sim_process *next = find_standby(sim);

    if (self->old != NULL || next == NULL || !sim_losses_allow(sim, replicas[0])) {
        return false;
    }
    *self = (struct sim_takeover){
        .old = replicas[0],
        .next = next,
        .witness = replicas[1],
        .absent = replicas[2],
        .router = sim_process_of(sim, SIM_ROUTER, sim->settings.nrouters - 1),
    };
    if (sim_random_chance(&sim->random, DROP_PERMILLE)) {
        start_in_drop(sim);
    } else if (sim_random_chance(&sim->random, BOOT_PERMILLE)) {
        sim_fault_restart(sim, self->absent, 1 * MS);
        sim_after(sim, LOOK_US, on_boot, NULL, sim->now_us + BOOT_PATIENCE_US);
    } else {
        start(sim);
    }
    return true;
}

bool sim_takeover_lives(const struct sim *sim)
{
    return sim->takeover.old != NULL && sim->takeover.old->alive;
}

void sim_takeover_calm(struct sim *sim)
{
    if (sim->takeover.started && sim->takeover.old != NULL) {
        settle(sim);
    }
    sim->takeover.old = NULL;
}
