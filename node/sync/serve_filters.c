/* Which filters have anything new in this log: the one question of a node that follows many. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/sync/exchange.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;

    return (*left > *right) - (*left < *right);
}

static size_t sort(uint64_t *ids, size_t count)
{
    size_t kept = 0;

    qsort(ids, count, sizeof *ids, compare);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || ids[kept - 1] != ids[i]) {
            ids[kept++] = ids[i];
        }
    }
    return kept;
}

/* As headers are told: what is older than the delay. Of durability os that is more than no power
 * loss takes back; so `durable` says how far others may go. */
static enum status tell(struct exchange *self, uint64_t now_us, uint64_t *ids,
                        struct pull_reply *reply)
{
    uint64_t written = storage_written(self->storage);
    uint64_t settled = log_age_settled(&self->age, now_us, self->config.gossip_delay_us);
    uint64_t limit = settled < written ? settled : written;

    if (reply->from > written) {
        return STATUS_CONFLICT; /* It has more of this log than there is. */
    }
    limit = limit > reply->from ? limit : reply->from;
    if (!storage_recall_filters(self->storage, reply->from, limit, ids, PULL_MAX_FILTERS,
                                &reply->count, &reply->next)) {
        return STATUS_NOT_FOUND;
    }
    reply->count = sort(ids, reply->count);
    if (MUTANT(FILTERS_NOT_NAMED)) {
        reply->count = 0;
    }
    reply->fingerprints = ids;
    reply->end = reply->next >= limit;
    return STATUS_OK;
}

static bool is_meant(const struct exchange *self, const struct pull_request *request)
{
    return request->source.node == self->node.life->id &&
           request->source.incarnation == self->node.life->incarnation &&
           self->node.life->confirmed && !self->node.life->failed && !self->node.life->recovering;
}

void node_serve_filters(struct exchange *self, uint64_t now_us, const struct peer *from,
                        const struct frame *frame)
{
    const struct pull_request *request = &frame->body.pull_request;
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_PULL_REPLY};
    struct pull_reply *reply = &answer.body.pull_reply;
    uint64_t *ids = NULL;

    *reply = (struct pull_reply){
        .status = STATUS_NOT_READY,
        .kind = PULL_FILTERS,
        .source = {.node = self->node.life->id, .incarnation = self->node.life->incarnation},
        .boot = self->node.life->identity.boot,
        .from = request->from,
    };
    if (is_meant(self, request)) {
        ids = heap_alloc(PULL_MAX_FILTERS, sizeof *ids);
        reply->durable = storage_synced(self->storage);
        reply->status = ids != NULL ? tell(self, now_us, ids, reply) : STATUS_OVERLOADED;
    }
    if (reply->status == STATUS_OK) {
        self->node.counters[NODE_gossip_bytes_served_total] += 128 + reply->count * sizeof *ids;
    } else {
        exchange_count(self, NODE_pulls_refused_total);
    }
    self->node.reply_frame(self->node.self, from, &answer);
    heap_free(ids);
}
