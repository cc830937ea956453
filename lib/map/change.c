/* Which step a document takes: what its groups could do, all together. */
#include "base/mutant.h"
#include "map/change_private.h"
#include "map/reader.h"

#include <assert.h>

/* ---- edits ---- */

static void pair_up(const struct change_view *self, uint32_t group, uint32_t index,
                    struct slot *slot)
{
    struct member successor;
    bool any = change_successor(self, group, index, &successor);

    slot->incoming = any ? successor : (struct member){0};
}

static void move_on(struct slot *slot)
{
    enum slot_stage stage = slot_stage(slot);

    if (MUTANT(NO_PAIR) && stage == SLOT_PAIR) {
        stage = SLOT_MOVED;
    }
    if (stage == SLOT_PAIR) {
        slot->reads_incoming = true;
    } else if (stage == SLOT_MOVED) {
        *slot = (struct slot){.current = slot->incoming};
    }
}

static bool same_slot(const struct slot *a, const struct slot *b)
{
    return member_equal(&a->current, &b->current) && member_equal(&a->incoming, &b->incoming) &&
           a->reads_incoming == b->reads_incoming;
}

static void edit(const struct change_view *self, enum change_outlook outlook, uint32_t number,
                 struct slot_group *group)
{
    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        struct slot *slot = &group->slots[i];
        struct slot before = *slot;

        if (outlook == OUTLOOK_READY) {
            move_on(slot);
        } else if (outlook == OUTLOOK_BEGIN || outlook == OUTLOOK_MEND) {
            pair_up(self, number, i, slot);
        }
        assert(same_slot(&before, slot) || change_move_of(&before, slot) != NULL);
        reader_note(&before, self->document->epoch + 1, slot);
    }
}

/* ---- the decision ---- */

/* What all groups together look like. */
struct survey {
    bool waits;
    bool mends;
    bool moves;
};

static void note_step(struct change_decision *out, enum slot_stage stage)
{
    enum change_step step = stage == SLOT_SINGLE ? CHANGE_TO_BEGIN
                            : stage == SLOT_PAIR ? CHANGE_COPYING
                                                 : CHANGE_HANDING_OVER;

    out->step = step > out->step ? step : out->step;
}

static struct survey survey(const struct change_view *self, struct change_decision *out)
{
    struct survey sum = {0};

    for (uint32_t group = 0; group < self->document->content.ngroups; group++) {
        const struct slot *slots = self->document->content.groups[group].slots;
        enum change_outlook outlook = change_look(self, group, out);

        sum.waits |= outlook == OUTLOOK_WAIT;
        sum.mends |= outlook == OUTLOOK_MEND;
        sum.moves |= outlook == OUTLOOK_READY || outlook == OUTLOOK_BEGIN;
        if (outlook != OUTLOOK_NONE) {
            note_step(out, change_group_stage(self, group));
        }
        for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
            out->slots += slot_is_pair(&slots[i]);
        }
    }
    if (out->wait != CHANGE_WAIT_NONE) {
        note_step(out, SLOT_SINGLE);
    }
    return sum;
}

void change_decide(const struct filter_document *document, const struct node_list *nodes,
                   const struct evidence *evidence, const bool *alive, const struct move_plan *plan,
                   struct slot_group *next, struct change_decision *out)
{
    const struct change_view self = {document, nodes, evidence, alive, plan};
    struct survey sum;

    assert(evidence == NULL || evidence_fits(evidence, document));
    *out = (struct change_decision){0};
    sum = survey(&self, out);
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        next[group] = document->content.groups[group];
    }
    if (!sum.mends && (!sum.moves || sum.waits)) {
        out->action = out->wait == CHANGE_WAIT_NONE ? CHANGE_NOTHING : CHANGE_AWAIT;
        return;
    }
    out->action = CHANGE_WRITE;
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        struct change_decision unused = {0};

        edit(&self, change_look(&self, group, &unused), group, &next[group]);
    }
}
