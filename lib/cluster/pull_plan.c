#include "cluster/pull_plan.h"

static enum pull_role role_in(const struct slot *slot, const struct member *self)
{
    if (slot_is_pair(slot) && member_equal(&slot->incoming, self)) {
        return slot->reads_incoming ? PULL_ROLE_HOLDS : PULL_ROLE_JOINS;
    }
    return member_equal(&slot->current, self) ? PULL_ROLE_HOLDS : PULL_ROLE_NONE;
}

static void add_source(struct pull_plan *plan, const struct slot *slot, const struct member *self)
{
    const struct member *reader = slot_reader(slot);

    if (reader->node != self->node) {
        plan->sources[plan->nsources++] = *reader;
    }
}

void pull_plan_make(const struct filter_document *document, uint32_t group,
                    const struct member *self, struct pull_plan *out)
{
    const struct slot *slots = document->content.groups[group].slots;
    uint32_t replicas = document->content.rule.replicas;
    uint32_t own = replicas;

    *out = (struct pull_plan){.role = PULL_ROLE_NONE};
    for (uint32_t i = 0; i < replicas; i++) {
        enum pull_role role = role_in(&slots[i], self);

        if (role != PULL_ROLE_NONE) {
            out->role = role;
            own = i;
        }
    }
    if (out->role == PULL_ROLE_NONE) {
        return;
    }
    for (uint32_t i = 0; i < replicas; i++) {
        if (i != own) {
            add_source(out, &slots[i], self);
        }
    }
    if (out->role == PULL_ROLE_JOINS) {
        add_source(out, &slots[own], self);
    }
}
