/* Replacing replicas: what coordinator/plan/change.h decides, step by step, with this coordinator's
 * own evidence and by compare-and-swap. Any coordinator goes on from where the store stands; what
 * it knows of an epoch it has asked for itself. */
#include "base/heap.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/records.h"
#include "coordinator/rounds.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CHANGE_MAX_STEPS = 4, /* written in one turn */
    LOOK_US = 1000000,    /* while something is to leave: nodes come back without any news */
};

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

/* What is to be done for a filter by what is known here. Both are the caller's to free. */
struct view {
    struct slot_group *next; /* the next epoch's groups; NULL: out of memory */
    struct move_plan plan;
    struct change_decision decision;
};

static void view_fini(struct view *view)
{
    heap_free(view->next);
    move_plan_fini(&view->plan);
}

/* Where its replicas are to go: what is to leave goes first. */
static enum status plan(const struct coordinator *self, uint64_t now_us,
                        const struct filter_document *document, struct move_plan *out)
{
    *out = (struct move_plan){0};
    if (document->content.state != FILTER_ACTIVE) {
        return STATUS_OK;
    }
    return moves_any_leaves(self, now_us, document) ? moves_plan(self, now_us, document, out)
                                                    : rebalance_plan(self, now_us, document, out);
}

static struct view decide(struct coordinator *self, uint64_t now_us,
                          const struct filter_document *document)
{
    struct view view = {.next = heap_alloc(document->content.ngroups, sizeof *view.next)};
    struct fencing *fencing = rounds_is_moving(document) ? fences_open(self, document) : NULL;
    bool alive[DOCUMENT_MAX_NODES];

    if (view.next == NULL || plan(self, now_us, document, &view.plan) != STATUS_OK) {
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

    if (rounds_is_moving(document)) {
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
    struct view view = decide(self, now_us, &entry->document);
    const struct change_decision decision = view.decision;
    struct fencing *fencing = fences_find(self, entry->document.id);
    enum status status = STATUS_OK;

    if (view.next == NULL || (decision.slots > 0 && fencing == NULL)) {
        rounds_want_all(self); /* Out of memory: tried again at the next event. */
        view_fini(&view);
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
            rounds_want_all(self);
        }
        if (status != STATUS_OK && fencing != NULL) {
            fencing->next_us = now_us + self->config.fence_retry_us;
        }
    } else if (decision.slots > 0) {
        fences_ask(self, now_us, fencing, entry, fences_wanted);
    }
    view_fini(&view);
    return decision.action == CHANGE_WRITE && status == STATUS_OK;
}

static bool concerns(const struct document_entry *entry)
{
    return entry->document.content.state == FILTER_ACTIVE && rounds_is_moving(&entry->document);
}

static void look(struct coordinator *self, uint64_t now_us, struct document_entry *entry)
{
    for (int steps = 0;
         steps < CHANGE_MAX_STEPS && entry->document.content.state == FILTER_ACTIVE &&
         !entry->conflict && step(self, now_us, entry);
         steps++) {
    }
}

/* ---- when ---- */

static bool is_waiting(const struct coordinator *self, uint64_t now_us)
{
    const struct node_list *nodes = &self->documents.nodes;

    for (uint32_t i = 0; i < nodes->count; i++) {
        bool due = moves_leaves(self, now_us, &nodes->nodes[i]) ||
                   (self->config.replace_after_us != 0 &&
                    !heard_alive(self, now_us, nodes->nodes[i].id));

        if (due && usage_slots(self, nodes->nodes[i].id) > 0) {
            return true;
        }
    }
    return false;
}

/* Nodes fall silent without an event: with replace_after the clock alone is a reason to look. */
static void look_at_nodes(struct coordinator *self, uint64_t now_us)
{
    bool watches = self->config.replace_after_us != 0 && self->documents.nodes.count > 0;

    if (self->moves_us != 0 && now_us < self->moves_us) {
        return;
    }
    if (rebalance_check(self, now_us) || rebalance_is_on(self) || is_waiting(self, now_us)) {
        if (self->moves_us != 0) {
            rounds_want_all(self);
        }
        self->moves_us = now_us + LOOK_US;
    } else {
        self->moves_us = watches ? now_us + LOOK_US : 0;
    }
}

/* While rebalancing, what one filter does gives another one its turn. */
static enum duty_round round_of_changes(struct coordinator *self, uint64_t now_us)
{
    look_at_nodes(self, now_us);
    if (self->rounds.nnews > 0 && rebalance_is_on(self)) {
        rounds_want_all(self);
    }
    return ROUND_NEWS;
}

static uint64_t due_us(const struct coordinator *self)
{
    return self->moves_us != 0 ? self->moves_us : ACTOR_NEVER;
}

/* ---- in words ---- */

static const char *name_of(const struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);

    return record != NULL ? record->name : "a node not listed";
}

static bool is_silent(const struct coordinator *self, uint64_t now_us, uint32_t node)
{
    return !heard_alive(self, now_us, node);
}

/* How far the newcomer is, in per cent; -1: it has not said. */
static int copied_percent(const struct coordinator *self, const struct member *who,
                          uint64_t filter_id, uint32_t group)
{
    const struct replica_report *report = heard_report(coordinator_heard(self, who->node),
                                                       filter_id, group);

    return report != NULL && report->incarnation == who->incarnation ? (int)(report->progress * 100)
                                                                     : -1;
}

static bool leaves(const struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);

    return record != NULL && node_record_leaves(record);
}

/* ", node-3 is silent": the first whose fence is missing for that reason. */
static void tell_silent(const struct coordinator *self, uint64_t now_us,
                        const struct filter_document *document, uint32_t group, char *text,
                        size_t size)
{
    const struct slot *slots = document->content.groups[group].slots;
    const struct fencing *fencing = fences_find(self, document->id);
    uint8_t wanted = change_fences_wanted(document, &self->documents.nodes,
                                          fencing != NULL ? &fencing->evidence : NULL, group);

    text[0] = '\0';
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        if ((wanted >> i & 1) != 0 && is_silent(self, now_us, slots[i].current.node)) {
            (void)snprintf(text, size, "; %.128s is silent%s", name_of(self, slots[i].current.node),
                           leaves(self, slots[i].current.node)
                               ? ". If it is off for good, say so with --confirmed-off"
                               : "");
            return;
        }
    }
}

static void tell_copy(const struct coordinator *self, uint64_t now_us,
                      const struct filter_document *document,
                      const struct change_decision *decision, char *text, size_t size)
{
    const char *name = name_of(self, decision->who.node);
    int percent = copied_percent(self, &decision->who, document->id, decision->group);

    if (is_silent(self, now_us, decision->who.node)) {
        (void)snprintf(text, size, "%s has to copy what the others hold; it is silent", name);
    } else if (percent >= 0) {
        (void)snprintf(text, size, "%s copies what the others hold: %d %%", name, percent);
    } else {
        (void)snprintf(text, size, "%s has to copy what the others hold", name);
    }
}

static void tell(const struct coordinator *self, uint64_t now_us,
                 const struct filter_document *document, const struct view *view, char *text,
                 size_t size)
{
    const struct change_decision *decision = &view->decision;
    char silent[DOCUMENT_NAME_BYTES + 80];

    switch (decision->wait) {
    case CHANGE_WAIT_NONE:
        (void)snprintf(text, size, "the store to be written%s%s",
                       self->unwritten[0] != '\0' ? "; when that was tried last, " : "",
                       self->unwritten);
        return;
    case CHANGE_WAIT_FENCES:
        tell_silent(self, now_us, document, decision->group, silent, sizeof silent);
        (void)snprintf(text, size, "%u of %u replicas have confirmed epoch %" PRIu64 "%s",
                       decision->have, decision->needed, document->epoch, silent);
        return;
    case CHANGE_WAIT_COPY:
        tell_copy(self, now_us, document, decision, text, size);
        return;
    case CHANGE_WAIT_REPLICAS:
        (void)snprintf(text, size,
                       "%u of the %u FULL replicas that it takes %s left: acknowledged keys may be "
                       "lost. Start nodes that still have their data. If what is gone is gone for "
                       "good: `orbloom shard accept-loss %.128s all` tells what would be lost",
                       decision->have, decision->needed, decision->have == 1 ? "is" : "are",
                       document->content.name);
        return;
    case CHANGE_WAIT_DISK:
        (void)snprintf(text, size,
                       "%s came back without its data, and what is kept in memory only is not "
                       "copied: its replica there stays JOINING, and the filter has one less",
                       name_of(self, decision->who.node));
        return;
    case CHANGE_WAIT_SUCCESSOR:
        (void)snprintf(text, size,
                       "what %s held was given up, and nobody has its place yet: drain or replace "
                       "it; or, if it is back, end it, empty its folder and start it again",
                       name_of(self, decision->who.node));
        return;
    case CHANGE_WAIT_MOVE:
        moves_tell(&self->documents.nodes, &view->plan, text, size);
        return;
    }
}

static void describe(struct coordinator *self, uint64_t now_us, const struct document_entry *entry,
                     struct telling *out)
{
    const struct filter_document *document = &entry->document;
    struct view view;
    char *text;

    if (document->content.state != FILTER_ACTIVE) {
        return;
    }
    view = decide(self, now_us, document);
    if (view.next == NULL || view.decision.action == CHANGE_NOTHING) {
        view_fini(&view);
        return;
    }
    text = telling_text(out);
    tell(self, now_us, document, &view, text, COORDINATOR_MESSAGE_BYTES);
    out->changes = true;
    *out->change = (struct change_summary){
        .filter_id = document->id,
        .step = view.decision.step,
        .slots = view.decision.slots,
        .awaited = text,
    };
    view_fini(&view);
}

const struct duty duty_change = {
    .round = round_of_changes,
    .concerns = concerns,
    .look = look,
    .due_us = due_us,
    .describe = describe,
};
