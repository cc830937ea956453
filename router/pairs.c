/* Slots that are pairs while a replica is replaced (coordinator/plan/change.h): an add counts there
 * only where both halves have accepted it. What it tells about the key, new or present, is the
 * reader's vote alone, since the other half has not all keys. Checks ask the reader only.
 *
 * A seat is one member of a slot: the slot's number for its reader, SEAT_PARTNER more for the
 * other half. */
#include "base/mutant.h"
#include "router/private.h"

#include <assert.h>

bool pairs_in(struct document_entry *entry)
{
    const struct epoch_content *content = &entry->document.content;
    struct routed_filter *routed = entry->attachment;

    if (routed->pairs_epoch != entry->document.epoch) {
        routed->pairs_epoch = entry->document.epoch;
        routed->has_pairs = false;
        for (uint32_t i = 0; i < content->ngroups * content->rule.replicas; i++) {
            routed->has_pairs |= slot_is_pair(
                &content->groups[i / content->rule.replicas].slots[i % content->rule.replicas]);
        }
    }
    return routed->has_pairs;
}

const struct member *seat_member(const struct slot_group *group, uint32_t seat)
{
    const struct member *writers[2];

    (void)slot_writers(&group->slots[seat % SEAT_PARTNER], writers);
    return writers[seat / SEAT_PARTNER];
}

struct slot_ask *seat_ask(struct part *part, uint32_t seat)
{
    return seat < SEAT_PARTNER ? &part->asks[seat] : &part->partners[seat - SEAT_PARTNER];
}

bool seat_taken(const struct part *part, uint32_t seat)
{
    return seat < SEAT_PARTNER ||
           (part->partners != NULL && part->asks[seat - SEAT_PARTNER].paired);
}

bool pair_reader_gone(const struct slot *slot)
{
    return pair_of_one_node(slot) && !slot->reads_incoming;
}

bool pair_of_one_node(const struct slot *slot)
{
    return slot_is_pair(slot) && slot->current.node == slot->incoming.node;
}

bool pair_begin(struct part *part, uint32_t index, const struct slot *slot)
{
    if (MUTANT(NO_PAIR) || !slot_is_pair(slot)) {
        return false;
    }
    part->asks[index].paired = true;
    if (pair_of_one_node(slot)) {
        /* One process can't be two lives of a node: one half will never answer. The add is sent
         * all the same, for the life that is there. */
        part->partners[index].state = ASK_ANSWERED;
        part->partners[index].refusal = STATUS_NOT_READY;
        return false;
    }
    return true;
}

void pair_mask(struct part *part, uint32_t index)
{
    size_t nwords = bits_words(part->count);
    uint64_t *present = part->planes + 2 * index * nwords;
    uint64_t *absent = present + nwords;
    const uint64_t *accepted = part->accepted + index * nwords;

    assert(slot_counts(part, index));
    for (size_t i = 0; i < nwords; i++) {
        present[i] &= accepted[i];
        absent[i] &= accepted[i];
    }
}

bool slot_counts(const struct part *part, uint32_t index)
{
    return part->asks[index].voted && (!part->asks[index].paired || part->partners[index].voted);
}
