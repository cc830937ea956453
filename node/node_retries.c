/* Adds that come again: executed every time, voting as they did the first time. */
#include "node/node_private.h"

/* Has this very message been executed before? Batch numbers are contiguous per (boot, filter,
 * epoch, group). */
static bool arrived_before(struct node *self, const struct segment *segment)
{
    const uint64_t series[2] = {
        segment->batch.boot,
        segment->filter_id << 32 ^ segment->epoch << 16 ^ segment->group,
    };

    return repeats_met(&self->repeats, series, segment->batch.number);
}

/* Keys that the first execution had no room for get the vote of this one, for good. */
static void repeat_vote(struct recent_vote *first, uint32_t count, uint64_t *present,
                        uint64_t *absent)
{
    for (uint32_t i = 0; i * 64 < count; i++) {
        uint64_t accepted = present[i] | absent[i];
        uint64_t open = ~(first->present[i] | first->absent[i]);

        first->present[i] |= present[i] & open;
        first->absent[i] |= absent[i] & open;
        present[i] = first->present[i] & accepted;
        absent[i] = first->absent[i] & accepted;
    }
}

bool node_settle_vote(struct node *self, uint64_t now_us, const struct segment *segment,
                      const uint64_t *fingerprints, enum replica_state state, uint64_t *present,
                      uint64_t *absent)
{
    const struct recent_add add = {
        .session = {segment->op.session[0], segment->op.session[1]},
        .sequence = segment->op.sequence,
        .filter_id = segment->filter_id,
        .epoch = segment->epoch,
        .list = recent_adds_list(fingerprints, segment->count),
        .group = segment->group,
        .count = segment->count,
    };
    bool unsure = arrived_before(self, segment) || segment->attempt > 0;
    const struct recent_vote fresh = {.present = present, .absent = absent, .unsure = unsure};
    struct recent_vote first;

    switch (recent_adds_find(self->recent, now_us, &add, &first)) {
    case RECENT_VOTE:
        node_count(self, NODE_remembered_total);
        repeat_vote(&first, segment->count, present, absent);
        unsure = first.unsure;
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
