/* What the node's log tells when it is read back, and who this node is. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/private.h"
#include "node/pull/live_sets.h"
#include "proto/intake.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- what was found ---- */

/* The newest of each comes last; older ones are ignored, and so is what can't be read: the
 * cluster has it. */
static enum status found_document(struct node *self, struct span record)
{
    struct span bytes;
    struct intake intake;
    enum status status = record_document_get(record, &bytes);

    if (status == STATUS_OK) {
        status = intake_take(&self->documents, &self->config.key, bytes, &intake);
    }
    if (status == STATUS_UNAUTHENTIC) {
        return former_note(&self->former, bytes);
    }
    if (status == STATUS_NOMEM) {
        return status;
    }
    if (status == STATUS_VERSION && self->counters[NODE_documents_refused_total] == 0) {
        log_line(LOG_WARN, "the log has a document that is not taken: %s%s", status_meaning(status),
                 codec_document_remedy(status));
    }
    self->counters[NODE_documents_refused_total] += status != STATUS_OK;
    return STATUS_OK;
}

/* A fence that is forgotten would go back. */
static enum status found_fence(struct node *self, struct span record)
{
    struct record_fence fence;
    struct document_entry *entry;
    struct hosted_filter *hosted;

    if (record_fence_get(record, &fence) != STATUS_OK) {
        return STATUS_OK;
    }
    entry = document_cache_find(&self->documents, fence.filter_id);
    if (entry == NULL) {
        return STATUS_OK; /* Without its document nothing is served. */
    }
    if (entry->attachment == NULL) {
        entry->attachment = heap_zalloc(1, sizeof *hosted);
    }
    hosted = entry->attachment;
    if (hosted == NULL) {
        return STATUS_NOMEM;
    }
    /* A fence only ever rises. */
    if (fence.epoch > hosted->fence.epoch) {
        hosted->fence.epoch = fence.epoch;
    }
    return STATUS_OK;
}

static enum status on_found(void *context, enum record_type type, struct span record)
{
    struct node *self = context;

    if (type == RECORD_DOCUMENT) {
        return found_document(self, record);
    }
    if (type == RECORD_FENCE) {
        return found_fence(self, record);
    }
    if (type == RECORD_CURSOR) {
        node_pull_found(self->exchange, record);
    } else if (type == RECORD_SITE_CURSOR) {
        node_site_cursor_found(self, record);
    } else if (type == RECORD_PEER) {
        node_remember_found(self->exchange, record);
    }
    return STATUS_OK;
}

/* What was accepted before lies below where this boot begins. */
static void place_fences(struct node *self)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        const struct document_entry *entry = self->documents.by_id[i];
        struct hosted_filter *hosted = entry->attachment;

        if (hosted != NULL) {
            hosted->fence_end = storage_synced(self->storage);
            hosted->logged_revision = entry->document.revision;
        }
    }
    self->dropped_end = storage_synced(self->storage);
}

/* ---- who this node is ---- */

static uint64_t draw(struct node *self)
{
    return self->effects.random(self->effects.context) | 1; /* 0 means "any" or "none" */
}

static void put_former(struct record_identity *identity, const struct record_identity *last,
                       uint32_t at)
{
    uint32_t room = identity->nbefore + identity->nformer;

    if (room < RECORD_MAX_BOOTS) {
        identity->before[room] = last->before[at];
        identity->ends[room] = last->ends[at];
        identity->nformer++;
    }
}

/* The store names one of the boots that came before: the last one that it confirmed, or one that
 * asked it to and did not live to hear the answer. Those before are remembered for other sites,
 * which may know how far one of them was. */
static void follow_boots(const struct record_identity *last, uint64_t end,
                         struct record_identity *identity)
{
    identity->nbefore = identity->nformer = 0;
    if (!last->confirmed) {
        identity->nbefore = last->nbefore < RECORD_MAX_BOOTS ? last->nbefore : RECORD_MAX_BOOTS - 1;
        memcpy(identity->before, last->before, identity->nbefore * sizeof *last->before);
        memcpy(identity->ends, last->ends, identity->nbefore * sizeof *last->ends);
    }
    identity->ends[identity->nbefore] = end;
    identity->before[identity->nbefore++] = last->boot;
    for (uint32_t i = last->confirmed ? last->nbefore : 0; i > 0; i--) {
        put_former(identity, last, i - 1);
    }
    for (uint32_t i = 0; i < last->nformer; i++) {
        put_former(identity, last, last->nbefore + i);
    }
}

/* None comes before the first boot of an incarnation, and only that boot may say so: an
 * incarnation that had its place once would come back from any copy else. One that was started
 * again before the store had heard of it is given up for another; it has acknowledged nothing. */
static void begin_incarnation(struct node *self)
{
    self->life.identity.incarnation = draw(self);
    self->life.identity.nbefore = self->life.identity.nformer = 0;
    node_pull_forget(self->exchange);
    node_site_cursors_forget(self);
}

static void show_incarnation(struct node *self)
{
    self->life.incarnation = self->life.identity.incarnation;
    self->counters[NODE_incarnation] = self->life.incarnation;
}

static void on_recovered(void *context, uint64_t now_us, enum status status, enum amnesia amnesia,
                         const struct record_identity *last)
{
    struct node *self = context;

    assert(self->life.recovering && !self->life.confirmed); /* Nobody was answered yet. */
    status = status == STATUS_OK ? former_judge(&self->former, &self->documents) : status;
    if (status != STATUS_OK) {
        node_fail(self, "the log can't be read back", status);
        return;
    }
    self->life.identity = (struct record_identity){
        .incarnation = last->incarnation,
        .boot = draw(self),
        .kernel_boot = self->config.kernel_boot,
        .node = last->node,
    };
    if (MUTANT(AMNESIA_UNNOTICED) && amnesia != AMNESIA_EMPTY) {
        amnesia = AMNESIA_NONE;
    }
    if (amnesia == AMNESIA_NONE) {
        follow_boots(last, storage_found_end(self->storage), &self->life.identity);
        log_line(LOG_INFO, "goes on as incarnation %016" PRIx64, last->incarnation);
    } else {
        begin_incarnation(self);
        self->counters[NODE_amnesia_total] += amnesia != AMNESIA_EMPTY;
        log_line(amnesia == AMNESIA_EMPTY ? LOG_INFO : LOG_WARN,
                 "begins incarnation %016" PRIx64 ": %s", self->life.identity.incarnation,
                 amnesia_meaning(amnesia));
    }
    self->life.id = self->life.identity.node;
    self->cluster = *storage_cluster(self->storage);
    show_incarnation(self);
    status = storage_begin(self->storage, &self->life.identity);
    if (status != STATUS_OK) {
        node_fail(self, "the log can't be begun", status);
        return;
    }
    place_fences(self);
    if (amnesia == AMNESIA_NONE) {
        node_doubt(self->exchange);
    }
    self->life.identity_end = storage_end(self->storage);
    self->life.recovering = false;
    self->sync_unchosen = true;
    self->next_sync_us = now_us;
    node_apply_all(self);
}

void node_begin_incarnation(struct node *self, uint64_t now_us, enum amnesia amnesia)
{
    if (self->storage == NULL || self->life.recovering || self->life.failed) {
        return;
    }
    begin_incarnation(self);
    self->life.identity.boot = draw(self);
    self->life.identity.confirmed = false;
    self->life.confirmed = false;
    self->boot_try = 0;
    self->replaces = (struct boot_life){0};
    self->claims = 0;
    node_doubt_none(self->exchange);
    node_count(self, NODE_amnesia_total);
    show_incarnation(self);
    log_line(LOG_WARN, "begins incarnation %016" PRIx64 ": %s", self->life.incarnation,
             amnesia_meaning(amnesia));
    if (storage_identify(self->storage, &self->life.identity) != STATUS_OK) {
        node_fail(self, "a new incarnation can't be logged", STATUS_IO);
        return;
    }
    self->life.identity_end = storage_end(self->storage);
    self->reporting = (struct reporting){0}; /* What the former one told is void. */
    self->next_sync_us = now_us;
    node_apply_all(self);
}

static void claim_again(struct node *self, uint64_t now_us)
{
    self->claims++; /* Answers to the claim before say nothing of this one. */
    self->next_sync_us = now_us;
}

/* A first boot was not told yet which life it replaces, or that has changed. Not if its own
 * incarnation is there already: then a copy of this folder went on. */
static bool learns_what_it_replaces(struct node *self, const struct boot_life *present)
{
    bool begins = !self->life.confirmed && self->life.identity.nbefore == 0;
    bool known = self->replaces.incarnation == present->incarnation &&
                 self->replaces.boot == present->boot;

    if (!begins || known || present->incarnation == 0 ||
        present->incarnation == self->life.incarnation) {
        return false;
    }
    self->replaces = *present;
    return true;
}

void node_on_boot_refused(struct node *self, uint64_t now_us, const struct sync_reply *reply)
{
    if (learns_what_it_replaces(self, &reply->present)) {
        claim_again(self, now_us);
    } else if (self->life.confirmed && (self->life.identity.confirmed ||
                                        self->boot_try + 1 >= self->life.identity.nbefore)) {
        /* Somebody else goes on with a copy of this node's data. Two of one identity must not
         * answer; that one has the store's word. */
        log_line(LOG_ERROR, "%s", reply->message);
        node_fail(self, "another process goes on with this node's data", STATUS_CONFLICT);
    } else if (self->boot_try + 1 < self->life.identity.nbefore) {
        self->boot_try++;
        claim_again(self, now_us);
    } else {
        log_line(LOG_WARN, "%s", reply->message);
        node_begin_incarnation(self, now_us, AMNESIA_BOOT);
        self->replaces = reply->present;
    }
}

void node_confirm(struct node *self, uint32_t id)
{
    bool known = self->life.confirmed && self->life.id == id &&
                 (self->storage == NULL || self->life.identity.confirmed);

    self->life.confirmed = true;
    self->life.id = id;
    if (known) {
        return;
    }
    log_line(LOG_INFO, "registered as node %u, incarnation %016" PRIx64, id,
             self->life.incarnation);
    if (self->storage != NULL) {
        self->life.identity.node = id;
        self->life.identity.confirmed = true;
        if (storage_identify(self->storage, &self->life.identity) != STATUS_OK) {
            node_fail(self, "the node's id can't be logged", STATUS_IO);
        }
    }
}

/* The store hears of it later: it names one of the boots before this one. */
void node_confirm_by_peers(struct node *self, uint32_t count)
{
    self->life.confirmed = true;
    node_count(self, NODE_confirmed_by_peers_total);
    log_line(LOG_WARN,
             "no coordinator answers; %u other nodes, all that share shards with this one, have "
             "confirmed that incarnation %016" PRIx64 " goes on here",
             count, self->life.incarnation);
    node_apply_all(self);
    node_exchange_stir(self->exchange);
}

/* ---- what it asks ---- */

static enum status checkpoint(void *context)
{
    struct node *self = context;
    uint64_t end;
    enum status status = STATUS_OK;

    if (self->documents.nodes_size > 0) {
        status = storage_put_document(
            self->storage, span_of(self->documents.nodes_bytes, self->documents.nodes_size), &end);
    }
    if (self->documents.dropped_size > 0 && status == STATUS_OK) {
        status = storage_put_document(
            self->storage, span_of(self->documents.dropped_bytes, self->documents.dropped_size),
            &end);
    }
    if (self->documents.users_size > 0 && status == STATUS_OK) {
        status = storage_put_document(
            self->storage, span_of(self->documents.users_bytes, self->documents.users_size), &end);
    }
    for (size_t i = 0; i < self->documents.count && status == STATUS_OK; i++) {
        struct document_entry *entry = self->documents.by_id[i];
        const struct hosted_filter *hosted = entry->attachment;
        struct record_fence fence = {.filter_id = entry->document.id,
                                     .epoch_hash = entry->document.epoch_hash};

        if (entry->gone) {
            continue;
        }
        status = storage_put_document(self->storage,
                                      span_of(entry->signed_bytes, entry->signed_size), &end);
        if (status == STATUS_OK && hosted != NULL) {
            fence.epoch = hosted->fence.epoch;
            status = storage_put_fence(self->storage, &fence, &end);
        }
    }
    if (status == STATUS_OK) {
        status = node_site_cursors_checkpoint(self);
    }
    if (status == STATUS_OK) {
        status = node_remember_checkpoint(self->exchange);
    }
    return status == STATUS_OK ? node_pull_checkpoint(self->exchange) : status;
}

/* What is unknown is kept: its document may come. A keyset or slice is needed until a document
 * without it is this node's durable fence: after a restart under the one before, it would answer
 * "absent" for what it has acknowledged. */
static bool is_wanted(void *context, const struct storage_set *set)
{
    const struct node *self = context;
    const struct document_entry *entry = document_cache_find(&self->documents, set->filter_id);
    const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

    /* Were the record lost to a power loss, the document would be served again, without its keys.
     */
    if (document_cache_is_dropped(&self->documents, set->filter_id)) {
        return !node_dropped_durable(self);
    }
    if (hosted == NULL || entry->conflict || hosted->unlogged ||
        hosted->fence_end > storage_synced(self->storage)) {
        return true;
    }
    return entry->document.content.state != FILTER_DROPPED &&
           (entry->document.content.state != FILTER_ACTIVE ||
            live_sets_have(&entry->document, set->keyset, set->slice));
}

static void on_moved(void *context, uint64_t now_us)
{
    struct node *self = context;

    if (self->log_since_us != 0) {
        node_count(self, NODE_log_writes_total);
        self->counters[NODE_log_write_us_total] += now_us - self->log_since_us;
        self->log_since_us = 0;
    }
    node_release_held(self);
    node_replay_moved(self);
    node_exchange_moved(self->exchange);
}

/* Batches that were in what is lost must be fetched again. Its bits are in the arrays as far as it
 * had been read, now or at the start: in those of all slot groups, also of one that went on while
 * another one was read back; and newer generations of a chain left out what it had. No log has
 * them, so while they are there nobody would ever log them: a page that others tell is passed over
 * where its bits are set. So the filter's arrays are made anew, of what the disk still has. */
static void on_damaged(void *context, uint64_t now_us, const struct storage_set *set)
{
    struct node *self = context;
    const struct document_entry *entry = document_cache_find(&self->documents, set->filter_id);

    node_forget_batches(self->exchange);
    if (!MUTANT(SNAPSHOT_KEEPS_BITS) && entry != NULL && entry->attachment != NULL) {
        node_sets_release(self, entry->attachment);
    }
    node_begin_incarnation(self, now_us, AMNESIA_CORRUPT);
}

static void on_failed(void *context, enum status status, const char *what)
{
    node_fail(context, what, status);
}

enum status node_storage_create(struct node *self)
{
    const struct storage_config config = {
        .disk = self->config.disk,
        .effects = &self->effects,
        .cluster = self->config.cluster,
        .kernel_boot = self->config.kernel_boot,
        .segment_bytes = self->config.segment_bytes,
        .retain_bytes = self->config.retain_bytes,
        .retain_us = self->config.retain_us,
        .hold_bytes = self->config.site_retain_bytes,
        .reserve_bytes = self->config.reserve_bytes,
        .imprint_bytes = self->config.imprint_bytes,
        .imprint_eager = self->config.imprint_eager,
        .merge_runs = self->config.merge_runs,
        .steps = &self->steps,
        .context = self,
        .nameless = node_on_nameless,
        .found = on_found,
        .recovered = on_recovered,
        .checkpoint = checkpoint,
        .image = node_image,
        .image_groups = node_image_groups,
        .wanted = is_wanted,
        .moved = on_moved,
        .damaged = on_damaged,
        .failed = on_failed,
    };

    self->life.recovering = true;
    return storage_create(&config, &self->storage);
}
