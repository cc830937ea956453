/* A router's request, subrequest by subrequest: judged by its epoch, executed, logged, and answered
 * once what it rests on is durable. */
#include "base/bits.h"
#include "base/heap.h"
#include "base/mutant.h"
#include "map/history/expansion.h"
#include "node/private.h"

#include <string.h>

enum {
    MAX_HANDED_DOCUMENTS = 16,
    FILL_PARTS = 8,
    FULL_TOLD_US = 50000, /* between two words that there is no room */
};

/* The answer to one node request while it is made. */
struct answer {
    struct span documents[MAX_HANDED_DOCUMENTS];
    size_t ndocuments;
    size_t nwords;        /* of planes used */
    struct log_need need; /* of the adds */
    uint64_t fence_end;   /* an answer under an epoch goes with the fence below it */
};

static enum status reserve_words(struct node *self, const struct node_request *request)
{
    size_t needed = 0;

    for (size_t i = 0; i < request->nsubrequests; i++) {
        needed += 2 * bits_words(request->subrequests[i].count);
    }
    return heap_grow(&self->words, &self->words_capacity, needed, sizeof *self->words)
               ? STATUS_OK
               : STATUS_NOMEM;
}

/* Let the router have the document, or record, that made its request STALE. */
static void hand_on(const struct node *self, struct answer *answer,
                    const struct document_entry *entry)
{
    struct span bytes = entry == NULL || entry->gone
                            ? span_of(self->documents.dropped_bytes, self->documents.dropped_size)
                            : span_of(entry->signed_bytes, entry->signed_size);

    for (size_t i = 0; i < answer->ndocuments; i++) {
        if (answer->documents[i].data == bytes.data) {
            return;
        }
    }
    if (answer->ndocuments < MAX_HANDED_DOCUMENTS) {
        answer->documents[answer->ndocuments++] = bytes;
    }
}

enum status node_judge(const struct node *self, const struct document_entry *entry,
                       const struct subrequest *subrequest)
{
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    enum status status;

    if (!MUTANT(ERASE_NO_TOMBSTONE) &&
        document_cache_is_dropped(&self->documents, subrequest->filter_id)) {
        return STATUS_DROPPED;
    }
    if (entry == NULL) {
        return STATUS_NEED_DOC;
    }
    if (entry->conflict) {
        return STATUS_CONFLICT;
    }
    if (hosted == NULL || hosted->unlogged || !self->life.confirmed || self->life.failed) {
        return STATUS_NOT_READY;
    }
    status = fence_judge(&hosted->fence, &entry->document, subrequest->epoch,
                         subrequest->epoch_hash);
    if (status == STATUS_OK && hosted->set == NULL) {
        return STATUS_NOT_READY;
    }
    return status;
}

static void say_no_log(struct node *self, uint64_t now_us, enum status status)
{
    node_count(self, NODE_no_space_total);
    if (status == STATUS_NO_SPACE) {
        log_limited(&self->no_space_limit, now_us, LOG_ERROR,
                    "adds are refused: the disk has no room for a new segment of the log; make "
                    "room, checks go on meanwhile");
    }
}

/* Log what was accepted; all of it, but where the replica is full. */
static enum status log_accepted(struct node *self, const struct document_entry *entry,
                                const struct subrequest *subrequest, const uint64_t *fingerprints,
                                const uint64_t *present, const uint64_t *absent,
                                struct log_need *need)
{
    bool wrong = MUTANT(DUPLICATE_UNWAITED) || MUTANT(PRESENT_IS_RELAYED);
    struct log_need unneeded = {0};
    struct subrequest another;
    uint64_t fresh = 0;
    uint64_t *some;
    uint32_t count;
    enum status status;

    count = (uint32_t)bits_count_either(present, absent, subrequest->count);
    for (uint32_t i = 0; wrong && i < bits_words(subrequest->count); i++) {
        fresh |= absent[i];
    }
    if (MUTANT(DUPLICATE_UNWAITED) && fresh == 0) {
        need = &unneeded;
    }
    if (MUTANT(PRESENT_IS_RELAYED) && fresh == 0) {
        another = *subrequest;
        another.relayed = true;
        subrequest = &another;
    }
    if (self->storage == NULL || count == subrequest->count) {
        return node_log_add(self, entry, subrequest, fingerprints, count, need);
    }
    /* A partial record: its number does not stand for the whole batch. */
    some = heap_alloc((size_t)count + 1, sizeof *some);
    if (some == NULL) {
        return STATUS_NOMEM;
    }
    count = 0;
    for (uint32_t i = 0; i < subrequest->count; i++) {
        if (bits_has(present, i) || bits_has(absent, i)) {
            some[count++] = fingerprints[i];
        }
    }
    status = node_log_add(self, entry, subrequest, some, count, need);
    heap_free(some);
    return status;
}

static void stir_expansion(struct node *self, const struct document_entry *entry,
                           const struct subrequest *subrequest)
{
    const struct hosted_filter *hosted = entry->attachment;

    for (const struct arrays *set = hosted->set; set != NULL; set = set->next) {
        if (hosted_is_target(set, subrequest) &&
            node_expansion_presses(set, &entry->document, subrequest->group)) {
            node_expansion_stir(self);
        }
    }
}

/* Bits without a record: harmless, not acknowledged. */
static void stray(struct hosted_filter *hosted, const struct subrequest *subrequest)
{
    for (struct arrays *set = hosted->set; set != NULL; set = set->next) {
        set->strays = set->strays || hosted_is_target(set, subrequest);
    }
}

/* It fills up faster than rounds of reports come: coordinators are told at each eighth from the
 * half on, and again while there is no room. */
static void tell_fill(struct node *self, uint64_t now_us, const struct document_entry *entry,
                      const struct subrequest *subrequest, bool waits)
{
    const struct hosted_filter *hosted = entry->attachment;
    struct replica_group *group = &hosted->set->groups[subrequest->group];
    uint64_t eighth = group->keys_capacity / FILL_PARTS + 1;
    uint32_t fill = (uint32_t)(group->keys / eighth < FILL_PARTS ? group->keys / eighth
                                                                 : FILL_PARTS);
    bool again = waits && now_us >= self->full_told_us + FULL_TOLD_US;

    if (entry->document.when_full == WHEN_FULL_EXPAND && entry->document.ngenerations == 1 &&
        (again || (fill >= FILL_PARTS / 2 && fill > group->fill_told))) {
        self->full_told_us = again ? now_us : self->full_told_us;
        node_report_news(self, entry->document.id);
    }
    group->fill_told = fill;
}

/* Not enough to leave an add out: what it wrote may be lost again, or be under way to the log. */
static bool is_remembered(struct node *self, uint64_t now_us, const struct subrequest *subrequest,
                          const uint64_t *fingerprints)
{
    const struct vote_cache_add add = node_vote_cache_add(subrequest, fingerprints);
    struct cached_vote first;

    return vote_cache_find(self->vote_cache, now_us, &add, &first) == VOTE_CACHE_VOTE;
}

/* Nobody asks how it was before another site's keys came: their votes are never sure, and don't
 * take the memory for those of clients' adds. */
static bool settle_vote(struct node *self, uint64_t now_us, const struct subrequest *subrequest,
                        const uint64_t *fingerprints, const struct subrequest_reply *reply,
                        uint64_t *present, uint64_t *absent)
{
    if (subrequest->relayed) {
        node_lost_vote(self, subrequest);
        return false;
    }
    return node_settle_vote(self, now_us, subrequest, fingerprints, reply->state, present, absent);
}

static void execute(struct node *self, uint64_t now_us, struct document_entry *entry,
                    const struct subrequest *subrequest, const uint64_t *fingerprints,
                    struct answer *answer, struct subrequest_reply *reply)
{
    struct hosted_filter *hosted = entry->attachment;
    size_t nwords = bits_words(subrequest->count);
    uint64_t *present = self->words + answer->nwords;
    uint64_t *absent = present + nwords;

    answer->nwords += 2 * nwords;
    reply->state = hosted_state_for(hosted, subrequest);
    if (subrequest->operation == OPERATION_ADD && self->storage != NULL) {
        /* Before any bit is set: bits that can't be logged would be strays. */
        reply->status = storage_room(self->storage, subrequest->count);
        if (reply->status != STATUS_OK) {
            say_no_log(self, now_us, reply->status);
            return;
        }
    }
    reply->status = hosted_execute(hosted, &entry->document, subrequest, fingerprints, present,
                                   absent, &reply->at_capacity);
    if (reply->status != STATUS_OK) {
        return;
    }
    reply->makes_room = reply->at_capacity && expansion_makes_room(&entry->document);
    self->counters[NODE_full_total] += reply->at_capacity;
    if (subrequest->operation == OPERATION_ADD && entry->document.ngenerations > 1 &&
        !self->expansion.due) {
        stir_expansion(self, entry, subrequest);
    }
    if (subrequest->operation == OPERATION_ADD) {
        tell_fill(self, now_us, entry, subrequest, reply->makes_room);
    }
    if (subrequest->operation == OPERATION_ADD &&
        !(MUTANT(DONE_FROM_MEMORY) && is_remembered(self, now_us, subrequest, fingerprints))) {
        reply->status = log_accepted(self, entry, subrequest, fingerprints,
                                     MUTANT(LOG_NEW_ONLY) ? absent : present, absent,
                                     &answer->need);
        if (reply->status != STATUS_OK) {
            stray(hosted, subrequest);
            node_lost_vote(self, subrequest);
            return;
        }
    }
    reply->count = subrequest->count;
    reply->present = present;
    reply->absent = absent;
    if (subrequest->operation == OPERATION_ADD) {
        reply->boot = subrequest->relayed ? self->life.identity.boot : 0;
        reply->repeated = !settle_vote(self, now_us, subrequest, fingerprints, reply, present,
                                       absent);
        self->counters[NODE_keys_added_total] += subrequest->count;
        self->counters[NODE_keys_relayed_total] += subrequest->relayed ? subrequest->count : 0;
    } else {
        self->counters[NODE_keys_checked_total] += subrequest->count;
    }
}

/* Where the log ends: all that was acknowledged before is in the logs of W replicas, below what any
 * R of them tell. Judged as a check of no key is: so whoever answers is FULL, and sure of it. */
static void tell_end(struct node *self, const struct document_entry *entry,
                     const struct subrequest *subrequest, struct answer *answer,
                     struct subrequest_reply *reply)
{
    struct subrequest check = *subrequest;
    bool at_capacity;

    if (self->storage == NULL || !document_logs_keys(&entry->document)) {
        reply->status = STATUS_INVALID;
        return;
    }
    check.operation = OPERATION_CHECK;
    reply->state = hosted_state_for(entry->attachment, &check);
    reply->status = hosted_execute(entry->attachment, &entry->document, &check, NULL, self->words,
                                   self->words, &at_capacity);
    if (reply->status != STATUS_OK) {
        return;
    }
    reply->boot = self->life.identity.boot;
    reply->position = storage_end(self->storage);
    if (!MUTANT(END_BEFORE_SYNC) && reply->position > answer->need.synced) {
        answer->need.synced = reply->position;
        storage_want_sync(self->storage); /* Also where adds don't wait for that. */
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

static void serve_subrequest(struct node *self, uint64_t now_us,
                             const struct subrequest *subrequest, const uint64_t *fingerprints,
                             struct answer *answer, struct subrequest_reply *reply)
{
    struct document_entry *entry = document_cache_find(&self->documents, subrequest->filter_id);

    *reply = (struct subrequest_reply){.tag = subrequest->tag};
    node_count(self, NODE_segments_total);
    reply->status = node_judge(self, entry, subrequest);
    if (reply->status == STATUS_OK && subrequest->operation == OPERATION_ENDS) {
        tell_end(self, entry, subrequest, answer, reply);
    } else if (reply->status == STATUS_OK) {
        execute(self, now_us, entry, subrequest, fingerprints, answer, reply);
    }
    if (entry != NULL) {
        const struct hosted_filter *hosted = entry->attachment;

        reply->epoch = entry->document.epoch;
        reply->epoch_hash = entry->document.epoch_hash;
        if (hosted != NULL && hosted->fence_end > answer->fence_end) {
            answer->fence_end = hosted->fence_end;
        }
        /* Who hears of an epoch may count on it: a fence that a power loss takes back would break
         * that. */
        if (answer->fence_end > answer->need.synced) {
            answer->need.synced = answer->fence_end;
        }
    }
    if (reply->status == STATUS_STALE || reply->status == STATUS_DROPPED) {
        hand_on(self, answer, entry);
    }
    count_refusal(self, reply->status);
}

static void send_replies(struct node *self, const struct peer *from, uint64_t correlation,
                         const struct subrequest_reply *replies, size_t count,
                         const struct answer *answer, struct log_need need)
{
    struct frame reply = {.correlation = correlation, .kind = FRAME_NODE_REPLY};

    reply.body.node_reply = (struct node_reply){
        .node_id = self->life.id,
        .incarnation = self->life.incarnation,
        .subrequests = replies,
        .nsubrequests = count,
        .documents = answer->documents,
        .ndocuments = answer->ndocuments,
    };
    node_reply_when(self, from, &reply, need);
}

/* Move the replies that wait for the log behind the others: those to adds that were executed, and
 * where it ends. Returns where they begin. */
static size_t part_replies(struct node *self, const struct node_request *request)
{
    size_t first = 0;
    size_t last = 0;

    for (size_t i = 0; i < request->nsubrequests; i++) {
        bool waits = request->subrequests[i].operation != OPERATION_CHECK &&
                     self->replies[i].status == STATUS_OK;

        if (waits) {
            self->late_replies[last++] = self->replies[i];
        } else {
            self->replies[first++] = self->replies[i];
        }
    }
    memcpy(self->replies + first, self->late_replies, last * sizeof *self->replies);
    return first;
}

void node_on_node_request(struct node *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame)
{
    const struct node_request *request = &frame->body.node_request;
    const uint64_t *fingerprints = request->fingerprints;
    struct answer answer = {0};
    size_t early = 0;

    node_count(self, NODE_requests_total);
    if (reserve_words(self, request) != STATUS_OK) {
        node_count(self, NODE_replies_dropped_total);
        return; /* Nothing was executed; the router asks again. */
    }
    for (size_t i = 0; i < request->nsubrequests; i++) {
        serve_subrequest(self, now_us, &request->subrequests[i], fingerprints, &answer,
                         &self->replies[i]);
        fingerprints += request->subrequests[i].count;
    }
    if (self->storage != NULL) {
        /* Without a disk nothing waits, and all goes as one message. */
        early = part_replies(self, request);
    }
    /* Checks do not wait for the log with the adds that came along. Without a correlation: what
     * answers the message as a whole comes last. */
    if (early > 0 && early < request->nsubrequests) {
        send_replies(self, from, 0, self->replies, early, &answer,
                     (struct log_need){.synced = answer.fence_end});
        answer.ndocuments = 0;
    } else {
        early = 0;
    }
    send_replies(self, from, frame->correlation, self->replies + early,
                 request->nsubrequests - early, &answer, answer.need);
}

/* ---- turns of users ---- */

/* One that has waited; it is decoded anew, as the arena has moved on. */
static void serve_arrival(struct node *self, uint64_t now_us, struct arrival *one)
{
    struct frame frame = {0};

    if (codec_decode(self->arena, span_of(one->bytes, one->size), &frame) == STATUS_OK) {
        node_on_node_request(self, now_us, &one->from, &frame);
    }
    heap_free(one);
}

/* Routers don't say until when they want an answer.
 *
 * Where there is no room to wait those are served whose turn it is, until there is: nothing may be
 * lost for that, as a router would wait for it in vain, and nobody passes others by. */
static enum status await_turn(struct node *self, uint64_t now_us, uint32_t user,
                              const struct peer *from, struct span bytes)
{
    enum status status = arrivals_push(&self->arrivals, user, from, UINT64_MAX, bytes);
    struct arrival *next;

    while (status == STATUS_OVERLOADED && (next = arrivals_take(&self->arrivals)) != NULL) {
        serve_arrival(self, now_us, next);
        status = arrivals_push(&self->arrivals, user, from, UINT64_MAX, bytes);
    }
    return status;
}

/* A message is one user's; 0: it is nobody's, and does not wait. */
static uint32_t user_of(const struct node_request *request)
{
    return request->nsubrequests > 0 ? request->subrequests[0].user : 0;
}

void node_take_node_request(struct node *self, uint64_t now_us, const struct peer *from,
                            struct span bytes, const struct frame *frame)
{
    uint32_t user = user_of(&frame->body.node_request);
    struct frame again = {0};

    if (user == 0) {
        node_on_node_request(self, now_us, from, frame);
    } else if (await_turn(self, now_us, user, from, bytes) != STATUS_OK &&
               /* Without memory. The arena may hold another one by now. */
               codec_decode(self->arena, bytes, &again) == STATUS_OK) {
        node_on_node_request(self, now_us, from, &again);
    }
}

void node_serve_users(struct node *self, uint64_t now_us)
{
    struct arrival *next;

    arrivals_turn(&self->arrivals);
    while ((next = arrivals_pop(&self->arrivals)) != NULL) {
        serve_arrival(self, now_us, next);
    }
}
