/* Where a new filter goes. Filters with a log go to nodes with a disk, those kept in memory to
 * nodes without one: on the others they would promise what is not kept, or keep what is not
 * promised. */
#include "base/heap.h"
#include "base/number.h"
#include "coordinator/make/create.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/plan/placement.h"
#include "map/history/window.h"
#include "map/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LISTED_NODES = 4 /* by name, in a message */ };

/* Heard of lately, under the incarnation that the node list names. */
static bool is_alive(const struct coordinator *self, uint64_t now_us,
                     const struct node_record *record)
{
    const struct heard *heard = coordinator_heard(self, record->id);

    return heard != NULL && heard->incarnation == record->incarnation &&
           coordinator_lately(self, now_us, heard->last_us);
}

/* Alive and not to be emptied. */
static bool is_usable(const struct coordinator *self, uint64_t now_us,
                      const struct node_record *record)
{
    return is_alive(self, now_us, record) && !node_record_leaves(record);
}

static uint32_t count_leaving(const struct coordinator *self, uint64_t now_us)
{
    const struct node_list *nodes = &self->documents.nodes;
    uint32_t count = 0;

    for (uint32_t i = 0; i < nodes->count; i++) {
        count += is_alive(self, now_us, &nodes->nodes[i]) && node_record_leaves(&nodes->nodes[i]);
    }
    return count;
}

static uint32_t count_usable(const struct coordinator *self, uint64_t now_us, bool durable)
{
    const struct node_list *nodes = &self->documents.nodes;
    uint32_t count = 0;

    for (uint32_t i = 0; i < nodes->count; i++) {
        count += nodes->nodes[i].durable == durable && is_usable(self, now_us, &nodes->nodes[i]);
    }
    return count;
}

void create_choose_durability(const struct coordinator *self, uint64_t now_us,
                              struct create *create)
{
    uint32_t needed = create->request->create.rule.replicas;
    uint32_t with_disk = count_usable(self, now_us, true);
    uint32_t without = count_usable(self, now_us, false);
    bool to_disk = with_disk >= needed || (with_disk > 0 && without < needed);

    create->durability = create->request->create.durability;
    if (create->durability == 0) {
        to_disk = to_disk || create->request->create.keylog == KEYLOG_OFF ||
                  create->request->create.window_us != 0;
        create->durability = to_disk ? DURABILITY_SYNC : DURABILITY_MEMORY;
    }
}

static uint32_t collect_usable(const struct coordinator *self, uint64_t now_us, bool durable,
                               struct placement_node *usable)
{
    const struct node_list *nodes = &self->documents.nodes;
    uint32_t count = 0;

    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct node_record *record = &nodes->nodes[i];

        if (record->durable == durable && is_usable(self, now_us, record)) {
            usable[count++] = (struct placement_node){
                .id = record->id,
                .incarnation = record->incarnation,
                .host = record->host,
                .zone = record->zone,
                .limit_bytes = record->memory_limit_bytes,
                .used_bytes = usage_bytes(self, record->id),
                .groups = usage_slots(self, record->id),
                .most_groups = self->config.node_groups,
            };
        }
    }
    return count;
}

/* "node-1, node-3 and 4 more": the usable nodes with, or without, a disk. */
static void list_nodes(const struct coordinator *self, uint64_t now_us, bool durable, char *text,
                       size_t size)
{
    const struct node_list *nodes = &self->documents.nodes;
    uint32_t count = count_usable(self, now_us, durable);
    uint32_t named = 0;
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < nodes->count && named < LISTED_NODES; i++) {
        if (nodes->nodes[i].durable == durable && is_usable(self, now_us, &nodes->nodes[i])) {
            used += (size_t)snprintf(text + used, size - used, "%s%.40s", named > 0 ? ", " : "",
                                     nodes->nodes[i].name);
            named++;
        }
    }
    if (count > named) {
        (void)snprintf(text + used, size - used, " and %u more", count - named);
    }
}

static void explain_nodes(const struct coordinator *self, uint64_t now_us, struct create *create,
                          uint32_t nusable)
{
    bool durable = create->durability != DURABILITY_MEMORY;
    uint32_t needed = create->request->create.rule.replicas;
    uint32_t leaving = count_leaving(self, now_us);
    char others[COORDINATOR_MESSAGE_BYTES / 2];

    list_nodes(self, now_us, !durable, others, sizeof others);
    if (others[0] == '\0' && nusable + leaving >= needed) {
        (void)snprintf(create->message, sizeof create->message,
                       "%u replicas need as many nodes, %u of the %u alive are being drained or "
                       "replaced; start nodes, or take them into use again: "
                       "orbloom node drain NODE --undo",
                       needed, leaving, nusable + leaving);
    } else if (others[0] == '\0') {
        (void)snprintf(create->message, sizeof create->message,
                       "%u replicas need as many nodes, %u of the %u known are alive; start nodes "
                       "or ask for fewer replicas",
                       needed, nusable, self->documents.nodes.count);
    } else if (durable) {
        (void)snprintf(
            create->message, sizeof create->message,
            "durability %s takes %u nodes with a disk and %u are alive; %s keep%s memory "
            "only: give them a data folder, or create with --durability memory%s",
            durability_name(create->durability), needed, nusable, others,
            strchr(others, ' ') == NULL ? "s" : "",
            create->request->create.keylog == KEYLOG_OFF ? " and --keylog on" : "");
    } else {
        (void)snprintf(create->message, sizeof create->message,
                       "durability memory takes %u nodes without a disk and %u are alive; %s ha%s "
                       "one: create with --durability sync or os, or start nodes without a data "
                       "folder",
                       needed, nusable, others, strchr(others, ' ') == NULL ? "s" : "ve");
    }
}

static void explain_room(const struct coordinator *self, struct create *create,
                         const struct placement *placement)
{
    const struct node_record *node = node_list_find(&self->documents.nodes, placement->node);
    char missing[NUMBER_TEXT_BYTES];
    char total[NUMBER_TEXT_BYTES];

    if (placement->missing_bytes == 0) {
        (void)snprintf(create->message, sizeof create->message,
                       "too few nodes may take more slot groups: node %s, which has the most room, "
                       "holds as many as a node may (node_groups %" PRIu64
                       "); add nodes, drop filters, or raise that",
                       node != NULL ? node->name : "?", self->config.node_groups);
        return;
    }
    (void)snprintf(create->message, sizeof create->message,
                   "memory does not suffice: a replica takes %s and node %s, which has the "
                   "most room, lacks %s; raise memory_limit, add nodes, or ask for less",
                   number_show_bytes(create->plan.total_bytes, total),
                   node != NULL ? node->name : "?",
                   number_show_bytes(placement->missing_bytes, missing));
}

static void fill_groups(struct create *create, const struct placement *placement,
                        struct filter_document *document)
{
    document->content.ngroups = placement->ngroups;
    document->content.groups = placement->groups;
    document->content.group_of_shard = placement->group_of_shard;
    reader_note_all(document);
    if (placement->shares_host) {
        log_line(LOG_WARN, "filter %s: replicas of a shard share a host; add hosts",
                 create->request->name);
    }
}

enum status create_place(struct coordinator *self, uint64_t now_us, struct create *create,
                         struct filter_document *document)
{
    struct placement_node *usable = heap_zalloc((size_t)self->documents.nodes.count,
                                                sizeof *usable);
    struct placement placement = {0};
    uint32_t nusable;
    enum status status;

    if (usable == NULL) {
        return STATUS_NOMEM;
    }
    nusable = collect_usable(self, now_us, create->durability != DURABILITY_MEMORY, usable);
    status = placement_make(
        usable, nusable, create->request->create.rule.replicas, create->plan.shard_bits,
        create->plan.shard_bytes * window_sets(create->request->create.nslices), &placement);
    if (status == STATUS_OK) {
        fill_groups(create, &placement, document);
    } else if (status == STATUS_UNAVAILABLE) {
        explain_nodes(self, now_us, create, nusable);
    } else if (status == STATUS_NO_SPACE) {
        explain_room(self, create, &placement);
    } else {
        (void)snprintf(create->message, sizeof create->message, "%s", status_meaning(status));
    }
    heap_free(usable);
    return status;
}
