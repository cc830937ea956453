/* Draws which router and nodes hear of nothing new, and for how long. */
#include "tests/sim/sim_behind.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_faults.h"

#define MS UINT64_C(1000)

enum { BEHIND_PERMILLE = 600 /* seeds */ };

static bool is_server(const struct sim_process *process)
{
    return process->kind != SIM_CLIENT;
}

/* The last router, and one or two of the nodes that began. */
static uint32_t draw_set(struct sim *sim)
{
    struct sim_random *random = &sim->rebuild.random;
    uint32_t first = (uint32_t)sim_random_below(random, sim->settings.nnodes);
    uint32_t count = sim_random_chance(random, 700) ? 2 : 1;
    uint32_t set =
        UINT32_C(1) << sim_process_of(sim, SIM_ROUTER, sim->settings.nrouters - 1)->index;

    for (uint32_t i = 0; i < count; i++) {
        set |=
            UINT32_C(1) << sim_process_of(sim, SIM_NODE, (first + i) % sim->settings.nnodes)->index;
    }
    return set;
}

static void on_cut(struct sim *sim, void *data, uint64_t number)
{
    struct sim_random *random = &sim->rebuild.random;
    uint64_t duration_us = sim_random_between(random, 100 * MS, 500 * MS);
    uint32_t set = draw_set(sim);
    uint32_t others = 0;

    (void)data;
    if (sim->scenario.calm) {
        return;
    }
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        others |= (uint32_t)(is_server(sim->processes[i]) && (set >> i & 1) == 0) << i;
    }
    sim_fault_separate(sim, set, others, duration_us);
    sim_after(sim, duration_us + sim_random_below(random, 200 * MS), on_cut, NULL, number);
}

void sim_behind_begin(struct sim *sim)
{
    if ((sim->scenario.kind == SIM_SCENARIO_REBUILD || sim->scenario.kind == SIM_SCENARIO_RENAME) &&
        sim_random_chance(&sim->rebuild.random, BEHIND_PERMILLE)) {
        sim_after(sim, sim_random_below(&sim->rebuild.random, 300 * MS), on_cut, NULL, 0);
    }
}
