/* Dates a slot's reader when an edit changes it, and finds a date that can't be. */
#include "map/reader.h"

#include "base/mutant.h"

#include <assert.h>

void reader_note(const struct slot *before, uint64_t epoch, struct slot *slot)
{
    bool stays = member_equal(slot_reader(before), slot_reader(slot));

    if (MUTANT(READER_UNDATED) && slot_is_pair(slot)) {
        stays = true; /* Of a step from reading the old member to the new one. */
    }
    if (MUTANT(READER_DATED_TWICE) && slot_is_pair(slot) != slot_is_pair(before)) {
        stays = false; /* The end of a pair dates, too. */
    }
    slot->read_since = stays ? before->read_since : epoch;
    assert(slot->read_since <= epoch);
}

void reader_note_all(struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            document->content.groups[group].slots[i].read_since = document->epoch;
        }
    }
}

const char *reader_fault(const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            uint64_t since = document->content.groups[group].slots[i].read_since;

            if (since == 0 || since > document->epoch) {
                return "a slot's reader is read since no epoch, or one to come";
            }
        }
    }
    return NULL;
}
