/* Waits until a drop that was given up can't be obeyed any more, and looks whether it was. */
#include "tests/sim/sim_given_up.h"

#include "base/pulse.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_faults.h"

#include <inttypes.h>

#define MS UINT64_C(1000)

enum {
    GIVE_UP_PERMILLE = 350,
    STOP_PERMILLE = 700,   /* of these: coordinators are stopped meanwhile */
    SINGLE_PERMILLE = 300, /* ... only one of them */
    STOP_WITHIN_US = 900,  /* while the operator looks, or asks */
    POLL_US = 20000,
};

static void on_stop(struct sim *sim, void *data, uint64_t single)
{
    (void)data;
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_process *process = sim->processes[i];

        if (process->kind == SIM_COORDINATOR && !sim->scenario.calm &&
            (single == 0 || sim_random_chance(&sim->random, 500))) {
            sim_fault_pause(sim, process, sim_random_between(&sim->random, 800 * MS, 1600 * MS));
        }
    }
}

void sim_given_up_draw(struct sim *sim, uint32_t name)
{
    struct sim_managed_name *one = &sim->operator.names[name];

    if (one->arrival_us < sim->now_us) { /* Frames of earlier tries may come later. */
        one->arrival_us = sim->now_us;
    }
    one->gives_up = one->state == SIM_NAME_DROPPING && sim->scenario.kind == SIM_SCENARIO_RENAME &&
                    !sim->scenario.calm && sim_random_chance(&sim->random, GIVE_UP_PERMILLE);
    if (!one->gives_up) {
        return;
    }
    one->patience_us = sim_random_between(&sim->random, 60 * MS, 200 * MS);
    if (sim_random_chance(&sim->random, STOP_PERMILLE)) {
        sim_after(sim, sim_random_below(&sim->random, STOP_WITHIN_US), on_stop, NULL,
                  sim_random_chance(&sim->random, SINGLE_PERMILLE));
    }
}

void sim_given_up_note(struct sim *sim, uint32_t command, uint64_t arrival_us)
{
    for (uint32_t i = 0; i < SIM_MAX_NAMES; i++) {
        struct sim_managed_name *one = &sim->operator.names[i];

        if (one->command == command && arrival_us > one->arrival_us) {
            one->arrival_us = arrival_us;
        }
    }
}

static bool is_there(const struct sim *sim, uint32_t name, uint64_t filter_id)
{
    const struct filter_document *document = sim_view_document(sim, name);

    return document != NULL && document->id == filter_id &&
           document->content.state == FILTER_ACTIVE;
}

uint64_t sim_given_up_safe_us(const struct sim_managed_name *one)
{
    uint64_t wanted_us = one->patience_us;
    uint64_t unnoticed_us = PULSE_PAUSE_US + PULSE_US;

    return one->arrival_us + (wanted_us > unnoticed_us ? wanted_us : unnoticed_us) + 10 * MS;
}

static void on_look(struct sim *sim, void *data, uint64_t name)
{
    struct sim_managed_name *one = &sim->operator.names[name];
    uint64_t id = sim_oracle_newest(sim, (uint32_t)name)->filter_id;

    (void)data;
    sim_view_follow(sim);
    if (sim->now_us < sim_given_up_safe_us(one)) {
        sim_after(sim, POLL_US, on_look, NULL, name);
    } else if (id == 0 || !is_there(sim, (uint32_t)name, id)) {
        sim_operator_again(sim, (uint32_t)name);
    } else {
        sim_trace_line(&sim->trace, sim->now_us, "operator of %s: the drop is given up",
                       sim_name((uint32_t)name));
        sim_coverage_fault(sim, SIM_FAULT_GIVEN_UP);
        sim_oracle_drop_given_up(sim, (uint32_t)name);
        one->state = SIM_NAME_LIVE;
    }
}

bool sim_given_up_begins(struct sim *sim, uint32_t name)
{
    const struct sim_managed_name *one = &sim->operator.names[name];

    if (!one->gives_up) {
        return false;
    }
    sim_after(sim, POLL_US, on_look, NULL, name);
    return true;
}

void sim_given_up_follow(struct sim *sim, uint32_t name)
{
    const struct sim_binding *binding = sim_oracle_newest(sim, name);

    if (sim->operator.names[name].state == SIM_NAME_LIVE && binding->live_us != SIM_OPEN &&
        binding->filter_id != 0 && !is_there(sim, name, binding->filter_id)) {
        sim_fail(sim,
                 "lost keys: filter %" PRIu64 ", called %s, is dropped or renamed; nobody asks for "
                 "that, or not any more",
                 binding->filter_id, sim_name(name));
    }
}
