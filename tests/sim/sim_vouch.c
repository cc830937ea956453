/* Lists the lives that an honest operator can vouch for. */
#include "tests/sim/sim_vouch.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_accept.h"

/* Does the filter name a life of the node that is not there? */
static bool lacks(const struct sim *sim, const struct filter_document *document, uint32_t node)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            const struct member *member = &document->content.groups[group].slots[i].current;

            if (member->node == node && !sim_view_is_full(sim, member)) {
                return true;
            }
        }
    }
    return false;
}

/* Is its present life over for good, or as long as need be? */
static bool is_gone(const struct sim *sim, const struct node_record *record)
{
    const struct member life = {.node = record->id, .incarnation = record->incarnation};
    const struct sim_process *process = sim_view_node(sim, record->id);

    return process != NULL && !sim_view_is_full(sim, &life) &&
           (sim_accept_holds(sim, process) || sim_losses_has(sim, &life));
}

void sim_vouch(const struct sim *sim, const struct filter_document *document,
               struct sim_managed_name *one)
{
    const struct node_list *nodes = &sim->view.nodes;

    one->noff = 0;
    for (uint32_t i = 0; !sim_takeover_lives(sim) && i < nodes->count; i++) {
        const struct node_record *record = &nodes->nodes[i];

        if (document == NULL || lacks(sim, document, record->id)) {
            bool gone = is_gone(sim, record);

            one->off[one->noff++] = (struct vouched_life){
                .life = {.node = record->id, .incarnation = record->incarnation}, .runs = !gone};
            one->binds = one->binds || gone;
        }
    }
}

bool sim_vouch_binds(const struct sim *sim)
{
    bool binds = false;

    for (uint32_t i = 0; i < SIM_MAX_NAMES; i++) {
        const struct sim_managed_name *one = &sim->operator.names[i];

        binds = binds || (one->binds &&
                          (one->state == SIM_NAME_DROPPING || one->state == SIM_NAME_RENAMING));
    }
    return binds;
}
