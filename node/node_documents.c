#include "base/heap.h"
#include "base/number.h"
#include "node/node_private.h"
#include "proto/intake.h"
#include "proto/signed_document.h"

#include <string.h>

static void refuse_document(struct node *self, uint64_t now_us, enum status status)
{
    node_count(self, NODE_documents_refused_total);
    log_limited(&self->bad_document_limit, now_us, LOG_WARN, "refused a document: %s; %s",
                status_code(status), status_meaning(status));
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

    if (self->recovering || self->failed) {
        return; /* It can't be logged now, and comes again. */
    }
    status = intake_take(&self->documents, &self->config.key, bytes, &intake);

    if (status != STATUS_OK) {
        refuse_document(self, now_us, status);
    } else if (intake.changed && intake.kind == DOCUMENT_FILTER) {
        node_count(self, NODE_documents_taken_total);
        self->sync_unchosen = true;
        node_apply(self, intake.entry);
    } else if (intake.changed && self->storage != NULL) {
        /* To know the peers when no coordinator answers; without it they are learned anew. */
        (void)keep_document(self, bytes);
    }
}

static void release(struct node *self, struct hosted_filter *hosted)
{
    if (hosted->set != NULL) {
        self->memory_used_bytes -= hosted->set->bytes;
        replica_set_destroy(&hosted->set);
    }
    self->counters[NODE_memory_used_bytes] = self->memory_used_bytes;
}

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

static void say_no_room(const struct node *self, const struct filter_document *document,
                        enum status status)
{
    char used[NUMBER_TEXT_BYTES];
    char limit[NUMBER_TEXT_BYTES];

    log_line(LOG_ERROR,
             "cannot hold filter %s: %s; %s of memory_limit %s are in use; raise memory_limit or "
             "drop filters",
             document->content.name, status_meaning(status),
             number_show_bytes(self->memory_used_bytes, used),
             number_show_bytes(self->config.memory_limit_bytes, limit));
}

static void host(struct node *self, struct hosted_filter *hosted,
                 const struct filter_document *document)
{
    uint64_t limit = self->config.memory_limit_bytes;
    uint64_t room = limit > self->memory_used_bytes ? limit - self->memory_used_bytes : 0;
    enum status status = replica_set_create(document, self->id, self->incarnation, room,
                                            &hosted->set);

    if (status != STATUS_OK) {
        if (!hosted->refused) {
            say_no_room(self, document, status);
        }
        hosted->refused = true;
        return;
    }
    hosted->refused = false;
    if (hosted->set != NULL) {
        hosted->hosting = ++self->hostings;
        hosted->set->loaded = self->storage == NULL || !storage_has(self->storage, document->id);
        hosted->set->doubted = hosted->doubted;
        self->memory_used_bytes += hosted->set->bytes;
        self->building = true;
    }
    self->counters[NODE_memory_used_bytes] = self->memory_used_bytes;
}

/* The document, or this node's incarnation, may have changed. */
static void follow(struct node *self, struct hosted_filter *hosted,
                   const struct filter_document *document)
{
    if (hosted->set != NULL) {
        uint64_t held = hosted->set->bytes;
        bool goes_on = replica_set_follow(hosted->set, document, self->id, self->incarnation);

        self->memory_used_bytes -= held - hosted->set->bytes;
        if (hosted->set->bytes != held) {
            hosted->hosting = ++self->hostings; /* What was begun of the arrays is void. */
            if (self->storage != NULL && document->keylog == KEYLOG_OFF) {
                node_forget_batches(self); /* Their bits may go from the next snapshot on. */
            }
        }
        if (!goes_on) {
            release(self, hosted);
        }
        self->counters[NODE_memory_used_bytes] = self->memory_used_bytes;
    }
    if (hosted->set == NULL && suits(hosted, document, self->storage != NULL)) {
        host(self, hosted, document);
    }
}

void node_apply(struct node *self, struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct hosted_filter *hosted = entry->attachment;
    uint64_t fenced;

    if (hosted == NULL) {
        hosted = heap_zalloc(1, sizeof *hosted);
        if (hosted == NULL) {
            return; /* Without it requests are NOT_READY; the next sync tries again. */
        }
        entry->attachment = hosted;
        hosted->unlogged = self->storage != NULL;
        node_doubt_hosted(self, hosted);
    }
    fenced = hosted->fence.epoch;
    fence_raise(&hosted->fence, document);
    self->changed = self->changed || hosted->fence.epoch != fenced;
    if (self->storage != NULL && (hosted->unlogged || hosted->fence.epoch != fenced)) {
        node_log_document(self, entry);
    } else if (self->storage != NULL && hosted->logged_revision != document->revision &&
               keep_document(self, span_of(entry->signed_bytes, entry->signed_size))) {
        hosted->logged_revision = document->revision;
    }
    if (document->content.state != FILTER_ACTIVE) {
        release(self, hosted);
    } else if (self->id != 0) {
        follow(self, hosted, document);
    }
    node_exchange_stir(self);
    node_growth_stir(self);
}

void node_apply_all(struct node *self)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        node_apply(self, self->documents.by_id[i]);
    }
}

bool node_build(struct node *self, uint64_t slice_bytes)
{
    bool more = false;
    bool loading = false;

    if (!self->building) {
        return false;
    }
    for (size_t i = 0; i < self->documents.count && !more; i++) {
        struct document_entry *entry = self->documents.by_id[i];
        struct hosted_filter *hosted = entry->attachment;

        if (hosted == NULL || hosted->set == NULL) {
            continue;
        }
        more = replica_set_build(hosted->set, slice_bytes);
        if (!more && !hosted->set->loaded) {
            loading = true;
            (void)node_replay_begin(self, entry);
        }
    }
    self->building = more || (loading && !self->replay.active);
    return more;
}
