/* What documents give to each node, summed up once for every state of the documents: a look at all
 * of them for each node and filter would take the square of their number. */
#include "coordinator/nodes/usage.h"

#include "base/heap.h"
#include "coordinator/nodes/moves.h"
#include "map/history/window.h"

#include <stdlib.h>
#include <string.h>

struct usage_of_node {
    uint32_t node;
    uint32_t slots;
    uint64_t bytes;
};

struct usage {
    uint64_t taken; /* documents that were taken as it was made; 0: never */
    uint64_t under_way;
    struct usage_of_node nodes[DOCUMENT_MAX_NODES]; /* of the list, ascending ids */
    uint32_t count;
};

struct usage *usage_create(void)
{
    return heap_zalloc(1, sizeof(struct usage));
}

static int compare_nodes(const void *a, const void *b)
{
    uint32_t left = ((const struct usage_of_node *)a)->node;
    uint32_t right = ((const struct usage_of_node *)b)->node;

    return left < right ? -1 : left > right;
}

static struct usage_of_node *find(struct usage *self, uint32_t node)
{
    const struct usage_of_node key = {.node = node};

    return bsearch(&key, self->nodes, self->count, sizeof key, compare_nodes);
}

static void count_slot(struct usage *self, uint32_t node, uint64_t bytes)
{
    struct usage_of_node *of = find(self, node);

    if (of != NULL) {
        of->slots++;
        of->bytes += bytes;
    }
}

/* No node has two slots of a group. */
static void count_group(struct usage *self, const struct filter_document *document, uint32_t group,
                        uint64_t bytes)
{
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct slot *slot = &document->content.groups[group].slots[i];

        count_slot(self, slot->current.node, bytes);
        if (slot_is_pair(slot) && slot->incoming.node != slot->current.node) {
            count_slot(self, slot->incoming.node, bytes);
        }
    }
}

static void count_document(struct usage *self, const struct filter_document *document)
{
    uint64_t shard_bytes = document_shard_bytes(document) * document->content.nkeysets *
                           window_sets(document->nslices);
    uint32_t nshards = document_nshards(document);
    uint32_t shards[DOCUMENT_MAX_SHARDS];

    memset(shards, 0, document->content.ngroups * sizeof shards[0]);
    for (uint32_t shard = 0; shard < nshards && document->content.ngroups > 1; shard++) {
        shards[document->content.group_of_shard[shard]]++;
    }
    if (document->content.ngroups == 1) { /* As most are, where there are many. */
        shards[0] = nshards;
    }
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        count_group(self, document, group, shards[group] * shard_bytes);
    }
    self->under_way += move_groups_under_way(document);
}

static struct usage *current(const struct coordinator *self)
{
    const struct node_list *list = &self->documents.nodes;
    struct usage *usage = self->usage;

    if (usage->taken == self->documents_taken) {
        return usage;
    }
    *usage = (struct usage){.taken = self->documents_taken, .count = list->count};
    for (uint32_t i = 0; i < list->count; i++) {
        usage->nodes[i].node = list->nodes[i].id;
    }
    qsort(usage->nodes, usage->count, sizeof usage->nodes[0], compare_nodes);
    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;

        if (document->content.state != FILTER_DROPPED) {
            count_document(usage, document);
        }
    }
    return usage;
}

void usage_add(struct coordinator *self, const struct filter_document *document)
{
    struct usage *usage = self->usage;

    if (usage->taken == 0 || usage->taken + 1 != self->documents_taken) {
        return; /* All are summed up when it is asked for. */
    }
    if (document->content.state != FILTER_DROPPED) {
        count_document(usage, document);
    }
    usage->taken = self->documents_taken;
}

uint64_t usage_bytes(const struct coordinator *self, uint32_t node)
{
    const struct usage_of_node *of = find(current(self), node);

    return of != NULL ? of->bytes : 0;
}

uint32_t usage_slots(const struct coordinator *self, uint32_t node)
{
    const struct usage_of_node *of = find(current(self), node);

    return of != NULL ? of->slots : 0;
}

uint64_t usage_under_way(const struct coordinator *self)
{
    return current(self)->under_way;
}

/* ---- at the peak of expansion ---- */

/* Of the largest generation; of a chain, of all. */
static uint64_t most_shard_bytes(const struct filter_document *document)
{
    uint64_t most = 0;

    if (document_is_chain(document)) {
        return document_shard_bytes(document);
    }
    for (uint32_t i = 0; i < document->ngenerations; i++) {
        uint64_t bytes = document->generations[i].geometry.lines * LINE_BYTES;

        most = bytes > most ? bytes : most;
    }
    return most;
}

uint64_t usage_peak_bytes(const struct coordinator *self, uint32_t node)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;
        uint64_t shard_bytes = most_shard_bytes(document);
        uint64_t held = 0;

        if (document->content.state == FILTER_DROPPED) {
            continue;
        }
        for (uint32_t shard = 0; shard < document_nshards(document); shard++) {
            uint32_t group = document->content.group_of_shard[shard];

            held += document_slot_of(document, group, node, 0) >= 0 ? shard_bytes : 0;
        }
        /* Each has arrays of its own. */
        held *= document->content.nkeysets * window_sets(document->nslices);
        sum += held > 0 && expansion_running(document) && !document_is_chain(document)
                   ? held + shard_bytes
                   : held;
    }
    return sum;
}
