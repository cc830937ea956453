/* Rebalancing: on or off is all that is kept, in the node list; the next move is chosen at each
 * look from the documents alone, and nothing to gain switches it off. */
#include "coordinator/plan/rebalance.h"

#include "base/heap.h"
#include "base/number.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/records.h"
#include "coordinator/rounds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MOVES = 4096, LISTED_BYTES = 900 };

/* All that a choice is made from. */
struct scene {
    struct move_node *nodes;
    const struct filter_document **documents;
    size_t ndocuments;
    bool leaving; /* something is to leave: that comes first */
};

static void scene_fini(struct scene *self)
{
    heap_free(self->nodes);
    heap_free(self->documents);
    *self = (struct scene){0};
}

static void fill_nodes(const struct coordinator *self, uint64_t now_us, struct scene *scene)
{
    const struct node_list *list = &self->documents.nodes;

    for (uint32_t i = 0; i < list->count; i++) {
        scene->nodes[i] = (struct move_node){
            .record = &list->nodes[i],
            .alive = heard_alive(self, now_us, list->nodes[i].id),
            .leaves = moves_leaves(self, now_us, &list->nodes[i]),
            .used_bytes = usage_bytes(self, list->nodes[i].id),
            .groups = usage_slots(self, list->nodes[i].id),
            .most_groups = self->config.node_groups,
        };
        scene->leaving |= scene->nodes[i].leaves && scene->nodes[i].used_bytes > 0;
    }
}

static enum status scene_make(const struct coordinator *self, uint64_t now_us, struct scene *scene)
{
    *scene = (struct scene){
        .nodes = heap_zalloc((size_t)self->documents.nodes.count + 1, sizeof *scene->nodes),
        .documents = heap_zalloc(self->documents.count + 1, sizeof(void *)),
    };
    if (scene->nodes == NULL || scene->documents == NULL) {
        scene_fini(scene);
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;

        if (document->content.state == FILTER_ACTIVE) {
            scene->documents[scene->ndocuments++] = document;
        }
    }
    fill_nodes(self, now_us, scene);
    return STATUS_OK;
}

static bool choose(const struct coordinator *self, const struct scene *scene,
                   const struct rebalance_move *done, size_t ndone, struct rebalance_move *out)
{
    return !scene->leaving && rebalance_next(scene->documents, scene->ndocuments, scene->nodes,
                                             self->documents.nodes.count, done, ndone, out);
}

bool rebalance_is_on(const struct coordinator *self)
{
    return self->documents.nodes.rebalancing || strcmp(self->config.rebalance, "auto") == 0;
}

enum status rebalance_plan(const struct coordinator *self, uint64_t now_us,
                           const struct filter_document *document, struct move_plan *plan)
{
    struct rebalance_move move;
    struct scene scene;
    enum status status;

    if (!rebalance_is_on(self)) {
        return STATUS_OK;
    }
    status = scene_make(self, now_us, &scene);
    if (status != STATUS_OK) {
        return status;
    }
    if (usage_under_way(self) < self->config.moves_at_once &&
        choose(self, &scene, NULL, 0, &move) && move.document == document) {
        plan->groups = heap_zalloc(document->content.ngroups, sizeof *plan->groups);
        status = plan->groups != NULL ? STATUS_OK : STATUS_NOMEM;
        plan->ngroups = plan->groups != NULL ? document->content.ngroups : 0;
        if (plan->groups != NULL) {
            plan->groups[move.group].wanted = (uint8_t)(1U << move.slot);
            plan->groups[move.group].nodes[move.slot] = move.to;
        }
    }
    scene_fini(&scene);
    return status;
}

/* ---- on and off ---- */

static enum status write_wish(struct coordinator *self, bool on)
{
    struct node_list nodes;
    enum status status;

    if (self->documents.nodes.rebalancing == on) {
        return STATUS_OK;
    }
    status = node_list_copy(&self->documents.nodes, &nodes);
    if (status == STATUS_OK) {
        nodes.revision++;
        nodes.rebalancing = on;
        status = records_write_nodes(self, &nodes);
        node_list_fini(&nodes);
    }
    return status;
}

bool rebalance_check(struct coordinator *self, uint64_t now_us)
{
    struct rebalance_move move;
    struct scene scene;
    bool more;

    if (!self->documents.nodes.rebalancing) {
        return false;
    }
    if (scene_make(self, now_us, &scene) != STATUS_OK) {
        return true;
    }
    more = scene.leaving || usage_under_way(self) > 0 || choose(self, &scene, NULL, 0, &move);
    scene_fini(&scene);
    if (!more && write_wish(self, false) == STATUS_OK) {
        log_line(LOG_INFO, "rebalanced: no further move gains anything");
    }
    return more;
}

/* ---- the command ---- */

static const char *name_of(const struct coordinator *self, uint32_t node)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);

    return record != NULL ? record->name : "?";
}

/* "3 groups, 5.7 MiB: urls group 0 node-1 to node-4; ..." */
static size_t describe(const struct coordinator *self, const struct scene *scene, char *text,
                       size_t size)
{
    struct rebalance_move *moves = heap_alloc(MOST_MOVES, sizeof *moves);
    char list[LISTED_BYTES] = "";
    char shown[NUMBER_TEXT_BYTES];
    uint64_t bytes = 0;
    size_t used = 0;
    size_t listed = 0;
    size_t count = 0;

    while (moves != NULL && count < MOST_MOVES &&
           choose(self, scene, moves, count, &moves[count])) {
        const struct rebalance_move *move = &moves[count++];

        bytes += move->bytes;
        if (listed + 1 == count && used + 2 * DOCUMENT_NAME_BYTES < sizeof list - 200) {
            used += (size_t)snprintf(list + used, sizeof list - used,
                                     "; %.60s group %" PRIu32 " from %.60s to %.60s",
                                     move->document->content.name, move->group,
                                     name_of(self, move->from), name_of(self, move->to));
            listed++;
        }
    }
    heap_free(moves);
    if (count == 0) {
        (void)snprintf(text, size,
                       "nothing to move: no replica that may move would leave the nodes' "
                       "memory more even");
        return 0;
    }
    (void)snprintf(text, size, "%zu replica%s of slot groups to move, %s to copy%s%s", count,
                   count == 1 ? "" : "s", number_show_bytes(bytes, shown), list,
                   listed < count ? "; and others" : "");
    return count;
}

static enum status try_wish(struct coordinator *self, uint64_t now_us, void *context)
{
    (void)now_us;
    return write_wish(self, *(const bool *)context);
}

void coordinator_on_rebalance(struct coordinator *self, uint64_t now_us, const struct peer *from,
                              const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    char message[LISTED_BYTES + 200] =
        "no longer rebalanced; moves that have begun are seen through";
    struct scene scene;
    size_t count = 0;
    enum status status = scene_make(self, now_us, &scene);

    if (status == STATUS_OK && scene.leaving) {
        status = STATUS_UNAVAILABLE;
        (void)snprintf(message, sizeof message,
                       "nodes are being drained or replaced: that comes "
                       "first; see `orbloom status`");
    } else if (status == STATUS_OK && !request->undo) {
        count = describe(self, &scene, message, sizeof message);
    }
    scene_fini(&scene);
    if (status == STATUS_OK && !request->dry_run) {
        bool on = count > 0;

        status = records_change(self, now_us, try_wish, &on);
        if (status != STATUS_OK) {
            records_tell(self, status, "written", message, sizeof message);
        }
    }
    if (status == STATUS_OK && !request->dry_run) {
        log_line(LOG_INFO, "rebalance: %s", message);
        coordinator_hint(self, now_us);
        rounds_want_all(self);
        self->moves_us = now_us;
    }
    coordinator_answer(self, from, frame->correlation, status, false, message);
}
