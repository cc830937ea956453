/* Replacements under way, in words for operators. */
#include "coordinator/ask/fences.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
                 const struct filter_document *document, const struct changes_view *view,
                 char *text, size_t size)
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

bool changes_describe(struct coordinator *self, uint64_t now_us,
                      const struct filter_document *document, struct change_summary *summary,
                      char *text)
{
    struct changes_view view;

    if (document->content.state != FILTER_ACTIVE) {
        return false;
    }
    view = changes_decide(self, now_us, document);
    if (view.next == NULL || view.decision.action == CHANGE_NOTHING) {
        changes_view_fini(&view);
        return false;
    }
    tell(self, now_us, document, &view, text, COORDINATOR_MESSAGE_BYTES);
    *summary = (struct change_summary){
        .filter_id = document->id,
        .step = view.decision.step,
        .slots = view.decision.slots,
        .awaited = text,
    };
    changes_view_fini(&view);
    return true;
}
