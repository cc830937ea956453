/* Replicas of nodes that are to leave: what is known of the nodes, for
 * coordinator/plan/move_plan.h, and the plan in words. */
#include "coordinator/nodes/moves.h"

#include "base/heap.h"
#include "base/number.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/private.h"

#include <stdio.h>

/* A node that was never heard of may have been silent since this coordinator's start only. */
static uint64_t silent_us(const struct coordinator *self, uint64_t now_us, uint32_t node)
{
    const struct heard *heard = coordinator_heard(self, node);

    uint64_t last_us = heard != NULL ? heard->last_us : self->started_us;

    return last_us < now_us ? now_us - last_us : 0;
}

bool moves_leaves(const struct coordinator *self, uint64_t now_us, const struct node_record *record)
{
    uint64_t longest_us = self->config.replace_after_us;

    return node_record_leaves(record) ||
           (longest_us != 0 && silent_us(self, now_us, record->id) > longest_us &&
            !heard_alive(self, now_us, record->id));
}

/* ---- the plan ---- */

/* How many more groups may begin to move, over all filters. */
static uint32_t budget(const struct coordinator *self)
{
    uint64_t under_way = usage_under_way(self);

    return under_way < self->config.moves_at_once
               ? (uint32_t)(self->config.moves_at_once - under_way)
               : 0;
}

bool moves_any_leaves(const struct coordinator *self, uint64_t now_us,
                      const struct filter_document *document)
{
    const struct node_list *nodes = &self->documents.nodes;

    for (uint32_t i = 0; i < nodes->count; i++) {
        if (moves_leaves(self, now_us, &nodes->nodes[i]) &&
            move_slots_held(document, nodes->nodes[i].id) > 0) {
            return true;
        }
    }
    return false;
}

/* The nodes of a list, that of the store or one that is to be; heap_free() it. */
static struct move_node *describe(const struct coordinator *self, uint64_t now_us,
                                  const struct node_list *list)
{
    struct move_node *nodes = heap_alloc(list->count, sizeof *nodes);

    for (uint32_t i = 0; nodes != NULL && i < list->count; i++) {
        nodes[i] = (struct move_node){
            .record = &list->nodes[i],
            .alive = heard_alive(self, now_us, list->nodes[i].id),
            .leaves = moves_leaves(self, now_us, &list->nodes[i]),
            .used_bytes = usage_bytes(self, list->nodes[i].id),
            .groups = usage_slots(self, list->nodes[i].id),
            .most_groups = self->config.node_groups,
        };
    }
    return nodes;
}

enum status moves_plan(const struct coordinator *self, uint64_t now_us,
                       const struct filter_document *document, struct move_plan *plan)
{
    const struct node_list *list = &self->documents.nodes;
    struct move_node *nodes;
    enum status status;

    nodes = describe(self, now_us, list);
    if (nodes == NULL) {
        return STATUS_NOMEM;
    }
    status = move_plan_make(document, nodes, list->count, budget(self), 0, plan);
    heap_free(nodes);
    return status;
}

/* ---- in words ---- */

static const char *name_of(const struct node_list *nodes, uint32_t node)
{
    const struct node_record *record = node_list_find(nodes, node);

    return record != NULL ? record->name : "a node not listed";
}

/* Who is replaced has one candidate, which the operator has named. */
static const struct node_record *successor_of(const struct node_list *nodes, uint32_t leaver)
{
    const struct node_record *record = node_list_find(nodes, leaver);

    return record != NULL && record->replaced_by != 0 ? node_list_find(nodes, record->replaced_by)
                                                      : NULL;
}

static void tell_node(const struct node_list *nodes, const struct move_plan *plan, char *text,
                      size_t size)
{
    const struct node_record *successor = successor_of(nodes, plan->leaver);
    const char *leaver = name_of(nodes, plan->leaver);

    if (successor != NULL) {
        (void)snprintf(text, size,
                       "node %.128s, which is to take group %u from %.128s, can't now: it is to be "
                       "alive, to have a disk, not to leave itself, to hold none of that group "
                       "yet and not to have been given up there",
                       successor->name, plan->group, leaver);
        return;
    }
    (void)snprintf(text, size,
                   "no other node can take group %u from %.128s: it takes one that is alive, has a "
                   "disk, does not leave itself, holds none of that group yet and was not given up "
                   "there; start one more node",
                   plan->group, leaver);
}

void moves_tell(const struct node_list *nodes, const struct move_plan *plan, char *text,
                size_t size)
{
    char missing[NUMBER_TEXT_BYTES];
    const char *leaver = name_of(nodes, plan->leaver);

    text[0] = '\0';
    switch (plan->lack) {
    case MOVE_LACK_NONE:
        return;
    case MOVE_LACK_TURN:
        (void)snprintf(text, size, "its turn: other groups are moving first (moves_at_once)");
        return;
    case MOVE_LACK_NODE:
        tell_node(nodes, plan, text, size);
        return;
    case MOVE_LACK_ROOM:
        (void)snprintf(text, size,
                       "no node has room for group %u from %.128s: %.128s lacks %s; raise its "
                       "memory_limit or start one more node",
                       plan->group, leaver, name_of(nodes, plan->candidate),
                       number_show_bytes(plan->missing_bytes, missing));
        return;
    case MOVE_LACK_GROUPS:
        (void)snprintf(text, size,
                       "no node may take group %u from %.128s: %.128s holds as many slot groups as "
                       "a node may (node_groups); start one more node, or raise that",
                       plan->group, leaver, name_of(nodes, plan->candidate));
        return;
    case MOVE_LACK_LOG:
        (void)snprintf(text, size,
                       "%.128s is to leave, and what is kept in memory only can't be copied: drop "
                       "the filter, create it again and add its keys again",
                       leaver);
        return;
    }
}

static void note_stuck(const struct node_list *nodes, const struct filter_document *document,
                       const struct move_plan *plan, struct moves_stuck *stuck)
{
    char why[COORDINATOR_MESSAGE_BYTES / 2];

    if (plan->lack != MOVE_LACK_NONE && stuck->slots == 0) {
        moves_tell(nodes, plan, why, sizeof why);
        stuck->lack = plan->lack;
        (void)snprintf(stuck->text, sizeof stuck->text, "filter %.128s: %s", document->content.name,
                       why);
    }
    stuck->slots += plan->waiting;
    stuck->bytes += plan->waiting_bytes;
    stuck->shares_host |= plan->shares_host;
}

/* All filters draw on the same memory. */
enum status moves_judge(const struct coordinator *self, uint64_t now_us,
                        const struct node_list *nodes, const struct node_record *record,
                        struct moves_stuck *out)
{
    struct move_node *described = NULL;
    enum status status = STATUS_OK;

    *out = (struct moves_stuck){0};
    if (!moves_leaves(self, now_us, record)) {
        return STATUS_OK;
    }
    described = describe(self, now_us, nodes);
    if (described == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < self->documents.count && status == STATUS_OK; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;
        struct move_plan plan = {0};

        if (document->content.state == FILTER_ACTIVE) {
            status = move_plan_make(document, described, nodes->count, UINT32_MAX, record->id,
                                    &plan);
        }
        if (status == STATUS_OK) {
            note_stuck(nodes, document, &plan, out);
        }
        move_plan_fini(&plan);
    }
    heap_free(described);
    return status;
}
