/* Adds that come again: executed every time, voting as they did the first time. */
#include "base/mutant.h"
#include "node/private.h"

/* Has this very message been executed before? Batch numbers are contiguous per (boot, filter,
 * epoch, group). */
static bool met(struct node *self, uint64_t boot, uint64_t number, uint64_t filter_id,
                uint64_t epoch, uint32_t group)
{
    const struct replay_window_key series = {boot, filter_id, epoch, group};

    return replay_window_met(&self->replay_window, &series, number);
}

static bool arrived_before(struct node *self, const struct subrequest *subrequest)
{
    return met(self, subrequest->batch.producer_id, subrequest->batch.number, subrequest->filter_id,
               subrequest->epoch, subrequest->group);
}

void node_arrived(struct node *self, const struct record_batch *batch)
{
    (void)met(self, batch->batch_producer, batch->batch_number, batch->filter_id, batch->epoch,
              batch->group);
}

void node_lost_vote(struct node *self, const struct subrequest *subrequest)
{
    (void)arrived_before(self, subrequest);
}

/* Keys that the first execution had no room for are new, for good, if they are now. False: some are
 * present by now, which may be this very add's doing, by way of another node. */
static bool repeat_vote(struct cached_vote *first, uint32_t count, uint64_t *present,
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
static bool in_order(const struct cached_vote *first, const struct subrequest *subrequest,
                     bool arrived)
{
    bool same = first->batch[0] == subrequest->batch.producer_id &&
                first->batch[1] == subrequest->batch.number;

    return same || (subrequest->attempt == 1 && !arrived) || MUTANT(ANY_ORDER);
}

struct vote_cache_add node_vote_cache_add(const struct subrequest *subrequest,
                                          const uint64_t *fingerprints)
{
    return (struct vote_cache_add){
        .session = {subrequest->op.session[0], subrequest->op.session[1]},
        .sequence = subrequest->op.sequence,
        .filter_id = subrequest->filter_id,
        .epoch = subrequest->epoch,
        .list = vote_cache_list(fingerprints, subrequest->count),
        .group = subrequest->group,
        .count = subrequest->count,
    };
}

bool node_settle_vote(struct node *self, uint64_t now_us, const struct subrequest *subrequest,
                      const uint64_t *fingerprints, enum replica_state state, uint64_t *present,
                      uint64_t *absent)
{
    const struct vote_cache_add add = node_vote_cache_add(subrequest, fingerprints);
    bool arrived = arrived_before(self, subrequest);
    bool told = subrequest->attempt > 0 && !MUTANT(FORGOTTEN_IS_FIRST);
    bool unsure = arrived || told || node_pull_doubts(self->exchange, now_us);
    const struct cached_vote fresh = {
        .present = present,
        .absent = absent,
        .batch = {subrequest->batch.producer_id, subrequest->batch.number},
        .unsure = unsure};
    struct cached_vote first;

    if (MUTANT(RETRY_IS_NEW)) {
        return true;
    }
    switch (vote_cache_find(self->vote_cache, now_us, &add, &first)) {
    case VOTE_CACHE_VOTE:
        node_count(self, NODE_remembered_total);
        unsure = !repeat_vote(&first, subrequest->count, present, absent);
        /* What was not sure then is not surer now. */
        unsure = unsure || first.unsure || !in_order(&first, subrequest, arrived);
        break;
    case VOTE_CACHE_OTHER:
        unsure = true;
        break;
    case VOTE_CACHE_NONE:
        vote_cache_keep(self->vote_cache, now_us, &add, state == REPLICA_FULL ? &fresh : NULL);
        break;
    }
    self->counters[NODE_recent_adds_bytes] = vote_cache_bytes(self->vote_cache);
    self->counters[NODE_repeated_total] += unsure;
    return !unsure;
}
