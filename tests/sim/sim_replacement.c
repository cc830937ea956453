/* The episodes of the directed scenarios, each from its first step to its last. */
#include "tests/sim/sim_replacement.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_damage.h"
#include "tests/sim/sim_faults.h"

#define MS UINT64_C(1000)

enum { POLL_US = 20000, NAME = 0 };

static uint32_t bit(const struct sim_process *process)
{
    return UINT32_C(1) << process->index;
}

static uint32_t all_of(const struct sim *sim, enum sim_kind kind)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        set |= sim->processes[i]->kind == kind ? bit(sim->processes[i]) : 0;
    }
    return set;
}

/* ---- who takes which part ---- */

struct cast {
    struct sim_process *members[QUORUM_MAX_REPLICAS]; /* of the first slot group, in any order */
    uint32_t count;
};

static void shuffle(struct sim *sim, struct cast *cast)
{
    for (uint32_t i = cast->count; i > 1; i--) {
        uint32_t k = (uint32_t)sim_random_below(&sim->random, i);
        struct sim_process *last = cast->members[i - 1];

        cast->members[i - 1] = cast->members[k];
        cast->members[k] = last;
    }
}

/* False unless all replicas are FULL, run and are not being replaced. */
static bool assemble(struct sim *sim, struct cast *cast)
{
    const struct filter_document *document = sim_view_document(sim, NAME);

    *cast = (struct cast){0};
    if (document == NULL || document->content.state != FILTER_ACTIVE ||
        document->content.ngroups != 1) {
        return false;
    }
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct slot *slot = &document->content.groups[0].slots[i];
        struct sim_process *process = sim_view_node(sim, slot->current.node);

        if (slot_is_pair(slot) || !sim_view_is_full(sim, &slot->current) ||
            !sim_process_runs(process) || !sim_view_answers(process)) {
            return false;
        }
        cast->members[cast->count++] = process;
    }
    shuffle(sim, cast);
    return true;
}

/* ---- LAG ---- */

static void pause_routers(struct sim *sim, uint64_t duration_us)
{
    for (uint32_t i = 0; i < sim->settings.nrouters; i++) {
        sim_fault_pause(sim, sim_process_of(sim, SIM_ROUTER, i), duration_us);
    }
}

/* `until_us`: B's log goes on. */
static void on_lagging(struct sim *sim, void *data, uint64_t until_us)
{
    struct sim_process *a = data;

    if (!sim->scenario.calm && a->alive && sim_losses_allow(sim, a)) {
        pause_routers(sim,
                      until_us - sim->now_us + sim_random_between(&sim->random, 1 * MS, 9 * MS));
        sim_damage_wipe(sim, a, sim_random_between(&sim->random, 1 * MS, 3 * MS));
    }
}

static void lag(struct sim *sim, const struct cast *cast)
{
    uint64_t stall_us = sim_random_between(&sim->random, 100 * MS, 350 * MS);
    uint64_t wipe_us = sim_random_between(&sim->random, 3 * MS, 40 * MS);

    sim_fault_separate(sim, bit(cast->members[2]), all_of(sim, SIM_ROUTER), stall_us + 30 * MS);
    sim_damage_stall(sim, cast->members[1], stall_us);
    sim_after(sim, wipe_us, on_lagging, cast->members[0], sim->now_us + stall_us);
}

/* ---- TWO_JOIN ---- */

static void on_wipe(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *node = data;

    (void)number;
    if (!sim->scenario.calm && node->alive && sim_losses_allow(sim, node)) {
        sim_damage_wipe(sim, node, sim_random_between(&sim->random, 1 * MS, 6 * MS));
    }
}

static void two_join(struct sim *sim, const struct cast *cast)
{
    uint64_t miss_us = sim_random_between(&sim->random, 20 * MS, 90 * MS);

    sim_fault_separate(sim, bit(cast->members[2]) | bit(cast->members[3]), all_of(sim, SIM_ROUTER),
                       miss_us + sim_random_between(&sim->random, 0, 100 * MS));
    for (uint32_t i = 0; i < 2; i++) {
        sim_after(sim, miss_us, on_wipe, cast->members[i], 0);
    }
}

/* ---- all of them ---- */

/* False: not now. */
static bool play(struct sim *sim)
{
    struct cast cast;

    if (!assemble(sim, &cast)) {
        return false;
    }
    if (sim->scenario.kind == SIM_SCENARIO_OLD_LIFE) {
        return sim_takeover_begin(sim, cast.members);
    }
    if (sim->scenario.kind == SIM_SCENARIO_TWO_JOIN) {
        two_join(sim, &cast);
    } else {
        lag(sim, &cast);
    }
    return true;
}

static void on_episode(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    if (!sim->scenario.calm) {
        uint64_t next_us = play(sim) ? sim_random_between(&sim->random, 300 * MS, 700 * MS)
                                     : POLL_US;

        sim_after(sim, next_us, on_episode, NULL, number);
    }
}

bool sim_replacement_tempt(struct sim *sim)
{
    return sim->scenario.kind == SIM_SCENARIO_OLD_LIFE && play(sim);
}

void sim_replacement_begin(struct sim *sim)
{
    if (sim->settings.disks) {
        sim_after(sim, sim_random_below(&sim->random, 100 * MS), on_episode, NULL, 0);
    }
}
