/* Sources of one slot group: those that a joining replica must copy from, and those that a full
 * one follows. */
#include "node/pull/pull_plan.h"

#include "base/mutant.h"

static enum pull_role role_in(const struct slot *slot, const struct member *self)
{
    if (slot_is_pair(slot) && member_equal(&slot->incoming, self)) {
        return slot->reads_incoming ? PULL_ROLE_HOLDS : PULL_ROLE_JOINS;
    }
    return member_equal(&slot->current, self) ? PULL_ROLE_HOLDS : PULL_ROLE_NONE;
}

/* What was given up is not asked, not even if it is back. */
static void add_source(struct pull_plan *plan, const struct slot_group *group, uint32_t index,
                       const struct member *self)
{
    const struct member *reader = slot_reader(&group->slots[index]);

    if (reader->node != self->node && !slot_group_gave_up(group, reader)) {
        plan->sources[plan->nsources++] = *reader;
    }
}

uint32_t pull_sources_needed(const struct quorum_rule *rule)
{
    return MUTANT(SYNC_ONE_SOURCE) ? 1 : rule->replicas - rule->write + 1;
}

/* N - W + 1 readers, as one of them has what was acknowledged; of fewer that are left, by an
 * operator's word, all: what any of them has is not lost. */
static uint32_t sources_needed(const struct quorum_rule *rule, const struct slot_group *group)
{
    uint32_t needed = pull_sources_needed(rule);
    uint32_t left = 0;

    for (uint32_t i = 0; i < rule->replicas; i++) {
        left += !slot_group_gave_up(group, slot_reader(&group->slots[i]));
    }
    if (MUTANT(LOSS_FEWER_SOURCES)) {
        return needed > rule->replicas - left ? needed - (rule->replicas - left) : 0;
    }
    return left < needed ? left : needed;
}

void pull_plan_make(const struct filter_document *document, uint32_t group,
                    const struct member *self, struct pull_plan *out)
{
    const struct slot_group *all = &document->content.groups[group];
    const struct slot *slots = all->slots;
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
    out->needed = sources_needed(&document->content.rule, all);
    for (uint32_t i = 0; i < replicas; i++) {
        if (i != own) {
            add_source(out, all, i, self);
        }
    }
    if (out->role == PULL_ROLE_JOINS) {
        add_source(out, all, own, self);
    }
}
