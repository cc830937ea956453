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

void node_take_document(struct node *self, uint64_t now_us, struct span bytes)
{
    struct intake intake;
    enum status status = intake_take(&self->documents, &self->config.key, bytes, &intake);

    if (status != STATUS_OK) {
        refuse_document(self, now_us, status);
    } else if (intake.changed && intake.kind == DOCUMENT_FILTER) {
        node_count(self, NODE_documents_taken_total);
        node_apply(self, intake.entry);
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
        self->memory_used_bytes += hosted->set->bytes;
        self->building = true;
    }
    self->counters[NODE_memory_used_bytes] = self->memory_used_bytes;
}

void node_apply(struct node *self, struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct hosted_filter *hosted = entry->attachment;

    if (hosted == NULL) {
        hosted = heap_zalloc(1, sizeof *hosted);
        if (hosted == NULL) {
            return; /* Without it requests are NOT_READY; the next sync tries again. */
        }
        entry->attachment = hosted;
    }
    fence_raise(&hosted->fence, document);
    if (document->content.state != FILTER_ACTIVE) {
        release(self, hosted);
    } else if (self->id != 0 && hosted->set == NULL) {
        host(self, hosted, document);
    }
}

bool node_build(struct node *self, uint64_t slice_bytes)
{
    bool more = false;

    if (!self->building) {
        return false;
    }
    for (size_t i = 0; i < self->documents.count && !more; i++) {
        struct hosted_filter *hosted = self->documents.by_id[i]->attachment;

        more = hosted != NULL && hosted->set != NULL && replica_set_build(hosted->set, slice_bytes);
    }
    self->building = more;
    return more;
}
