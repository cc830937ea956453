/* Replacing replicas: what map/change.h decides, step by step, with this coordinator's own
 * evidence and by compare-and-swap. Any coordinator goes on from where the store stands; what it
 * knows of an epoch it has asked for itself. */
#include "base/heap.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty/rebuild.h"
#include "coordinator/duty/rename.h"
#include "coordinator/duty/window.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/records.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <string.h>

enum { CHANGE_MAX_STEPS = 4 /* written in one turn */ };

static void note_alive(const struct coordinator *self, uint64_t now_us, bool *alive)
{
    for (uint32_t i = 0; i < self->documents.nodes.count; i++) {
        alive[i] = heard_alive(self, now_us, self->documents.nodes.nodes[i].id);
    }
}

/* What the nodes' reports say about this very epoch. */
static void note_complete(const struct coordinator *self, const struct filter_document *document,
                          struct evidence *evidence)
{
    for (size_t i = 0; i < self->nheard; i++) {
        const struct heard *heard = &self->heard[i];
        size_t count;
        const struct replica_report *reports = heard_reports(heard, document->id, &count);

        for (size_t k = 0; k < count; k++) {
            if (reports[k].complete == document->epoch && reports[k].state == REPLICA_JOINING) {
                (void)evidence_complete(evidence, document, reports[k].group, heard->node,
                                        heard->incarnation);
            }
        }
    }
}

bool changes_has_pairs(const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            if (slot_is_pair(&document->content.groups[group].slots[i])) {
                return true;
            }
        }
    }
    return false;
}

void changes_view_fini(struct changes_view *view)
{
    heap_free(view->next);
    move_plan_fini(&view->plan);
}

struct changes_view changes_decide(struct coordinator *self, uint64_t now_us,
                                   const struct filter_document *document)
{
    struct changes_view view = {.next = heap_alloc(document->content.ngroups, sizeof *view.next)};
    struct fencing *fencing = changes_has_pairs(document) ? fences_open(self, document) : NULL;
    bool alive[DOCUMENT_MAX_NODES];

    if (view.next == NULL || moves_plan(self, now_us, document, &view.plan) != STATUS_OK) {
        heap_free(view.next);
        view.next = NULL;
        return view;
    }
    if (fencing != NULL) {
        note_complete(self, document, &fencing->evidence);
    }
    note_alive(self, now_us, alive);
    change_decide(document, &self->documents.nodes, fencing != NULL ? &fencing->evidence : NULL,
                  alive, &view.plan, view.next, &view.decision);
    return view;
}

static uint8_t fences_wanted(const struct coordinator *self, const struct filter_document *document,
                             const struct evidence *evidence, uint32_t group)
{
    return change_fences_wanted(document, &self->documents.nodes, evidence, group);
}

/* The cached document with these groups, under a new epoch, into the store. */
static enum status write_groups(struct coordinator *self, const struct document_entry *entry,
                                const struct slot_group *next)
{
    struct filter_document edited = {0};
    enum status status = codec_filter_document_open(
        span_of(entry->signed_bytes, entry->signed_size), &self->config.key, &edited);

    if (status == STATUS_OK) {
        memcpy(edited.content.groups, next, edited.content.ngroups * sizeof *next);
        document_epoch_advance(&edited);
        status = records_write_filter(self, records_version(entry), &edited);
    }
    document_fini(&edited);
    return status;
}

static uint32_t count_stage(const struct filter_document *document, enum slot_stage stage)
{
    uint32_t count = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            count += slot_stage(&document->content.groups[group].slots[i]) == stage;
        }
    }
    return count;
}

static void say_written(const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;

    if (changes_has_pairs(document)) {
        log_line(LOG_INFO,
                 "filter %s: replicas are being replaced: %u written in both places, read in the "
                 "old one, %u read in the new one (epoch %" PRIu64 ")",
                 document->content.name, count_stage(document, SLOT_PAIR),
                 count_stage(document, SLOT_MOVED), document->epoch);
    } else {
        log_line(LOG_INFO, "filter %s: replicas have been replaced (epoch %" PRIu64 ")",
                 document->content.name, document->epoch);
    }
}

/* True: one more look is worth it, the document has changed. */
static bool step(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    struct changes_view view = changes_decide(self, now_us, &entry->document);
    const struct change_decision decision = view.decision;
    struct fencing *fencing = fences_find(self, entry->document.id);
    enum status status = STATUS_OK;

    if (view.next == NULL || (decision.slots > 0 && fencing == NULL)) {
        self->changes_due = true; /* Out of memory: tried again at the next event. */
        changes_view_fini(&view);
        return false;
    }
    if (decision.action == CHANGE_WRITE) {
        status = write_groups(self, entry, view.next);
        if (status == STATUS_OK) {
            coordinator_count(self, COORDINATOR_changes_written_total);
            say_written(entry);
            coordinator_hint(self, now_us);
        } else if (status == STATUS_CONFLICT) {
            status = STATUS_OK; /* Another coordinator was first: what it wrote is looked at. */
        }
        if (status != STATUS_OK) {
            self->changes_due = true;
        }
        if (status != STATUS_OK && fencing != NULL) {
            fencing->next_us = now_us + self->config.fence_retry_us;
        }
    } else if (decision.slots == 0) {
        if (!rebuild_waits(self, entry->document.id) && !windows_wait(self, entry->document.id) &&
            !renames_wait(self, entry->document.id)) {
            fences_end(self, entry->document.id);
        }
    } else if (fencing != NULL) {
        fences_ask(self, now_us, fencing, entry, fences_wanted);
    }
    changes_view_fini(&view);
    return decision.action == CHANGE_WRITE && status == STATUS_OK;
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    for (int steps = 0;
         steps < CHANGE_MAX_STEPS && entry->document.content.state == FILTER_ACTIVE &&
         !entry->conflict && step(self, now_us, entry);
         steps++) {
    }
}

static void look_at(struct coordinator *self, uint64_t now_us, uint64_t filter_id)
{
    struct document_entry *entry = document_cache_find(&self->documents, filter_id);

    if (entry != NULL) {
        look(self, now_us, entry);
    }
}

void coordinator_check_changes(struct coordinator *self, uint64_t now_us)
{
    /* Else only filters that are new, or being changed already, need a look. */
    bool all = self->changes_due;
    uint64_t new[COORDINATOR_CHANGES_NEW];
    size_t count = all ? 0 : self->nchanges_new;

    memcpy(new, self->changes_new, count * sizeof new[0]);
    self->changes_due = false;
    self->nchanges_new = 0;
    for (size_t i = 0; all && i < self->documents.count; i++) {
        look(self, now_us, self->documents.by_id[i]);
    }
    for (size_t i = 0; i < count; i++) {
        look_at(self, now_us, new[i]);
    }
    for (size_t i = notes_count(&self->notes, NOTE_FENCING); !all && i-- > 0;) {
        if (i < notes_count(&self->notes, NOTE_FENCING)) { /* A look may end some. */
            look_at(self, now_us, notes_at(&self->notes, NOTE_FENCING, i)->filter_id);
        }
    }
}
