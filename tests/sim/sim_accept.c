/* Strikes a slot group, lets adds miss some of it, and plays the operator who accepts the loss. */
#include "tests/sim/sim_accept.h"

#include "map/quorum.h"
#include "node/private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_command.h"
#include "tests/sim/sim_damage.h"
#include "tests/sim/sim_drain.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_given_up.h"
#include "tests/sim/sim_vouch.h"

#include <stdio.h>

#define MS UINT64_C(1000)

enum {
    ACCEPT_PERMILLE = 40, /* seeds of the scenario */
    LASTS_US = 3500000,
    POLL_US = 15000,
    ANY_TIME_PERMILLE = 250, /* in the midst of a change, or of the loss before */
    OFF_PERMILLE = 450,      /* of those that are gone; the others lose their disks */
    MISS_PERMILLE = 500,     /* a member misses adds before that */
    BEHIND_PERMILLE = 500,
    NEVER_PERMILLE = 80, /* nothing is accepted */
    MOST_ASKS = 8,
};

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

/* ---- what is drawn ---- */

void sim_accept_draw_scenario(struct sim *sim)
{
    struct sim_accept *self = &sim->accept;

    sim_random_init(&self->random, sim->seed, SIM_STREAM_ACCEPT);
    sim_random_init(&self->drops, sim->seed, SIM_STREAM_VOUCH);
    if (sim_random_chance(&self->random, ACCEPT_PERMILLE) && sim->options.scenario == 0) {
        sim->scenario.kind = SIM_SCENARIO_ACCEPT;
    }
    self->on = sim->scenario.kind == SIM_SCENARIO_ACCEPT;
    if (self->on) {
        sim->expansion.on = false;
        sim->rebuild.on = false;
        sim->window.on = false;
    }
}

void sim_accept_draw(struct sim *sim)
{
    struct sim_accept *self = &sim->accept;

    self->on = self->on && sim->settings.disks;
    if (self->on && sim_random_chance(&self->random, 500)) {
        sim->settings.replace_after_us = 2 * sim->settings.node_timeout_us;
    }
    if (self->on && !sim->options.lengthy) {
        sim->settings.faults_us = LASTS_US;
    }
}

/* ---- who is gone ---- */

bool sim_accept_holds(const struct sim *sim, const struct sim_process *process)
{
    return (sim->accept.off & bit(process)) != 0;
}

bool sim_accept_is_off(const struct sim *sim, const struct member *member)
{
    const struct sim_process *process = sim_view_member(sim, member);

    return process != NULL && process->incarnation == member->incarnation &&
           (sim->accept.off & sim->accept.vouched & bit(process)) != 0;
}

static bool is_settled(const struct sim *sim, const struct filter_document *document,
                       uint32_t group)
{
    bool settled = true;

    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct slot *slot = &document->content.groups[group].slots[i];

        settled = settled && !slot_is_pair(slot) && sim_view_is_full(sim, &slot->current) &&
                  sim_view_answers(sim_view_member(sim, &slot->current));
    }
    return settled;
}

static void end_one(struct sim *sim, struct sim_process *process)
{
    struct sim_accept *self = &sim->accept;

    if (sim_random_chance(&self->random, OFF_PERMILLE)) {
        self->off |= bit(process);
        sim_trace_line(&sim->trace, sim->now_us, "%s is off", process->name);
        if (process->alive) {
            sim_coverage_fault(sim, SIM_FAULT_KILL_NODE);
            sim_process_kill(process);
        }
    } else if (process->incarnation != 0) {
        sim_damage_wipe(sim, process, sim_random_between(&self->random, 1 * MS, 300 * MS));
        if (!process->alive) {
            sim_fault_start_later(sim, process, 1 * MS);
        }
    }
}

/* So many that too few are left to be fenced, or to be copied from. */
static uint32_t draw_count(struct sim *sim, const struct quorum_rule *rule)
{
    uint32_t sources = rule->replicas - rule->write + 1;
    uint32_t fences = quorum_fences(rule);
    uint32_t least = rule->replicas - (sources > fences ? sources : fences) + 1;

    return sim_random_chance(&sim->accept.random, 700)
               ? least
               : (uint32_t)sim_random_between(&sim->accept.random, least, rule->replicas);
}

static void on_ask(struct sim *sim, void *data, uint64_t number);

/* Whether or not the loss is accepted by then. */
static void on_drop(struct sim *sim, void *data, uint64_t name)
{
    (void)data;
    if (!sim->scenario.calm) {
        (void)sim_operator_drop(sim, (uint32_t)name, true);
    }
}

static void strike(struct sim *sim, const struct filter_document *document, uint32_t group)
{
    struct sim_accept *self = &sim->accept;
    const struct quorum_rule *rule = &document->content.rule;
    uint32_t first = (uint32_t)sim_random_below(&self->random, rule->replicas);
    uint32_t count = draw_count(sim, rule);

    for (uint32_t i = 0; i < count; i++) {
        const struct slot *slot =
            &document->content.groups[group].slots[(first + i) % rule->replicas];
        struct sim_process *process = sim_view_node(sim, slot->current.node);

        if (process != NULL) {
            end_one(sim, process);
        }
    }
    for (uint32_t name = 0; name < SIM_WEAK; name++) {
        if (sim_view_document(sim, name) == document && sim_random_chance(&self->drops, 300)) {
            sim_after(sim, sim_random_below(&self->drops, 900 * MS), on_drop, NULL, name);
        }
    }
    self->accepted = false;
    self->asks = sim_random_chance(&self->random, NEVER_PERMILLE)
                     ? 0
                     : 1 + (uint32_t)sim_random_below(&self->random, MOST_ASKS);
    self->release_us = sim->now_us + sim_random_between(&self->random, 1000 * MS, 2500 * MS);
    sim_after(sim, sim_random_below(&self->random, 500 * MS), on_ask, NULL, 0);
}

/* One of the group hears nothing of routers for a while: some keys are with the others alone. */
static void miss_adds(struct sim *sim, const struct filter_document *document, uint32_t group)
{
    struct sim_accept *self = &sim->accept;
    uint32_t slot = (uint32_t)sim_random_below(&self->random, document->content.rule.replicas);
    const struct sim_process *process = sim_view_node(
        sim, document->content.groups[group].slots[slot].current.node);

    if (process != NULL) {
        sim_fault_separate(sim, bit(process), all_of(sim, SIM_ROUTER),
                           sim_random_between(&self->random, 30 * MS, 120 * MS));
    }
}

static void on_strike(struct sim *sim, void *data, uint64_t missed)
{
    struct sim_accept *self = &sim->accept;
    uint32_t name = (uint32_t)sim_random_below(&self->random, sim->load.nnames);
    const struct filter_document *document = sim_view_document(sim, name);
    uint32_t group;

    (void)data;
    if (sim->scenario.calm) {
        return;
    }
    if (document == NULL || document->content.state != FILTER_ACTIVE || self->off != 0) {
        sim_after(sim, POLL_US, on_strike, NULL, missed);
        return;
    }
    group = (uint32_t)sim_random_below(&self->random, document->content.ngroups);
    if (!is_settled(sim, document, group) &&
        !sim_random_chance(&self->random, missed == 0 ? ANY_TIME_PERMILLE / 10 : 1000)) {
        sim_after(sim, POLL_US, on_strike, NULL, missed);
    } else if (missed == 0 && sim_random_chance(&self->random, MISS_PERMILLE)) {
        miss_adds(sim, document, group);
        sim_after(sim, sim_random_between(&self->random, 10 * MS, 60 * MS), on_strike, NULL, 1);
    } else {
        strike(sim, document, group);
    }
}

/* ---- who is back ---- */

/* They have the newest documents; now they hear of nothing more, with the last router. */
static void on_back(struct sim *sim, void *data, uint64_t set)
{
    uint32_t cut = (uint32_t)set | bit(sim_process_of(sim, SIM_ROUTER, sim->settings.nrouters - 1));

    (void)data;
    if (!sim->scenario.calm) {
        sim_fault_separate(sim, cut, ~(cut | all_of(sim, SIM_CLIENT)),
                           sim_random_between(&sim->accept.random, 100 * MS, 500 * MS));
    }
}

/* Who was given up serves nothing there until its disk is wiped, or its node drained. */
static void on_returned(struct sim *sim, void *data, uint64_t number)
{
    struct sim_process *process = data;
    const struct node_record *record = process->alive && process->confirmed
                                           ? node_list_find(&sim->view.nodes,
                                                            process->node->life.id)
                                           : NULL;

    (void)number;
    if (sim->scenario.calm || record == NULL) {
        return;
    }
    if (sim_losses_allow(sim, process) && sim_random_chance(&sim->accept.random, 500)) {
        sim_damage_wipe(sim, process, 1 * MS);
    } else if (!record->draining) {
        (void)sim_command(sim,
                          &(struct admin_request){
                              .action = ADMIN_NODE_DRAIN, .name = record->name, .successor = ""},
                          NULL);
    }
}

static void release(struct sim *sim)
{
    struct sim_accept *self = &sim->accept;
    uint32_t set = self->off;

    self->off = 0;
    self->vouched = 0;
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        if ((set >> i & 1) != 0) {
            sim_trace_line(&sim->trace, sim->now_us, "%s is back", sim->processes[i]->name);
            sim_fault_start_later(sim, sim->processes[i], 1);
            sim_after(sim, sim_random_between(&self->random, 50 * MS, 600 * MS), on_returned,
                      sim->processes[i], 0);
        }
    }
    if (set != 0 && sim_random_chance(&self->random, BEHIND_PERMILLE)) {
        sim_after(sim, sim_random_between(&self->random, 5 * MS, 60 * MS), on_back, NULL, set);
    }
}

/* ---- the operator ---- */

static void on_answer(struct sim *sim, const struct session_result *result)
{
    struct sim_accept *self = &sim->accept;

    if (result->status == STATUS_OK && !self->accepted && self->off != 0) {
        self->accepted = true;
        self->release_us = sim->now_us + sim_random_below(&self->random, 600 * MS);
    }
}

/* Not for who has never registered. Returns how many; their bits in *set. */
static size_t vouch(struct sim *sim, struct vouched_life off[SIM_MAX_NODES], uint32_t *set)
{
    struct sim_accept *self = &sim->accept;
    size_t count = 0;

    for (uint32_t i = 0; i < sim->view.nodes.count; i++) {
        const struct node_record *record = &sim->view.nodes.nodes[i];
        const struct sim_process *process = sim->view.processes[i];

        if (process != NULL && (self->off & bit(process)) != 0 &&
            sim_random_chance(&self->random, 900)) {
            *set |= bit(process);
            off[count++] = (struct vouched_life){.life = {record->id, record->incarnation}};
        }
    }
    return count;
}

static bool ask(struct sim *sim)
{
    struct sim_accept *self = &sim->accept;
    struct sim_process *coordinator = sim_process_of(
        sim, SIM_COORDINATOR,
        (uint32_t)sim_random_below(&self->random, sim->settings.ncoordinators));
    struct vouched_life off[SIM_MAX_NODES];
    uint32_t vouched = 0;
    struct admin_request request = {
        .action = ADMIN_ACCEPT_LOSS,
        .confirmed_off = off,
        .name = sim_name((uint32_t)sim_random_below(&self->random, sim->load.nnames)),
        .successor = "",
        .dry_run = sim_random_chance(&self->random, 50),
        .loss = {.all = sim_random_chance(&self->random, 700),
                 .shard = (uint32_t)sim_random_below(&self->random, 16)},
    };

    if (sim->operator.names[SIM_WEAK].command != 0) {
        return false;
    }
    request.nconfirmed_off = vouch(sim, off, &vouched);
    if (!sim_command(sim, &request, on_answer)) {
        return false;
    }
    self->vouched |= vouched;
    if (!sim->scenario.calm && sim_random_chance(&self->random, 150)) {
        sim_fault_restart(sim, coordinator, sim_random_below(&self->random, 100 * MS));
    }
    return true;
}

/* Is some slot group without enough of those that are there? */
static bool is_stuck(const struct sim *sim)
{
    bool stuck = false;

    for (uint32_t name = 0; name < sim->load.nnames; name++) {
        const struct filter_document *document = sim_view_document(sim, name);

        for (uint32_t i = 0; document != NULL && i < document->content.ngroups; i++) {
            stuck = stuck || !sim_view_can_replace(sim, document, i);
        }
    }
    return stuck;
}

/* By a command that vouched for them and is over: it may come to a coordinator late. */
static bool may_be_given_up(const struct sim *sim)
{
    return sim->accept.vouched != 0 &&
           sim->now_us < sim_given_up_safe_us(&sim->operator.names[SIM_WEAK]);
}

static void on_ask(struct sim *sim, void *data, uint64_t number)
{
    struct sim_accept *self = &sim->accept;
    bool over = sim->scenario.calm || sim->now_us >= self->release_us;

    (void)data;
    if (over && self->off != 0 && !may_be_given_up(sim) && !sim_vouch_binds(sim)) {
        release(sim);
    }
    if (self->asks > 0 && ask(sim)) {
        self->asks -= !is_stuck(sim) || sim_random_chance(&self->random, 50);
    }
    if (self->off == 0 && self->asks == 0) {
        sim_after(sim, sim_random_between(&self->random, 50 * MS, 400 * MS), on_strike, NULL, 0);
        return;
    }
    sim_after(sim, sim_random_between(&self->random, POLL_US, 6 * POLL_US), on_ask, NULL, number);
}

bool sim_accept_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES])
{
    const struct sim_accept *self = &sim->accept;
    bool unrest = self->off != 0 || self->asks > 0;

    if (unrest) {
        (void)snprintf(text, SIM_UNREST_BYTES, "the operator who accepts losses is not done");
    }
    return unrest;
}

void sim_accept_begin(struct sim *sim)
{
    if (sim->accept.on) {
        sim_after(sim, sim_random_between(&sim->accept.random, 100 * MS, 500 * MS), on_strike, NULL,
                  0);
        sim_drain_over(sim);
    }
}
