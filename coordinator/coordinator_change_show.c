/* Replacements under way, in words for operators. */
#include "base/heap.h"
#include "coordinator/coordinator_private.h"

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
    const struct heard *heard = coordinator_heard(self, node);

    return heard == NULL || now_us - heard->last_us > self->config.node_timeout_us;
}

/* How far the newcomer is, in per cent; -1: it has not said. */
static int copied_percent(const struct coordinator *self, const struct member *who,
                          uint64_t filter_id, uint32_t group)
{
    const struct heard *heard = coordinator_heard(self, who->node);

    for (size_t i = 0; heard != NULL && i < heard->nreports; i++) {
        const struct replica_report *report = &heard->reports[i];

        if (report->filter_id == filter_id && report->group == group &&
            report->incarnation == who->incarnation) {
            return (int)(report->progress * 100);
        }
    }
    return -1;
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
            (void)snprintf(text, size, "; %s is silent", name_of(self, slots[i].current.node));
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
                 const struct filter_document *document, const struct change_decision *decision,
                 char *text, size_t size)
{
    char silent[DOCUMENT_NAME_BYTES + 16];

    switch (decision->wait) {
    case CHANGE_WAIT_NONE:
        (void)snprintf(text, size, "the store to be written");
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
                       "lost. Start nodes that still have their data; else drop the filter with "
                       "--confirmed-off, create it again and add its keys again",
                       decision->have, decision->needed, decision->have == 1 ? "is" : "are");
        return;
    case CHANGE_WAIT_DISK:
        (void)snprintf(text, size,
                       "%s came back without its data, and what is kept in memory only is not "
                       "copied: its replica there stays JOINING, and the filter has one less",
                       name_of(self, decision->who.node));
        return;
    }
}

bool changes_describe(struct coordinator *self, uint64_t now_us,
                      const struct filter_document *document, struct change_summary *summary,
                      char *text)
{
    struct change_decision decision;
    struct slot_group *next;

    if (document->content.state != FILTER_ACTIVE) {
        return false;
    }
    next = changes_decide(self, now_us, document, &decision);
    if (next == NULL || decision.action == CHANGE_NOTHING) {
        heap_free(next);
        return false;
    }
    heap_free(next);
    tell(self, now_us, document, &decision, text, COORDINATOR_MESSAGE_BYTES);
    *summary = (struct change_summary){
        .filter_id = document->id,
        .step = decision.step,
        .slots = decision.slots,
        .awaited = text,
    };
    return true;
}
