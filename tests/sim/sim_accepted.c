/* Follows documents that give members up, and lets keys off that no reader that is left holds. */
#include "tests/sim/sim_accepted.h"

#include "map/quorum.h"
#include "tests/sim/sim.h"

#include <inttypes.h>

bool sim_accepted_gave_up(const struct sim *sim, const struct member *member)
{
    const struct sim_accepted *self = &sim->accepted;
    uint64_t kept = self->nlives < SIM_MAX_GIVEN_UP ? self->nlives : SIM_MAX_GIVEN_UP;

    for (uint64_t i = 0; i < kept; i++) {
        if (self->lives[i] == member->incarnation) {
            return true;
        }
    }
    return false;
}

static void judge_life(struct sim *sim, const struct filter_document *document,
                       const struct member *member)
{
    struct sim_accepted *self = &sim->accepted;
    const struct sim_process *process = sim_view_member(sim, member);

    if (sim_accepted_gave_up(sim, member)) {
        return;
    }
    if (!sim_losses_has(sim, member) && !sim_accept_is_off(sim, member)) {
        sim_fail(sim, "lost keys: epoch %" PRIu64 " of %s gives up %s, whose data is there",
                 document->epoch, document->content.name,
                 process != NULL ? process->name : "somebody");
    }
    self->lives[self->nlives++ % SIM_MAX_GIVEN_UP] = member->incarnation;
}

static void let_off(struct sim *sim, uint32_t name, uint32_t key, struct sim_keyset *keyset)
{
    if (!sim_invariant_is_left(sim, name, keyset->id, key, 1)) {
        sim->accepted.nkeys += keyset->acked_us[key] != 0;
        keyset->acked_us[key] = 0;
        keyset->was_new[key] = false;
        keyset->lost_us[key] = sim->now_us;
    }
}

static void accept(struct sim *sim, uint32_t name, const struct filter_document *document,
                   uint32_t group, uint32_t key, uint64_t fingerprint)
{
    uint64_t shard = lines_shard_index(document->content.shard_bits, fingerprint);
    struct sim_binding *binding = sim_oracle_newest(sim, name);

    if (document->content.group_of_shard[shard] != group || binding == NULL) {
        return;
    }
    sim->accepted.at_us[name][key] = sim->now_us;
    for (size_t i = 0; i < binding->keysets->count; i++) {
        let_off(sim, name, key, &binding->keysets->items[i]);
    }
}

void sim_accepted_follow(struct sim *sim, uint32_t name)
{
    struct sim_accepted *self = &sim->accepted;
    const struct filter_document *document = sim_view_document(sim, name);
    const uint64_t *fingerprints;
    uint64_t newest;

    if (document == NULL || document->content.state != FILTER_ACTIVE) {
        return;
    }
    newest = self->filter_ids[name] == document->id ? self->epochs[name] : 0;
    self->filter_ids[name] = document->id;
    self->epochs[name] = newest;
    for (uint32_t i = 0; i < document->content.ngroups; i++) {
        const struct slot_group *group = &document->content.groups[i];

        if (group->loss_epoch <= newest) {
            continue;
        }
        self->epochs[name] = group->loss_epoch > self->epochs[name] ? group->loss_epoch
                                                                    : self->epochs[name];
        for (uint32_t k = 0; k < QUORUM_MAX_REPLICAS && group->lost[k].node != 0; k++) {
            judge_life(sim, document, &group->lost[k]);
        }
        fingerprints = sim_invariant_fingerprints(sim, name, document);
        for (uint32_t key = 0; fingerprints != NULL && key < SIM_MAX_KEYS; key++) {
            accept(sim, name, document, i, key, fingerprints[key]);
        }
    }
}

bool sim_accepted_lets_off(struct sim *sim, uint32_t name, uint32_t key, uint64_t begun_us)
{
    const struct filter_document *document = sim_view_document(sim, name);

    return document != NULL && sim->accepted.filter_ids[name] == document->id &&
           sim->accepted.at_us[name][key] >= begun_us &&
           !sim_invariant_is_left(sim, name, 0, key, document->content.rule.write);
}
