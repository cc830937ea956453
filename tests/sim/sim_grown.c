/* Looks into documents and nodes: how much room a filter has, and what it still waits for. */
#include "tests/sim/sim_grown.h"

#include "coordinator/plan/expansion.h"
#include "node/private.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>

/* Of the capacity: estimates of keys may be a little too low. */
static const double due_share = 0.9;

static const struct arrays *set_of(const struct sim_process *process, uint64_t filter_id)
{
    const struct document_entry *entry;
    const struct hosted_filter *hosted;

    if (process->kind != SIM_NODE || !process->alive) {
        return NULL;
    }
    entry = document_cache_find(&process->node->documents, filter_id);
    hosted = entry != NULL ? entry->attachment : NULL;
    return hosted != NULL ? hosted->set : NULL;
}

static uint64_t least_share(const struct filter_document *document, uint64_t capacity)
{
    uint32_t nshards = document_nshards(document);
    uint64_t least = UINT64_MAX;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        uint32_t count = 0;
        uint64_t share;

        for (uint32_t shard = 0; shard < nshards; shard++) {
            count += document->content.group_of_shard[shard] == group;
        }
        share = layer_share(capacity, count, nshards);
        least = share < least ? share : least;
    }
    return least;
}

uint64_t sim_grown_room(const struct sim *sim, uint32_t name, bool settled)
{
    const struct filter_document *document = sim_view_document(sim, name);
    uint64_t capacity = sim->expansion.on ? sim->expansion.least[name]
                                          : sim->operator.names[name].parameters.capacity;

    if (document == NULL) {
        return 0;
    }
    if (settled && !expansion_running(document)) {
        capacity = document_generation(document)->capacity;
    }
    return least_share(document, capacity);
}

bool sim_grown_is_stuck(const struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    const struct generation *wanted = document_generation(document);

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct arrays *set = set_of(sim->processes[i], document->id);

        for (uint32_t group = 0; set != NULL && group < set->ngroups; group++) {
            const struct replica_group *one = &set->groups[group];

            if (one->hosted && wanted->capacity < arrays_base(set)->generation.capacity &&
                one->keys > layer_share(wanted->capacity, one->nshards, set->nshards)) {
                return true;
            }
        }
    }
    return false;
}

/* Of each slot group the most that a replica holds. */
static uint64_t keys_of(const struct sim *sim, const struct filter_document *document)
{
    uint64_t sum = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        uint64_t most = 0;

        for (uint32_t i = 0; i < sim->nprocesses; i++) {
            const struct arrays *set = set_of(sim->processes[i], document->id);

            if (set != NULL && arrays_hosts(set, group) && set->groups[group].keys > most) {
                most = set->groups[group].keys;
            }
        }
        sum += most;
    }
    return sum;
}

/* A replacement that can't end holds up turns, and of a group of which nobody is left nobody
 * grows. */
static bool can_end(const struct sim *sim, const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        bool any = false;

        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            const struct slot *slot = &document->content.groups[group].slots[i];

            any = any || sim_view_is_full(sim, slot_reader(slot));
        }
        if (!any) {
            return false;
        }
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            if (slot_is_pair(&document->content.groups[group].slots[i]) &&
                !sim_view_can_replace(sim, document, group)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_due(const struct sim *sim, const struct filter_document *document)
{
    uint64_t capacity = document_generation(document)->capacity;

    return document->when_full == WHEN_FULL_EXPAND && expansion_possible(document) &&
           !document->growth_held && document->capacity < document->max_capacity &&
           !expansion_chain_is_long(document) &&
           (double)keys_of(sim, document) >= due_share * (double)capacity;
}

/* Somebody with arrays of two generations, or NULL. */
static const struct sim_process *find_builder(const struct sim *sim,
                                              const struct filter_document *document)
{
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct arrays *set = set_of(sim->processes[i], document->id);

        if (set != NULL && set->expansion != NULL) {
            return sim->processes[i];
        }
    }
    return NULL;
}

static bool filter_unrest(const struct sim *sim, uint32_t name, char text[SIM_UNREST_BYTES])
{
    const struct filter_document *document = sim_view_document(sim, name);
    bool stuck = sim_grown_is_stuck(sim, name);
    const struct sim_process *builder = find_builder(sim, document);

    if (expansion_running(document)) {
        (void)snprintf(text, SIM_UNREST_BYTES, "%s is on its way from generation %u to %u%s",
                       sim_name(name), document->generations[0].id,
                       document_generation(document)->id,
                       stuck ? ", which is too small for its keys" : "");
    } else if (stuck) {
        (void)snprintf(text, SIM_UNREST_BYTES, "some node keeps a larger generation of %s than %u",
                       sim_name(name), document_generation(document)->id);
    } else if (builder != NULL) {
        (void)snprintf(text, SIM_UNREST_BYTES, "%s builds another generation of %s", builder->name,
                       sim_name(name));
    } else if (is_due(sim, document)) {
        (void)snprintf(text, SIM_UNREST_BYTES, "%s is full, is to grow by itself, and does not",
                       sim_name(name));
    } else {
        return false;
    }
    return true;
}

bool sim_grown_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES])
{
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = sim_view_document(sim, name);

        if (document != NULL && document->content.state == FILTER_ACTIVE &&
            can_end(sim, document) && filter_unrest(sim, name, text)) {
            return true;
        }
    }
    return false;
}
