/* Each slot that must leave gets the least unwelcome node: what rules a node out, and how two
 * that may take it compare. */
#include "coordinator/plan/move_plan.h"

#include "base/heap.h"
#include "map/history/window.h"

#include <assert.h>
#include <string.h>

void move_plan_fini(struct move_plan *self)
{
    heap_free(self->groups);
    *self = (struct move_plan){0};
}

uint32_t move_plan_target(const struct move_plan *self, uint32_t group, uint32_t slot)
{
    return self != NULL && group < self->ngroups ? self->groups[group].nodes[slot] : 0;
}

bool move_plan_lacks(const struct move_plan *self, uint32_t group, uint32_t slot)
{
    return self != NULL && group < self->ngroups && (self->groups[group].wanted >> slot & 1) != 0 &&
           self->groups[group].nodes[slot] == 0;
}

/* ---- what there is ---- */

static bool travels(const struct slot *slot)
{
    return slot_is_pair(slot) && slot->incoming.node != slot->current.node;
}

uint32_t move_groups_under_way(const struct filter_document *document)
{
    uint32_t count = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        bool any = false;

        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            any |= travels(&document->content.groups[group].slots[i]);
        }
        count += any;
    }
    return count;
}

uint64_t move_group_bytes(const struct filter_document *document, uint32_t group)
{
    uint64_t shards = 0;

    for (uint32_t shard = 0; shard < document_nshards(document); shard++) {
        shards += document->content.group_of_shard[shard] == group;
    }
    return shards * document_shard_bytes(document) * document->content.nkeysets *
           window_sets(document->nslices);
}

uint64_t move_bytes_held(const struct filter_document *document, uint32_t node)
{
    uint64_t sum = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        if (document_slot_of(document, group, node, 0) >= 0) {
            sum += move_group_bytes(document, group);
        }
    }
    return sum;
}

uint32_t move_slots_held(const struct filter_document *document, uint32_t node)
{
    uint32_t count = 0;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        count += document_slot_of(document, group, node, 0) >= 0;
    }
    return count;
}

bool move_may_stay(const struct node_list *nodes, uint32_t node)
{
    const struct node_record *record = node_list_find(nodes, node);

    return record != NULL && record->durable && !node_record_leaves(record);
}

/* ---- who takes it ---- */

bool move_may_come(const struct filter_document *document, uint32_t group,
                   const struct node_record *record)
{
    const struct member life = {.node = record->id, .incarnation = record->incarnation};

    return document_slot_of(document, group, record->id, 0) < 0 &&
           !slot_group_gave_up(&document->content.groups[group], &life);
}

bool move_may_hold(const struct move_node *node, uint64_t more)
{
    return node->most_groups == 0 || node->groups + more <= node->most_groups;
}

struct planning {
    const struct filter_document *document;
    struct move_node *nodes;
    uint32_t nnodes;
    uint32_t budget;
    uint32_t leaver; /* whose lacks are noted; 0: all of them */
    struct move_plan *plan;
};

static const struct move_node *node_of(const struct planning *self, uint32_t id)
{
    for (uint32_t i = 0; i < self->nnodes; i++) {
        if (self->nodes[i].record->id == id) {
            return &self->nodes[i];
        }
    }
    return NULL;
}

static bool leaves(const struct planning *self, uint32_t id)
{
    const struct move_node *node = node_of(self, id);

    return node != NULL && node->leaves;
}

/* A slot that is being handed over ends that first. */
static bool is_wanted(const struct planning *self, const struct slot *slot)
{
    const struct move_node *incoming = node_of(self, slot->incoming.node);

    if (!leaves(self, slot->current.node) || slot->reads_incoming) {
        return false;
    }
    return !travels(slot) || incoming == NULL || incoming->leaves || !incoming->record->durable;
}

/* How unwelcome a node is, most important first. */
struct cost {
    bool no_room;
    bool host_taken;
    bool zone_taken;
    double load;
};

static bool cheaper(const struct cost *a, const struct cost *b)
{
    if (a->no_room != b->no_room) {
        return !a->no_room;
    }
    if (a->host_taken != b->host_taken) {
        return !a->host_taken;
    }
    if (a->zone_taken != b->zone_taken) {
        return !a->zone_taken;
    }
    return a->load < b->load;
}

static uint64_t room_of(const struct move_node *node)
{
    uint64_t limit = node->record->memory_limit_bytes;

    return limit > node->used_bytes ? limit - node->used_bytes : 0;
}

/* Beside a node that is in the group to stay? */
static void meet(const struct planning *self, uint32_t other, const struct move_node *node,
                 struct cost *cost)
{
    const struct move_node *member = node_of(self, other);

    if (member != NULL && !member->leaves) {
        cost->host_taken |= strcmp(member->record->host, node->record->host) == 0;
        cost->zone_taken |= strcmp(member->record->zone, node->record->zone) == 0;
    }
}

static struct cost cost_of(const struct planning *self, uint32_t group,
                           const struct move_node *node, uint64_t bytes)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    struct cost cost = {.no_room = room_of(node) < bytes || !move_may_hold(node, 1)};
    uint64_t limit = node->record->memory_limit_bytes;

    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        meet(self, slots[i].current.node, node, &cost);
        meet(self, slots[i].incoming.node, node, &cost);
        meet(self, self->plan->groups[group].nodes[i], node, &cost);
    }
    cost.load = limit > 0 ? (double)(node->used_bytes + bytes) / (double)limit
                          : (double)node->used_bytes;
    return cost;
}

/* Never a node that has, or is about to have, a slot of the group. */
static bool may_take(const struct planning *self, uint32_t group, const struct move_node *leaver,
                     const struct move_node *node)
{
    uint32_t id = node->record->id;

    if (!node->alive || node->leaves || !node->record->durable ||
        node_record_leaves(node->record) ||
        (leaver->record->replaced_by != 0 && leaver->record->replaced_by != id) ||
        !move_may_come(self->document, group, node->record)) {
        return false;
    }
    for (uint32_t i = 0; i < self->document->content.rule.replicas; i++) {
        if (self->plan->groups[group].nodes[i] == id) {
            return false;
        }
    }
    return true;
}

static struct move_node *choose(const struct planning *self, uint32_t group, uint64_t bytes,
                                const struct move_node *leaver, struct cost *best)
{
    struct move_node *pick = NULL;

    for (uint32_t i = 0; i < self->nnodes; i++) {
        struct move_node *node = &self->nodes[i];
        struct cost cost;

        if (!may_take(self, group, leaver, node)) {
            continue;
        }
        cost = cost_of(self, group, node, bytes);
        if (pick == NULL || cheaper(&cost, best)) {
            pick = node;
            *best = cost;
        }
    }
    return pick;
}

/* ---- the plan ---- */

/* What only waits for its turn is the least interesting. */
static void note_lack(const struct planning *self, enum move_lack lack, uint32_t group,
                      uint32_t leaver)
{
    struct move_plan *plan = self->plan;

    if (self->leaver != 0 && self->leaver != leaver) {
        return;
    }
    plan->waiting++;
    plan->waiting_bytes += move_group_bytes(self->document, group);
    if (plan->lack == MOVE_LACK_NONE || (plan->lack == MOVE_LACK_TURN && lack != MOVE_LACK_TURN)) {
        plan->lack = lack;
        plan->group = group;
        plan->leaver = leaver;
        plan->candidate = 0;
        plan->missing_bytes = 0;
    }
}

static void note_no_room(const struct planning *self, uint32_t group, uint32_t leaver,
                         const struct move_node *node, uint64_t bytes)
{
    struct move_plan *plan = self->plan;
    bool room = room_of(node) >= bytes;
    enum move_lack lack = room ? MOVE_LACK_GROUPS : MOVE_LACK_ROOM;

    note_lack(self, lack, group, leaver);
    if (plan->lack == lack && plan->candidate == 0) {
        plan->candidate = node->record->id;
        plan->missing_bytes = room ? 0 : bytes - room_of(node);
    }
}

static void plan_slot(struct planning *self, uint32_t group, uint32_t slot, uint64_t bytes)
{
    uint32_t leaver = self->document->content.groups[group].slots[slot].current.node;
    struct move_node *node;
    struct cost cost = {0};

    assert(leaves(self, leaver)); /* So it is one of the nodes. */
    if (self->document->durability == DURABILITY_MEMORY) {
        note_lack(self, MOVE_LACK_LOG, group, leaver);
        return;
    }
    node = choose(self, group, bytes, node_of(self, leaver), &cost);
    if (node == NULL) {
        note_lack(self, MOVE_LACK_NODE, group, leaver);
    } else if (cost.no_room) {
        note_no_room(self, group, leaver, node, bytes);
    } else {
        self->plan->groups[group].nodes[slot] = node->record->id;
        self->plan->shares_host |= cost.host_taken;
        node->used_bytes += bytes;
        node->groups++;
    }
}

static void plan_group(struct planning *self, uint32_t group)
{
    const struct slot *slots = self->document->content.groups[group].slots;
    struct move_targets *targets = &self->plan->groups[group];
    uint32_t replicas = self->document->content.rule.replicas;
    bool moves = false;
    bool any = false;

    for (uint32_t i = 0; i < replicas; i++) {
        targets->wanted |= (uint8_t)(is_wanted(self, &slots[i]) << i);
        moves |= travels(&slots[i]);
    }
    for (uint32_t i = 0; i < replicas; i++) {
        if ((targets->wanted >> i & 1) == 0) {
            continue;
        }
        if (!moves && self->budget == 0) {
            note_lack(self, MOVE_LACK_TURN, group, slots[i].current.node);
        } else {
            plan_slot(self, group, i, move_group_bytes(self->document, group));
        }
        any |= targets->nodes[i] != 0;
    }
    assert(self->budget > 0 || moves || !any);
    self->budget -= any && !moves ? 1 : 0;
}

enum status move_plan_make(const struct filter_document *document, struct move_node *nodes,
                           uint32_t nnodes, uint32_t budget, uint32_t leaver, struct move_plan *out)
{
    struct planning self = {document, nodes, nnodes, budget, leaver, out};

    *out = (struct move_plan){.ngroups = document->content.ngroups};
    out->groups = heap_zalloc(document->content.ngroups, sizeof *out->groups);
    if (out->groups == NULL) {
        out->ngroups = 0;
        return STATUS_NOMEM;
    }
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        plan_group(&self, group);
    }
    return STATUS_OK;
}
