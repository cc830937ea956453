/* Plays the operator who drains nodes, kills some, and has spares take their places. */
#include "tests/sim/sim_drain.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_command.h"
#include "tests/sim/sim_damage.h"
#include "tests/sim/sim_faults.h"

#define MS UINT64_C(1000)

enum {
    POLL_US = 15000,
    NEXT_US = 60000,
    WIPED_PERMILLE = 500, /* of those that die */
    VOUCHED_PERMILLE =
        700, /* of those without data: that life never answers again, so it is true */
};

static const struct node_record *record_of(const struct sim *sim, uint64_t node)
{
    return node_list_find(&sim->view.nodes, (uint32_t)node);
}

bool sim_drain_is_held(const struct sim *sim, uint32_t node)
{
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = sim_view_document(sim, name);

        for (uint32_t group = 0; document != NULL && group < document->content.ngroups; group++) {
            if (document_slot_of(document, group, node, 0) >= 0) {
                return true;
            }
        }
    }
    return false;
}

/* Tried again when another one is under way; what comes of it shows in the node list. */
static void command(struct sim *sim, const struct admin_request *request)
{
    (void)sim_command(sim, request, NULL);
}

void sim_drain_undo(struct sim *sim, const struct node_record *record)
{
    command(sim,
            &(struct admin_request){
                .action = ADMIN_NODE_DRAIN, .name = record->name, .successor = "", .undo = true});
}

/* ---- drain ---- */

const struct node_record *sim_drain_draw_held(struct sim *sim)
{
    uint32_t count = sim->view.nodes.count;
    uint32_t first = count > 0 ? (uint32_t)sim_random_below(&sim->random, count) : 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct node_record *record = &sim->view.nodes.nodes[(first + i) % count];

        if (sim_drain_is_held(sim, record->id)) {
            return record;
        }
    }
    return NULL;
}

/* When all is over every node takes part again: filters are created anew, too. */
static void on_over(struct sim *sim, void *data, uint64_t number)
{
    const struct node_record *leaves = NULL;

    (void)data;
    for (uint32_t i = 0; i < sim->view.nodes.count; i++) {
        const struct node_record *record = &sim->view.nodes.nodes[i];

        leaves = node_record_leaves(record) && !sim_drain_is_held(sim, record->id) ? record
                                                                                   : leaves;
    }
    if (leaves != NULL) {
        sim_drain_undo(sim, leaves);
    }
    sim_after(sim, NEXT_US, on_over, NULL, number);
}

void sim_drain_over(struct sim *sim)
{
    on_over(sim, NULL, 0);
}

/* Operators who move replicas only leave nodes as they are then. */
static void end(struct sim *sim)
{
    if (sim->expansion.moving != SIM_MOVING_NOTHING) {
        on_over(sim, NULL, 0);
    }
}

static void on_drain(struct sim *sim, void *data, uint64_t node)
{
    const struct node_record *record = record_of(sim, node);

    (void)data;
    if (sim->scenario.calm) {
        end(sim);
        return;
    }
    if (record == NULL || (!record->draining && !sim_drain_is_held(sim, record->id))) {
        record = sim_drain_draw_held(sim);
    } else if (record->draining && !sim_drain_is_held(sim, record->id)) {
        sim_drain_undo(sim, record);
        record = NULL;
    }
    if (record != NULL && !record->draining) {
        command(sim, &(struct admin_request){
                         .action = ADMIN_NODE_DRAIN, .name = record->name, .successor = ""});
    }
    sim_after(sim, record != NULL ? POLL_US : NEXT_US, on_drain, NULL,
              record != NULL ? record->id : 0);
}

/* ---- replace ---- */

static const struct node_record *find_spare(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->view.nodes.count; i++) {
        const struct node_record *record = &sim->view.nodes.nodes[i];

        if (!sim_drain_is_held(sim, record->id) && !node_record_leaves(record)) {
            return record;
        }
    }
    return NULL;
}

static void on_replace(struct sim *sim, void *data, uint64_t node);

static void again(struct sim *sim, uint64_t delay_us, uint64_t node)
{
    sim_after(sim, delay_us, on_replace, NULL, node);
}

static void kill_one(struct sim *sim)
{
    const struct node_record *record = sim_drain_draw_held(sim);
    struct sim_process *process = record != NULL ? sim_view_node(sim, record->id) : NULL;
    uint64_t down_us = sim->settings.node_timeout_us +
                       sim_random_between(&sim->random, 50 * MS, 600 * MS);

    /* With all coordinators dead what runs must succeed: no node may be dead as well. */
    if (process == NULL || !process->alive || find_spare(sim) == NULL ||
        sim->scenario.kind == SIM_SCENARIO_COORDINATORS) {
        again(sim, POLL_US, 0);
        return;
    }
    if (sim_random_chance(&sim->random, WIPED_PERMILLE) && sim_losses_allow(sim, process)) {
        sim_damage_wipe(sim, process, down_us);
    } else {
        sim_fault_restart(sim, process, down_us);
    }
    again(sim, sim->settings.node_timeout_us, record->id);
}

/* True for a life whose data is gone for sure: it can't come back. */
static bool is_gone(struct sim *sim, const struct node_record *record)
{
    const struct member life = {.node = record->id, .incarnation = record->incarnation};

    return !sim_view_is_full(sim, &life) && sim_losses_has(sim, &life);
}

static void on_replace(struct sim *sim, void *data, uint64_t node)
{
    const struct node_record *record = record_of(sim, node);
    const struct node_record *spare = find_spare(sim);

    (void)data;
    if (sim->scenario.calm) {
        end(sim);
        return;
    }
    if (record == NULL) {
        kill_one(sim);
    } else if (!sim_drain_is_held(sim, record->id)) {
        if (node_record_leaves(record)) {
            sim_drain_undo(sim, record);
        }
        again(sim, NEXT_US, node_record_leaves(record) ? record->id : 0);
    } else if (!node_record_leaves(record) && spare != NULL &&
               sim->settings.replace_after_us == 0) {
        const struct vouched_life off = {.life = {record->id, record->incarnation}};

        command(sim, &(struct admin_request){
                         .action = ADMIN_NODE_REPLACE,
                         .name = record->name,
                         .successor = spare->name,
                         .confirmed_off = &off,
                         .nconfirmed_off = is_gone(sim, record) &&
                                           sim_random_chance(&sim->random, VOUCHED_PERMILLE),
                     });
        again(sim, sim_random_chance(&sim->random, 900) ? POLL_US : NEXT_US,
              sim_random_chance(&sim->random, 900) ? record->id : 0);
    } else {
        again(sim, POLL_US, sim_random_chance(&sim->random, 980) ? record->id : 0);
    }
}

void sim_drain_begin(struct sim *sim)
{
    enum sim_moving moving = sim->scenario.kind == SIM_SCENARIO_DRAIN     ? SIM_MOVING_DRAINS
                             : sim->scenario.kind == SIM_SCENARIO_REPLACE ? SIM_MOVING_REPLACES
                                                                          : sim->expansion.moving;

    if (sim->settings.disks && moving != SIM_MOVING_NOTHING) {
        sim_after(sim, sim_random_below(&sim->random, 150 * MS),
                  moving == SIM_MOVING_DRAINS ? on_drain : on_replace, NULL, 0);
    }
}
