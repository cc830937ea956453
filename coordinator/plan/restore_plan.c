/* From what nodes hold to numbers that go past all of it, and to a node list in which nobody
 * keeps a life that is over. */
#include "coordinator/plan/restore_plan.h"

#include "base/heap.h"
#include "map/history/expiry.h"
#include "map/history/keyset.h"
#include "map/reader.h"

#include <assert.h>
#include <string.h>

/* ---- filters ---- */

static bool was_asked(const struct member *member, const struct member *asked, size_t nasked)
{
    for (size_t i = 0; member->node != 0 && i < nasked; i++) {
        if (member_equal(member, &asked[i])) {
            return true;
        }
    }
    return false;
}

static bool enough_asked(const struct filter_document *document, const struct member *asked,
                         size_t nasked)
{
    const struct quorum_rule *rule = &document->content.rule;
    uint32_t needed = rule->write < rule->read ? rule->write : rule->read;

    if (needed < rule->replicas - rule->write + 1) {
        needed = rule->replicas - rule->write + 1;
    }
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        const struct slot *slots = document->content.groups[group].slots;
        uint32_t count = 0;

        for (uint32_t i = 0; i < rule->replicas; i++) {
            count += was_asked(slot_reader(&slots[i]), asked, nasked);
        }
        if (count < needed) {
            return false;
        }
    }
    return true;
}

static const struct document_entry *newest_of(const struct restore_filter *filter)
{
    if (filter->found == NULL || filter->stored == NULL) {
        return filter->found != NULL ? filter->found : filter->stored;
    }
    /* Under one number: the one that nodes act on. */
    return filter->found->document.revision >= filter->stored->document.revision ? filter->found
                                                                                 : filter->stored;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void choose_numbers(const struct restore_filter *filter, struct restore_decision *decision)
{
    const struct document_entry *const both[] = {filter->stored, filter->found};
    uint64_t epoch = filter->fence;
    uint64_t revision = 0;

    for (size_t i = 0; i < 2; i++) {
        if (both[i] != NULL) {
            epoch = max_of(epoch, both[i]->document.epoch);
            revision = max_of(revision, both[i]->document.revision);
        }
    }
    decision->epoch = epoch + RESTORE_MARGIN;
    decision->revision = max_of(revision, epoch) + RESTORE_MARGIN;
}

/* Is there another content under the newest number? Then only a higher one ends that. */
static bool is_ambiguous(const struct restore_filter *filter)
{
    return filter->found != NULL &&
           (filter->found->conflict ||
            (filter->stored != NULL &&
             filter->stored->document.revision == filter->found->document.revision &&
             filter->stored->signed_hash != filter->found->signed_hash));
}

struct restore_decision restore_decide(const struct restore_filter *filter,
                                       const struct member *asked, size_t nasked)
{
    struct restore_decision decision = {.newest = newest_of(filter)};
    const struct filter_document *document;

    assert(decision.newest != NULL); /* Nodes hold it, or the store has it. */
    document = &decision.newest->document;
    decision.state = document->content.state;
    if (decision.state == FILTER_DROPPED && !is_ambiguous(filter)) {
        decision.action = decision.newest == filter->stored ? RESTORE_KEEP : RESTORE_COPY;
        return decision;
    }
    decision.action = RESTORE_RENEW;
    choose_numbers(filter, &decision);
    if (filter->name_taken || decision.state == FILTER_DROPPED) {
        decision.state = FILTER_DROPPED;
        return decision;
    }
    decision.two_contents = filter->found != NULL && filter->found->conflict;
    decision.too_few = !enough_asked(document, asked, nasked);
    decision.lost = !filter->has_secret && decision.state == FILTER_ACTIVE;
    if (decision.lost) {
        decision.state = FILTER_DROPPING;
    }
    return decision;
}

void restore_renew(struct filter_document *document, const struct restore_decision *decision)
{
    assert(decision->action == RESTORE_RENEW);
    document->content.state = decision->state;
    document->revision = decision->revision - 1;
    document->epoch = decision->epoch - 1;
    document_epoch_advance(document);
    reader_note_all(document);
    keyset_skip(&document->content, RESTORE_MARGIN);
    expiry_restart(document);
}

/* ---- nodes ---- */

bool restore_is_named(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool restore_same_nodes(const struct node_list *a, const struct node_list *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct node_record *by_id = node_list_find(b, a->nodes[i].id);
        const struct node_record *by_name = node_list_find_name(b, a->nodes[i].name);

        if ((by_id != NULL && strcmp(by_id->name, a->nodes[i].name) != 0) ||
            (by_name != NULL && by_name->id != a->nodes[i].id)) {
            return false;
        }
    }
    return true;
}

static void take_claim(const struct restore_claim *claim, struct node_record *record)
{
    struct node_record before = *record;

    *record = *claim->record;
    record->id = before.id; /* And what operators have said of it. */
    record->draining = before.draining;
    record->replaced_by = before.replaced_by;
    record->confirmed_off = before.confirmed_off;
}

static struct node_record *find_or_add(struct node_list *out, const char *name, uint32_t *last_id)
{
    for (uint32_t i = 0; i < out->count; i++) {
        if (strcmp(out->nodes[i].name, name) == 0) {
            return &out->nodes[i];
        }
    }
    out->nodes[out->count] = (struct node_record){.id = ++*last_id};
    return &out->nodes[out->count++];
}

/* No life of it is the recorded one any more: what comes back begins anew. */
static void retire(const struct restore_nodes *plan, struct node_record *record)
{
    record->incarnation = (plan->random + record->id) | 1;
    record->boot = record->boot != 0 ? record->incarnation : 0;
}

enum status restore_plan_nodes(const struct restore_nodes *plan, struct node_list *out)
{
    uint32_t last_id = plan->last_id;

    *out = *plan->known;
    out->revision = plan->revision + RESTORE_MARGIN;
    out->last_id = out->count = 0;
    out->nodes = heap_zalloc(plan->known->count + plan->nclaims + 1, sizeof *out->nodes);
    if (out->nodes == NULL) {
        return STATUS_NOMEM;
    }
    if (plan->known->count > 0) {
        memcpy(out->nodes, plan->known->nodes, plan->known->count * sizeof *out->nodes);
    }
    out->count = plan->known->count;
    for (uint32_t i = 0; i < out->count; i++) {
        if (restore_is_named(plan->off, plan->noff, out->nodes[i].name)) {
            retire(plan, &out->nodes[i]);
        }
    }
    for (size_t i = 0; i < plan->nclaims; i++) {
        const struct restore_claim *claim = &plan->claims[i];
        struct node_record *record = find_or_add(out, claim->record->name, &last_id);
        bool old = record->incarnation != 0 && boot_judge(record, &claim->life) == BOOT_OLD;

        if (!old || !plan->known_by_node) {
            take_claim(claim, record);
        }
    }
    out->last_id = last_id;
    return out->count <= DOCUMENT_MAX_NODES ? STATUS_OK : STATUS_TOO_LARGE;
}
