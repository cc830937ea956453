/* Judges slot by slot who is gone with its data and by whose word, and gives up those when the
 * operator accepts it. */
#include "coordinator/plan/loss.h"

#include "base/mutant.h"
#include "coordinator/plan/change.h"

#include <assert.h>
#include <string.h>

static bool is_alive(const struct loss_view *view, const struct node_record *record)
{
    return view->alive[record - view->nodes->nodes];
}

/* An operator's word, given now or before; not against what is heard of the node. */
static bool is_off(const struct loss_view *view, const struct node_record *record)
{
    return !is_alive(view, record) &&
           (view->off[record - view->nodes->nodes] || record->confirmed_off == record->incarnation);
}

static bool is_gone(const struct loss_view *view, const struct slot_group *group,
                    const struct member *member)
{
    const struct node_record *record = node_list_find(view->nodes, member->node);

    if (MUTANT(LOSS_ANY_SILENT) && record != NULL && !is_alive(view, record)) {
        return true;
    }
    return record == NULL || record->incarnation != member->incarnation || is_off(view, record) ||
           slot_group_gave_up(group, member);
}

static bool is_moved(const struct slot_group *group, uint32_t replicas)
{
    bool moved = false;

    for (uint32_t i = 0; i < replicas; i++) {
        moved = moved || slot_stage(&group->slots[i]) == SLOT_MOVED;
    }
    return moved;
}

/* Or counts as if it had: by a word that was kept. One that comes with this command alone counts
 * nowhere until what is gone is given up. */
static bool can_fence(const struct loss_view *view, const struct node_record *record,
                      const struct member *member)
{
    return record != NULL && record->incarnation == member->incarnation &&
           (!is_off(view, record) || record->confirmed_off == record->incarnation);
}

/* Members of a group. */
struct tally {
    uint32_t fences; /* have fenced, can, or count as if they had */
    uint32_t silent; /* not gone, and not heard of */
    uint32_t hold;   /* slots whose reader is not gone */
    bool fresh;      /* some are gone that were not given up */
};

static void look(const struct loss_view *view, const struct slot_group *group, uint32_t replicas,
                 struct tally *tally, struct loss_answer *out)
{
    for (uint32_t i = 0; i < replicas; i++) {
        const struct member *member = &group->slots[i].current;
        const struct node_record *record = node_list_find(view->nodes, member->node);
        bool given_up = slot_group_gave_up(group, member);

        tally->fences += given_up || can_fence(view, record, member);
        tally->hold += !is_gone(view, group, slot_reader(&group->slots[i]));
        if (is_gone(view, group, member)) {
            out->gone |= (uint8_t)(1U << i);
            tally->fresh = tally->fresh || !given_up;
        } else {
            out->left++;
            if (!is_alive(view, record)) {
                out->silent = member->node;
                tally->silent++;
            }
        }
    }
}

void loss_judge(const struct filter_document *document, const struct loss_view *view,
                uint32_t number, struct loss_answer *out)
{
    const struct quorum_rule *rule = &document->content.rule;
    const struct slot_group *group = &document->content.groups[number];
    uint32_t sources = rule->replicas - rule->write + 1;
    uint32_t fences = quorum_fences(rule);
    bool copies = !is_moved(group, rule->replicas); /* Once reads have moved nothing is copied. */
    struct tally tally = {0};

    assert(number < document->content.ngroups);
    *out = (struct loss_answer){0};
    look(view, group, rule->replicas, &tally, out);
    out->loses = tally.hold < sources;
    out->needed = (copies && out->left < sources) || sources > fences ? sources : fences;
    if (!(copies && out->left - tally.silent < sources) && tally.fences - tally.silent >= fences) {
        out->verdict = LOSS_ENOUGH;
    } else if (tally.silent > 0) {
        out->verdict = LOSS_SILENT;
    } else {
        out->verdict = tally.fresh ? LOSS_NEEDED : LOSS_GIVEN;
    }
}

void loss_give_up(struct filter_document *document, uint32_t number, uint8_t gone)
{
    struct slot_group *group = &document->content.groups[number];
    uint32_t count = 0;

    assert(number < document->content.ngroups);
    assert(gone != 0 && gone >> document->content.rule.replicas == 0);
    memset(group->lost, 0, sizeof group->lost);
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        if ((gone >> i & 1) != 0) {
            group->lost[count++] = group->slots[i].current;
        }
    }
    group->loss_epoch = document->epoch + 1;
}
