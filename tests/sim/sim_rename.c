#include "tests/sim/sim_rename.h"

#include "tests/sim/sim.h"

#define MS UINT64_C(1000)

enum { LIVES_LEAST_US = 20000, LIVES_MOST_US = 400000 };

static void on_turn(struct sim *sim, void *data, uint64_t number)
{
    uint32_t name = (uint32_t)sim_random_below(&sim->random, sim->load.nnames);

    (void)data;
    if (sim->scenario.calm) {
        return;
    }
    (void)sim_operator_drop(sim, name, true);
    sim_after(sim, sim_random_between(&sim->random, LIVES_LEAST_US, LIVES_MOST_US), on_turn, NULL,
              number);
}

void sim_rename_begin(struct sim *sim)
{
    if (sim->scenario.kind == SIM_SCENARIO_RENAME) {
        sim_after(sim, sim_random_below(&sim->random, 100 * MS), on_turn, NULL, 0);
    }
}
