/* Asking other nodes for what is lacking here, and taking it over. */
#include "base/heap.h"
#include "node/node_exchange.h"

#include <inttypes.h>
#include <string.h>

enum { ANSWER_BYTES = (1 << 20) + (1 << 16), HEADERS_BYTES = 1 << 18, RECORD_KEYS = 8192 };

/* ---- who is meant ---- */

static struct pull_item *item_of(struct node *self, const struct peer_topic *topic,
                                 struct document_entry **out)
{
    struct document_entry *entry = document_cache_find(&self->documents, topic->filter_id);
    const struct hosted_filter *hosted;

    if (entry == NULL) {
        return NULL;
    }
    node_pull_follow(self, entry);
    hosted = entry->attachment;
    if (hosted == NULL || hosted->pulls == NULL || hosted->pulls->serial != topic->serial ||
        topic->item >= hosted->pulls->count) {
        return NULL; /* An answer to what is not wanted any more. */
    }
    *out = entry;
    return &hosted->pulls->items[topic->item];
}

static void fail(struct node *self, uint64_t now_us, struct pull_item *item, enum status status)
{
    uint32_t repairs = item->pull.repairs;

    node_count(self, NODE_pull_failures_total);
    log_limited(&self->pull_limit, now_us, LOG_DEBUG,
                "node %u, filter %016" PRIx64 ", group %u: no answer of use: %s",
                item->pull.source.node, item->pull.scope.filter_id, item->pull.scope.group,
                status_code(status));
    pull_failed(&item->pull, now_us, status);
    self->counters[NODE_gossip_copies_total] += item->pull.repairs - repairs;
}

/* ---- taking over ---- */

/* A key of another slot group would be looked for elsewhere: whoever sends one is not to be
 * trusted with the rest. */
static bool belong(const struct filter_document *document, const struct pull_reply *reply)
{
    const uint16_t *group_of_shard = document->content.group_of_shard;
    bool all = true;

    for (size_t i = 0; i < reply->count; i++) {
        uint64_t shard = lines_shard_index(document->content.shard_bits, reply->fingerprints[i]);

        all &= group_of_shard[shard] == reply->scope.group;
    }
    return all;
}

static void count_keys(struct node *self, const struct pull *pull, uint64_t count)
{
    enum node_counter counter = pull->purpose == PULL_SYNC        ? NODE_sync_keys_total
                                : pull->phase == PULL_PHASE_FETCH ? NODE_gossip_keys_missed_total
                                                                  : NODE_gossip_keys_copied_total;

    self->counters[counter] += count;
}

/* Keys without the number of their batch may be those of an add that is still on its way here, and
 * whose "present" would be its own doing. */
static void doubt(struct node *self, uint64_t now_us)
{
    self->exchange->doubt_until_us = now_us + self->config.retry_memory_us;
}

bool node_pull_doubts(const struct node *self, uint64_t now_us)
{
    return self->exchange != NULL && now_us < self->exchange->doubt_until_us;
}

static enum status absorb(struct node *self, uint64_t now_us, struct document_entry *entry,
                          const struct pull *pull, struct record_batch *batch)
{
    enum status status;

    batch->filter_id = pull->scope.filter_id;
    if (batch->count == 0) {
        return STATUS_OK;
    }
    status = node_absorb(self, entry, batch);
    if (status == STATUS_OK) {
        count_keys(self, pull, batch->count);
        if (!node_batch_named(batch)) {
            doubt(self, now_us);
        }
    }
    return status;
}

/* Take as much as the log accepts now; what is left is cut off the answer, and asked for again. */
static enum status absorb_runs(struct node *self, uint64_t now_us, struct document_entry *entry,
                               const struct pull *pull, struct pull_reply *reply)
{
    enum status status = STATUS_OK;
    size_t done = 0;

    while (done < reply->count && status == STATUS_OK) {
        size_t left = reply->count - done;
        struct record_batch batch = {
            .epoch = pull->scope.epoch,
            .group = pull->scope.group,
            .ntargets = 1,
            .targets = {{.slice = pull->scope.slice, .lineage = pull->scope.lineage}},
            .count = (uint32_t)(left < RECORD_KEYS ? left : RECORD_KEYS),
            .fingerprints = reply->fingerprints + done,
        };

        status = absorb(self, now_us, entry, pull, &batch);
        done += status == STATUS_OK ? batch.count : 0;
    }
    if (done > 0 && status != STATUS_OK) {
        reply->next = reply->fingerprints[done];
        reply->end = false;
    }
    return done > 0 ? STATUS_OK : status;
}

static enum status absorb_batches(struct node *self, uint64_t now_us, struct document_entry *entry,
                                  const struct pull *pull, struct pull_reply *reply)
{
    const uint64_t *fingerprints = reply->fingerprints;

    for (size_t i = 0; i < reply->nbatches; i++) {
        struct record_batch batch = {
            .epoch = reply->batches[i].epoch,
            .group = pull->scope.group,
            .ntargets = 1,
            .targets = {{.slice = pull->scope.slice, .lineage = pull->scope.lineage}},
            .batch_boot = reply->batches[i].boot,
            .batch_number = reply->batches[i].number,
            .origin_zone = (uint16_t)reply->batches[i].origin_zone,
            .count = reply->batches[i].count,
            .fingerprints = fingerprints,
        };
        enum status status = node_has_batch(self, entry, &batch)
                                 ? STATUS_OK
                                 : absorb(self, now_us, entry, pull, &batch);

        if (status != STATUS_OK) {
            reply->next = reply->batches[i].offset;
            reply->end = false;
            return reply->next > reply->from ? STATUS_OK : status;
        }
        fingerprints += batch.count;
    }
    return STATUS_OK;
}

static enum status take(struct node *self, uint64_t now_us, struct document_entry *entry,
                        struct pull_item *item, const struct pull_reply *reply)
{
    struct pull *pull = &item->pull;
    struct pull_reply taken = *reply;
    enum status status;

    if (reply->kind == PULL_HEADERS) {
        return pull_take_headers(pull, now_us, reply, self->exchange->have);
    }
    if (!belong(&entry->document, reply)) {
        node_count(self, NODE_pull_mismatches_total);
        return STATUS_SHAPE;
    }
    status = reply->kind == PULL_RUNS ? absorb_runs(self, now_us, entry, pull, &taken)
                                      : absorb_batches(self, now_us, entry, pull, &taken);
    if (status == STATUS_OK) {
        /* What was skipped, being here already, lies below the end too. */
        pull_take(pull, now_us, &taken, storage_end(self->storage));
        if (taken.next != reply->next) {
            pull_pause(pull, now_us);
        }
    }
    return status;
}

/* ---- answers ---- */

/* The source is behind: give it what it lacks. */
static void hand_on(struct node *self, uint32_t link, const struct document_entry *entry)
{
    const struct span document = span_of(entry->signed_bytes, entry->signed_size);
    const struct frame frame = {.kind = FRAME_DOCUMENTS,
                                .body.documents = {.items = &document, .count = 1}};
    struct span bytes;

    if (codec_encode_out(&frame, &self->effects, &self->out, &bytes) == STATUS_OK &&
        self->effects.send(self->effects.context, link, bytes) == STATUS_OK) {
        self->counters[NODE_gossip_bytes_out_total] += bytes.size;
    }
}

static void say_shorter(struct node *self, uint64_t now_us, const struct pull_reply *reply)
{
    log_limited(&self->bad_frame_limit, now_us, LOG_ERROR,
                "node %u says that its log ends below what this node has taken over from there: it "
                "has lost acknowledged data; restart it as a new incarnation",
                reply->source.node);
}

void node_pull_on_reply(struct node *self, uint64_t now_us, uint32_t link, uint64_t correlation,
                        const struct pull_reply *reply)
{
    struct document_entry *entry = NULL;
    struct peer_topic topic;
    struct pull_item *item;
    enum status status;

    if (!node_peers_answered(&self->exchange->peers, link, correlation, &topic)) {
        return;
    }
    self->exchange->stirred = true;
    item = item_of(self, &topic, &entry);
    if (item == NULL) {
        return;
    }
    status = pull_judge(&item->pull, reply);
    if (status != STATUS_OK && reply->status == STATUS_OK) {
        node_count(self, NODE_pull_mismatches_total);
    }
    if (status == STATUS_OK) {
        status = take(self, now_us, entry, item, reply);
    }
    if (status == STATUS_OK) {
        return;
    }
    fail(self, now_us, item, status);
    if (reply->status == STATUS_CONFLICT) {
        say_shorter(self, now_us, reply);
    } else if (reply->status == STATUS_NEED_DOC) {
        hand_on(self, link, entry);
    } else if (reply->document.size > 0) {
        node_take_document(self, now_us, reply->document);
    }
}

void node_pull_on_error(struct node *self, uint64_t now_us, uint32_t link, uint64_t correlation)
{
    struct document_entry *entry = NULL;
    struct peer_topic topic;
    struct pull_item *item;

    if (node_peers_answered(&self->exchange->peers, link, correlation, &topic)) {
        item = item_of(self, &topic, &entry);
        if (item != NULL) {
            fail(self, now_us, item, STATUS_INVALID);
        }
    }
}

/* ---- cursors ---- */

static void record_cursor(struct node *self, struct pull *pull)
{
    struct record_cursor cursor = {
        .filter_id = pull->scope.filter_id,
        .group = pull->scope.group,
        .lineage = pull->scope.lineage,
        .slice = pull->scope.slice,
        .source = pull->source.node,
        .source_incarnation = pull->source.incarnation,
        .offset = pull->cursor,
        .epoch = pull->purpose == PULL_SYNC ? pull->scope.epoch : 0,
    };
    uint64_t end;

#ifdef ORBLOOM_MUTANT_CURSOR_BEFORE_DATA
    cursor.offset = pull->purpose == PULL_SYNC ? pull->through : pull->page_next;
#endif
    if (storage_put_cursor(self->storage, &cursor, &end) != STATUS_OK) {
        return; /* Tried again with the next page or answer. */
    }
    pull_cursor_recorded(pull);
    if (node_cursors_put(&self->exchange->cursors, &cursor) != STATUS_OK) {
        log_line(LOG_WARN,
                 "out of memory for a cursor: a restart takes over more than it needs to");
    }
}

enum status node_pull_checkpoint(struct node *self)
{
    enum status status = STATUS_OK;
    uint64_t end;

    for (size_t i = 0; self->exchange != NULL && i < self->exchange->cursors.count; i++) {
        status = storage_put_cursor(self->storage, &self->exchange->cursors.items[i], &end);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return status;
}

void node_pull_found(struct node *self, struct span record)
{
    struct record_cursor cursor;

    if (record_cursor_get(record, &cursor) != STATUS_OK ||
        node_cursors_put(&self->exchange->cursors, &cursor) != STATUS_OK) {
        log_line(LOG_WARN, "a cursor can't be kept: this start takes over more than it needs to");
    }
}

/* ---- how complete a joining group is ---- */

static bool same_group(const struct pull_item *a, const struct pull_item *b)
{
    return a->pull.scope.group == b->pull.scope.group;
}

/* The sources of one group, whose items are next to each other: what the least of each source's
 * lineages has come to. Returns how many items there are. */
static uint32_t gather(const struct pull_item *items, uint32_t count,
                       double progress[QUORUM_MAX_REPLICAS], bool complete[QUORUM_MAX_REPLICAS])
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < QUORUM_MAX_REPLICAS; i++) {
        progress[i] = -1;
        complete[i] = false;
    }
    for (; used < count && same_group(&items[0], &items[used]); used++) {
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

static uint32_t judge_group(struct hosted_filter *hosted, uint32_t at)
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
        group->complete = sources >= items[0].needed ? hosted->pulls->epoch : 0;
        group->copied = group->complete != 0 ? 1 : best_of(progress, items[0].needed);
    }
    return used;
}

/* ---- asking ---- */

/* What several sources have is fetched from one after the other, and so only once. */
static bool others_fetch(const struct filter_pulls *pulls, uint32_t index)
{
    const struct pull_item *item = &pulls->items[index];
    bool fetching = false;

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

    if (item->pull.purpose != PULL_SYNC) {
        return item->pull.phase != PULL_PHASE_FETCH || !others_fetch(pulls, index);
    }
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

static void ask(struct node *self, uint64_t now_us, const struct filter_pulls *pulls,
                struct pull_item *item)
{
    struct exchange *exchange = self->exchange;
    struct pull *pull = &item->pull;
    struct frame frame = {.kind = FRAME_PULL_REQUEST};
    const struct peer_topic topic = {.filter_id = pull->scope.filter_id,
                                     .serial = pulls->serial,
                                     .item = (uint32_t)(item - pulls->items)};
    enum status status;
    uint64_t bytes;
    size_t sent = 0;

    pull_trim(pull, exchange->have);
    pull_question(pull, &frame.body.pull_request);
    bytes = frame.body.pull_request.kind == PULL_HEADERS ? HEADERS_BYTES : ANSWER_BYTES;
    if (!node_peers_idle(&exchange->peers, pull->source.node, pull->purpose, bytes)) {
        return; /* The answer that is under way stirs. */
    }
    status = node_peers_ask(&exchange->peers, &self->effects, now_us, &self->documents.nodes,
                            pull->source.node, pull->purpose, bytes, &topic, &frame, &self->out,
                            &sent);
    if (status == STATUS_OK) {
        pull_asked(pull);
        self->counters[NODE_gossip_bytes_out_total] += sent;
    } else {
        fail(self, now_us, item, status);
    }
}

static void pump_item(struct node *self, uint64_t now_us, const struct document_entry *entry,
                      struct filter_pulls *pulls, uint32_t index)
{
    struct pull_item *item = &pulls->items[index];
    uint64_t due_us;

    if (pull_cursor_due(&item->pull, node_log_durable(self, &entry->document))) {
        record_cursor(self, &item->pull);
    } else if (pull_cursor_due(&item->pull, UINT64_MAX)) {
        self->exchange->awaits_log = true;
    }
    if (!has_turn(pulls, index)) {
        return;
    }
    if (pull_due_us(&item->pull) <= now_us) {
        ask(self, now_us, pulls, item);
    }
    due_us = pull_due_us(&item->pull);
    if (due_us > now_us && due_us < self->exchange->due_us) {
        self->exchange->due_us = due_us;
    }
}

static void pump_filter(struct node *self, uint64_t now_us, struct document_entry *entry)
{
    struct hosted_filter *hosted;
    struct filter_pulls *pulls;

    node_pull_follow(self, entry);
    hosted = entry->attachment;
    pulls = hosted != NULL ? hosted->pulls : NULL;
    for (uint32_t i = 0; pulls != NULL && i < pulls->count; i++) {
        pump_item(self, now_us, entry, pulls, (self->exchange->turn + i) % pulls->count);
    }
    for (uint32_t i = 0; pulls != NULL && i < pulls->count;) {
        i += judge_group(hosted, i);
    }
}

void node_pull_pump(struct node *self, uint64_t now_us)
{
    struct exchange *exchange = self->exchange;
    struct document_entry *entry = NULL;
    struct peer_topic topic;
    uint64_t peers_us;

    exchange->stirred = false;
    exchange->awaits_log = false;
    exchange->due_us = ACTOR_NEVER;
    while (node_peers_expired(&exchange->peers, now_us, &topic)) {
        struct pull_item *item = item_of(self, &topic, &entry);

        if (item != NULL) {
            fail(self, now_us, item, STATUS_DEADLINE);
        }
    }
    node_peers_close_idle(&exchange->peers, &self->effects, now_us);
    exchange->turn++;
    for (size_t i = 0; i < self->documents.count; i++) {
        pump_filter(self, now_us,
                    self->documents.by_id[(exchange->turn + i) % self->documents.count]);
    }
    peers_us = node_peers_next_us(&exchange->peers);
    exchange->due_us = peers_us < exchange->due_us ? peers_us : exchange->due_us;
}
