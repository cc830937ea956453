/* Draws filters with a window, and has the clock of one node jump ahead. */
#include "tests/sim/sim_window.h"

#include "map/history/window.h"
#include "tests/sim/sim.h"

#define MS UINT64_C(1000)

enum {
    WINDOW_PERMILLE = 50, /* seeds of the scenario WINDOW */
    MOVING_PERMILLE = 300,
    AHEAD_PERMILLE = 500,
    MOST_SLICES = 3,
    LASTS_US = 6000000,
    JUMP_US = 2000000,
};

void sim_window_draw_scenario(struct sim *sim)
{
    struct sim_window *self = &sim->window;

    sim_random_init(&self->random, sim->seed, SIM_STREAM_WINDOW);
    if (sim_random_chance(&self->random, WINDOW_PERMILLE) && sim->options.scenario == 0) {
        sim->scenario.kind = SIM_SCENARIO_WINDOW;
    }
    self->on = sim->scenario.kind == SIM_SCENARIO_WINDOW;
    if (self->on) {
        sim->expansion.on = false;
        sim->rebuild.on = false;
    }
}

static void draw_moving(struct sim *sim)
{
    struct sim_random *random = &sim->window.random;
    bool drains = sim_random_chance(random, 500);

    if (sim_random_chance(random, MOVING_PERMILLE) && !sim->settings.unsynced) {
        sim->expansion.moving = drains ? SIM_MOVING_DRAINS : SIM_MOVING_REPLACES;
    }
}

void sim_window_draw(struct sim *sim)
{
    struct sim_window *self = &sim->window;
    struct create_parameters *parameters = &sim->operator.names[0].parameters;
    bool ahead = sim_random_chance(&self->random, AHEAD_PERMILLE);

    self->on = self->on && sim->settings.disks;
    if (!self->on) {
        return;
    }
    parameters->keylog = KEYLOG_ON;
    parameters->nslices = (uint32_t)sim_random_between(&self->random, 1, MOST_SLICES);
    parameters->window_us = parameters->nslices * WINDOW_SLICE_MIN_US;
    if (ahead && quorum_fences(&parameters->rule) > 1) {
        self->ahead = 1 + (uint32_t)sim_random_below(&self->random, sim->settings.nnodes);
    }
    if (!sim->options.lengthy) {
        sim->settings.faults_us = LASTS_US;
    }
    draw_moving(sim);
}

static void on_jump(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *node = sim_process_of(sim, SIM_NODE, sim->window.ahead - 1);

    (void)data;
    (void)number;
    if (sim->scenario.calm) {
        return;
    }
    sim->faults++;
    sim_process_skip(node, sim_random_below(&sim->window.random, JUMP_US));
    sim_after(sim, sim_random_between(&sim->window.random, 100 * MS, 1500 * MS), on_jump, NULL, 0);
}

void sim_window_begin(struct sim *sim)
{
    if (sim->window.on && sim->window.ahead != 0) {
        on_jump(sim, NULL, 0);
    }
}

bool sim_window_over(const struct sim *sim, uint32_t name, uint64_t begun_us)
{
    return sim_window_renews(sim, name) &&
           begun_us + sim->operator.names[name].parameters.window_us <= sim->now_us;
}

bool sim_window_renews(const struct sim *sim, uint32_t name)
{
    return sim->window.on && sim->operator.names[name].parameters.window_us> 0;
}
