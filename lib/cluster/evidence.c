#include "cluster/evidence.h"

#include "base/heap.h"

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
    uint64_t epoch = self->epoch;

#ifdef ORBLOOM_MUTANT_OLD_EVIDENCE
    epoch = document->epoch;
#endif
    return self->groups != NULL && self->filter_id == document->id && epoch == document->epoch &&
           self->ngroups == document->content.ngroups;
}

static bool matches(const struct member *member, uint32_t node, uint64_t incarnation)
{
#ifdef ORBLOOM_MUTANT_FENCE_ANY_LIFE
    incarnation = 0;
#endif
    return node != 0 && member->node == node &&
           (incarnation == 0 || member->incarnation == incarnation);
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
