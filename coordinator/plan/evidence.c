/* Answers are kept by member, for the one epoch that was asked about; an operator's word that a
 * life is over is kept beside them. */
#include "coordinator/plan/evidence.h"

#include "base/heap.h"
#include "base/mutant.h"

#include <assert.h>

enum status evidence_open(struct evidence *self, const struct filter_document *document)
{
    uint32_t ngroups = document->content.ngroups;
    struct evidence_group *groups = heap_zalloc(ngroups, sizeof *groups);

    if (groups == NULL) {
        return STATUS_NOMEM;
    }
    heap_free(self->groups);
    *self = (struct evidence){
        .filter_id = document->id,
        .epoch = document->epoch,
        .ngroups = ngroups,
        .groups = groups,
    };
    return STATUS_OK;
}

void evidence_fini(struct evidence *self)
{
    heap_free(self->groups);
    *self = (struct evidence){0};
}

bool evidence_fits(const struct evidence *self, const struct filter_document *document)
{
    return self->groups != NULL && self->filter_id == document->id &&
           (self->epoch == document->epoch || MUTANT(OLD_EVIDENCE)) &&
           self->ngroups == document->content.ngroups;
}

static bool matches(const struct member *member, uint32_t node, uint64_t incarnation)
{
    return node != 0 && member->node == node &&
           (member->incarnation == incarnation || MUTANT(FENCE_ANY_LIFE));
}

bool evidence_fence(struct evidence *self, const struct filter_document *document, uint32_t node,
                    uint64_t incarnation)
{
    bool counted = false;

    assert(evidence_fits(self, document));
    for (uint32_t group = 0; group < self->ngroups; group++) {
        const struct slot *slots = document->content.groups[group].slots;

        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            bool current = matches(&slots[i].current, node, incarnation);
            bool incoming = matches(&slots[i].incoming, node, incarnation);

            self->groups[group].current_fenced |= (uint8_t)(current << i);
            self->groups[group].incoming_fenced |= (uint8_t)(incoming << i);
            counted |= current || incoming;
        }
    }
    return counted;
}

bool evidence_complete(struct evidence *self, const struct filter_document *document,
                       uint32_t group, uint32_t node, uint64_t incarnation)
{
    bool counted = false;

    assert(evidence_fits(self, document));
    for (uint32_t i = 0; group < self->ngroups && i < document->content.rule.replicas; i++) {
        const struct slot *slot = &document->content.groups[group].slots[i];

        if (incarnation != 0 && matches(&slot->incoming, node, incarnation)) {
            self->groups[group].complete |= (uint8_t)(1U << i);
            counted = true;
        }
    }
    return counted;
}

uint8_t evidence_silenced(const struct evidence *self, const struct filter_document *document,
                          uint32_t group)
{
    const struct slot *slots = document->content.groups[group].slots;
    uint8_t silenced = self->groups[group].current_fenced;

    assert(evidence_fits(self, document));
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        if (slots[i].reads_incoming) {
            silenced &= (uint8_t)(self->groups[group].incoming_fenced | ~(1U << i));
        }
    }
    return silenced;
}

/* ---- the operator's word ---- */

static const struct node_record *record_of(const struct evidence_nodes *nodes,
                                           const struct member *member)
{
    return node_list_find(nodes->nodes, member->node);
}

static bool is_heard(const struct evidence_nodes *nodes, const struct member *member)
{
    const struct node_record *record = record_of(nodes, member);

    return record != NULL && record->incarnation == member->incarnation &&
           nodes->alive[record - nodes->nodes->nodes];
}

/* Is a member's life the one that is vouched for, or a former one of that node? */
static bool is_meant(const struct evidence_nodes *nodes, const struct member *member,
                     const struct vouched_life *word)
{
    const struct member *life = &word->life;
    const struct node_record *record = record_of(nodes, life);
    bool same = member->incarnation == life->incarnation;

    if (life->node == 0 || member->node != life->node ||
        (record != NULL ? record->incarnation != life->incarnation : !same)) {
        return false;
    }
    return !(same && word->runs) && !is_heard(nodes, member);
}

bool evidence_vouch(struct evidence *self, const struct filter_document *document,
                    const struct evidence_nodes *nodes, const struct vouched_life *word)
{
    bool counted = false;

    assert(evidence_fits(self, document));
    for (uint32_t group = 0; group < self->ngroups; group++) {
        const struct slot *slots = document->content.groups[group].slots;

        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            bool current = is_meant(nodes, &slots[i].current, word);
            bool incoming = is_meant(nodes, &slots[i].incoming, word);

            self->groups[group].current_off |= (uint8_t)(current << i);
            self->groups[group].incoming_off |= (uint8_t)(incoming << i);
            counted |= current || incoming;
        }
    }
    return counted;
}

/* Gone for good, by this command's word (`off`) or by one before it. */
static bool is_gone(const struct filter_document *document, const struct evidence_nodes *nodes,
                    uint32_t group, const struct member *member, bool off)
{
    const struct node_record *record = record_of(nodes, member);
    bool noted = record != NULL && member->incarnation != 0 &&
                 record->confirmed_off == member->incarnation;

    return slot_group_gave_up(&document->content.groups[group], member) ||
           ((off || noted || MUTANT(VOUCH_ANY_SILENT)) && !is_heard(nodes, member));
}

uint8_t evidence_quiet(const struct evidence *self, const struct filter_document *document,
                       const struct evidence_nodes *nodes, uint32_t group)
{
    const struct slot *slots = document->content.groups[group].slots;
    const struct evidence_group *found = &self->groups[group];
    uint8_t quiet = 0;

    assert(evidence_fits(self, document));
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        bool current = (found->current_fenced >> i & 1) != 0 ||
                       is_gone(document, nodes, group, &slots[i].current,
                               (found->current_off >> i & 1) != 0);
        bool incoming = !slots[i].reads_incoming || (found->incoming_fenced >> i & 1) != 0 ||
                        is_gone(document, nodes, group, &slots[i].incoming,
                                (found->incoming_off >> i & 1) != 0);

        quiet |= (uint8_t)((current && incoming) << i);
    }
    return quiet;
}
