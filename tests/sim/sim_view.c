/* Reads the store's documents and looks into nodes, and says what replicas are really like. */
#include "tests/sim/sim_view.h"

#include "node/private.h"
#include "proto/signed_document.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void sim_view_fini(struct sim_view *self)
{
    node_list_fini(&self->nodes);
    for (uint32_t i = 0; i < SIM_MAX_NAMES; i++) {
        document_fini(&self->documents[i]);
    }
}

static uint64_t bound_id(const struct sim *sim, uint32_t name)
{
    char key[STORE_KEY_BYTES];
    const struct memory_store_record *record;
    uint64_t id = 0;

    (void)snprintf(key, sizeof key, "name/%s", sim_name(name));
    record = memory_store_find(&sim->store, key);
    for (size_t i = 0; record != NULL && i < 8; i++) {
        id |= (uint64_t)record->value[i] << (8 * i);
    }
    return id;
}

static void read_document(struct sim *sim, uint32_t name)
{
    struct filter_document *document = &sim->view.documents[name];
    uint64_t id = bound_id(sim, name);
    uint64_t former; /* epoch of the same filter; 0: none */
    char key[STORE_KEY_BYTES];
    const struct memory_store_record *record;

    if (id == 0) {
        document_fini(document);
        return;
    }
    (void)snprintf(key, sizeof key, "filter/%" PRIu64, id);
    record = memory_store_find(&sim->store, key);
    if (record != NULL && id == document->id && record->version <= sim->view.change) {
        return; /* As it was. */
    }
    former = id == document->id ? document->epoch : 0;
    document_fini(document);
    sim->view.changed_us[name] = sim->now_us;
    sim->invariant.due = true;
    if (record == NULL || codec_filter_document_open(span_of(record->value, record->size),
                                                     &sim->key, document) != STATUS_OK) {
        sim_fail(sim, "the store's record %s cannot be read", key);
    } else if (former != 0 && document->epoch != former &&
               document->content.state == FILTER_ACTIVE) {
        sim_coverage_fault(sim, SIM_FAULT_MOVE);
    }
    sim_keysets_follow(sim, name);
    sim_accepted_follow(sim, name);
}

static struct sim_process *process_at(const struct sim *sim, const char *endpoint)
{
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        if (strcmp(sim->processes[i]->endpoint, endpoint) == 0) {
            return sim->processes[i];
        }
    }
    return NULL;
}

static void read_nodes(struct sim *sim)
{
    const struct memory_store_record *record = memory_store_find(&sim->store, "nodes");

    node_list_fini(&sim->view.nodes);
    if (record != NULL && codec_node_list_open(span_of(record->value, record->size), &sim->key,
                                               &sim->view.nodes) != STATUS_OK) {
        sim_fail(sim, "the store's node list cannot be read");
    }
    assert(sim->view.nodes.count <= SIM_MAX_NODES);
    for (uint32_t i = 0; i < sim->view.nodes.count; i++) {
        sim->view.processes[i] = process_at(sim, sim->view.nodes.nodes[i].endpoint);
    }
}

void sim_view_follow(struct sim *sim)
{
    if (sim->view.change == sim->store.change) {
        return;
    }
    read_nodes(sim);
    for (uint32_t i = 0; i < SIM_MAX_NAMES; i++) {
        read_document(sim, i);
        sim_given_up_follow(sim, i);
    }
    sim->view.change = sim->store.change;
}

void sim_view_anew(struct sim *sim)
{
    for (uint32_t i = 0; i < SIM_MAX_NAMES; i++) {
        document_fini(&sim->view.documents[i]);
    }
    sim->view.change = UINT64_MAX;
    sim_view_follow(sim);
}

const struct filter_document *sim_view_document(const struct sim *sim, uint32_t name)
{
    return sim->view.documents[name].id != 0 ? &sim->view.documents[name] : NULL;
}

struct sim_process *sim_view_node(const struct sim *sim, uint32_t node)
{
    for (uint32_t i = 0; i < sim->view.nodes.count; i++) {
        if (sim->view.nodes.nodes[i].id == node) {
            return sim->view.processes[i];
        }
    }
    return NULL;
}

struct sim_process *sim_view_member(const struct sim *sim, const struct member *member)
{
    struct sim_process *registered = sim_view_node(sim, member->node);

    if (registered == NULL || registered->incarnation == member->incarnation) {
        return registered;
    }
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_process *process = sim->processes[i];

        if (process->kind == SIM_NODE && process->incarnation == member->incarnation) {
            return process;
        }
    }
    return registered;
}

bool sim_view_is_full(const struct sim *sim, const struct member *member)
{
    const struct sim_process *process = sim_view_member(sim, member);

    return process != NULL && process->alive &&
           process->node->life.incarnation == member->incarnation;
}

bool sim_view_answers(const struct sim_process *node)
{
    return node->alive && (node->node->storage == NULL ||
                           (node->node->life.confirmed && !node->node->life.recovering));
}

/* It ran as that member at `since_us` or later. */
static bool ran_since(const struct sim *sim, const struct member *member, uint64_t since_us)
{
    const struct sim_process *process = sim_view_member(sim, member);

    if (process == NULL) {
        return false;
    }
    return sim_view_is_full(sim, member) ? !process->paused || process->paused_us >= since_us
                                         : process->killed_us >= since_us;
}

/* What was given up is JOINING, should it be back. */
static bool is_counted(const struct sim *sim, const struct slot_group *group,
                       const struct member *member)
{
    return sim_view_is_full(sim, member) && !slot_group_gave_up(group, member);
}

static bool counts(const struct sim *sim, const struct slot_group *group, uint32_t index,
                   enum operation operation)
{
    const struct slot *slot = &group->slots[index];
    const struct member *writers[2];
    uint32_t count = slot_writers(slot, writers);
    bool live = true;

    if (operation == OPERATION_CHECK) {
        return is_counted(sim, group, slot_reader(slot));
    }
    for (uint32_t i = 0; i < count; i++) {
        live = live && is_counted(sim, group, writers[i]);
    }
    return live;
}

static uint32_t full_in_group(const struct sim *sim, const struct filter_document *document,
                              uint32_t group, enum operation operation)
{
    uint32_t count = 0;

    for (uint32_t slot = 0; slot < document->content.rule.replicas; slot++) {
        count += counts(sim, &document->content.groups[group], slot, operation);
    }
    return count;
}

uint32_t sim_view_least_full(const struct sim *sim, uint32_t name, enum operation operation)
{
    const struct filter_document *document = sim_view_document(sim, name);
    uint32_t least = QUORUM_MAX_REPLICAS;

    for (uint32_t group = 0; document != NULL && group < document->content.ngroups; group++) {
        uint32_t full = full_in_group(sim, document, group, operation);

        least = full < least ? full : least;
    }
    return document != NULL ? least : 0;
}

uint32_t sim_view_most_full(const struct sim *sim, uint32_t name, enum operation operation)
{
    const struct filter_document *document = sim_view_document(sim, name);
    uint32_t most = 0;

    for (uint32_t group = 0; document != NULL && group < document->content.ngroups; group++) {
        uint32_t full = full_in_group(sim, document, group, operation);

        most = full > most ? full : most;
    }
    return most;
}

bool sim_view_log_has(const struct sim_process *node, const struct filter_document *document,
                      uint32_t keyset, uint64_t fingerprint)
{
    return sim_log_has(node->disk, !node->sim->settings.unsynced, document, keyset, fingerprint);
}

static bool node_unrest(const struct sim_process *process, char text[SIM_UNREST_BYTES])
{
    const struct node *node = process->node;
    const char *what = !process->alive                                  ? "is dead"
                       : node->life.recovering                          ? "reads its log"
                       : node->storage != NULL && !node->life.confirmed ? "is not confirmed"
                                                                        : NULL;

    for (size_t i = 0; what == NULL && i < node->documents.count; i++) {
        const struct hosted_filter *hosted = node->documents.by_id[i]->attachment;

        for (const struct arrays *set = hosted != NULL ? hosted->set : NULL; set != NULL;
             set = set->next) {
            what = !arrays_ready(set) ? "fills its arrays"
                   : set->doubted     ? "catches up with the others"
                                      : what;
        }
    }
    if (what != NULL) {
        (void)snprintf(text, SIM_UNREST_BYTES, "%s %s", process->name, what);
    }
    return what != NULL;
}

bool sim_view_can_replace(const struct sim *sim, const struct filter_document *document,
                          uint32_t group)
{
    const struct quorum_rule *rule = &document->content.rule;
    const struct slot_group *slots = &document->content.groups[group];
    uint32_t sources = rule->replicas - rule->write + 1;
    uint32_t fences = 0;
    uint32_t left = 0;

    for (uint32_t i = 0; i < rule->replicas; i++) {
        const struct member *member = &slots->slots[i].current;

        fences += slot_group_gave_up(slots, member) || sim_view_is_full(sim, member);
        left += !slot_group_gave_up(slots, slot_reader(&slots->slots[i]));
    }
    return full_in_group(sim, document, group, OPERATION_CHECK) >=
               (left < sources ? left : sources) &&
           fences >= quorum_fences(rule);
}

/* Its node came back with the very life that was given up: it stays JOINING until it has another
 * one, or is to leave. */
static bool waits_for_another(const struct sim *sim, const struct slot_group *group,
                              const struct slot *slot)
{
    const struct node_record *record = node_list_find(&sim->view.nodes, slot->current.node);

    return !slot_is_pair(slot) && slot_group_gave_up(group, &slot->current) && record != NULL &&
           record->incarnation == slot->current.incarnation && !node_record_leaves(record);
}

static bool group_unrest(const struct sim *sim, const struct filter_document *document,
                         uint32_t group, char text[SIM_UNREST_BYTES])
{
    bool can = sim_view_can_replace(sim, document, group);

    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct slot *slot = &document->content.groups[group].slots[i];

        if (can &&
            (slot_is_pair(slot) ||
             !is_counted(sim, &document->content.groups[group], &slot->current)) &&
            !waits_for_another(sim, &document->content.groups[group], slot)) {
            (void)snprintf(text, SIM_UNREST_BYTES,
                           "slot %u of group %u of %s, epoch %" PRIu64 ", %s", i, group,
                           document->content.name, document->epoch,
                           slot_is_pair(slot) ? "is a pair" : "names a life that is gone");
            return true;
        }
    }
    return false;
}

bool sim_view_moves(const struct sim *sim)
{
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = sim_view_document(sim, name);

        for (uint32_t i = 0; document != NULL && i < document->content.ngroups; i++) {
            for (uint32_t k = 0; k < document->content.rule.replicas; k++) {
                const struct slot *slot = &document->content.groups[i].slots[k];

                if (slot_is_pair(slot) && slot->incoming.node != slot->current.node) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool sim_view_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES])
{
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        if (sim->processes[i]->kind == SIM_NODE && !sim->processes[i]->standby &&
            node_unrest(sim->processes[i], text)) {
            return true;
        }
    }
    for (uint32_t name = 0; sim->settings.disks && name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = sim_view_document(sim, name);

        for (uint32_t group = 0; document != NULL && group < document->content.ngroups; group++) {
            if (group_unrest(sim, document, group, text)) {
                return true;
            }
        }
    }
    return false;
}

/* Who has not heard yet that reads ask the new member may ask the old one. */
static bool slot_ran(const struct sim *sim, const struct slot_group *group, const struct slot *slot,
                     uint64_t since_us)
{
    const struct member *reader = slot_reader(slot);

    return (ran_since(sim, reader, since_us) && !slot_group_gave_up(group, reader)) ||
           (ran_since(sim, &slot->current, since_us) && !slot_group_gave_up(group, &slot->current));
}

uint32_t sim_view_most_ran(const struct sim *sim, uint32_t name, uint64_t since_us)
{
    const struct filter_document *document = sim_view_document(sim, name);
    uint32_t most = 0;

    for (uint32_t group = 0; document != NULL && group < document->content.ngroups; group++) {
        uint32_t count = 0;

        for (uint32_t slot = 0; slot < document->content.rule.replicas; slot++) {
            const struct slot_group *slots = &document->content.groups[group];

            count += slot_ran(sim, slots, &slots->slots[slot], since_us);
        }
        most = count > most ? count : most;
    }
    return most;
}
