/* The table of scenarios, and what is drawn for a seed of each. */
#include "tests/sim/sim_scenario.h"

#include "router/private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_behind.h"
#include "tests/sim/sim_damage.h"
#include "tests/sim/sim_drain.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_final.h"
#include "tests/sim/sim_move.h"
#include "tests/sim/sim_rebalance.h"
#include "tests/sim/sim_rename.h"
#include "tests/sim/sim_replacement.h"

#include <string.h>

#define MS UINT64_C(1000)

enum {
    START_SPREAD_US = 5000,
    POLL_US = 10000,
    CREATE_PATIENCE_US = 1500000,
    LOAD_TAIL_US = 150000,
    ADD_LASTS_US = 350,       /* about, when nothing is wrong */
    LENGTHY_MESSAGES = 20000, /* a lengthy run has as many, or goes on for a while */
    LENGTHY_FAULTS = 100,
    EXTENSIONS = 40,
    EXTENSION_US = 1000000,
};

static const char *const words[SIM_NSCENARIOS] = {
#define X(name, words) words,
    SIM_SCENARIOS(X)
#undef X
};

static const char *const names[SIM_NSCENARIOS] = {
#define X(name, words) #name,
    SIM_SCENARIOS(X)
#undef X
};

uint32_t sim_scenario_named(const char *name)
{
    for (uint32_t kind = 0; kind < SIM_NSCENARIOS; kind++) {
        if (strcmp(names[kind], name) == 0) {
            return kind + 1;
        }
    }
    return 0;
}

const char *sim_scenario_words(uint32_t kind)
{
    return words[kind];
}

/* ---- each scenario's own faults, once the filters are there ---- */

static uint32_t set_of(const struct sim *sim, enum sim_kind kind)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        set |= (uint32_t)(sim->processes[i]->kind == kind) << i;
    }
    return set;
}

static void on_drop(struct sim *sim, void *data, uint64_t name)
{
    (void)data;
    if (!sim->scenario.calm) {
        (void)sim_operator_drop(sim, (uint32_t)name, true);
    }
}

/* Votes are split over two epochs only while an add is on its way: wait for one. */
static void on_move(struct sim *sim, void *data, uint64_t name)
{
    (void)data;
    if (sim->scenario.calm) {
        return;
    }
    if (sim_load_add_is_fresh(sim, (uint32_t)name, ADD_LASTS_US)) {
        (void)sim_move(sim, (uint32_t)name);
    } else {
        sim_after(sim, sim_random_between(&sim->random, 1, ADD_LASTS_US), on_move, NULL, name);
    }
}

static void plan(struct sim *sim, uint32_t times, sim_event_fn run)
{
    for (uint32_t i = 0; i < times; i++) {
        sim_after(sim, sim_random_below(&sim->random, sim->settings.faults_us), run, NULL,
                  sim_random_below(&sim->random, sim->load.nnames));
    }
}

/* The last router hears nothing from coordinators while names are dropped and created. */
static void stale_router(struct sim *sim)
{
    struct sim_process *router = sim_process_of(sim, SIM_ROUTER, sim->settings.nrouters - 1);

    sim_fault_separate(sim, UINT32_C(1) << router->index, set_of(sim, SIM_COORDINATOR),
                       sim->settings.faults_us * 3 / 4);
    plan(sim, 3, on_drop);
}

/* The same with the nodes so far, or all but one: the name could only be reused with spares,
 * and must not be, as the cut-off nodes still serve the router under the former binding. */
static void view_replicas(struct sim *sim)
{
    struct sim_process *router = sim_process_of(sim, SIM_ROUTER, sim->settings.nrouters - 1);
    uint32_t set = UINT32_C(1) << router->index;

    for (uint32_t i = (uint32_t)sim_random_below(&sim->random, 2); i < sim->settings.nnodes; i++) {
        set |= UINT32_C(1) << sim_process_of(sim, SIM_NODE, i)->index;
    }
    sim_fault_separate(sim, set, set_of(sim, SIM_COORDINATOR), sim->settings.faults_us * 7 / 8);
    for (uint32_t i = 0; i < sim->load.nnames; i++) {
        sim_after(sim, sim_random_between(&sim->random, 0, 2 * sim->settings.node_timeout_us),
                  on_drop, NULL, i);
    }
}

static void on_pause_two(struct sim *sim, void *data, uint64_t number)
{
    uint32_t first = (uint32_t)sim_random_below(&sim->random, sim->settings.nnodes);
    uint64_t duration_us = sim_random_between(&sim->random, 50 * MS, 500 * MS);

    (void)data;
    (void)number;
    if (sim->scenario.calm) {
        return;
    }
    for (uint32_t i = 0; i + 1 < sim->settings.nnodes; i++) {
        struct sim_process *node = sim_process_of(sim, SIM_NODE,
                                                  (first + i) % sim->settings.nnodes);

        sim_fault_pause(sim, node, duration_us);
    }
}

static void on_kill(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *node = sim_process_of(sim, SIM_NODE, (uint32_t)number);

    (void)data;
    if (sim->scenario.calm) {
        return;
    }
    if (sim->settings.disks && sim->scenario.kind == SIM_SCENARIO_LOST) {
        /* Beyond the budget: certainty must end, not keys. */
        sim_damage_wipe(sim, node, sim_random_between(&sim->random, 1 * MS, 300 * MS));
    } else {
        sim_fault_restart(sim, node, sim_random_between(&sim->random, 1 * MS, 200 * MS));
    }
}

static void kill_nodes(struct sim *sim, uint32_t count)
{
    uint32_t first = (uint32_t)sim_random_below(&sim->random, sim->settings.nnodes);

    for (uint32_t i = 0; i < count; i++) {
        sim_after(sim, sim_random_below(&sim->random, sim->settings.faults_us / 2), on_kill, NULL,
                  (first + i) % sim->settings.nnodes);
    }
}

static void on_data_path(struct sim *sim, void *data, uint64_t expectation)
{
    (void)data;
    sim->load.expect = (enum sim_expectation)expectation;
}

static uint64_t draw_storm_us(struct sim *sim)
{
    return sim_random_between(&sim->random, 30 * MS, sim->options.lengthy ? 90 * MS : 250 * MS);
}

static void on_storm(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    (void)number;
    if (!sim->scenario.calm) {
        sim_fault_storm(sim, draw_storm_us(sim));
    }
}

/* "With every coordinator dead, adds and checks go on": what runs meanwhile must succeed. */
static void coordinators_die(struct sim *sim)
{
    uint64_t at_us = 400 * MS;
    uint64_t down_us = 800 * MS;

    for (uint32_t i = 0; i < sim->settings.ncoordinators; i++) {
        sim_fault_restart(sim, sim_process_of(sim, SIM_COORDINATOR, i), at_us + down_us);
    }
    sim_damage_calm(sim); /* Disks are not to blame. */
    sim_after(sim, at_us, on_data_path, NULL, SIM_EXPECT_SUCCESS);
    sim_after(sim, at_us + down_us / 2, on_data_path, NULL, SIM_EXPECT_NOTHING);
    if (sim->options.lengthy) {
        sim_after(sim, 2 * at_us + down_us, on_storm, NULL, 0);
    }
}

/* As often a second, however long it takes. */
static uint32_t often(const struct sim *sim, uint32_t times)
{
    return sim->options.lengthy ? times * SIM_LENGTHY_TIMES : times;
}

static void begin_faults(struct sim *sim)
{
    switch (sim->scenario.kind) {
    case SIM_SCENARIO_STALE_ROUTER:
        stale_router(sim);
        break;
    case SIM_SCENARIO_CUT_REPLICAS:
        view_replicas(sim);
        break;
    case SIM_SCENARIO_PAUSED:
        plan(sim, often(sim, 3), on_pause_two);
        break;
    case SIM_SCENARIO_RESTART:
        kill_nodes(sim, 1);
        break;
    case SIM_SCENARIO_LOST:
        kill_nodes(sim, 2);
        break;
    case SIM_SCENARIO_COORDINATORS:
        coordinators_die(sim);
        break;
    case SIM_SCENARIO_MOVE:
        plan(sim, often(sim, 12), on_move);
        break;
    case SIM_SCENARIO_MIX:
        plan(sim, often(sim, 6), on_move);
        plan(sim, 3, on_drop);
        break;
    case SIM_SCENARIO_REPEATS:
        plan(sim, 1, on_drop);
        break;
    case SIM_SCENARIO_LAG:
    case SIM_SCENARIO_TWO_JOIN:
    case SIM_SCENARIO_OLD_LIFE:
        sim_replacement_begin(sim);
        break;
    case SIM_SCENARIO_GROW:
        plan(sim, (uint32_t)sim_random_below(&sim->random, 3), on_drop);
        break;
    case SIM_SCENARIO_STORM:
    case SIM_SCENARIO_FORGETFUL:
    case SIM_SCENARIO_DRAIN:
    case SIM_SCENARIO_REPLACE:
    case SIM_SCENARIO_REBUILD:
    case SIM_SCENARIO_WINDOW:
    case SIM_SCENARIO_RENAME:
    case SIM_SCENARIO_REBALANCE:
    case SIM_SCENARIO_ACCEPT:
    case SIM_NSCENARIOS:
        break;
    }
    sim_drain_begin(sim);
    sim_expansion_begin(sim);
    sim_rebuild_begin(sim);
    sim_window_begin(sim);
    sim_behind_begin(sim);
    sim_rename_begin(sim);
    sim_rebalance_begin(sim);
    sim_accept_begin(sim);
    if (sim->scenario.kind != SIM_SCENARIO_COORDINATORS &&
        (sim->scenario.kind == SIM_SCENARIO_STORM || sim->scenario.kind == SIM_SCENARIO_MIX ||
         sim_random_chance(&sim->random, sim->options.lengthy ? 1000 : 400))) {
        sim_fault_storm(sim, draw_storm_us(sim));
    }
}

/* ---- the course of a run ---- */

static void on_load_stop(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    (void)number;
    sim_load_stop(sim);
}

static void on_calm(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    if (sim->options.lengthy && number < EXTENSIONS &&
        (sim->network.delivered < LENGTHY_MESSAGES || sim->faults < LENGTHY_FAULTS)) {
        sim_after(sim, EXTENSION_US, on_calm, NULL, number + 1);
        return;
    }
    sim_faults_calm(sim);
    sim_after(sim, LOAD_TAIL_US, on_load_stop, NULL, 0);
    sim_final_plan(sim);
}

static void on_start(struct sim *sim, void *data, uint64_t number)
{
    (void)sim;
    (void)number;
    sim_process_start(data);
}

/* A router that never heard of a filter can't serve it on without coordinators. */
static bool routers_know(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct sim_process *process = sim->processes[i];

        if (process->kind == SIM_ROUTER &&
            (!process->alive || process->router->documents.count < sim->load.nnames)) {
            return false;
        }
    }
    return true;
}

static bool is_ready(const struct sim *sim)
{
    return sim_operator_settled(sim) &&
           (sim->scenario.kind != SIM_SCENARIO_COORDINATORS || routers_know(sim));
}

/* The filters are there, or it takes too long: spares come, and so do faults. */
static void on_created(struct sim *sim, void *data, uint64_t until_us)
{
    (void)data;
    if (!is_ready(sim) && sim->now_us < until_us) {
        sim_after(sim, POLL_US, on_created, NULL, until_us);
        return;
    }
    for (uint32_t i = 0; i < sim->settings.nspares; i++) {
        sim_after(sim, sim_random_below(&sim->random, START_SPREAD_US), on_start,
                  sim_process_of(sim, SIM_NODE, sim->settings.nnodes + i), 0);
    }
    begin_faults(sim);
    sim_damage_begin(sim);
    sim_after(sim, sim->settings.faults_us, on_calm, NULL, 0);
}

static void on_create(struct sim *sim, void *data, uint64_t name)
{
    (void)data;
    (void)sim_operator_create(sim, (uint32_t)name);
}

void sim_scenario_begin(struct sim *sim)
{
    uint32_t spares = sim->settings.nnodes;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_process *process = sim->processes[i];
        bool spare = process->kind == SIM_NODE && spares == 0;

        spares -= process->kind == SIM_NODE && spares > 0;
        if (process->kind == SIM_CLIENT) {
            sim_process_start(process);
        } else if (!spare) {
            sim_after(sim, sim_random_below(&sim->random, START_SPREAD_US), on_start, process, 0);
        }
    }
    sim_load_start(sim);
    sim_users_begin(sim);
    for (uint32_t i = 0; i < sim->load.nnames; i++) {
        sim_after(sim, sim_random_below(&sim->random, 50 * MS), on_create, NULL, i);
    }
    if (sim->settings.nnodes >= 3) {
        sim_after(sim, sim_random_below(&sim->random, 300 * MS), on_create, NULL, SIM_WEAK);
    }
    sim_after(sim, POLL_US, on_created, NULL, sim->now_us + CREATE_PATIENCE_US);
}
