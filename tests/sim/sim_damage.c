/* Cuts power, wipes disks, rolls them back, flips bits, fills and stalls them. */
#include "tests/sim/sim_damage.h"

#include "coordinator/private.h"
#include "node/private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_faults.h"

#define MS UINT64_C(1000)

enum {
    OPERATIONS_NEXT = 3,
    OPERATIONS_AHEAD = 25,
    RENEW_PERMILLE = 100, /* copies that would do already */
    EARLY_PERMILLE = 120, /* lives that begin on a disk which fails soon */
    ROOM_MOST_BYTES = 96 << 10,
};

static uint64_t draw_down_us(struct sim *sim)
{
    return sim_random_between(&sim->random, 1 * MS, 300 * MS);
}

static struct sim_process *draw_node(struct sim *sim)
{
    uint32_t count = sim_count(sim, SIM_NODE);

    return sim_process_of(sim, SIM_NODE, (uint32_t)sim_random_below(&sim->random, count));
}

/* End a node's process, whatever then happens to its machine; started again later. */
static void end(struct sim *sim, struct sim_process *node, enum sim_fault fault, uint64_t down_us)
{
    sim_coverage_fault(sim, fault);
    if (node->alive) {
        sim_process_kill(node);
        sim_fault_start_later(sim, node, down_us);
    }
}

/* ---- power ---- */

/* It may: what was acknowledged unsynced, or is read by a later life although a sync of it failed,
 * is not there any more. */
static bool power_destroys(const struct sim *sim, const struct sim_process *node)
{
    return sim->settings.unsynced || node->disk->memory.diverged;
}

static void lose_power(struct sim *sim, struct sim_process *node)
{
    if (power_destroys(sim, node)) {
        sim_losses_note(sim, node, SIM_LOSS_OPEN);
    }
    sim_disk_lose_power(node->disk);
    sim_trace_line(&sim->trace, sim->now_us, "%s lost power", node->name);
}

static bool power_may_fail(const struct sim *sim, const struct sim_process *node)
{
    return !power_destroys(sim, node) || sim_losses_allow(sim, node);
}

static bool power_may_fail_everywhere(const struct sim *sim)
{
    bool may = true;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        may = may && (sim->processes[i]->disk == NULL || !power_destroys(sim, sim->processes[i]));
    }
    return may;
}

void sim_damage_power(struct sim *sim, struct sim_process *node, uint64_t down_us)
{
    end(sim, node, SIM_FAULT_POWER_NODE, down_us);
    lose_power(sim, node);
}

void sim_damage_all(struct sim *sim, bool power)
{
    sim_coverage_fault(sim, power ? SIM_FAULT_POWER_ALL : SIM_FAULT_KILL_ALL);
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_process *node = sim->processes[i];

        if (node->kind != SIM_NODE) {
            continue;
        }
        if (node->alive) {
            sim_process_kill(node);
            sim_fault_start_later(sim, node, draw_down_us(sim));
        }
        if (power) {
            lose_power(sim, node);
        }
    }
}

/* ---- destruction ---- */

void sim_damage_wipe(struct sim *sim, struct sim_process *node, uint64_t down_us)
{
    end(sim, node, SIM_FAULT_WIPE, down_us);
    sim_disk_wipe(node->disk);
    sim_losses_note(sim, node, SIM_LOSS_SURE);
    sim_trace_line(&sim->trace, sim->now_us, "the disk of %s is wiped", node->name);
}

/* A copy of the very life that served last can't be told from a kill: see docs/simulator.md. */
static bool has_older_copy(const struct sim_process *node)
{
    return node->disk->copy.folder != NULL && node->disk->copy.generation < node->served;
}

bool sim_damage_roll_back(struct sim *sim, struct sim_process *node)
{
    const struct sim_disk_copy *copy = &node->disk->copy;

    if (!has_older_copy(node)) {
        return false;
    }
    end(sim, node, SIM_FAULT_ROLL_BACK, draw_down_us(sim));
    (void)sim_disk_roll_back(node->disk);
    sim_losses_note(sim, node, SIM_LOSS_SURE);
    if (sim_random_chance(&sim->random, 500)) {
        lose_power(sim, node);
    }
    sim_trace_line(&sim->trace, sim->now_us, "the disk of %s is a copy of its life %u of %u",
                   node->name, copy->generation, node->generation);
    return true;
}

/* Every coordinator has heard, of this very life, of a log beyond the copy's. */
static bool is_remembered(const struct sim *sim, const struct sim_process *node)
{
    const struct sim_disk_copy *copy = &node->disk->copy;
    bool remembered = copy->folder != NULL && copy->generation == node->generation && node->alive &&
                      node->node->life.confirmed;

    for (uint32_t i = 0; remembered && i < sim->settings.ncoordinators; i++) {
        const struct sim_process *process = sim_process_of(sim, SIM_COORDINATOR, i);
        const struct heard *heard =
            process->alive ? coordinator_heard(process->coordinator, node->node->life.id) : NULL;

        remembered = heard != NULL && heard->incarnation == node->incarnation &&
                     heard->position > copy->log_end;
    }
    return remembered;
}

bool sim_damage_rewind(struct sim *sim, struct sim_process *node)
{
    if (sim->losses.rewound != NULL || !is_remembered(sim, node)) {
        return false;
    }
    end(sim, node, SIM_FAULT_ROLL_BACK, draw_down_us(sim));
    (void)sim_disk_roll_back(node->disk);
    sim_losses_note(sim, node, SIM_LOSS_SURE);
    sim->losses.rewound = node;
    sim_trace_line(&sim->trace, sim->now_us, "the disk of %s is a copy of its last life",
                   node->name);
    return true;
}

void sim_damage_flip(struct sim *sim, struct sim_process *node)
{
    end(sim, node, SIM_FAULT_FLIP, draw_down_us(sim));
    if (sim_disk_flip(node->disk)) {
        sim_losses_note(sim, node, SIM_LOSS_LATENT);
        sim_trace_line(&sim->trace, sim->now_us, "a bit of the disk of %s flips", node->name);
    }
}

/* ---- operations that fail ---- */

void sim_damage_operation(struct sim *sim, struct sim_process *node, enum sim_disk_fault fault)
{
    uint64_t ahead = sim_random_chance(&sim->random, 500) ? OPERATIONS_NEXT : OPERATIONS_AHEAD;

    if (node->alive) {
        sim_disk_fail(node->disk, fault, sim_random_between(&sim->random, 1, ahead));
    }
}

/* After the operation, at the same instant. */
static void on_crashed(struct sim *sim, void *data, uint64_t generation)
{
    struct sim_process *node = data;

    if (!node->alive || node->generation != generation) {
        return;
    }
    sim_process_kill(node);
    sim_fault_start_later(sim, node, draw_down_us(sim));
    if (power_may_fail(sim, node) && sim_random_chance(&sim->random, 500)) {
        lose_power(sim, node);
    }
}

/* A node that can't read what it finds may take it for lost. */
static bool may_strike(struct sim *sim, struct sim_process *node, enum sim_disk_fault fault)
{
    if (fault == SIM_DISK_CRASH || (node->phases >> SIM_PHASE_RECOVERY & 1) == 0) {
        return true;
    }
    if (!sim_losses_allow(sim, node)) {
        return false;
    }
    sim_losses_note(sim, node, SIM_LOSS_OPEN);
    return true;
}

bool sim_damage_struck(void *process, enum sim_disk_fault fault)
{
    struct sim_process *node = process;
    struct sim *sim = node->sim;

    if (!may_strike(sim, node, fault)) {
        return false;
    }
    sim_coverage_fault(sim, fault == SIM_DISK_CRASH ? SIM_FAULT_CRASH : SIM_FAULT_EIO);
    sim_trace_line(&sim->trace, sim->now_us, "a disk operation of %s %s", node->name,
                   fault == SIM_DISK_CRASH ? "is its last" : "fails");
    if (fault == SIM_DISK_CRASH) {
        sim_after(sim, 0, on_crashed, node, node->generation);
    }
    return true;
}

void sim_damage_started(struct sim *sim, struct sim_process *process)
{
    if (process->disk != NULL && !sim->scenario.calm &&
        sim_random_chance(&sim->random, EARLY_PERMILLE)) {
        sim_damage_operation(sim, process,
                             sim_random_chance(&sim->random, 700) ? SIM_DISK_CRASH : SIM_DISK_EIO);
    }
}

/* ---- room ---- */

static void on_room(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *node = data;

    (void)number;
    memory_disk_limit(&node->disk->memory, UINT64_MAX);
    sim_trace_line(&sim->trace, sim->now_us, "the disk of %s has room again", node->name);
}

void sim_damage_no_space(struct sim *sim, struct sim_process *node, uint64_t duration_us)
{
    sim_coverage_fault(sim, SIM_FAULT_NO_SPACE);
    memory_disk_limit(&node->disk->memory, sim_random_below(&sim->random, ROOM_MOST_BYTES));
    sim_trace_line(&sim->trace, sim->now_us, "the disk of %s is nearly full", node->name);
    sim_after(sim, duration_us, on_room, node, 0);
}

void sim_damage_stall(struct sim *sim, struct sim_process *node, uint64_t duration_us)
{
    if (node->alive) {
        sim_coverage_fault(sim, SIM_FAULT_STALL);
        sim_trace_line(&sim->trace, sim->now_us, "the log of %s stalls", node->name);
        sim_jobs_stall(node, duration_us);
    }
}

/* ---- storms ---- */

/* UINT64_MAX: nothing can be said. */
static uint64_t log_end(const struct sim_process *node)
{
    bool known = node->alive && !node->node->life.recovering;

    return known ? storage_end(node->node->storage) : UINT64_MAX;
}

void sim_damage_copy(struct sim *sim, struct sim_process *node)
{
    if (node->disk != NULL && node != sim->losses.rewound &&
        (!has_older_copy(node) || sim_random_chance(&sim->random, RENEW_PERMILLE))) {
        sim_disk_take_copy(node->disk, node->generation, log_end(node));
    }
}

static void on_copy(struct sim *sim, void *data, uint64_t mean_us)
{
    struct sim_process *node = draw_node(sim);

    (void)data;
    if (!sim->scenario.calm) {
        sim_damage_copy(sim, node);
        sim_after(sim, 1 + sim_random_below(&sim->random, 2 * mean_us), on_copy, NULL, mean_us);
    }
}

void sim_damage_begin(struct sim *sim)
{
    if (sim->settings.disks) {
        uint64_t mean_us = sim_random_between(&sim->random, 50 * MS, 300 * MS);

        sim_after(sim, sim_random_below(&sim->random, mean_us), on_copy, NULL, mean_us);
    }
}

/* Of any node that may lose its data and has such a copy. False: there is none. */
static bool draw_roll_back(struct sim *sim,
                           bool (*roll_back)(struct sim *sim, struct sim_process *node))
{
    uint32_t first = (uint32_t)sim_random_below(&sim->random, sim->nprocesses);
    bool done = false;

    for (uint32_t i = 0; i < sim->nprocesses && !done; i++) {
        struct sim_process *node = sim->processes[(first + i) % sim->nprocesses];

        done = node->kind == SIM_NODE && node->incarnation != 0 && !node->standby &&
               sim_losses_allow(sim, node) && roll_back(sim, node);
    }
    return done;
}

/* Within the budget: see sim_losses.h. */
static void draw_destruction(struct sim *sim, struct sim_process *node)
{
    if (node->incarnation == 0 || node->standby || !sim_losses_allow(sim, node)) {
        return;
    }
    switch (sim_random_below(&sim->random, 8)) {
    case 0:
    case 1:
        /* Copies that are old enough are rare in a short run. */
        if (!draw_roll_back(sim, sim_damage_roll_back)) {
            sim_damage_wipe(sim, node, draw_down_us(sim));
        }
        break;
    case 2:
    case 3:
    case 4:
        (void)draw_roll_back(sim, sim_damage_roll_back);
        break;
    case 5:
    case 6:
        (void)draw_roll_back(sim, sim_damage_rewind);
        break;
    default:
        sim_damage_flip(sim, node);
        break;
    }
}

void sim_damage_draw(struct sim *sim)
{
    struct sim_process *node = draw_node(sim);
    uint64_t while_us = sim_random_between(&sim->random, 20 * MS, 400 * MS);

    switch (sim_random_below(&sim->random, 16)) {
    case 0:
        if (power_may_fail_everywhere(sim)) {
            sim_damage_all(sim, true);
        }
        break;
    case 1:
        sim_damage_all(sim, false);
        break;
    case 2:
    case 3:
        sim_damage_operation(sim, node, SIM_DISK_EIO);
        break;
    case 4:
    case 5:
        sim_damage_operation(sim, node, SIM_DISK_CRASH);
        break;
    case 6:
        sim_damage_no_space(sim, node, while_us);
        break;
    case 7:
    case 8:
    case 9:
        if (power_may_fail(sim, node)) {
            sim_damage_power(sim, node, while_us);
        }
        break;
    case 10:
        sim_damage_stall(sim, node, while_us);
        break;
    case 11:
        sim_fault_stop(sim, node, while_us);
        break;
    default:
        draw_destruction(sim, node);
        break;
    }
}

void sim_damage_calm(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_disk *disk = sim->processes[i]->disk;

        if (disk != NULL) {
            memory_disk_limit(&disk->memory, UINT64_MAX);
            disk->fault = SIM_DISK_GOOD;
            disk->pace.slow_permille = 0;
            sim->processes[i]->jobs.stalled_until_us = 0;
        }
    }
}
