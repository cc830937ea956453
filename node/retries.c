/* Adds that come again: executed every time, voting as they did the first time. */
#include "base/mutant.h"
#include "node/private.h"

/* Has this very message been executed before? Batch numbers are contiguous per (boot, filter,
 * epoch, group). */
static bool met(struct node *self, uint64_t boot, uint64_t number, uint64_t filter_id,
                uint64_t epoch, uint32_t group)
{
    const struct repeats_key series = {boot, filter_id, epoch, group};

    return repeats_met(&self->repeats, &series, number);
}

static bool arrived_before(struct node *self, const struct segment *segment)
{
    return met(self, segment->batch.boot, segment->batch.number, segment->filter_id, segment->epoch,
               segment->group);
}

void node_arrived(struct node *self, const struct record_batch *batch)
{
    (void)met(self, batch->batch_boot, batch->batch_number, batch->filter_id, batch->epoch,
              batch->group);
}

void node_lost_vote(struct node *self, const struct segment *segment)
{
    (void)arrived_before(self, segment);
}

/* Keys that the first execution had no room for are new, for good, if they are now. False: some are
 * present by now, which may be this very add's doing, by way of another node. */
static bool repeat_vote(struct recent_vote *first, uint32_t count, uint64_t *present,
                        uint64_t *absent)
{
    bool sure = true;

    for (uint32_t i = 0; i * 64 < count; i++) {
        uint64_t accepted = present[i] | absent[i];
        uint64_t open = ~(first->present[i] | first->absent[i]);
        uint64_t doubtful = present[i] & open;

        first->absent[i] |= absent[i] & open;
        present[i] = (first->present[i] & accepted) | doubtful;
        absent[i] = first->absent[i] & accepted;
        sure = sure && doubtful == 0;
    }
    return sure;
}

/* Was the remembered execution really the first? Attempt 0 may have been held up on its way, and
 * what it met may be the doing of a later attempt, forgotten since. Not so for the message that
 * was remembered, nor for the first one of a second attempt: only later ones may have been
 * before it. (Clients see to the same for the answers to attempts that they have given up.) */
static bool in_order(const struct recent_vote *first, const struct segment *segment, bool arrived)
{
    bool same = first->batch[0] == segment->batch.boot && first->batch[1] == segment->batch.number;

    return same || (segment->attempt == 1 && !arrived) || MUTANT(ANY_ORDER);
}

struct recent_add node_recent_add(const struct segment *segment, const uint64_t *fingerprints)
{
    return (struct recent_add){
        .session = {segment->op.session[0], segment->op.session[1]},
        .sequence = segment->op.sequence,
        .filter_id = segment->filter_id,
        .epoch = segment->epoch,
        .list = recent_adds_list(fingerprints, segment->count),
        .group = segment->group,
        .count = segment->count,
    };
}

bool node_settle_vote(struct node *self, uint64_t now_us, const struct segment *segment,
                      const uint64_t *fingerprints, enum replica_state state, uint64_t *present,
                      uint64_t *absent)
{
    const struct recent_add add = node_recent_add(segment, fingerprints);
    bool arrived = arrived_before(self, segment);
    bool told = segment->attempt > 0 && !MUTANT(FORGOTTEN_IS_FIRST);
    bool unsure = arrived || told || node_pull_doubts(self->exchange, now_us);
    const struct recent_vote fresh = {.present = present,
                                      .absent = absent,
                                      .batch = {segment->batch.boot, segment->batch.number},
                                      .unsure = unsure};
    struct recent_vote first;

    if (MUTANT(RETRY_IS_NEW)) {
        return true;
    }
    switch (recent_adds_find(self->recent, now_us, &add, &first)) {
    case RECENT_VOTE:
        node_count(self, NODE_remembered_total);
        unsure = !repeat_vote(&first, segment->count, present, absent);
        unsure = unsure || first.unsure || !in_order(&first, segment, arrived);
        break;
    case RECENT_OTHER:
        unsure = true;
        break;
    case RECENT_NONE:
        recent_adds_keep(self->recent, now_us, &add, state == REPLICA_FULL ? &fresh : NULL);
        break;
    }
    self->counters[NODE_recent_adds_bytes] = recent_adds_bytes(self->recent);
    self->counters[NODE_repeated_total] += unsure;
    return !unsure;
}
