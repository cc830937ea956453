/* Judges every answer by what was begun and acknowledged before it. */
#include "tests/sim/sim_oracle.h"

#include "base/heap.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_memory.h"

#include <assert.h>

void sim_oracle_init(struct sim_oracle *self)
{
    *self = (struct sim_oracle){.nadds = 1};
}

static void fini_binding(struct sim_binding *self)
{
    if (!self->renamed) {
        sim_keysets_fini(self->keysets);
        heap_free(self->keysets);
    }
}

void sim_oracle_fini(struct sim_oracle *self)
{
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        for (uint32_t i = 0; i < self->names[name].nbindings; i++) {
            fini_binding(&self->names[name].bindings[i]);
        }
    }
    heap_free(self->adds);
}

/* ---- bindings ---- */

struct sim_binding *sim_oracle_newest(struct sim *sim, uint32_t name)
{
    struct sim_name_history *history = &sim->oracle.names[name];

    return history->nbindings > 0 ? &history->bindings[history->nbindings - 1] : NULL;
}

static struct sim_binding *append(struct sim *sim, uint32_t name)
{
    struct sim_name_history *history = &sim->oracle.names[name];

    assert(history->nbindings < SIM_MAX_BINDINGS);
    history->bindings[history->nbindings] = (struct sim_binding){
        .create_us = sim->now_us,
        .live_us = SIM_OPEN,
        .drop_us = SIM_OPEN,
        .gone_us = SIM_OPEN,
    };
    return &history->bindings[history->nbindings++];
}

void sim_oracle_create_begins(struct sim *sim, uint32_t name)
{
    struct sim_binding *binding = append(sim, name);

    binding->keysets = sim_memory_alloc(1, sizeof *binding->keysets);
    sim_keysets_create(binding->keysets, sim->now_us);
}

void sim_oracle_create_ends(struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    struct sim_binding *binding = sim_oracle_newest(sim, name);

    binding->live_us = sim->now_us;
    binding->filter_id = document != NULL ? document->id : 0;
}

void sim_oracle_drop_begins(struct sim *sim, uint32_t name)
{
    sim_oracle_newest(sim, name)->drop_us = sim->now_us;
}

void sim_oracle_drop_ends(struct sim *sim, uint32_t name)
{
    sim_oracle_newest(sim, name)->gone_us = sim->now_us;
}

void sim_oracle_drop_given_up(struct sim *sim, uint32_t name)
{
    sim_oracle_newest(sim, name)->drop_us = SIM_OPEN;
}

void sim_oracle_rename_begins(struct sim *sim, uint32_t from, uint32_t to)
{
    struct sim_binding *old = sim_oracle_newest(sim, from);
    struct sim_binding *taken = sim_oracle_newest(sim, to);
    struct sim_binding *binding;
    bool replaces = taken != NULL && taken->gone_us == SIM_OPEN;

    old->drop_us = sim->now_us;
    old->left = true;
    if (replaces) {
        taken->drop_us = sim->now_us;
    }
    binding = append(sim, to);
    binding->filter_id = old->filter_id;
    binding->renamed = true;
    binding->replaces = replaces;
    binding->keysets = old->keysets;
}

void sim_oracle_rename_ends(struct sim *sim, uint32_t from, uint32_t to)
{
    struct sim_binding *binding = sim_oracle_newest(sim, to);

    sim_oracle_newest(sim, from)->gone_us = sim->now_us;
    binding->live_us = sim->now_us;
    if (binding->replaces) {
        binding[-1].gone_us = sim->now_us;
    }
}

uint32_t sim_oracle_bindings_of(const struct sim_name_history *history,
                                const struct sim_keysets *keysets)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < history->nbindings; i++) {
        mask |= (uint32_t)(history->bindings[i].keysets == keysets) << i;
    }
    return mask;
}

uint32_t sim_oracle_entered(const struct sim_name_history *history, const struct sim_add *add)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < history->nbindings; i++) {
        const struct sim_binding *binding = &history->bindings[i];
        bool late = (add->lagging >> i & 1) != 0 || binding->gone_us >= add->begun_us;

        mask |= (uint32_t)(binding->create_us <= add->over_us && late) << i;
    }
    return mask;
}

uint32_t sim_oracle_candidates(const struct sim_name_history *history, uint64_t begun_us,
                               uint64_t ended_us)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < history->nbindings; i++) {
        const struct sim_binding *binding = &history->bindings[i];

        mask |= (uint32_t)(binding->create_us <= ended_us && binding->gone_us >= begun_us) << i;
    }
    return mask;
}

/* NULL before the first create, or if there is none of that id. */
static const struct sim_keyset *keyset_of(struct sim *sim, uint32_t name, uint32_t keyset)
{
    const struct sim_binding *binding = sim_oracle_newest(sim, name);

    if (binding == NULL) {
        return NULL;
    }
    return keyset == 0 ? sim_keysets_serving(binding->keysets)
                       : sim_keysets_find(binding->keysets, keyset);
}

bool sim_oracle_acked(struct sim *sim, uint32_t name, uint32_t keyset, uint32_t key)
{
    const struct sim_keyset *one = keyset_of(sim, name, keyset);

    return one != NULL && one->acked_us[key] != 0 && !sim_window_over(sim, name, one->sent_us[key]);
}

/* ... under that name. */
static bool may_have(const struct sim *sim, const struct sim_name_history *history,
                     const struct sim_keysets *keysets, const struct sim_keyset *keyset,
                     uint32_t key)
{
    uint32_t mask = sim_oracle_bindings_of(history, keysets);

    for (uint32_t at = history->first_add[key]; mask != 0 && at != 0;
         at = sim->oracle.adds[at].next) {
        const struct sim_add *add = &sim->oracle.adds[at];

        if ((sim_oracle_entered(history, add) & mask) != 0 && sim_keyset_may_have(keyset, add)) {
            return true;
        }
    }
    return false;
}

bool sim_oracle_may_have(struct sim *sim, uint32_t name, uint32_t keyset, uint32_t key)
{
    const struct sim_keyset *one = keyset_of(sim, name, keyset);
    bool may = false;

    for (uint32_t i = 0; one != NULL && i < SIM_MAX_NAMES; i++) {
        may = may ||
              may_have(sim, &sim->oracle.names[i], sim_oracle_newest(sim, name)->keysets, one, key);
    }
    return may;
}

uint32_t sim_oracle_tried(const struct sim *sim, uint32_t name)
{
    return sim->oracle.names[name].ntried;
}

/* ---- who else added it? ---- */

/* Bindings that were given up by a rename, and that somebody still serves. */
static uint32_t lagging_of(const struct sim *sim, uint32_t name)
{
    const struct sim_name_history *history = &sim->oracle.names[name];
    uint32_t mask = 0;

    for (uint32_t i = 0; i < history->nbindings; i++) {
        const struct sim_binding *binding = &history->bindings[i];

        mask |= (uint32_t)(binding->left && binding->filter_id != 0 &&
                           sim_keysets_lag(sim, name, binding->filter_id))
                << i;
    }
    return mask;
}

void sim_oracle_op_begins(struct sim *sim, struct sim_op *op)
{
    struct sim_oracle *self = &sim->oracle;

    uint32_t lagging = lagging_of(sim, op->name);

    op->minority = sim_keysets_minority(sim, op->name);
    for (uint32_t i = 0; op->operation != OPERATION_CHECK && i < op->count; i++) {
        uint32_t *first = &self->names[op->name].first_add[op->keys[i]];
        uint32_t at = (uint32_t)self->nadds++;

        self->adds = sim_memory_reserve(self->adds, &self->capacity, self->nadds,
                                        sizeof *self->adds);
        self->adds[at] = (struct sim_add){.next = *first,
                                          .serial = op->serial,
                                          .begun_us = op->begun_us,
                                          .ended_us = SIM_OPEN,
                                          .over_us = SIM_OPEN,
                                          .lagging = lagging,
                                          .fed = op->operation == OPERATION_FEED,
                                          .keyset = op->keyset};
        self->names[op->name].ntried += *first == 0;
        *first = at;
        op->adds[i] = at;
    }
}
