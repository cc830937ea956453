/* Plays the operator who spreads slot groups over new nodes, and takes that back. */
#include "tests/sim/sim_rebalance.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_command.h"
#include "tests/sim/sim_drain.h"

#define MS UINT64_C(1000)

enum { POLL_US = 25000, DRAIN_PERMILLE = 250, STOP_PERMILLE = 60, GIVE_UP_PERMILLE = 30 };

static void rebalance(struct sim *sim)
{
    const struct admin_request request = {
        .action = ADMIN_REBALANCE,
        .name = "",
        .successor = "",
        .dry_run = sim_random_chance(&sim->random, 100),
        .undo = sim_random_chance(&sim->random, STOP_PERMILLE),
    };

    (void)sim_command(sim, &request, NULL);
}

static void drain(struct sim *sim, const struct node_record *record)
{
    (void)sim_command(
        sim,
        &(struct admin_request){.action = ADMIN_NODE_DRAIN, .name = record->name, .successor = ""},
        NULL);
}

/* `node`: the one that is emptied and then filled again; 0: none. */
static void on_turn(struct sim *sim, void *data, uint64_t node)
{
    const struct node_record *record = node_list_find(&sim->view.nodes, (uint32_t)node);

    (void)data;
    if (sim->scenario.calm) {
        sim_drain_over(sim);
        return;
    }
    if (record == NULL && sim_random_chance(&sim->random, DRAIN_PERMILLE)) {
        record = sim_drain_draw_held(sim);
        node = record != NULL ? record->id : 0;
        if (record != NULL) {
            drain(sim, record);
        }
    } else if (record != NULL && record->draining && !sim_drain_is_held(sim, record->id)) {
        sim_drain_undo(sim, record);
    } else if (record == NULL || !record->draining) {
        rebalance(sim);
        node = sim_random_chance(&sim->random, 200) ? 0 : node;
    }
    sim_after(sim, 1 + sim_random_below(&sim->random, 2 * POLL_US), on_turn, NULL,
              sim_random_chance(&sim->random, GIVE_UP_PERMILLE) ? 0 : node);
}

void sim_rebalance_begin(struct sim *sim)
{
    if (sim->scenario.kind == SIM_SCENARIO_REBALANCE && sim->settings.disks) {
        sim_after(sim, sim_random_below(&sim->random, 150 * MS), on_turn, NULL, 0);
    }
}
