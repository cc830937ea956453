/* Replies of nodes: which votes count, and what refusals ask for. */
#include "base/mutant.h"
#include "map/growth.h"
#include "router/private.h"

#include <string.h>

enum {
    MAX_HANDED = 3,            /* documents handed to one node for one part before waiting */
    GROWTH_BEGINS_US = 1000000 /* a filter that is to grow does not for so long: it can't */
};

/* Does this reply count: the op's epoch, the member's incarnation, in the state that it must have
 * by that epoch's document? */
static bool counts(const struct op *op, const struct part *part, const struct member *member,
                   enum replica_state state, const struct node_reply *reply,
                   const struct segment_reply *segment)
{
    if (!MUTANT(ADD_UP_EPOCHS) &&
        (segment->epoch != op->epoch || segment->epoch_hash != op->epoch_hash)) {
        return false;
    }
    if (MUTANT(COUNT_JOINING)) {
        return reply->node_id == member->node && segment->count == part->count;
    }
    return reply->node_id == member->node && reply->incarnation == member->incarnation &&
           segment->state == state && segment->count == part->count;
}

static void keep_vote(struct part *part, uint32_t slot, const struct segment_reply *segment)
{
    size_t nwords = bits_words(part->count);
    uint64_t *plane = part->planes + 2 * slot * nwords;

    memcpy(plane, segment->present, nwords * sizeof *plane);
    memcpy(plane + nwords, segment->absent, nwords * sizeof *plane);
}

/* Both planes say what a JOINING replica has written. */
static void keep_acceptance(struct part *part, uint32_t slot, const struct segment_reply *segment)
{
    size_t nwords = bits_words(part->count);

    for (size_t i = 0; i < nwords; i++) {
        part->accepted[slot * nwords + i] = segment->present[i] & segment->absent[i];
    }
}

/* An add that was not accepted whole is held, while there will be room within moments: the node is
 * asked again. It remembers how it voted, so that the next vote is this one and more. Not for a
 * pair: what both halves have accepted is cut out of its vote. */
static bool is_held(const struct router *self, uint64_t now_us, const struct op *op,
                    const struct slot_ask *reader, const struct segment_reply *segment)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);

    return op->operation == OPERATION_ADD && segment->at_capacity && segment->makes_room &&
           !reader->paired &&
           (growth_running(&entry->document) || now_us - op->started_us < GROWTH_BEGINS_US);
}

static void hold(struct router *self, struct slot_ask *ask)
{
    ask->state = ASK_FAILED;
    if (ask->full < UINT8_MAX) {
        ask->full++;
    }
    router_count(self, ROUTER_held_total);
}

static void take_vote(struct router *self, uint64_t now_us, const struct op *op, struct part *part,
                      uint32_t seat, const struct slot_group *group, const struct node_reply *reply,
                      const struct segment_reply *segment)
{
    struct slot_ask *ask = seat_ask(part, seat);
    uint32_t slot = seat % SEAT_PARTNER;
    bool reads = seat < SEAT_PARTNER;

    ask->state = ASK_ANSWERED;
    if (!counts(op, part, seat_member(group, seat), reads ? REPLICA_FULL : REPLICA_JOINING, reply,
                segment)) {
        router_count(self, ROUTER_votes_void_total);
        ask->refusal = STATUS_NOT_READY;
        return;
    }
    ask->voted = true;
    ask->refusal = segment->at_capacity ? STATUS_FULL : STATUS_OK;
    ask->makes_room = segment->makes_room;
    self->counters[ROUTER_full_total] += segment->at_capacity;
    ask->tainted = segment->repeated;
    if (reads) {
        keep_vote(part, slot, segment);
    } else {
        keep_acceptance(part, slot, segment);
    }
    if (is_held(self, now_us, op, &part->asks[slot], segment)) {
        hold(self, ask);
    }
    if (part->asks[slot].paired && slot_counts(part, slot)) {
        pair_mask(part, slot);
    }
}

static void hand_document(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                          uint32_t seat, struct backend *backend)
{
    const struct document_entry *entry = document_cache_find(&self->documents, op->filter_id);
    struct span bytes = span_of(entry->signed_bytes, entry->signed_size);
    struct frame frame = {.kind = FRAME_DOCUMENTS, .body.documents = {.items = &bytes, .count = 1}};
    struct slot_ask *ask = seat_ask(part, seat);

    router_count(self, ROUTER_need_doc_total);
    if (ask->handed < MAX_HANDED && backend_send(self, backend, &frame)) {
        ask->handed++;
        (void)part_ask(self, now_us, op, part, seat);
    }
}

static void count_refusal(struct router *self, enum status status)
{
    static const struct {
        enum status status;
        enum router_counter counter;
    } counted[] = {
        {STATUS_NOT_READY, ROUTER_not_ready_total}, {STATUS_FULL, ROUTER_full_total},
        {STATUS_CONFLICT, ROUTER_conflict_total},   {STATUS_STALE, ROUTER_stale_total},
        {STATUS_DROPPED, ROUTER_stale_total},
    };

    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        if (counted[i].status == status) {
            router_count(self, counted[i].counter);
        }
    }
}

static void take_refusal(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                         uint32_t seat, struct backend *backend,
                         const struct segment_reply *segment)
{
    struct slot_ask *ask = seat_ask(part, seat);

    ask->state = ASK_FAILED; /* It may pass and is asked again. */
    ask->refusal = segment->status;
    count_refusal(self, segment->status);
    if (segment->status == STATUS_NOT_READY && ask->unready < UINT8_MAX) {
        ask->unready++;
    }
    if (segment->status == STATUS_NEED_DOC) {
        hand_document(self, now_us, op, part, seat, backend);
    } else if (segment->status == STATUS_STALE || segment->status == STATUS_DROPPED) {
        sync_want(self, now_us); /* The reply's own document may have been refused. */
    } else if (segment->status == STATUS_CONFLICT) {
        log_limited(&self->conflict_limit, now_us, LOG_ERROR,
                    "node %u holds another content of filter %llu under epoch %llu; it is not "
                    "used",
                    backend->node, (unsigned long long)op->filter_id,
                    (unsigned long long)segment->epoch);
    }
}

static void on_segment(struct router *self, uint64_t now_us, struct backend *backend,
                       const struct node_reply *reply, const struct segment_reply *segment)
{
    struct part *part = NULL;
    uint32_t seat = 0;
    struct op *op = op_of_tag(self, segment->tag, &part, &seat);
    const struct document_entry *entry;

    if (op == NULL || part->done ||
        (seat_ask(part, seat)->voted && seat_ask(part, seat)->state == ASK_ANSWERED)) {
        router_count(self, ROUTER_late_total);
        return;
    }
    entry = document_cache_find(&self->documents, op->filter_id);
    if (entry->document.epoch != op->epoch || entry->conflict) {
        count_refusal(self, segment->status);
        op_restart(self, now_us, op);
        return;
    }
    if (seat % SEAT_PARTNER >= entry->document.content.rule.replicas) {
        router_count(self, ROUTER_late_total); /* A tag that was not given out: no planes there. */
        return;
    }
    if (segment->status == STATUS_OK) {
        take_vote(self, now_us, op, part, seat, &entry->document.content.groups[part->group], reply,
                  segment);
    } else {
        take_refusal(self, now_us, op, part, seat, backend, segment);
    }
    op_evaluate(self, now_us, op, false);
}

void router_on_node_reply(struct router *self, uint64_t now_us, uint32_t link,
                          const struct frame *frame)
{
    const struct node_reply *reply = &frame->body.node_reply;
    struct backend *backend = backend_heard(self, now_us, link, frame->correlation);

    if (backend == NULL) {
        router_count(self, ROUTER_late_total);
        return;
    }
    for (size_t i = 0; i < reply->ndocuments; i++) {
        router_take_document(self, now_us, reply->documents[i]);
    }
    for (size_t i = 0; i < reply->nsegments; i++) {
        on_segment(self, now_us, backend, reply, &reply->segments[i]);
    }
}
