/* Looks through arrays and disks for keys of keysets that nobody can have put there. */
#include "tests/sim/sim_forgotten.h"

#include "node/private.h"
#include "tests/sim/sim.h"

#include <inttypes.h>

/* NULL: the node has no arrays of it that stand. */
static const struct arrays *set_of(const struct sim_process *process,
                                   const struct filter_document *document, uint32_t keyset,
                                   uint32_t group)
{
    const struct document_entry *entry;
    const struct arrays *set;

    if (!process->alive || process->node->life.recovering) {
        return NULL;
    }
    entry = document_cache_find(&process->node->documents, document->id);
    if (entry == NULL || entry->attachment == NULL) {
        return NULL;
    }
    set = hosted_find(entry->attachment, keyset, document->content.newest_slice);
    return set != NULL && arrays_ready(set) && arrays_hosts(set, group) ? set : NULL;
}

static void look(struct sim *sim, uint32_t name, uint32_t keyset, uint32_t key,
                 uint64_t fingerprint)
{
    const struct filter_document *document = sim_view_document(sim, name);
    uint64_t shard = lines_shard_index(document->content.shard_bits, fingerprint);
    uint32_t group = document->content.group_of_shard[shard];

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct sim_process *process = sim->processes[i];
        const struct arrays *set = process->kind == SIM_NODE
                                       ? set_of(process, document, keyset, group)
                                       : NULL;
        bool logged = process->kind == SIM_NODE && process->disk != NULL &&
                      sim_view_log_has(process, document, keyset, fingerprint);

        if (logged || (set != NULL && arrays_has(set, fingerprint))) {
            sim_fail(sim,
                     "forgotten key: %s has key %u in keyset %" PRIu32 " of %s%s; nobody has "
                     "put it there",
                     process->name, key, keyset, sim_name(name), logged ? ", in its log" : "");
        }
    }
}

static bool is_wanted(const struct sim *sim)
{
    return sim->rebuild.on || sim->scenario.kind == SIM_SCENARIO_RENAME;
}

void sim_forgotten_check(struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    const struct sim_binding *binding = sim_oracle_newest(sim, name);
    const uint64_t *fingerprints;

    if (!is_wanted(sim) || document == NULL || binding == NULL || binding->drop_us != SIM_OPEN ||
        binding->filter_id != document->id || document->keylog == KEYLOG_OFF) {
        return;
    }
    fingerprints = sim_invariant_fingerprints(sim, name, document);
    for (uint32_t i = 0; fingerprints != NULL && i < document->content.nkeysets; i++) {
        uint32_t keyset = document->content.keysets[i].id;

        for (uint32_t key = 0; key < SIM_MAX_KEYS; key++) {
            if (!sim_oracle_may_have(sim, name, keyset, key)) {
                look(sim, name, keyset, key, fingerprints[key]);
            }
        }
    }
}
