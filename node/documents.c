/* What a node does with a newer document: into the log first, then into its replicas, whose
 * arrays are read back step by step. */
#include "base/heap.h"
#include "node/private.h"
#include "proto/intake.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <string.h>

/* ---- filters that are dropped for good: the record of them takes the place of their documents and
 * fences, here as in the store ---- */

void node_hosted_destroy(struct hosted_filter *hosted)
{
    if (hosted != NULL) {
        node_pull_drop(hosted);
        node_sets_destroy(hosted);
        heap_free(hosted);
    }
}

bool node_dropped_durable(const struct node *self)
{
    return self->storage == NULL ||
           (!self->dropped_unlogged && storage_synced(self->storage) >= self->dropped_end);
}

static void log_record(struct node *self)
{
    const struct document_cache *documents = &self->documents;

    self->dropped_unlogged = storage_put_document(
                                 self->storage,
                                 span_of(documents->dropped_bytes, documents->dropped_size),
                                 &self->dropped_end) != STATUS_OK;
    self->counters[NODE_no_space_total] += self->dropped_unlogged;
}

/* A newer record of dropped filters is held: log it, give up what is hosted of those. */
static void take_dropped(struct node *self)
{
    if (self->storage != NULL) {
        log_record(self);
    }
    for (size_t i = 0; i < self->documents.count; i++) {
        struct document_entry *entry = self->documents.by_id[i];

        if (entry->gone && entry->attachment != NULL) {
            node_sets_release(self, entry->attachment);
            node_exchange_look(self->exchange,
                               entry->document.id); /* Nothing of it is pulled any more. */
        }
    }
    self->sync_unchosen = true;
    node_expansion_stir(self);
}

/* What is still read of it, or built, ends first. */
static bool is_in_use(const struct node *self, uint64_t filter_id)
{
    return (self->replay.active && self->replay.filter_id == filter_id) ||
           (self->expansion.phase != EXPANSION_REST && self->expansion.filter_id == filter_id) ||
           node_serves(self->exchange, filter_id);
}

static bool let_go(void *context, struct document_entry *entry)
{
    struct node *self = context;

    if (is_in_use(self, entry->document.id)) {
        return false;
    }
    site_cursors_forget(&self->site_cursors, entry->document.id);
    node_hosted_destroy(entry->attachment);
    return true;
}

/* The fence goes with the document. So at any moment the log has the one or the other: the record
 * is in it, or, if the power fails before, what lies below it. */
void node_forget_dropped(struct node *self)
{
    if (self->dropped_unlogged && self->storage != NULL) {
        log_record(self);
    }
    if (!self->dropped_unlogged) {
        document_cache_sweep(&self->documents, let_go, self);
    }
}

/* ---- a document is taken ---- */

static void refuse_document(struct node *self, uint64_t now_us, enum status status)
{
    node_count(self, NODE_documents_refused_total);
    log_limited(&self->bad_document_limit, now_us, LOG_WARN, "refused a document: %s; %s%s",
                status_code(status), status_meaning(status), codec_document_remedy(status));
}

/* What nothing waits for: the next checkpoint has it too. */
static bool keep_document(struct node *self, struct span bytes)
{
    uint64_t end;
    bool kept = storage_put_document(self->storage, bytes, &end) == STATUS_OK;

    self->counters[NODE_no_space_total] += !kept;
    return kept;
}

void node_take_document(struct node *self, uint64_t now_us, struct span bytes)
{
    struct intake intake;
    enum status status;

    if (self->life.recovering || self->life.failed) {
        return; /* It can't be logged now, and comes again. */
    }
    status = intake_take(&self->documents, &self->config.key, bytes, &intake);

    if (status != STATUS_OK) {
        refuse_document(self, now_us, status);
    } else if (intake.changed && intake.kind == DOCUMENT_FILTER) {
        node_count(self, NODE_documents_taken_total);
        self->sync_unchosen = true;
        node_apply(self, intake.entry);
    } else if (intake.changed && intake.kind == DOCUMENT_DROPPED) {
        take_dropped(self);
    } else if (intake.changed && self->storage != NULL) {
        /* To know peers and users when no coordinator answers; without it they are learned anew. */
        (void)keep_document(self, bytes);
    }
}

/* ---- applied: fences, sets of arrays ---- */

/* Whether the log is what the filter asks for; says so once if not. */
static bool suits(struct hosted_filter *hosted, const struct filter_document *document,
                  bool has_log)
{
    bool wants_log = document->durability != DURABILITY_MEMORY;

    if (wants_log != has_log && !hosted->refused) {
        log_line(LOG_ERROR, "cannot hold filter %s: its durability is %s, and this node %s",
                 document->content.name, durability_name(document->durability),
                 has_log ? "keeps a log, which such filters are not in; use nodes without data_dir"
                         : "keeps everything in memory; give it a data_dir");
    }
    hosted->refused = hosted->refused || wants_log != has_log;
    return wants_log == has_log;
}

static bool is_hosted(const struct hosted_filter *hosted, uint32_t group)
{
    return hosted->set != NULL && arrays_hosts(hosted->set, group);
}

/* Told once; at a start what the log has was told before. */
static void tell_losses(struct node *self, struct hosted_filter *hosted,
                        const struct filter_document *document)
{
    uint64_t told = hosted->loss_epoch;

    for (uint32_t i = 0; i < document->content.ngroups; i++) {
        uint64_t epoch = document->content.groups[i].loss_epoch;

        if (epoch <= told || !is_hosted(hosted, i)) {
            continue;
        }
        hosted->loss_epoch = epoch > hosted->loss_epoch ? epoch : hosted->loss_epoch;
        if (!self->life.recovering) {
            node_count(self, NODE_losses_accepted_total);
            log_line(LOG_WARN,
                     "filter %s, slot group %" PRIu32 ": an operator has given up replicas that "
                     "are gone (epoch %" PRIu64 "); what only they had is lost",
                     document->content.name, i, epoch);
        }
    }
}

void node_apply(struct node *self, struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct hosted_filter *hosted = entry->attachment;
    uint64_t fenced;

    if (entry->gone) {
        return; /* The record says it all, and its fence stays what it is until it is forgotten. */
    }
    if (hosted == NULL) {
        hosted = heap_zalloc(1, sizeof *hosted);
        if (hosted == NULL) {
            return; /* Without it requests are NOT_READY; the next sync tries again. */
        }
        entry->attachment = hosted;
        /* Nothing is answered before the log has document and fence. */
        hosted->unlogged = self->storage != NULL;
        node_doubt_hosted(self->exchange, hosted);
    }
    fenced = hosted->fence.epoch;
    fence_raise(&hosted->fence, document);
    if (hosted->fence.epoch != fenced) {
        node_report_news(self, document->id);
    }
    if (self->storage != NULL && (hosted->unlogged || hosted->fence.epoch != fenced)) {
        node_log_document(self, entry);
    } else if (self->storage != NULL && hosted->logged_revision != document->revision &&
               keep_document(self, span_of(entry->signed_bytes, entry->signed_size))) {
        hosted->logged_revision = document->revision;
    }
    if (document->content.state != FILTER_ACTIVE) {
        node_sets_release(self, hosted);
    } else if (self->life.id != 0) {
        node_sets_follow(self, hosted, document, suits(hosted, document, self->storage != NULL));
        tell_losses(self, hosted, document);
    }
    node_exchange_look(self->exchange, document->id);
    node_expansion_stir(self);
}

void node_apply_all(struct node *self)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        node_apply(self, self->documents.by_id[i]);
    }
}

/* ---- arrays built, and filled from the log ---- */

/* Of a chain the older generations first: what they have need not go into the newer ones again. */
static void begin_replay(struct node *self, struct document_entry *entry, struct arrays *set)
{
    bool waits = false;

    for (const struct arrays *older = set->next; set->chained && older != NULL;
         older = older->next) {
        waits = waits || (older->read && !arrays_ready(older));
    }
    if (!waits) {
        (void)node_replay_begin(self, entry, set);
    }
}

/* True: a set of the filter is still to be built. */
static bool build(struct node *self, struct document_entry *entry, uint64_t slice_bytes,
                  bool *loading)
{
    struct hosted_filter *hosted = entry->attachment;
    bool more = false;
    bool loads = false;

    if (hosted == NULL || !hosted->unbuilt) {
        return false;
    }
    for (struct arrays *set = hosted->set; set != NULL && !more; set = set->next) {
        if (node_replay_builds(self, entry, set)) {
            loads = true;
            continue;
        }
        more = arrays_build(set, &entry->document, slice_bytes);
        if (!more && !set->loaded) {
            loads = true;
            if (!set->runs_read) {
                begin_replay(self, entry, set);
            }
        }
    }
    *loading = *loading || loads;
    if (!more && !loads) {
        hosted->unbuilt = false;
        node_report_news(self, entry->document.id); /* Its replicas are ready. */
        node_exchange_look(self->exchange, entry->document.id);
    }
    return more;
}

bool node_build(struct node *self, uint64_t slice_bytes)
{
    bool more = false;
    bool loading = false;

    if (!self->building) {
        return false;
    }
    for (size_t i = 0; i < self->documents.count && !more; i++) {
        more = build(self, self->documents.by_id[i], slice_bytes, &loading);
    }
    if (!more && loading && !self->replay.active) {
        /* Once for all sets whose runs were read: the log is the same one. */
        node_replay_begin_rest(self);
    }
    self->building = more || (loading && !self->replay.active);
    return more;
}
