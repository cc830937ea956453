/* The operator's `rebuild`: steps are decided in map/history/rebuild.h and written by
 * compare-and-swap; `begin` and `commit` are answered once F fences of every slot group have come.
 * All that matters is in the store: with a coordinator dies only who waited there, and asks another
 * one again. */
#include "base/heap.h"
#include "base/number.h"
#include "coordinator/ask/expansion_view.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty.h"
#include "coordinator/records.h"
#include "coordinator/sites.h"
#include "coordinator/users/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LISTED_NODES = 4 };

static const char *name_of(const struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);

    return record != NULL ? record->name : "a node not listed";
}

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
    case REBUILD_VERDICT_SITES:
    case REBUILD_VERDICT_NOT_OPEN:
    case REBUILD_VERDICT_EMPTY:
        return STATUS_INVALID;
    case REBUILD_VERDICT_LOADS:
        return STATUS_NAME_BUSY;
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

/* ---- why not ---- */

static void explain_room(const struct coordinator *self, const struct rebuild_answer *answer,
                         char *text)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, answer->node);
    char missing[NUMBER_TEXT_BYTES];
    char needed[NUMBER_TEXT_BYTES];
    char limit[NUMBER_TEXT_BYTES];

    (void)snprintf(
        text, COORDINATOR_MESSAGE_BYTES,
        "memory does not suffice for a second set of arrays: node %s lacks %s; it takes %s there, "
        "and its memory_limit is %s. Raise it and restart that node",
        name_of(self, answer->node), number_show_bytes(answer->missing_bytes, missing),
        number_show_bytes(answer->needed_bytes, needed),
        number_show_bytes(record != NULL ? record->memory_limit_bytes : 0, limit));
}

static const char *fixed_text(enum rebuild_verdict verdict)
{
    switch (verdict) {
    case REBUILD_VERDICT_NO_KEYLOG:
        return "it keeps bits only (keylog off), and bits don't tell whose they are; create "
               "another filter, add the list there, and change over to that";
    case REBUILD_VERDICT_IN_MEMORY:
        return "it is kept in memory only, without a log that tells keys apart by when they came; "
               "create another filter, add the list there, and change over to that";
    case REBUILD_VERDICT_WINDOW:
        return "it has a time window and forgets by itself";
    case REBUILD_VERDICT_NOT_ACTIVE:
        return "it is being dropped";
    case REBUILD_VERDICT_LOADS:
        return "it is being made of a dump or a backup; wait until it serves, or drop it";
    case REBUILD_VERDICT_GROWS:
        return "it is on its way to another capacity or rate; let that end, or take it back with "
               "`orbloom expand NAME --abort`";
    case REBUILD_VERDICT_REPLICAS:
        return "replicas of it are being replaced; retry when that is over, see `orbloom status`";
    case REBUILD_VERDICT_NOT_OPEN:
        return "no rebuild of it is open: begin first";
    case REBUILD_VERDICT_OTHER:
        return "the rebuild that is meant was committed or aborted, and another one is open; see "
               "`orbloom info`";
    case REBUILD_VERDICT_EMPTY:
        return "no list has been fed: all keys added before `begin` would be forgotten. Feed the "
               "list first, or say --yes if that is what you want";
    case REBUILD_VERDICT_WORN:
        return "so many rebuilds of it have been begun that no number is left for another one; "
               "create another filter, add the list there, and rename that one with --replace";
    case REBUILD_VERDICT_WRITE:
    case REBUILD_VERDICT_JOINS:
    case REBUILD_VERDICT_FENCES:
    case REBUILD_VERDICT_NO_ROOM:
    case REBUILD_VERDICT_SITES:
        break;
    }
    return "";
}

static void explain_sites(const struct filter_document *document, char *text)
{
    char names[SITES_TEXT_BYTES];

    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   "it is in sites %s: a rebuild of a filter in several sites is not possible yet; "
                   "create another filter, add the list there, and change over to that",
                   sites_list(document_sites(document), names));
}

/* Cause and remedy. */
static void explain(const struct coordinator *self, const struct filter_document *document,
                    const struct rebuild_answer *answer, char *text)
{
    if (answer->verdict == REBUILD_VERDICT_NO_ROOM) {
        explain_room(self, answer, text);
    } else if (answer->verdict == REBUILD_VERDICT_SITES) {
        explain_sites(document, text);
    } else {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES, "%s", fixed_text(answer->verdict));
    }
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
    struct expansion_view *view = expansion_view_make(self, now_us, entry);

    if (view == NULL) {
        return STATUS_NOMEM;
    }
    expansion_view_weigh(self, view);
    *answer = rebuild_may_begin(view);
    expansion_view_free(view);
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
        *answer = rebuild_may_feed(document, wanted->keyset);
        break;
    case REBUILD_COMMIT:
        *answer = rebuild_may_commit(document, wanted->keyset, evidence_of(self, document->id),
                                     wanted->empty);
        break;
    case REBUILD_ABORT:
        *answer = rebuild_may_abort(document, wanted->keyset);
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
                        uint32_t keyset)
{
    static const char *const words[] = {
        [REBUILD_BEGIN] = "a rebuild from a list begins",
        [REBUILD_FED] = "a list has been fed",
        [REBUILD_COMMIT] = "a rebuild from a list is committed: what was not fed is forgotten",
        [REBUILD_ABORT] = "a rebuild from a list is aborted",
    };

    log_line(LOG_INFO, "filter %s: %s (keyset %" PRIu32 ", epoch %" PRIu64 ")",
             entry->document.content.name, words[wanted->step], keyset, entry->document.epoch);
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
        explain(self, &step->entry->document, &step->answer, step->message);
    } else if (step->wanted->step == REBUILD_BEGIN &&
               step->answer.verdict == REBUILD_VERDICT_WRITE) {
        step->refusal = quota_allow_keyset(self, &step->entry->document, step->message);
    }
    if (step->refusal != STATUS_OK) {
        return STATUS_OK;
    }
    if (step->answer.verdict == REBUILD_VERDICT_WRITE) {
        status = records_edit_filter(self, now_us, step->entry, edit, &change);
        step->written = status == STATUS_OK;
    }
    return status;
}

/* Decide, and write what may be written. STATUS_OK: it is written, by this command (*written) or
 * before, or for a commit awaits fences; `wanted` names the keyset now. */
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
    wanted->keyset = step.answer.keyset;
    if (step.written) {
        coordinator_count(self, COORDINATOR_rebuilds_written_total);
        say_written(entry, wanted, step.answer.keyset);
    }
    return STATUS_OK;
}

/* ---- who is awaited ---- */

static bool is_awaited(const struct filter_document *document, const struct evidence *evidence,
                       uint32_t node)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        int slot = document_slot_of(document, group, node, 0);
        bool missing = evidence == NULL ||
                       (rebuild_fences_missing(document, evidence, group) > 0 && slot >= 0 &&
                        (evidence_silenced(evidence, document, group) >> slot & 1) == 0);

        if (slot >= 0 && missing) {
            return true;
        }
    }
    return false;
}

/* "node-1, node-4 and 2 more". */
static void list_awaited(const struct coordinator *self, const struct filter_document *document,
                         const struct evidence *evidence, char *text, size_t size)
{
    const struct node_list *nodes = &self->documents.nodes;
    uint32_t count = 0;
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (!is_awaited(document, evidence, nodes->nodes[i].id)) {
            continue;
        }
        if (count++ < LISTED_NODES) {
            used += (size_t)snprintf(text + used, size - used, "%s%.40s", count > 1 ? ", " : "",
                                     nodes->nodes[i].name);
        }
    }
    if (count > LISTED_NODES) {
        (void)snprintf(text + used, size - used, " and %" PRIu32 " more", count - LISTED_NODES);
    }
}

/* Who has not confirmed the step that is written, and what to do. */
static void explain_fences(const struct coordinator *self, const struct filter_document *document,
                           enum rebuild_step step, char *text)
{
    const struct fencing *fencing = fences_find(self, document->id);
    bool fits = fencing != NULL && evidence_fits(&fencing->evidence, document);
    uint32_t needed = quorum_fences(&document->content.rule);
    char names[COORDINATOR_MESSAGE_BYTES / 2];

    list_awaited(self, document, fits ? &fencing->evidence : NULL, names, sizeof names);
    if (step == REBUILD_COMMIT && rebuild_keyset(document) == 0) {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "the commit is written, but too few nodes have confirmed it (%" PRIu32
                       " of %" PRIu32 " replicas of each shard must): %s; until then some checks "
                       "may be answered from the former keys. Repeat `commit`, it waits for them",
                       needed, document->content.rule.replicas, names);
    } else {
        (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                       "the rebuild is written, but too few nodes have confirmed it (%" PRIu32
                       " of %" PRIu32 " replicas of each shard must): %s; repeat `%s`, it goes on",
                       needed, document->content.rule.replicas, names,
                       step == REBUILD_COMMIT ? "commit" : "begin");
    }
}

/* ---- how far it is ---- */

/* Of each slot group the most that a replica says it has. */
static uint64_t next_keys(const struct coordinator *self, const struct filter_document *document)
{
    uint64_t *most = heap_zalloc(document->content.ngroups, sizeof *most);
    uint64_t sum = 0;

    for (size_t i = 0; most != NULL && i < self->nheard; i++) {
        size_t count;
        const struct replica_report *reports = heard_reports(&self->heard[i], document->id, &count);

        for (size_t k = 0; k < count; k++) {
            if (reports[k].group < document->content.ngroups &&
                reports[k].keys_next > most[reports[k].group]) {
                most[reports[k].group] = reports[k].keys_next;
            }
        }
    }
    for (uint32_t group = 0; most != NULL && group < document->content.ngroups; group++) {
        sum += most[group];
    }
    heap_free(most);
    return sum;
}

/* Has the member said that it accepts nothing below the document's epoch? */
static bool has_taken(const struct coordinator *self, const struct filter_document *document,
                      uint32_t group, const struct member *member)
{
    const struct heard *heard = coordinator_heard(self, member->node);
    const struct replica_report *report = heard_report(heard, document->id, group);

    return report != NULL && heard->incarnation == member->incarnation &&
           report->fence >= document->epoch;
}

static uint32_t count_lagging(const struct coordinator *self,
                              const struct filter_document *document)
{
    uint32_t lagging = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            const struct slot *slot = &document->content.groups[group].slots[i];

            lagging += !has_taken(self, document, group, slot_reader(slot));
        }
    }
    return lagging;
}

static void tell(const struct coordinator *self, const struct filter_document *document,
                 struct filter_summary *summary, char *text)
{
    uint32_t replicas = document->content.ngroups * document->content.rule.replicas;
    uint32_t lagging = count_lagging(self, document);
    bool open = rebuild_keyset(document) != 0;

    text[0] = '\0';
    summary->rebuild_awaited = text;
    summary->rebuild_keys = open ? next_keys(self, document) : 0;
    if (lagging == 0 || (!open && rebuild_serving(document) == 1)) {
        return;
    }
    (void)snprintf(text, COORDINATOR_MESSAGE_BYTES,
                   open ? "%" PRIu32 " of %" PRIu32 " replicas have not reported yet that they "
                          "take the new keys"
                        : "%" PRIu32 " of %" PRIu32 " replicas have not reported the newest epoch "
                          "yet; what a rebuild has left is freed as they take it over",
                   lagging, replicas);
}

/* ---- waiting for fences ---- */

static uint8_t fences_wanted(const struct coordinator *self, const struct filter_document *document,
                             const struct evidence *evidence, uint32_t group)
{
    (void)self;
    return (uint8_t)~evidence_silenced(evidence, document, group);
}

static void refuse(struct coordinator *self, struct waiter *waiter, enum status status,
                   const char *reason)
{
    const struct document_entry *entry = waiters_entry(self, waiter);
    char message[sizeof "filter : " + COORDINATOR_MESSAGE_BYTES + DOCUMENT_NAME_BYTES];

    (void)snprintf(message, sizeof message, "filter %.128s: %s", entry->document.content.name,
                   reason[0] != '\0' ? reason : status_meaning(status));
    waiters_finish(self, waiter, status, message);
}

/* Is what the waiter wants still what the document says, or may yet say? */
static bool holds(const struct waiter *waiter, const struct filter_document *document)
{
    uint32_t keyset = waiter->rebuild.keyset;
    bool open = rebuild_keyset(document) == keyset;

    return waiter->rebuild.step == REBUILD_BEGIN ? open
                                                 : open || rebuild_serving(document) == keyset;
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

    tell(self, document, &summary, text);
    waiters_finish(self, waiter, STATUS_OK, waiter->rebuild.step == REBUILD_COMMIT ? text : "");
}

/* True: look once more, another epoch is to be fenced now. */
static bool check_waiter(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    const struct document_entry *entry = waiters_entry(self, waiter);
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
                         rebuild_keyset(document) == waiter->rebuild.keyset;

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
        explain_fences(self, document, waiter->rebuild.step, reason);
        refuse(self, waiter, STATUS_DEADLINE, reason);
    } else if (fencing != NULL) {
        fences_ask(self, now_us, fencing, entry, fences_wanted);
    }
    return false;
}

static void wait(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    assert(waiter->kind == WAITER_REBUILD);
    if (check_waiter(self, now_us, waiter)) {
        (void)check_waiter(self, now_us, waiter);
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

static void on_rebuild(struct coordinator *self, uint64_t now_us, const struct peer *from,
                       const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    const struct document_entry *entry = records_find(self, request->name, request->filter_id);
    struct rebuild_parameters wanted = request->rebuild;
    char reason[COORDINATOR_MESSAGE_BYTES] = "";
    char message[sizeof "filter : " + COORDINATOR_MESSAGE_BYTES + DOCUMENT_NAME_BYTES];
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

static void describe(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                     struct telling *out)
{
    (void)now_us;
    tell(self, &entry->document, out->summary, telling_text(out));
}

const struct duty duty_rebuild = {
    .action = ADMIN_REBUILD,
    .command = on_rebuild,
    .waiters = WAITER_REBUILD,
    .wait = wait,
    .describe = describe,
};
