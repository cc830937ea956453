/* The operator's `rebuild`: steps are decided in map/rebuild.h and written by compare-and-swap;
 * `begin` and `commit` are answered once F fences of every slot group have come. All that matters
 * is in the store: with a coordinator dies only who waited there, and asks another one again. */
#include "coordinator/duty/rebuild.h"

#include "coordinator/ask/fences.h"
#include "coordinator/duty/growth.h"
#include "coordinator/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static enum status status_of(enum rebuild_verdict verdict)
{
    switch (verdict) {
    case REBUILD_VERDICT_WRITE:
    case REBUILD_VERDICT_JOINS:
    case REBUILD_VERDICT_FENCES:
        return STATUS_OK;
    case REBUILD_VERDICT_NOT_ACTIVE:
        return STATUS_DROPPED;
    case REBUILD_VERDICT_NO_KEYLOG:
    case REBUILD_VERDICT_IN_MEMORY:
    case REBUILD_VERDICT_WINDOW:
    case REBUILD_VERDICT_NOT_OPEN:
    case REBUILD_VERDICT_EMPTY:
        return STATUS_INVALID;
    case REBUILD_VERDICT_GROWS:
    case REBUILD_VERDICT_REPLICAS:
    case REBUILD_VERDICT_OTHER:
        return STATUS_CONFLICT;
    case REBUILD_VERDICT_NO_ROOM:
        return STATUS_NO_SPACE;
    case REBUILD_VERDICT_WORN:
        return STATUS_TOO_LARGE;
    }
    return STATUS_INTERNAL;
}

/* ---- one step ---- */

static const struct evidence *evidence_of(const struct coordinator *self, uint64_t filter_id)
{
    const struct fencing *fencing = fences_find(self, filter_id);

    return fencing != NULL ? &fencing->evidence : NULL;
}

static enum status may_begin(struct coordinator *self, uint64_t now_us,
                             const struct document_entry *entry, struct rebuild_answer *answer)
{
    struct growth_view *view = growth_view_make(self, now_us, entry);

    if (view == NULL) {
        return STATUS_NOMEM;
    }
    growth_view_weigh(self, view);
    *answer = rebuild_may_begin(view);
    growth_view_free(view);
    return STATUS_OK;
}

static enum status decide(struct coordinator *self, uint64_t now_us,
                          const struct document_entry *entry,
                          const struct rebuild_parameters *wanted, struct rebuild_answer *answer)
{
    const struct filter_document *document = &entry->document;

    switch (wanted->step) {
    case REBUILD_BEGIN:
        return may_begin(self, now_us, entry, answer);
    case REBUILD_FED:
        *answer = rebuild_may_feed(document, wanted->lineage);
        break;
    case REBUILD_COMMIT:
        *answer = rebuild_may_commit(document, wanted->lineage, evidence_of(self, document->id),
                                     wanted->empty);
        break;
    case REBUILD_ABORT:
        *answer = rebuild_may_abort(document, wanted->lineage);
        break;
    }
    return STATUS_OK;
}

struct edit {
    const struct rebuild_parameters *wanted;
    const struct rebuild_answer *answer;
};

static void edit(struct filter_document *document, const void *context)
{
    const struct edit *edit = context;

    switch (edit->wanted->step) {
    case REBUILD_BEGIN:
        rebuild_begin(document, edit->answer);
        break;
    case REBUILD_FED:
        rebuild_note_fed(document, edit->wanted->fed_keys);
        break;
    case REBUILD_COMMIT:
        rebuild_commit(document);
        break;
    case REBUILD_ABORT:
        rebuild_abort(document);
        break;
    }
}

static void say_written(const struct document_entry *entry, const struct rebuild_parameters *wanted,
                        uint32_t lineage)
{
    static const char *const words[] = {
        [REBUILD_BEGIN] = "a rebuild from a list begins",
        [REBUILD_FED] = "a list has been fed",
        [REBUILD_COMMIT] = "a rebuild from a list is committed: what was not fed is forgotten",
        [REBUILD_ABORT] = "a rebuild from a list is aborted",
    };

    log_line(LOG_INFO, "filter %s: %s (lineage %" PRIu32 ", epoch %" PRIu64 ")",
             entry->document.content.name, words[wanted->step], lineage, entry->document.epoch);
}

/* One step of a rebuild, on its way into the store. */
struct step {
    const struct document_entry *entry;
    const struct rebuild_parameters *wanted;
    struct rebuild_answer answer;
    enum status refusal; /* by what was decided; STATUS_OK: none */
    bool written;
    char *message;
};

static enum status try_step(struct coordinator *self, uint64_t now_us, void *context)
{
    struct step *step = context;
    const struct edit change = {.wanted = step->wanted, .answer = &step->answer};
    enum status status = decide(self, now_us, step->entry, step->wanted, &step->answer);

    if (status != STATUS_OK) {
        return status;
    }
    step->refusal = status_of(step->answer.verdict);
    if (step->refusal != STATUS_OK) {
        rebuild_explain(self, &step->entry->document, &step->answer, step->message);
        return STATUS_OK;
    }
    if (step->answer.verdict == REBUILD_VERDICT_WRITE) {
        status = records_edit_filter(self, now_us, step->entry, edit, &change);
        step->written = status == STATUS_OK;
    }
    return status;
}

/* Decide, and write what may be written. STATUS_OK: it is written, by this command (*written) or
 * before, or for a commit awaits fences; `wanted` names the lineage now. */
static enum status ensure(struct coordinator *self, uint64_t now_us,
                          const struct document_entry *entry, struct rebuild_parameters *wanted,
                          bool *written, char *message)
{
    struct step step = {.entry = entry, .wanted = wanted, .message = message};
    enum status status = records_change(self, now_us, try_step, &step);

    if (status != STATUS_OK) {
        records_tell(self, status, "written", message, COORDINATOR_MESSAGE_BYTES);
        return status;
    }
    if (step.refusal != STATUS_OK) {
        return step.refusal;
    }
    *written = step.written;
    wanted->lineage = step.answer.lineage;
    if (step.written) {
        coordinator_count(self, COORDINATOR_rebuilds_written_total);
        say_written(entry, wanted, step.answer.lineage);
    }
    return STATUS_OK;
}

/* ---- waiting for fences ---- */

bool rebuild_waits(const struct coordinator *self, uint64_t filter_id)
{
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        const struct waiter *waiter = &self->waiters[i];

        if (waiter->used && waiter->kind == WAITER_REBUILD && waiter->filter_id == filter_id) {
            return true;
        }
    }
    return false;
}

static uint8_t fences_wanted(const struct coordinator *self, const struct filter_document *document,
                             const struct evidence *evidence, uint32_t group)
{
    (void)self;
    return (uint8_t)~evidence_silenced(evidence, document, group);
}

static void refuse(struct coordinator *self, struct waiter *waiter, enum status status,
                   const char *reason)
{
    const struct document_entry *entry = document_cache_find(&self->documents, waiter->filter_id);
    char message[COORDINATOR_MESSAGE_BYTES + DOCUMENT_NAME_BYTES];

    (void)snprintf(message, sizeof message, "filter %.128s: %s", entry->document.content.name,
                   reason[0] != '\0' ? reason : status_meaning(status));
    waiters_finish(self, waiter, status, message);
}

/* Is what the waiter wants still what the document says, or may yet say? */
static bool holds(const struct waiter *waiter, const struct filter_document *document)
{
    uint32_t lineage = waiter->rebuild.lineage;
    bool open = rebuild_lineage(document) == lineage;

    return waiter->rebuild.step == REBUILD_BEGIN ? open
                                                 : open || rebuild_serving(document) == lineage;
}

/* A commit whose `begin` is fenced by now is written; its own fences are another epoch's. */
static void commit(struct coordinator *self, uint64_t now_us, struct waiter *waiter,
                   const struct document_entry *entry)
{
    char reason[COORDINATOR_MESSAGE_BYTES] = "";
    bool written = false;
    enum status status = order_resume(self, &waiter->order);

    status = status == STATUS_OK ? ensure(self, now_us, entry, &waiter->rebuild, &written, reason)
                                 : status;
    waiter->created = waiter->created || written;
    if (status != STATUS_OK) {
        refuse(self, waiter, status, reason);
    }
    order_end(self);
}

static void finish(struct coordinator *self, struct waiter *waiter,
                   const struct filter_document *document)
{
    struct filter_summary summary = {0};
    char text[COORDINATOR_MESSAGE_BYTES];

    rebuild_describe(self, document, &summary, text);
    waiters_finish(self, waiter, STATUS_OK, waiter->rebuild.step == REBUILD_COMMIT ? text : "");
}

/* True: look once more, another epoch is to be fenced now. */
static bool check_waiter(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    const struct document_entry *entry = document_cache_find(&self->documents, waiter->filter_id);
    const struct filter_document *document = &entry->document;
    char reason[COORDINATOR_MESSAGE_BYTES];
    struct fencing *fencing;

    if (document->content.state != FILTER_ACTIVE) {
        refuse(self, waiter, STATUS_DROPPED, "it was dropped meanwhile");
        return false;
    }
    if (!holds(waiter, document)) {
        refuse(self, waiter, STATUS_CONFLICT,
               waiter->rebuild.step == REBUILD_BEGIN
                   ? "the rebuild was committed or aborted meanwhile; see `orbloom info`"
                   : "the rebuild was aborted meanwhile; see `orbloom info`");
        return false;
    }
    fencing = fences_open(self, document);
    if (fencing != NULL && rebuild_fenced(document, &fencing->evidence)) {
        bool unwritten = waiter->rebuild.step == REBUILD_COMMIT &&
                         rebuild_lineage(document) == waiter->rebuild.lineage;

        if (unwritten && !self->frozen) {
            commit(self, now_us, waiter, entry);
            return waiter->used;
        }
        if (!unwritten) {
            finish(self, waiter, document);
            return false;
        }
    }
    if (now_us >= waiter->deadline_us) {
        rebuild_explain_fences(self, document, waiter->rebuild.step, reason);
        refuse(self, waiter, STATUS_DEADLINE, reason);
    } else if (fencing != NULL) {
        fences_ask(self, now_us, fencing, entry, fences_wanted);
    }
    return false;
}

void coordinator_check_rebuilds(struct coordinator *self, uint64_t now_us)
{
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        if (self->waiters[i].used && self->waiters[i].kind == WAITER_REBUILD) {
            if (check_waiter(self, now_us, &self->waiters[i])) {
                (void)check_waiter(self, now_us, &self->waiters[i]);
            }
        }
    }
}

/* ---- commands ---- */

static void answer(struct coordinator *self, const struct peer *from, const struct frame *frame,
                   const struct document_entry *entry, const struct rebuild_parameters *wanted,
                   bool written)
{
    struct waiter waiter = {
        .used = true,
        .peer = *from,
        .correlation = frame->correlation,
        .deadline_us = self->order.until_us,
        .order = self->order,
        .filter_id = entry->document.id,
        .kind = WAITER_REBUILD,
        .rebuild = *wanted,
        .created = written,
    };

    if (wanted->step == REBUILD_BEGIN || wanted->step == REBUILD_COMMIT) {
        waiters_add(self, &waiter);
    } else {
        waiters_finish(self, &waiter, STATUS_OK, "");
    }
}

void coordinator_on_rebuild(struct coordinator *self, uint64_t now_us, const struct peer *from,
                            const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    const struct document_entry *entry = records_find(self, request->name, request->filter_id);
    struct rebuild_parameters wanted = request->rebuild;
    char reason[COORDINATOR_MESSAGE_BYTES] = "";
    char message[COORDINATOR_MESSAGE_BYTES + DOCUMENT_NAME_BYTES];
    bool written = false;
    enum status status = STATUS_NOT_FOUND;

    if (entry == NULL) {
        (void)snprintf(reason, sizeof reason, "there is no such filter; see `orbloom info`");
    } else {
        status = ensure(self, now_us, entry, &wanted, &written, reason);
    }
    if (status != STATUS_OK) {
        (void)snprintf(message, sizeof message, "filter %.128s: %s", request->name,
                       reason[0] != '\0' ? reason : status_meaning(status));
        coordinator_answer(self, from, frame->correlation, status, false, message);
        return;
    }
    answer(self, from, frame, entry, &wanted, written);
}
