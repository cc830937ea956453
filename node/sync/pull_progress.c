/* How far peers have been taken over: cursors in the log, and how complete joining groups are. */
#include "base/mutant.h"
#include "node/sync/exchange.h"

void node_pull_record(struct exchange *self, struct pull *pull)
{
    struct record_cursor cursor = {
        .filter_id = pull->scope.filter_id,
        .group = pull->scope.group,
        .keyset = pull->scope.keyset,
        .slice = pull->scope.slice,
        .source = pull->source.node,
        .source_incarnation = pull->source.incarnation,
        .offset = pull->cursor,
        .epoch = pull->purpose == PULL_SYNC ? pull->scope.epoch : 0,
    };
    uint64_t end;

    if (MUTANT(CURSOR_BEFORE_DATA)) {
        cursor.offset = pull->purpose == PULL_SYNC ? pull->through : pull->page_next;
    }
    if (storage_put_cursor(self->storage, &cursor, &end) != STATUS_OK) {
        return; /* Tried again with the next page or answer. */
    }
    pull_cursor_recorded(pull);
    if (node_cursors_put(&self->cursors, &cursor) != STATUS_OK) {
        log_line(LOG_WARN,
                 "out of memory for a cursor: a restart takes over more than it needs to");
    }
}

enum status node_pull_checkpoint(const struct exchange *self)
{
    enum status status = STATUS_OK;
    uint64_t end;

    for (size_t i = 0; i < self->cursors.count; i++) {
        status = storage_put_cursor(self->storage, &self->cursors.items[i].cursor, &end);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return status;
}

void node_pull_found(struct exchange *self, struct span record)
{
    struct record_cursor cursor;

    if (record_cursor_get(record, &cursor) != STATUS_OK ||
        node_cursors_put(&self->cursors, &cursor) != STATUS_OK) {
        log_line(LOG_WARN, "a cursor can't be kept: this start takes over more than it needs to");
    }
}

void node_pull_forget(struct exchange *self)
{
    node_cursors_fini(&self->cursors);
    node_forget_batches(self);
}

/* The sources of one group, whose items are next to each other: what the least of each source's
 * keysets has come to. Returns how many items there are. */
static uint32_t gather(const struct pull_item *items, uint32_t count,
                       double progress[QUORUM_MAX_REPLICAS], bool complete[QUORUM_MAX_REPLICAS])
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < QUORUM_MAX_REPLICAS; i++) {
        progress[i] = -1;
        complete[i] = false;
    }
    for (; used < count && items[0].pull.scope.group == items[used].pull.scope.group; used++) {
        const struct pull_item *item = &items[used];
        double part = pull_progress(&item->pull);
        bool done = item->pull.phase == PULL_PHASE_COMPLETE;
        bool first = progress[item->rank] < 0;

        progress[item->rank] = first || part < progress[item->rank] ? part : progress[item->rank];
        complete[item->rank] = done && (first || complete[item->rank]);
    }
    return used;
}

static double best_of(double progress[QUORUM_MAX_REPLICAS], uint32_t needed)
{
    double sum = 0;

    for (uint32_t n = 0; n < needed; n++) {
        uint32_t best = 0;

        for (uint32_t i = 1; i < QUORUM_MAX_REPLICAS; i++) {
            best = progress[i] > progress[best] ? i : best;
        }
        sum += progress[best] > 0 ? progress[best] : 0;
        progress[best] = -1;
    }
    return sum / needed;
}

uint32_t node_pull_judge_group(struct exchange *self, struct hosted_filter *hosted, uint32_t at)
{
    const struct pull_item *items = &hosted->pulls->items[at];
    struct replica_group *group = &hosted->set->groups[items[0].pull.scope.group];
    double progress[QUORUM_MAX_REPLICAS];
    bool complete[QUORUM_MAX_REPLICAS];
    uint32_t used = gather(items, hosted->pulls->count - at, progress, complete);
    uint32_t sources = 0;

    if (items[0].pull.purpose == PULL_SYNC) {
        for (uint32_t i = 0; i < QUORUM_MAX_REPLICAS; i++) {
            sources += complete[i];
        }
        self->node.life->changed = self->node.life->changed ||
                                   (group->complete == 0 && sources >= items[0].needed);
        group->complete = sources >= items[0].needed ? hosted->pulls->epoch : 0;
        group->copied = group->complete != 0 ? 1 : best_of(progress, items[0].needed);
    }
    return used;
}
