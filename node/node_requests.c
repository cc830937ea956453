#include "base/heap.h"
#include "node/node_private.h"

#include <string.h>

enum { MAX_HANDED_DOCUMENTS = 16 };

/* The answer to one node request while it is made. */
struct answer {
    struct span documents[MAX_HANDED_DOCUMENTS];
    size_t ndocuments;
    size_t nwords; /* of planes used */
};

static enum status reserve_words(struct node *self, const struct node_request *request)
{
    size_t needed = 0;
    uint64_t *grown;

    for (size_t i = 0; i < request->nsegments; i++) {
        needed += 2 * (((size_t)request->segments[i].count + 63) / 64);
    }
    if (needed <= self->words_capacity) {
        return STATUS_OK;
    }
    grown = heap_realloc(self->words, needed, sizeof *grown);
    if (grown == NULL) {
        return STATUS_NOMEM;
    }
    self->words = grown;
    self->words_capacity = needed;
    return STATUS_OK;
}

/* Let the router have the document that made its request STALE. */
static void hand_on(struct answer *answer, const struct document_entry *entry)
{
    struct span bytes = span_of(entry->signed_bytes, entry->signed_size);

    for (size_t i = 0; i < answer->ndocuments; i++) {
        if (answer->documents[i].data == bytes.data) {
            return;
        }
    }
    if (answer->ndocuments < MAX_HANDED_DOCUMENTS) {
        answer->documents[answer->ndocuments++] = bytes;
    }
}

static enum status judge(const struct document_entry *entry, const struct segment *segment)
{
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    enum status status;

    if (entry == NULL) {
        return STATUS_NEED_DOC;
    }
    if (entry->conflict) {
        return STATUS_CONFLICT;
    }
    if (hosted == NULL) {
        return STATUS_NOT_READY;
    }
    status = fence_judge(&hosted->fence, &entry->document, segment->epoch, segment->epoch_hash);
    if (status == STATUS_OK && hosted->set == NULL) {
        return STATUS_NOT_READY;
    }
    return status;
}

static void execute(struct node *self, uint64_t now_us, struct document_entry *entry,
                    const struct segment *segment, const uint64_t *fingerprints,
                    struct answer *answer, struct segment_reply *reply)
{
    const struct hosted_filter *hosted = entry->attachment;
    size_t nwords = ((size_t)segment->count + 63) / 64;
    uint64_t *present = self->words + answer->nwords;
    uint64_t *absent = present + nwords;

    answer->nwords += 2 * nwords;
    reply->state = replica_set_state(hosted->set, segment->group);
    reply->status = replica_set_execute(hosted->set, &entry->document, segment, fingerprints,
                                        present, absent, &reply->at_capacity);
    if (reply->status != STATUS_OK) {
        return;
    }
    self->counters[NODE_full_total] += reply->at_capacity;
    reply->count = segment->count;
    reply->present = present;
    reply->absent = absent;
    if (segment->operation == OPERATION_ADD) {
        reply->repeated = !node_settle_vote(self, now_us, segment, fingerprints, reply->state,
                                            present, absent);
        self->counters[NODE_keys_added_total] += segment->count;
    } else {
        self->counters[NODE_keys_checked_total] += segment->count;
    }
}

static void count_refusal(struct node *self, enum status status)
{
    static const struct {
        enum status status;
        enum node_counter counter;
    } counted[] = {
        {STATUS_STALE, NODE_stale_total},         {STATUS_NEED_DOC, NODE_need_doc_total},
        {STATUS_NOT_READY, NODE_not_ready_total}, {STATUS_CONFLICT, NODE_conflict_total},
        {STATUS_DROPPED, NODE_dropped_total},
    };

    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        if (counted[i].status == status) {
            node_count(self, counted[i].counter);
        }
    }
}

static void serve_segment(struct node *self, uint64_t now_us, const struct segment *segment,
                          const uint64_t *fingerprints, struct answer *answer,
                          struct segment_reply *reply)
{
    struct document_entry *entry = document_cache_find(&self->documents, segment->filter_id);

    *reply = (struct segment_reply){.tag = segment->tag};
    node_count(self, NODE_segments_total);
    reply->status = judge(entry, segment);
    if (reply->status == STATUS_OK) {
        execute(self, now_us, entry, segment, fingerprints, answer, reply);
    }
    if (entry != NULL) {
        reply->epoch = entry->document.epoch;
        reply->epoch_hash = entry->document.epoch_hash;
    }
    if (reply->status == STATUS_STALE || reply->status == STATUS_DROPPED) {
        hand_on(answer, entry);
    }
    count_refusal(self, reply->status);
}

void node_on_node_request(struct node *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame)
{
    const struct node_request *request = &frame->body.node_request;
    const uint64_t *fingerprints = request->fingerprints;
    struct answer answer = {0};
    struct frame reply = {.correlation = frame->correlation, .kind = FRAME_NODE_REPLY};

    node_count(self, NODE_requests_total);
    if (reserve_words(self, request) != STATUS_OK) {
        node_count(self, NODE_replies_dropped_total);
        return; /* Nothing was executed; the router asks again. */
    }
    for (size_t i = 0; i < request->nsegments; i++) {
        serve_segment(self, now_us, &request->segments[i], fingerprints, &answer,
                      &self->replies[i]);
        fingerprints += request->segments[i].count;
    }
    reply.body.node_reply = (struct node_reply){
        .node_id = self->id,
        .incarnation = self->incarnation,
        .segments = self->replies,
        .nsegments = request->nsegments,
        .documents = answer.documents,
        .ndocuments = answer.ndocuments,
    };
    node_reply_frame(self, from, &reply);
}
