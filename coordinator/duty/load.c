/* Steps of making a filter of a dump: judged by the document's iterator, so that a chunk that
 * comes again does no harm. A load that stands still is dropped. */

#include "coordinator/duty.h"
#include "coordinator/make/create.h"
#include "coordinator/records.h"
#include "proto/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- edits: the revision alone, as quorums need not agree on how far a load is ---- */

struct move {
    uint64_t filter_id;
    uint64_t to;
    bool back; /* to the beginning */
};

static void edit_loaded(struct filter_document *document, const void *context)
{
    const struct move *move = context;

    document->loaded = move->to;
    document->revision++;
}

static bool is_done(const struct filter_document *document, const struct move *move)
{
    return document->loaded == move->to || (!move->back && document->loaded > move->to);
}

/* STATUS_CONFLICT: it is not being loaded any more, or others write all the time. */
static enum status write_loaded(struct coordinator *self, uint64_t now_us, void *context)
{
    const struct move *move = context;
    const struct document_entry *entry = document_cache_find(&self->documents, move->filter_id);

    if (entry == NULL || entry->document.content.state != FILTER_ACTIVE) {
        return STATUS_CONFLICT;
    }
    if (is_done(&entry->document, move)) {
        return STATUS_OK;
    }
    return document_is_loading(&entry->document)
               ? records_edit_filter(self, now_us, entry, edit_loaded, move)
               : STATUS_CONFLICT;
}

/* The name is taken: is it by a filter that is being made of this very dump? Then its load is at
 * its beginning again. */
static enum status begin_again(struct coordinator *self, uint64_t now_us,
                               const struct document_entry *entry, struct create *create)
{
    const struct filter_document *document = &entry->document;
    struct move move = {.filter_id = document->id, .to = DOCUMENT_LOAD_FIRST, .back = true};

    if (!document_is_loading(document)) {
        (void)snprintf(create->message, sizeof create->message,
                       "filter %s exists; load into another name, or drop it first",
                       create->request->name);
        return STATUS_EXISTS;
    }
    if (create->load_source != document->load_source) {
        (void)snprintf(create->message, sizeof create->message,
                       "filter %s is being loaded from another dump; wait for it, or drop it first",
                       create->request->name);
        return STATUS_EXISTS;
    }
    return write_loaded(self, now_us, &move);
}

/* ---- steps ---- */

/* NULL: what is asked for may go on. */
static const char *judge(const struct document_entry *entry, const struct load_parameters *load,
                         enum status *status)
{
    if (entry == NULL) {
        *status = STATUS_NOT_FOUND;
        return "there is no such filter; begin with the dump's first chunk";
    }
    if (entry->document.load_source != load->source) {
        *status = STATUS_EXISTS;
        return "the filter of that name is not made of this dump";
    }
    if (load->from < DOCUMENT_LOAD_FIRST || load->from >= load->to ||
        load->to > DOCUMENT_LOAD_END || load->from > entry->document.loaded) {
        *status = STATUS_INVALID;
        return "chunks before this one are lacking";
    }
    return NULL;
}

static void answer(struct coordinator *self, const struct peer *to, uint64_t correlation,
                   uint64_t filter_id)
{
    const struct document_entry *entry = document_cache_find(&self->documents, filter_id);
    struct filter_summary filter;
    struct frame frame = {
        .correlation = correlation,
        .kind = FRAME_ADMIN_REPLY,
        .body.admin_reply = {.status = STATUS_OK, .message = "", .filters = &filter, .nfilters = 1},
    };

    answer_filter_summary(&entry->document, &filter);
    coordinator_reply(self, to, &frame);
}

static void say_loaded(const struct coordinator *self, uint64_t filter_id)
{
    const struct document_entry *entry = document_cache_find(&self->documents, filter_id);

    if (!document_is_loading(&entry->document)) {
        log_line(LOG_INFO, "filter %s, id %" PRIu64 ", is loaded and serves",
                 entry->document.content.name, filter_id);
    }
}

static void step(struct coordinator *self, uint64_t now_us, const struct peer *from,
                 const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    const struct document_entry *entry = records_find(self, request->name, request->filter_id);
    enum status status = STATUS_OK;
    const char *reason = judge(entry, &request->load, &status);
    char message[COORDINATOR_MESSAGE_BYTES];

    if (reason == NULL && request->load.step == LOAD_MOVE &&
        document_is_loading(&entry->document)) {
        struct move move = {.filter_id = entry->document.id, .to = request->load.to};

        status = records_change(self, now_us, write_loaded, &move);
        records_tell(self, status, "written", message, sizeof message);
        reason = status == STATUS_OK ? NULL : message;
        if (status == STATUS_OK) {
            say_loaded(self, move.filter_id);
        }
    }
    if (reason != NULL) {
        coordinator_answer(self, from, frame->correlation, status, false, reason);
    } else {
        answer(self, from, frame->correlation, entry->document.id);
    }
}

/* Sealed under the name of the source; or in the clear, of who does not hold the cluster key. */
static bool open_secret(const struct coordinator *self, const struct load_parameters *load,
                        struct hash_secret *secret)
{
    if (load->source != 0 && load->secret.size == sizeof secret->bytes) {
        memcpy(secret->bytes, load->secret.data, sizeof secret->bytes);
        return true;
    }
    return load->source != 0 &&
           seal_secret_open(&self->config.key, load->source, load->secret, secret) == STATUS_OK;
}

static void on_load(struct coordinator *self, uint64_t now_us, const struct peer *from,
                    const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    struct create create = {
        .request = request, .load_source = request->load.source, .found = begin_again};
    struct hash_secret secret;

    if (request->load.step != LOAD_BEGIN) {
        step(self, now_us, from, frame);
    } else if (!open_secret(self, &request->load, &secret)) {
        coordinator_answer(self, from, frame->correlation, STATUS_UNAUTHENTIC, false,
                           "the dump's hash secret is not sealed with this cluster's key; a backup "
                           "for another cluster is sealed with a passphrase");
    } else {
        create.secret = &secret;
        create_begin(self, now_us, from, frame, &create);
    }
}

/* ---- loads that stand still ---- */

/* Whoever moves it on at this moment is first, or last: there is one swap. */
static void give_up(struct coordinator *self, uint64_t now_us, const struct document_entry *entry)
{
    if (records_write_state(self, now_us, entry, FILTER_DROPPING) != STATUS_OK) {
        return;
    }
    coordinator_count(self, COORDINATOR_loads_given_up_total);
    log_line(LOG_WARN,
             "filter %s, id %" PRIu64 ": its load has stood still for load_timeout and is given "
             "up; the filter is dropped",
             entry->document.content.name, entry->document.id);
}

static bool concerns(const struct document_entry *entry)
{
    return entry->document.content.state == FILTER_ACTIVE && document_is_loading(&entry->document);
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct loading *loading = notes_open(&self->notes, NOTE_LOADING, document->id);
    uint64_t timeout_us = self->config.load_timeout_us;
    uint64_t next_us = timeout_us > 0 ? now_us + timeout_us : ACTOR_NEVER;

    assert(concerns(entry));
    if (loading == NULL) {
        return; /* Out of memory: tried again at the next event. */
    }
    if (loading->revision != document->revision || timeout_us == 0) {
        *loading = (struct loading){.revision = document->revision, .next_us = next_us};
    } else if (now_us >= loading->next_us) {
        loading->next_us = next_us; /* If it can't be written now, it is tried once more. */
        give_up(self, now_us, entry);
    }
}

static uint64_t due_us(const struct coordinator *self)
{
    return notes_next_us(&self->notes, NOTE_LOADING);
}

const struct duty duty_load = {
    .action = ADMIN_LOAD,
    .command = on_load,
    .concerns = concerns,
    .look = look,
    .due_us = due_us,
};
