/* A list of destroyed lives of data, each with how it was lost; what healed leaves it. */
#include "tests/sim/sim_losses.h"

#include "tests/sim/sim.h"

enum { NONE = -1 };

static int find(const struct sim_losses *self, uint64_t incarnation)
{
    uint64_t kept = self->count < SIM_MAX_LOSSES ? self->count : SIM_MAX_LOSSES;

    for (uint64_t i = 0; i < kept; i++) {
        if (self->items[i].incarnation == incarnation) {
            return (int)i;
        }
    }
    return NONE;
}

void sim_losses_note(struct sim *sim, const struct sim_process *process, enum sim_loss_kind kind)
{
    struct sim_losses *self = &sim->losses;
    int known = find(self, process->incarnation);

    if (process->incarnation == 0) {
        return; /* It has never run. */
    }
    if (known != NONE) {
        self->items[known].kind = kind < self->items[known].kind ? kind : self->items[known].kind;
        return;
    }
    self->items[self->count++ % SIM_MAX_LOSSES] = (struct sim_loss){
        .incarnation = process->incarnation, .kind = kind};
}

void sim_losses_serves(struct sim *sim, const struct sim_process *process)
{
    int known = find(&sim->losses, process->incarnation);

    if (known != NONE && sim->losses.items[known].kind == SIM_LOSS_OPEN) {
        sim->losses.items[known] = (struct sim_loss){0};
    }
}

bool sim_losses_noted(const struct sim *sim, const struct sim_process *process)
{
    return find(&sim->losses, process->incarnation) != NONE;
}

bool sim_losses_has(const struct sim *sim, const struct member *member)
{
    return member->node != 0 && find(&sim->losses, member->incarnation) != NONE;
}

static bool is_of(const struct sim *sim, const struct member *member,
                  const struct sim_process *process)
{
    return member->node != 0 && member->incarnation == process->incarnation &&
           sim_view_member(sim, member) == process;
}

/* Of a slot under change either member's loss counts. */
static bool group_allows(const struct sim *sim, const struct filter_document *document,
                         uint32_t group, const struct sim_process *process)
{
    const struct quorum_rule *rule = &document->content.rule;
    uint32_t lost = 0;
    bool concerned = false;

    for (uint32_t i = 0; i < rule->replicas; i++) {
        const struct slot *slot = &document->content.groups[group].slots[i];
        bool its = is_of(sim, &slot->current, process) || is_of(sim, &slot->incoming, process);

        concerned = concerned || its;
        lost += its || sim_losses_has(sim, &slot->current) ||
                slot_group_gave_up(&document->content.groups[group], &slot->current) ||
                (slot_is_pair(slot) && sim_losses_has(sim, &slot->incoming));
    }
    return !concerned || lost < rule->write;
}

bool sim_losses_allow(const struct sim *sim, const struct sim_process *process)
{
    bool allowed = true;

    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = sim_view_document(sim, name);

        for (uint32_t group = 0; document != NULL && group < document->content.ngroups; group++) {
            allowed = allowed && group_allows(sim, document, group, process);
        }
    }
    return allowed;
}
