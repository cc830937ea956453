/* Follows the keysets of a name from its create through its rebuilds, and which of them checks may
 * read. */
#include "tests/sim/sim_keyset.h"

#include "base/heap.h"
#include "coordinator/plan/rebuild.h"
#include "node/private.h"
#include "router/private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_memory.h"

#include <inttypes.h>

void sim_keysets_fini(struct sim_keysets *self)
{
    heap_free(self->items);
    *self = (struct sim_keysets){0};
}

static struct sim_keyset *append(struct sim_keysets *self, const struct sim_keyset *keyset)
{
    self->items = sim_memory_reserve(self->items, &self->capacity, self->count + 1,
                                     sizeof *self->items);
    self->items[self->count] = *keyset;
    return &self->items[self->count++];
}

void sim_keysets_create(struct sim_keysets *self, uint64_t now_us)
{
    const struct sim_keyset first = {
        .id = SIM_FIRST_KEYSET,
        .written_us = now_us,
        .read_us = now_us,
        .passed_us = SIM_OPEN,
        .gone_us = SIM_OPEN,
    };

    (void)append(self, &first);
}

struct sim_keyset *sim_keysets_find(const struct sim_keysets *self, uint32_t id)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].id == id) {
            return &self->items[i];
        }
    }
    return NULL;
}

struct sim_keyset *sim_keysets_serving(const struct sim_keysets *self)
{
    for (size_t i = self->count; i-- > 0;) {
        if (self->items[i].read_us != SIM_OPEN) {
            return &self->items[i];
        }
    }
    return NULL;
}

/* ---- steps ---- */

/* Those of the very filter; NULL: the name is bound to another one by now, or not yet. */
static struct sim_keysets *keysets_of(struct sim *sim, uint32_t name, uint64_t filter_id)
{
    struct sim_binding *binding = sim_oracle_newest(sim, name);

    return binding != NULL && binding->filter_id == filter_id ? binding->keysets : NULL;
}

/* A commit is written only where its `begin` could have returned. */
static void pass_on(struct sim_keysets *self, struct sim_keyset *next, uint64_t now_us)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].read_us != SIM_OPEN && self->items[i].passed_us == SIM_OPEN) {
            self->items[i].passed_us = now_us;
        }
    }
    next->begun_us = next->begun_us == SIM_OPEN ? now_us : next->begun_us;
    next->read_us = now_us;
}

void sim_keysets_follow(struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    struct sim_keysets *self = document != NULL ? keysets_of(sim, name, document->id) : NULL;

    for (uint32_t i = 0; self != NULL && i < document->content.nkeysets; i++) {
        const struct keyset *keyset = &document->content.keysets[i];
        struct sim_keyset *known = sim_keysets_find(self, keyset->id);
        const struct sim_keyset fresh = {
            .id = keyset->id,
            .written_us = sim->now_us,
            .begun_us = SIM_OPEN,
            .read_us = SIM_OPEN,
            .passed_us = SIM_OPEN,
            .gone_us = SIM_OPEN,
        };

        known = known != NULL ? known : append(self, &fresh);
        if (keyset->serving && known->read_us == SIM_OPEN) {
            pass_on(self, known, sim->now_us);
        }
    }
}

/* Enough replicas have fenced an epoch that was written then: none below it is read any more. */
static void forget(struct sim_keysets *self, uint64_t written_us, uint64_t now_us)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].passed_us <= written_us && self->items[i].gone_us == SIM_OPEN) {
            self->items[i].gone_us = now_us;
        }
    }
}

void sim_keysets_begun(struct sim *sim, uint32_t name, uint64_t filter_id, uint32_t id)
{
    struct sim_keysets *self = keysets_of(sim, name, filter_id);
    struct sim_keyset *keyset = self != NULL ? sim_keysets_find(self, id) : NULL;

    if (keyset == NULL) {
        return;
    }
    if (keyset->begun_us == SIM_OPEN) {
        keyset->begun_us = sim->now_us;
    }
    forget(self, keyset->written_us, sim->now_us);
}

void sim_keysets_committed(struct sim *sim, uint32_t name, uint64_t filter_id, uint32_t id)
{
    struct sim_keysets *self = keysets_of(sim, name, filter_id);
    struct sim_keyset *keyset = self != NULL ? sim_keysets_find(self, id) : NULL;

    if (keyset == NULL) {
        return;
    }
    if (keyset->read_us == SIM_OPEN) {
        sim_fail(sim, "the commit of keyset %" PRIu32 " of %s has returned and is not written", id,
                 sim_name(name));
        return;
    }
    forget(self, keyset->read_us, sim->now_us);
}

/* ---- what they may have ---- */

bool sim_keyset_is_read(const struct sim_keyset *self, uint64_t from_us, uint64_t to_us)
{
    return self->read_us <= to_us && self->gone_us >= from_us;
}

bool sim_keyset_may_have(const struct sim_keyset *self, const struct sim_add *add)
{
    if (add->fed && add->keyset != 0) {
        return add->keyset == self->id;
    }
    return self->written_us <= add->ended_us && self->gone_us >= add->begun_us;
}

/* ---- who lags ---- */

void sim_keysets_note(struct sim_process *process)
{
    for (uint32_t name = 0; !process->node->life.recovering && name < SIM_MAX_NAMES; name++) {
        const struct document_entry *entry = document_cache_find_name(&process->node->documents,
                                                                      sim_name(name));

        process->bound[name] = entry != NULL ? entry->document.id : 0;
        process->epochs[name] = entry != NULL ? entry->document.epoch : 0;
        process->keysets[name] = entry != NULL ? rebuild_serving(&entry->document) : 0;
    }
}

/* May it answer from another keyset than the document's? Who is dead comes back as it was. */
static bool lags(const struct sim *sim, uint32_t name, const struct member *member)
{
    const struct filter_document *document = sim_view_document(sim, name);
    const struct sim_process *process = sim_view_member(sim, member);

    return process == NULL || (process->bound[name] == document->id &&
                               process->keysets[name] != rebuild_serving(document));
}

/* Does the very member take that filter for live, under that epoch? */
static bool is_bound(const struct sim *sim, uint32_t name, const struct member *member,
                     const struct filter_document *former)
{
    const struct sim_process *process = sim_view_member(sim, member);

    return process != NULL && process->incarnation == member->incarnation &&
           process->bound[name] == former->id && process->epochs[name] == former->epoch;
}

/* F of each group's members have heard of the end, as its fences say: of the others only N - F are
 * left, dead or alive. */
static bool is_fenced(const struct sim *sim, uint32_t name, const struct filter_document *former)
{
    const struct quorum_rule *rule = &former->content.rule;
    uint32_t most = 0;

    for (uint32_t group = 0; group < former->content.ngroups; group++) {
        const struct slot *slots = former->content.groups[group].slots;
        uint32_t count = 0;

        for (uint32_t i = 0; i < rule->replicas; i++) {
            count += is_bound(sim, name, slot_reader(&slots[i]), former);
        }
        most = count > most ? count : most;
    }
    return most + quorum_fences(rule) <= rule->replicas;
}

/* What a node that lives takes for live under that name, if it knows; NULL: it does not. */
static const struct filter_document *held(const struct sim_process *process, uint32_t name)
{
    const struct document_entry *entry = process->alive && process->bound[name] != 0
                                             ? document_cache_find(&process->node->documents,
                                                                   process->bound[name])
                                             : NULL;

    return entry != NULL && entry->document.epoch == process->epochs[name] ? &entry->document
                                                                           : NULL;
}

enum ending { ENDING_NONE, ENDING_FENCED, ENDING_UNFENCED };

/* Does some node take a former filter of the name for live, and have enough others heard of its
 * end? */
static enum ending any_former(const struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    uint64_t id = document != NULL ? document->id : 0;
    enum ending any = ENDING_NONE;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct sim_process *process = sim->processes[i];
        const struct filter_document *former = NULL;

        if (process->bound[name] == 0 || process->bound[name] == id) {
            continue;
        }
        former = held(process, name);
        if (former != NULL && !is_fenced(sim, name, former)) {
            return ENDING_UNFENCED;
        }
        any = ENDING_FENCED;
    }
    return any;
}

/* NULL: it is dead, or knows no filter of that name. */
static const struct document_entry *routed(const struct sim_process *process, uint32_t name)
{
    return process->kind == SIM_ROUTER && process->alive
               ? document_cache_find_name(&process->router->documents, sim_name(name))
               : NULL;
}

bool sim_keysets_lag(const struct sim *sim, uint32_t name, uint64_t filter_id)
{
    bool router = false;
    bool node = false;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct sim_process *process = sim->processes[i];
        const struct document_entry *entry = routed(process, name);

        router = router || (process->kind == SIM_ROUTER &&
                            (entry == NULL || entry->document.id == filter_id));
        node = node || (process->kind == SIM_NODE && process->bound[name] == filter_id);
    }
    return router && node;
}

bool sim_keysets_router_lags(const struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    bool lags = false;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct document_entry *entry = routed(sim->processes[i], name);

        lags = lags || (sim->processes[i]->kind == SIM_ROUTER &&
                        (entry == NULL || document == NULL || entry->document.id != document->id ||
                         entry->document.epoch < document->epoch));
    }
    return lags;
}

bool sim_keysets_minority(const struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    enum ending former = any_former(sim, name);

    if (former != ENDING_NONE) {
        return former == ENDING_FENCED;
    }
    for (uint32_t group = 0; document != NULL && group < document->content.ngroups; group++) {
        const struct slot *slots = document->content.groups[group].slots;
        uint32_t count = 0;

        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            count += lags(sim, name, &slots[i].current) ||
                     (slot_is_pair(&slots[i]) && lags(sim, name, &slots[i].incoming));
        }
        if (count > 0 && count < document->content.rule.read) {
            return true;
        }
    }
    return false;
}
