/* Plays the operator who renames filters and reuses their names. */
#include "tests/sim/sim_rename.h"

#include "tests/sim/sim.h"

#define MS UINT64_C(1000)

enum { LIVES_LEAST_US = 20000, LIVES_MOST_US = 400000, DROP_PERCENT = 40, BEQUEATH_PERCENT = 20 };

/* Filters that grow, are rebuilt or have windows keep what the simulator knows of them by name. */
static bool may_rename(const struct sim *sim)
{
    return !sim->expansion.on && !sim->rebuild.on && !sim->window.on && !sim->accept.on;
}

static void act(struct sim *sim, uint32_t name)
{
    uint32_t other = 1 - name;
    uint64_t choice = sim_random_below(&sim->random, 100);

    if (!may_rename(sim) || choice < DROP_PERCENT) {
        (void)sim_operator_drop(sim, name, true);
    } else if (choice < DROP_PERCENT + BEQUEATH_PERCENT) {
        (void)sim_operator_bequeath(sim, name, other);
    } else {
        (void)sim_operator_rename(sim, name, other);
    }
}

static void on_turn(struct sim *sim, void *data, uint64_t number)
{
    uint32_t name = (uint32_t)sim_random_below(&sim->random, sim->load.nnames);

    (void)data;
    if (sim->scenario.calm) {
        return;
    }
    act(sim, name);
    sim_after(sim, sim_random_between(&sim->random, LIVES_LEAST_US, LIVES_MOST_US), on_turn, NULL,
              number);
}

void sim_rename_begin(struct sim *sim)
{
    if (sim->scenario.kind == SIM_SCENARIO_RENAME) {
        sim_after(sim, sim_random_below(&sim->random, 100 * MS), on_turn, NULL, 0);
    }
}
