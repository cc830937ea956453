/* Looks ahead to where all replicas will be once moves under way have ended, and picks the one
 * further move that gains most. */
#include "coordinator/plan/rebalance.h"

#include <assert.h>
#include <string.h>

/* Differences below this share are noise. */
#define LEAST_GAIN 1e-9

struct search {
    const struct move_node *nodes;
    uint32_t nnodes;
    const struct rebalance_move *done;
    size_t ndone;
    int64_t ahead[DOCUMENT_MAX_NODES]; /* bytes that will come and go */
    uint32_t come[DOCUMENT_MAX_NODES]; /* slot groups that will come */
    double best;
};

static uint32_t index_of(const struct search *self, uint32_t id)
{
    for (uint32_t i = 0; i < self->nnodes; i++) {
        if (self->nodes[i].record->id == id) {
            return i;
        }
    }
    return self->nnodes;
}

/* Where the slot will be. */
static uint32_t place_of(const struct search *self, const struct filter_document *document,
                         uint32_t group, uint32_t slot)
{
    const struct slot *held = &document->content.groups[group].slots[slot];
    uint32_t node = slot_is_pair(held) ? held->incoming.node : held->current.node;

    for (size_t i = 0; i < self->ndone; i++) {
        const struct rebalance_move *move = &self->done[i];

        if (move->document == document && move->group == group && move->slot == slot) {
            node = move->to;
        }
    }
    return node;
}

/* What has begun to leave a node is counted there no more. */
static void look_ahead(struct search *self, const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            const struct slot *slot = &document->content.groups[group].slots[i];
            uint32_t at = index_of(self, slot->current.node);

            if (slot_is_pair(slot) && slot->incoming.node != slot->current.node &&
                at < self->nnodes) {
                self->ahead[at] -= (int64_t)move_group_bytes(document, group);
            }
        }
    }
}

static void take_done(struct search *self)
{
    for (size_t i = 0; i < self->ndone; i++) {
        uint32_t from = index_of(self, self->done[i].from);
        uint32_t to = index_of(self, self->done[i].to);

        if (from < self->nnodes && to < self->nnodes) {
            self->ahead[from] -= (int64_t)self->done[i].bytes;
            self->ahead[to] += (int64_t)self->done[i].bytes;
            self->come[to]++;
        }
    }
}

/* Share of the node's memory in use with so many bytes more. */
static double load(const struct search *self, uint32_t at, double more)
{
    const struct move_node *node = &self->nodes[at];
    double limit = (double)node->record->memory_limit_bytes;

    return ((double)node->used_bytes + (double)self->ahead[at] + more) / (limit > 0 ? limit : 1);
}

static bool has_room(const struct search *self, uint32_t at, uint64_t bytes)
{
    const struct move_node *node = &self->nodes[at];
    uint64_t used = node->used_bytes + (self->ahead[at] > 0 ? (uint64_t)self->ahead[at] : 0);

    return used + bytes <= node->record->memory_limit_bytes &&
           move_may_hold(node, (uint64_t)self->come[at] + 1);
}

static bool may_move(const struct filter_document *document, uint32_t group)
{
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        if (slot_is_pair(&document->content.groups[group].slots[i])) {
            return false;
        }
    }
    return true;
}

/* How many other slots of the group are on the node's host, and in its zone; a slot on the node
 * itself, now or then, makes it unfit. */
static bool fits(const struct search *self, const struct rebalance_move *move, uint32_t at,
                 uint32_t *hosts, uint32_t *zones)
{
    const struct move_node *node = &self->nodes[at];

    *hosts = 0;
    *zones = 0;
    for (uint32_t i = 0; i < move->document->content.rule.replicas; i++) {
        uint32_t other = index_of(self, place_of(self, move->document, move->group, i));

        if (i == move->slot || other == self->nnodes) {
            continue;
        }
        if (other == at) {
            return false;
        }
        *hosts += strcmp(self->nodes[other].record->host, node->record->host) == 0;
        *zones += strcmp(self->nodes[other].record->zone, node->record->zone) == 0;
    }
    return move_may_come(move->document, move->group, node->record);
}

static void try_targets(struct search *self, struct rebalance_move *move,
                        struct rebalance_move *out)
{
    uint32_t from = index_of(self, move->from);
    uint32_t hosts;
    uint32_t zones;
    uint32_t other_hosts;
    uint32_t other_zones;

    if (from == self->nnodes) {
        return;
    }
    (void)fits(self, move, from, &hosts, &zones);
    for (uint32_t at = 0; at < self->nnodes; at++) {
        const struct move_node *node = &self->nodes[at];
        double left = load(self, from, -(double)move->bytes);
        double filled = load(self, at, (double)move->bytes);
        double gain = load(self, from, 0) - (left > filled ? left : filled);

        if (gain > self->best && gain > LEAST_GAIN && node->alive && !node->leaves &&
            node->record->durable && has_room(self, at, move->bytes) &&
            fits(self, move, at, &other_hosts, &other_zones) && other_hosts <= hosts &&
            other_zones <= zones) {
            self->best = gain;
            *out = *move;
            out->to = node->record->id;
        }
    }
}

static void try_document(struct search *self, const struct filter_document *document,
                         struct rebalance_move *out)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        struct rebalance_move move = {
            .document = document, .group = group, .bytes = move_group_bytes(document, group)};

        for (uint32_t i = 0; may_move(document, group) && i < document->content.rule.replicas;
             i++) {
            move.slot = i;
            move.from = place_of(self, document, group, i);
            try_targets(self, &move, out);
        }
    }
}

bool rebalance_next(const struct filter_document *const *documents, size_t ndocuments,
                    const struct move_node *nodes, uint32_t nnodes,
                    const struct rebalance_move *done, size_t ndone, struct rebalance_move *out)
{
    struct search self = {.nodes = nodes, .nnodes = nnodes, .done = done, .ndone = ndone};

    assert(nnodes <= DOCUMENT_MAX_NODES);
    for (size_t i = 0; i < ndocuments; i++) {
        look_ahead(&self, documents[i]);
    }
    take_done(&self);
    for (size_t i = 0; i < ndocuments; i++) {
        if (documents[i]->durability != DURABILITY_MEMORY) {
            try_document(&self, documents[i], out);
        }
    }
    assert(self.best <= 0 || out->to != out->from); /* Where it is, it gains nothing. */
    return self.best > 0;
}
