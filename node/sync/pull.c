/* Asking other nodes for what is lacking here, and taking it over. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum {
    ANSWER_BYTES = (1 << 20) + (1 << 16),
    HEADERS_BYTES = 1 << 18,
    HASH_SLOW_BY = 16,
    STRIDE_EACH_BYTES = 1 << 10, /* a filter: cursors of six sources take half */
    STRIDE_MOST_BYTES = 16 << 20,
};

/* ---- cursors in the log ---- */

/* Record a cursor that is due; it stays due when the log takes none now. */
static void put_cursor(struct exchange *self, struct pull *pull)
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

/* ---- how complete a joining group is ---- */

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

    assert(needed > 0 && needed <= QUORUM_MAX_REPLICAS);
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

/* Of the group whose items begin there: what the replica's report tells. Returns how many items
 * the group has. */
static uint32_t judge_group(struct exchange *self, struct hosted_filter *hosted, uint32_t at)
{
    const struct pull_item *items = &hosted->pulls->items[at];
    struct replica_group *group = &hosted->set->groups[items[0].pull.scope.group];
    double progress[QUORUM_MAX_REPLICAS];
    bool complete[QUORUM_MAX_REPLICAS];
    uint32_t used = gather(items, hosted->pulls->count - at, progress, complete);
    uint32_t sources = 0;

    assert(at + used <= hosted->pulls->count && used > 0);
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

/* ---- a question has ended ---- */

static void fail(struct exchange *self, uint64_t now_us, struct pull_item *item, enum status status)
{
    uint32_t copies = item->pull.copies;

    exchange_count(self, NODE_pull_failures_total);
    log_limited(&self->pull_limit, now_us, LOG_DEBUG,
                "node %u, filter %016" PRIx64 ", group %u: no answer of use: %s",
                item->pull.source.node, item->pull.scope.filter_id, item->pull.scope.group,
                status_code(status));
    pull_failed(&item->pull, now_us, status);
    self->node.counters[NODE_gossip_copies_total] += item->pull.copies - copies;
    if (item->pull.phase == PULL_PHASE_REPAIR) {
        item->repair_us = now_us;
        node_exchange_look(self, item->pull.scope.filter_id);
    }
}

/* A question has ended: there may be the next one for its filter, or for another one that waits
 * for the same node. `heard`: who is not silent may be compared with. */
static void note_end(struct exchange *self, const struct peer_topic *topic, bool heard)
{
    self->stirred = true;
    self->freed |= LOOK_BIT(LOOK_WAITS_ROOM);
    if (topic->call < PULL_NPURPOSES) {
        self->freed |= LOOK_BIT(looks_peer(topic->node, (enum pull_purpose)topic->call));
    }
    if (heard) {
        self->freed |= LOOK_BIT(looks_peer(topic->node, PULL_REPAIR));
    }
    looks_now(&self->looks, topic->filter_id);
}

/* ---- answers ---- */

/* The source is behind: give it what it lacks. */
static void hand_on(struct exchange *self, uint32_t link, const struct document_entry *entry)
{
    const struct span document = span_of(entry->signed_bytes, entry->signed_size);
    const struct frame frame = {.kind = FRAME_DOCUMENTS,
                                .body.documents = {.items = &document, .count = 1}};
    struct span bytes;

    if (codec_encode_out(&frame, self->node.effects, self->node.out, &bytes) == STATUS_OK &&
        self->node.effects->send(self->node.effects->context, link, bytes) == STATUS_OK) {
        self->node.counters[NODE_gossip_bytes_out_total] += bytes.size;
    }
}

/* One of both is behind with the document. */
static void even_out(struct exchange *self, uint64_t now_us, uint32_t link,
                     const struct document_entry *entry, const struct pull_reply *reply)
{
    if (reply->status == STATUS_NEED_DOC) {
        hand_on(self, link, entry);
    } else if (reply->document.size > 0) {
        self->node.take_document(self->node.self, now_us, reply->document);
    }
}

static void say_shorter(struct exchange *self, uint64_t now_us, const struct pull_reply *reply)
{
    log_limited(self->node.bad_frame_limit, now_us, LOG_ERROR,
                "node %u says that its log ends below what this node has taken over from there: it "
                "has lost acknowledged data; restart it as a new incarnation",
                reply->source.node);
}

void node_pull_on_reply(struct exchange *self, uint64_t now_us, uint32_t link, uint64_t correlation,
                        const struct pull_reply *reply)
{
    struct document_entry *entry = NULL;
    struct peer_topic topic;
    struct pull_item *item;
    enum status status;
    bool catching_up;
    bool follows;

    if (!node_peers_answered(&self->peers, link, correlation, &topic)) {
        return;
    }
    note_end(self, &topic, true);
    if (topic.call == PEERS_WATCH) {
        node_watch_on_reply(self, now_us, &topic, reply);
        return;
    }
    item = node_pull_item(self, &topic, &entry);
    if (item == NULL) {
        return;
    }
    if (topic.repair) {
        if (reply->status == STATUS_OK) {
            node_remember(self, reply); /* A repair moves cursors too. */
        }
        node_repair_on_reply(self, now_us, &topic, reply);
        even_out(self, now_us, link, entry, reply);
        return;
    }
    catching_up = item->pull.catching_up;
    follows = item->pull.phase == PULL_PHASE_FOLLOW;
    status = pull_judge(&item->pull, reply);
    if (status != STATUS_OK && reply->status == STATUS_OK) {
        exchange_count(self, NODE_pull_mismatches_total);
    }
    if (status == STATUS_OK) {
        node_remember(self, reply); /* Before a cursor says the same without its boot. */
        status = node_pull_take(self, now_us, entry, &item->pull, reply);
    }
    if (status == STATUS_OK) {
        struct hosted_filter *hosted = entry->attachment;

        if (follows && reply->end) {
            node_watch_begin(self, now_us, reply);
        }
        hosted->heard_us = catching_up ? now_us : hosted->heard_us;
        return;
    }
    /* Else it would try to catch up with a log that nobody has any more. */
    (void)pull_source_gone(&item->pull, reply);
    fail(self, now_us, item, status);
    if (reply->status == STATUS_CONFLICT) {
        say_shorter(self, now_us, reply);
    } else {
        even_out(self, now_us, link, entry, reply);
    }
}

void node_pull_on_error(struct exchange *self, uint64_t now_us, uint32_t link, uint64_t correlation)
{
    struct document_entry *entry = NULL;
    struct peer_topic topic;
    struct pull_item *item;

    if (!node_peers_answered(&self->peers, link, correlation, &topic)) {
        return;
    }
    note_end(self, &topic, true);
    item = node_pull_item(self, &topic, &entry);
    if (topic.call == PEERS_WATCH) {
        node_watch_on_error(self, now_us, &topic);
    } else if (topic.repair) {
        node_repair_on_silence(self, now_us, &topic, STATUS_INVALID);
    } else if (item != NULL) {
        fail(self, now_us, item, STATUS_INVALID);
    }
}

/* ---- asking ---- */

static bool same_group(const struct pull_item *a, const struct pull_item *b)
{
    return a->pull.scope.group == b->pull.scope.group;
}

/* What several sources have is fetched from one after the other, and so only once. */
static bool others_fetch(const struct filter_pulls *pulls, uint32_t index)
{
    const struct pull_item *item = &pulls->items[index];
    bool fetching = false;

    /* Items of a group are next to each other. */
    for (uint32_t i = index; i > 0 && same_group(item, &pulls->items[i - 1]); i--) {
        fetching = fetching || (pulls->items[i - 1].pull.asked &&
                                pulls->items[i - 1].pull.phase == PULL_PHASE_FETCH);
    }
    for (uint32_t i = index + 1; i < pulls->count && same_group(item, &pulls->items[i]); i++) {
        fetching = fetching ||
                   (pulls->items[i].pull.asked && pulls->items[i].pull.phase == PULL_PHASE_FETCH);
    }
    return fetching;
}

/* Only as many sources as a SYNC needs are read; another one where one of those fails. */
static bool has_turn(const struct filter_pulls *pulls, uint32_t index)
{
    const struct pull_item *item = &pulls->items[index];
    bool ahead[QUORUM_MAX_REPLICAS] = {false};
    bool failing[QUORUM_MAX_REPLICAS] = {false};
    uint32_t healthy = 0;

    assert(index < pulls->count && item->rank < QUORUM_MAX_REPLICAS);
    if (item->pull.purpose != PULL_SYNC) {
        return item->pull.phase != PULL_PHASE_FETCH || !others_fetch(pulls, index);
    }
    /* Those before it in the group: sources of lower rank, which the plan names first. */
    for (uint32_t i = index; i > 0 && same_group(item, &pulls->items[i - 1]); i--) {
        const struct pull_item *other = &pulls->items[i - 1];

        ahead[other->rank] = other->rank != item->rank;
        failing[other->rank] = failing[other->rank] || other->pull.failures > 0;
    }
    for (uint32_t i = 0; i < QUORUM_MAX_REPLICAS; i++) {
        healthy += ahead[i] && !failing[i];
    }
    return healthy < item->needed;
}

/* What catches up is waited for: a question that got lost is soon repeated. */
static uint64_t patience_us(const struct pull *pull)
{
    uint32_t doublings = pull->failures < 3 ? pull->failures : 3;

    if (pull->phase == PULL_PHASE_SHARDS) { /* All of them are hashed first, at 1 GB/s. */
        return PEERS_DEADLINE_US + HASH_SLOW_BY * pull->npages * PULL_PAGE_BYTES / 1000;
    }
    return pull->catching_up ? (uint64_t)PEERS_HASTE_US << doublings : PEERS_DEADLINE_US;
}

/* An answer that is under way, by that node or by any, stirs. */
static void wait_for(struct exchange *exchange, const struct pull *pull)
{
    bool room = node_peers_idle(&exchange->peers, pull->source.node, pull->purpose, 0);

    exchange->waits |= LOOK_BIT(room ? (unsigned)LOOK_WAITS_ROOM
                                     : looks_peer(pull->source.node, pull->purpose));
}

static void ask(struct exchange *self, uint64_t now_us, const struct filter_pulls *pulls,
                struct pull_item *item)
{
    struct pull *pull = &item->pull;
    struct frame frame = {.kind = FRAME_PULL_REQUEST};
    const struct peer_topic topic = {.filter_id = pull->scope.filter_id,
                                     .serial = pulls->serial,
                                     .item = (uint32_t)(item - pulls->items)};
    enum status status;
    uint64_t bytes;
    size_t sent = 0;

    /* Other sources may have brought some of it since. */
    pull_trim(pull, self->have);
    pull_question(pull, &frame.body.pull_request);
    bytes = frame.body.pull_request.kind == PULL_HEADERS ? HEADERS_BYTES : ANSWER_BYTES;
    if (!node_peers_idle(&self->peers, pull->source.node, pull->purpose, bytes)) {
        wait_for(self, pull);
        return;
    }
    status = node_peers_ask(&self->peers, self->node.effects, now_us, &self->node.documents->nodes,
                            pull->source.node, pull->purpose, bytes, patience_us(pull), &topic,
                            &frame, self->node.out, &sent);
    if (status == STATUS_OK) {
        /* The node has a question now, and so whoever waits for it waits on. */
        self->asked |= LOOK_BIT(looks_peer(pull->source.node, pull->purpose)) |
                       LOOK_BIT(LOOK_WAITS_ROOM);
        pull_asked(pull);
        self->node.counters[NODE_gossip_bytes_out_total] += sent;
    } else {
        fail(self, now_us, item, status);
    }
}

/* Cursors move the log that others follow. Were all of them written for less than what they take
 * together, the next ones would be due by these alone, for ever. Less than what a source keeps. */
static uint64_t more_stride(const struct exchange *self)
{
    uint64_t bytes = self->node.documents->count * STRIDE_EACH_BYTES;

    return bytes < STRIDE_MOST_BYTES ? bytes : STRIDE_MOST_BYTES;
}

static void pump_item(struct exchange *self, uint64_t now_us, const struct document_entry *entry,
                      struct filter_pulls *pulls, uint32_t index)
{
    struct pull_item *item = &pulls->items[index];
    bool sleeps = node_watch_sleeps(self, now_us, &entry->document, item);
    uint64_t due_us;

    item->pull.stride = more_stride(self);
    if (pull_cursor_due(&item->pull, node_log_durable(self, &entry->document))) {
        put_cursor(self, &item->pull);
    } else if (pull_cursor_due(&item->pull, UINT64_MAX)) {
        /* Due but for the disk: it is looked at when the log has moved on. */
        self->waits |= LOOK_BIT(LOOK_WAITS_LOG);
    }
    node_repair_look(self, now_us, pulls, entry, item);
    node_compare_pump(self, now_us, entry, item);
    if (sleeps || node_watch_sleep(self, now_us, item) || !has_turn(pulls, index)) {
        return;
    }
    if (pull_due_us(&item->pull) <= now_us) {
        ask(self, now_us, pulls, item);
    }
    due_us = pull_due_us(&item->pull);
    if (due_us > now_us && due_us < self->due_us) {
        self->due_us = due_us;
    }
}

void node_pull_look(struct exchange *self, uint64_t now_us, struct document_entry *entry)
{
    struct hosted_filter *hosted;
    struct filter_pulls *pulls;
    uint64_t due_us;

    node_pull_follow(self, entry);
    hosted = entry->attachment;
    pulls = hosted != NULL ? hosted->pulls : NULL;
    for (uint32_t i = 0; pulls != NULL && i < pulls->count; i++) {
        /* Another one first each time: a node takes few questions, and the same ones would always
         * ask. */
        pump_item(self, now_us, entry, pulls, (self->turn + i) % pulls->count);
    }
    for (uint32_t i = 0; pulls != NULL && i < pulls->count;) {
        i += judge_group(self, hosted, i);
    }
    due_us = node_settle(self, now_us, entry);
    self->due_us = due_us < self->due_us ? due_us : self->due_us;
}

void node_pull_expire(struct exchange *self, uint64_t now_us)
{
    struct document_entry *entry = NULL;
    struct peer_topic topic;

    while (node_peers_expired(&self->peers, now_us, &topic)) {
        struct pull_item *item = node_pull_item(self, &topic, &entry);

        note_end(self, &topic, false);
        if (topic.call == PEERS_WATCH) {
            node_watch_on_silence(self, now_us, &topic);
        } else if (topic.repair) {
            node_repair_on_silence(self, now_us, &topic, STATUS_DEADLINE);
        } else if (item != NULL) {
            fail(self, now_us, item, STATUS_DEADLINE);
        }
    }
}
