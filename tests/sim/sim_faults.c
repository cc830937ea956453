/* Begins single faults, plans their ends, and brews storms of them. */
#include "tests/sim/sim_faults.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_damage.h"
#include "tests/sim/sim_replacement.h"
#include "tests/sim/sim_takeover.h"

#define MS UINT64_C(1000)

enum {
    ALL_SIDES = 3,
    SET_BITS = 32,
    DAMAGE_PERMILLE = 400, /* of the faults where disks are */
    TEMPT_PERMILLE = 150,
    TEMPT_WITHIN_US = 900,
    TEMPT_BRIEF_PERMILLE = 500,
    TEMPT_BRIEF_US = 300,
    DAMAGE_BRIEF_PERMILLE = 750,
    STORE_BROKEN_PERMILLE = 400,
    STORE_SLOW_US = 800000,
};

static enum sim_fault pause_fault(enum sim_kind kind)
{
    return kind == SIM_NODE     ? SIM_FAULT_PAUSE_NODE
           : kind == SIM_ROUTER ? SIM_FAULT_PAUSE_ROUTER
                                : SIM_FAULT_PAUSE_COORDINATOR;
}

static enum sim_fault kill_fault(enum sim_kind kind)
{
    return kind == SIM_NODE     ? SIM_FAULT_KILL_NODE
           : kind == SIM_ROUTER ? SIM_FAULT_KILL_ROUTER
                                : SIM_FAULT_KILL_COORDINATOR;
}

/* ---- pause ---- */

static void on_resume(struct sim *sim, void *data, uint64_t generation)
{
    struct sim_process *process = data;

    (void)sim;
    if (process->alive && process->generation == generation && process->paused) {
        sim_process_resume(process);
    }
}

void sim_fault_pause(struct sim *sim, struct sim_process *process, uint64_t duration_us)
{
    if (sim_process_runs(process)) {
        sim_coverage_fault(sim, pause_fault(process->kind));
        sim_process_pause(process);
        sim_after(sim, duration_us, on_resume, process, process->generation);
    }
}

/* ---- kill ---- */

static void on_start(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *process = data;

    if (process->standby || sim_accept_holds(sim, process) || sim_takeover_retires(sim, process)) {
        return;
    }
    if (!process->alive) {
        sim_process_start(process);
        sim_damage_started(sim, process);
    }
    if (!process->alive) { /* A coordinator whose store is broken. */
        sim_after(sim, 50 * MS, on_start, process, number);
    }
}

void sim_fault_start_later(struct sim *sim, struct sim_process *process, uint64_t down_us)
{
    sim_after(sim, down_us, on_start, process, 0);
}

void sim_fault_restart(struct sim *sim, struct sim_process *process, uint64_t down_us)
{
    bool needed = process->kind == SIM_COORDINATOR && sim->losses.rewound != NULL;

    if (process->alive && !needed) {
        sim_coverage_fault(sim, kill_fault(process->kind));
        sim_process_kill(process);
        sim_fault_start_later(sim, process, down_us);
    }
}

void sim_fault_stop(struct sim *sim, struct sim_process *process, uint64_t down_us)
{
    if (sim_process_runs(process)) {
        sim_coverage_fault(sim, SIM_FAULT_STOP_NODE);
        sim_process_stop(process);
        sim_fault_start_later(sim, process, down_us);
    }
}

static void on_ended(struct sim *sim, void *data, uint64_t generation)
{
    struct sim_process *process = data;

    if (process->alive && process->generation == generation) {
        sim_process_kill(process);
        sim_fault_start_later(sim, process, sim_random_between(&sim->random, 1 * MS, 100 * MS));
    }
}

void sim_fault_ended(struct sim *sim, struct sim_process *process)
{
    sim_trace_line(&sim->trace, sim->now_us, "%s can't go on", process->name);
    sim_after(sim, 0, on_ended, process, process->generation);
}

/* ---- partitions ---- */

static void set_cuts(struct sim *sim, uint32_t set, uint32_t others, unsigned sides,
                     enum sim_cut cut)
{
    for (uint32_t a = 0; a < sim->nprocesses; a++) {
        for (uint32_t b = 0; b < sim->nprocesses; b++) {
            if ((set >> a & 1) == 0 || (others >> b & 1) == 0 || a == b) {
                continue;
            }
            if ((sides & 1) != 0) {
                sim_network_cut(sim, b, a, cut);
            }
            if ((sides & 2) != 0) {
                sim_network_cut(sim, a, b, cut);
            }
        }
    }
}

static void on_partition_end(struct sim *sim, void *data, uint64_t sets)
{
    (void)data;
    set_cuts(sim, (uint32_t)sets, (uint32_t)(sets >> SET_BITS), ALL_SIDES, SIM_CUT_NONE);
}

void sim_fault_partition(struct sim *sim, uint32_t set, unsigned sides, enum sim_cut cut,
                         uint64_t duration_us)
{
    sim_coverage_fault(sim, SIM_FAULT_PARTITION);
    set_cuts(sim, set, ~set, sides, cut);
    sim_after(sim, duration_us, on_partition_end, NULL, (uint64_t)~set << SET_BITS | set);
}

void sim_fault_separate(struct sim *sim, uint32_t set, uint32_t others, uint64_t duration_us)
{
    sim_coverage_fault(sim, SIM_FAULT_PARTITION);
    set_cuts(sim, set, others, ALL_SIDES, SIM_CUT_SILENT);
    sim_after(sim, duration_us, on_partition_end, NULL, (uint64_t)others << SET_BITS | set);
}

/* ---- the store ---- */

static void on_store_end(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    (void)number;
    sim->store.broken = false;
}

void sim_fault_store(struct sim *sim, uint64_t duration_us)
{
    sim_coverage_fault(sim, SIM_FAULT_STORE);
    sim_trace_line(&sim->trace, sim->now_us, "the store breaks");
    sim->store.broken = true;
    sim_after(sim, duration_us, on_store_end, NULL, 0);
}

static void on_store_slow_end(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    (void)number;
    sim->store_slow_us = 0;
}

void sim_fault_store_slow(struct sim *sim, uint64_t way_us, uint64_t duration_us)
{
    sim_coverage_fault(sim, SIM_FAULT_STORE_SLOW);
    sim_trace_line(&sim->trace, sim->now_us, "the store is slow");
    sim->store_slow_us = way_us;
    sim_after(sim, duration_us, on_store_slow_end, NULL, 0);
}

/* Now and then slower than nodes and operators wait. */
static void draw_store_fault(struct sim *sim, uint64_t brief_us)
{
    if (sim_random_chance(&sim->random, STORE_BROKEN_PERMILLE)) {
        sim_fault_store(sim, brief_us);
    } else {
        sim_fault_store_slow(sim, sim_random_between(&sim->random, 1 * MS, STORE_SLOW_US),
                             sim_random_between(&sim->random, 20 * MS, STORE_SLOW_US));
    }
}

/* ---- storms ---- */

static struct sim_process *draw_process(struct sim *sim, enum sim_kind kind)
{
    uint32_t count = sim_count(sim, kind);

    return sim_process_of(sim, kind, (uint32_t)sim_random_below(&sim->random, count));
}

static void draw_partition(struct sim *sim)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        set |= (uint32_t)sim_random_chance(&sim->random, 300) << i;
    }
    sim_fault_partition(sim, set, 1 + (unsigned)sim_random_below(&sim->random, 3),
                        sim_random_chance(&sim->random, 700) ? SIM_CUT_SILENT : SIM_CUT_NOTICED,
                        sim_random_between(&sim->random, 20 * MS, 500 * MS));
}

static void draw_node_restart(struct sim *sim)
{
    if (sim->settings.disks || sim->scenario.node_kills > 0) {
        struct sim_process *node = draw_process(sim, SIM_NODE);

        sim->scenario.node_kills -= !sim->settings.disks;
        sim_damage_copy(sim, node); /* An older one, once it serves again. */
        sim_fault_restart(sim, node, sim_random_between(&sim->random, 1 * MS, 300 * MS));
    }
}

static void draw_fault(struct sim *sim)
{
    uint64_t brief_us = sim_random_between(&sim->random, 2 * MS, 300 * MS);

    switch (sim_random_below(&sim->random, 12)) {
    case 0:
    case 1:
        sim_fault_pause(sim, draw_process(sim, SIM_NODE), brief_us);
        break;
    case 2:
        sim_fault_pause(sim, draw_process(sim, SIM_ROUTER), brief_us);
        break;
    case 3:
        sim_fault_pause(sim, draw_process(sim, SIM_COORDINATOR), brief_us);
        break;
    case 4:
        draw_node_restart(sim);
        break;
    case 5:
        sim_fault_restart(sim, draw_process(sim, SIM_ROUTER), brief_us);
        break;
    case 6:
        sim_fault_restart(sim, draw_process(sim, SIM_COORDINATOR), brief_us);
        break;
    case 7:
    case 8:
        draw_partition(sim);
        break;
    case 9:
        draw_store_fault(sim, brief_us);
        break;
    default:
        sim_network_reset(sim, (uint32_t)sim_random_below(&sim->random, sim->nprocesses),
                          (uint32_t)sim_random_below(&sim->random, sim->nprocesses));
        break;
    }
}

static void draw_any(struct sim *sim, uint32_t damage_permille)
{
    if (sim->settings.disks && sim_random_chance(&sim->random, damage_permille)) {
        sim_damage_draw(sim);
    } else {
        draw_fault(sim);
    }
}

static void on_tempted(struct sim *sim, void *data, uint64_t brief)
{
    (void)data;
    if (!sim->scenario.calm && !sim_replacement_tempt(sim) && sim->scenario.stormy) {
        draw_any(sim, brief != 0 ? DAMAGE_BRIEF_PERMILLE : DAMAGE_PERMILLE);
    }
}

void sim_fault_tempt(struct sim *sim, bool brief)
{
    uint32_t permille = brief ? TEMPT_BRIEF_PERMILLE : TEMPT_PERMILLE;

    bool may = sim->scenario.stormy || sim->scenario.kind == SIM_SCENARIO_OLD_LIFE;

    if (may && !sim->scenario.calm && sim_random_chance(&sim->random, permille)) {
        uint64_t within_us = brief ? TEMPT_BRIEF_US : TEMPT_WITHIN_US;

        sim_after(sim, sim_random_below(&sim->random, within_us), on_tempted, NULL, brief);
    }
}

static void on_storm(struct sim *sim, void *data, uint64_t mean_us)
{
    (void)data;
    if (!sim->scenario.calm) {
        draw_any(sim, DAMAGE_PERMILLE);
        sim_after(sim, 1 + sim_random_below(&sim->random, 2 * mean_us), on_storm, NULL, mean_us);
    }
}

void sim_fault_storm(struct sim *sim, uint64_t mean_us)
{
    sim->scenario.stormy = true;
    sim_after(sim, sim_random_below(&sim->random, mean_us), on_storm, NULL, mean_us);
}

void sim_faults_calm(struct sim *sim)
{
    sim_trace_line(&sim->trace, sim->now_us, "calm");
    sim->scenario.calm = true;
    sim->store.broken = false;
    sim->store_slow_us = 0;
    sim->network.weather = (struct sim_weather){0};
    sim_network_heal(sim);
    sim_damage_calm(sim);
    sim_takeover_calm(sim);
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_process *process = sim->processes[i];

        if (!process->alive && !process->standby && !sim_accept_holds(sim, process)) {
            sim_process_start(process);
        } else if (process->paused) {
            sim_process_resume(process);
        }
    }
}
