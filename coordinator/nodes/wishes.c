/* What operators want of nodes: drain, replace, remove. Each writes a wish into the node list, and
 * nothing else; what follows from it is decided anew at each look, by whichever coordinator, from
 * the documents alone. */
#include "base/heap.h"
#include "base/number.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/nodes/vouch.h"
#include "coordinator/records.h"
#include "coordinator/rounds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct wish;

/* May it be so? It says why not. */
typedef enum status (*judge_fn)(const struct coordinator *self, uint64_t now_us, struct wish *wish);

/* An operator's command on one node. */
struct wish {
    const struct admin_request *request;
    judge_fn judge;
    struct node_record *record; /* in the edited list: of the node named */
    struct node_list nodes;     /* as it is to be */
    char message[COORDINATOR_MESSAGE_BYTES];
};

static struct node_record *find(const struct node_list *nodes, const char *name)
{
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (strcmp(nodes->nodes[i].name, name) == 0) {
            return &nodes->nodes[i];
        }
    }
    return NULL;
}

/* STATUS_EXISTS is no refusal: all is as wished already. */
static enum status try_wish(struct coordinator *self, uint64_t now_us, void *context)
{
    struct wish *wish = context;
    enum status status = node_list_copy(&self->documents.nodes, &wish->nodes);

    if (status != STATUS_OK) {
        return coordinator_refuse(wish->message, status, "%s", status_meaning(status));
    }
    wish->record = find(&wish->nodes, wish->request->name);
    if (wish->record == NULL) {
        status = coordinator_refuse(wish->message, STATUS_NOT_FOUND,
                                    "there is no node %.128s; see `orbloom status`",
                                    wish->request->name);
    } else {
        status = wish->judge(self, now_us, wish);
    }
    if (status == STATUS_OK) {
        wish->nodes.revision++;
        status = records_write_nodes(self, &wish->nodes);
        if (status != STATUS_OK) {
            records_tell(self, status, "written", wish->message, sizeof wish->message);
        }
    }
    node_list_fini(&wish->nodes);
    return status;
}

static void carry_out(struct coordinator *self, uint64_t now_us, const struct peer *from,
                      const struct frame *frame, judge_fn judge)
{
    struct wish wish = {.request = &frame->body.admin_request, .judge = judge};
    enum status status = records_change(self, now_us, try_wish, &wish);

    if (status == STATUS_OK) {
        log_line(LOG_INFO, "node %s: %s", wish.request->name, wish.message);
        coordinator_hint(self, now_us);
        rounds_want_all(self);
    }
    status = status == STATUS_EXISTS ? STATUS_OK : status;
    coordinator_answer(self, from, frame->correlation, status, false, wish.message);
}

/* ---- the operator's word that a life is off for good ---- */

static enum status vouch(const struct coordinator *self, uint64_t now_us, struct wish *wish)
{
    const struct admin_request *request = wish->request;
    enum status status = vouch_check(self, request, wish->message);

    if (request->nconfirmed_off == 0 || status != STATUS_OK) {
        return status;
    }
    if (request->nconfirmed_off > 1 || request->confirmed_off[0].life.node != wish->record->id) {
        return coordinator_refuse(
            wish->message, STATUS_INVALID,
            "another node's life was vouched for than that of %.128s: name that one alone",
            wish->record->name);
    }
    if (request->confirmed_off[0].runs || heard_alive(self, now_us, wish->record->id)) {
        return coordinator_refuse(
            wish->message, STATUS_INVALID,
            "node %s is alive: end its process before you confirm that it is off",
            wish->record->name);
    }
    log_line(LOG_WARN, "node %s: an operator vouches that incarnation %016" PRIx64 " is off",
             wish->record->name, wish->record->incarnation);
    wish->record->confirmed_off = wish->record->incarnation;
    return STATUS_OK;
}

/* ---- can it be done? ---- */

/* A node that nothing can take a replica from would stand there for good, and be given no other
 * replicas either: refused while the operator can still choose. What becomes impossible later is
 * told by status. */
static enum status check_places(const struct coordinator *self, uint64_t now_us, struct wish *wish,
                                struct moves_stuck *stuck)
{
    enum status status = moves_judge(self, now_us, &wish->nodes, wish->record, stuck);
    uint32_t slots = usage_slots(self, wish->record->id);
    char bytes[NUMBER_TEXT_BYTES];

    if (status != STATUS_OK) {
        return coordinator_refuse(wish->message, status, "%s", status_meaning(status));
    }
    if (stuck->slots == 0) {
        return STATUS_OK;
    }
    return coordinator_refuse(
        wish->message,
        stuck->lack == MOVE_LACK_ROOM || stuck->lack == MOVE_LACK_GROUPS ? STATUS_NO_SPACE
                                                                         : STATUS_INVALID,
        "%" PRIu32 " of the %" PRIu32 " replicas of slot groups on %s, %s, have nowhere "
        "to go, so nothing was changed; %s",
        stuck->slots, slots, wish->record->name, number_show_bytes(stuck->bytes, bytes),
        stuck->text);
}

static const char *host_warning(const struct moves_stuck *stuck)
{
    return stuck->shares_host ? "; some will share a host with another replica of their shards, "
                                "unless a node is started on another host"
                              : "";
}

/* ---- drain ---- */

static const struct node_record *replaced_by_it(const struct wish *wish)
{
    for (uint32_t i = 0; i < wish->nodes.count; i++) {
        if (wish->nodes.nodes[i].replaced_by == wish->record->id) {
            return &wish->nodes.nodes[i];
        }
    }
    return NULL;
}

static enum status stop_draining(struct wish *wish)
{
    if (!node_record_leaves(wish->record)) {
        return coordinator_refuse(wish->message, STATUS_EXISTS, "it is not being drained");
    }
    wish->record->draining = false;
    wish->record->replaced_by = 0;
    return coordinator_refuse(
        wish->message, STATUS_OK,
        "no longer drained; moves that have begun are seen through, no others begin");
}

static enum status judge_drain(const struct coordinator *self, uint64_t now_us, struct wish *wish)
{
    const struct node_record *old = replaced_by_it(wish);
    uint64_t vouched = wish->record->confirmed_off;
    bool drains = wish->record->draining;
    struct moves_stuck stuck = {0};
    enum status status = STATUS_OK;

    if (wish->request->undo) {
        return stop_draining(wish);
    }
    if (old != NULL) {
        return coordinator_refuse(
            wish->message, STATUS_INVALID,
            "node %s takes the place of %s; wait until %s holds nothing, or undo that "
            "with `orbloom node drain %s --undo`",
            wish->record->name, old->name, old->name, old->name);
    }
    wish->record->draining = true;
    if (!drains) {
        status = check_places(self, now_us, wish, &stuck);
    }
    if (status == STATUS_OK) {
        status = vouch(self, now_us, wish);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (drains && wish->record->confirmed_off == vouched) {
        return coordinator_refuse(wish->message, STATUS_EXISTS,
                                  "it is being drained; see `orbloom status`");
    }
    return coordinator_refuse(wish->message, STATUS_OK,
                              "draining: %" PRIu32 " replicas of slot groups move elsewhere%s",
                              usage_slots(self, wish->record->id), host_warning(&stuck));
}

void coordinator_on_drain(struct coordinator *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame)
{
    carry_out(self, now_us, from, frame, judge_drain);
}

/* ---- replace ---- */

/* Could NEW take all that OLD holds? Memory is looked at by the plan again, group by group. */
static enum status check_share(const struct coordinator *self, struct wish *wish,
                               const struct node_record *successor,
                               const struct filter_document *document)
{
    const char *filter = document->content.name;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        if (document_slot_of(document, group, wish->record->id, 0) < 0) {
            continue;
        }
        if (document->durability == DURABILITY_MEMORY) {
            return coordinator_refuse(
                wish->message, STATUS_INVALID,
                "filter %s is kept in memory only: what %s held of it can't be copied; "
                "drop the filter, create it again and add its keys again",
                filter, wish->record->name);
        }
        if (!successor->durable) {
            return coordinator_refuse(
                wish->message, STATUS_INVALID,
                "node %s keeps memory only, and filter %s needs a disk; give it a "
                "data_dir, or name another node",
                successor->name, filter);
        }
        if (document_slot_of(document, group, successor->id, 0) >= 0) {
            return coordinator_refuse(
                wish->message, STATUS_INVALID,
                "node %s holds a replica of the same shards of filter %s; name a node "
                "that holds none, or let others take them: `orbloom node drain %s`",
                successor->name, filter, wish->record->name);
        }
        if (!move_may_come(document, group, successor)) {
            return coordinator_refuse(
                wish->message, STATUS_INVALID,
                "what node %s held of the same shards of filter %s was given up; name "
                "another node, or end its process, empty its folder and start it again",
                successor->name, filter);
        }
    }
    (void)self;
    return STATUS_OK;
}

static enum status check_room(const struct coordinator *self, struct wish *wish,
                              const struct node_record *successor)
{
    uint64_t wanted = usage_bytes(self, wish->record->id);
    uint64_t used = usage_bytes(self, successor->id);
    uint64_t limit = successor->memory_limit_bytes;
    uint64_t room = limit > used ? limit - used : 0;
    char texts[3][NUMBER_TEXT_BYTES];

    if (wanted <= room) {
        return STATUS_OK;
    }
    return coordinator_refuse(
        wish->message, STATUS_NO_SPACE,
        "node %s has room for %s of the %s that %s holds: %s are missing; raise its "
        "memory_limit, or let several take them: `orbloom node drain %s`",
        successor->name, number_show_bytes(room, texts[0]), number_show_bytes(wanted, texts[1]),
        wish->record->name, number_show_bytes(wanted - room, texts[2]), wish->record->name);
}

static enum status check_successor(const struct coordinator *self, uint64_t now_us,
                                   struct wish *wish, const struct node_record *successor)
{
    enum status status = STATUS_OK;

    if (successor == wish->record) {
        return coordinator_refuse(
            wish->message, STATUS_INVALID,
            "a node can't take its own place: if it lost its data, start it again");
    }
    if (node_record_leaves(successor)) {
        return coordinator_refuse(wish->message, STATUS_INVALID,
                                  "node %s is to leave itself; name another one", successor->name);
    }
    if (!heard_alive(self, now_us, successor->id)) {
        return coordinator_refuse(wish->message, STATUS_UNAVAILABLE,
                                  "node %s is not alive; start it, and see `orbloom status`",
                                  successor->name);
    }
    for (size_t i = 0; i < self->documents.count && status == STATUS_OK; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;

        if (document->content.state == FILTER_ACTIVE) {
            status = check_share(self, wish, successor, document);
        }
    }
    return status == STATUS_OK ? check_room(self, wish, successor) : status;
}

/* Has this coordinator run for so long that it would have heard of a living node? */
static bool knows(const struct coordinator *self, uint64_t now_us)
{
    return now_us - self->started_us > self->config.node_timeout_us;
}

static enum status judge_replace(const struct coordinator *self, uint64_t now_us, struct wish *wish)
{
    const struct node_record *successor = find(&wish->nodes, wish->request->successor);
    uint64_t vouched = wish->record->confirmed_off;
    bool again = successor != NULL && wish->record->replaced_by == successor->id;
    struct moves_stuck stuck = {0};
    enum status status = STATUS_OK;

    if (successor == NULL) {
        return coordinator_refuse(wish->message, STATUS_NOT_FOUND,
                                  "there is no node %.128s; see `orbloom status`",
                                  wish->request->successor);
    }
    if (heard_alive(self, now_us, wish->record->id)) {
        return coordinator_refuse(
            wish->message, STATUS_INVALID,
            "node %s is alive: let it hand over what it holds, with `orbloom node drain "
            "%s`; replace is for nodes that are gone. If its process has ended, wait "
            "%" PRIu64 " ms, and repeat this",
            wish->record->name, wish->record->name, self->config.node_timeout_us / 1000);
    }
    if (!knows(self, now_us)) {
        return coordinator_refuse(
            wish->message, STATUS_UNAVAILABLE,
            "the coordinator has just started and can't tell yet which nodes live; "
            "retry in %" PRIu64 " ms",
            self->config.node_timeout_us / 1000);
    }
    if (!again) {
        status = check_successor(self, now_us, wish, successor);
    }
    wish->record->replaced_by = successor->id;
    if (!again && status == STATUS_OK) {
        status = check_places(self, now_us, wish, &stuck);
    }
    if (status == STATUS_OK) {
        status = vouch(self, now_us, wish);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (again && wish->record->confirmed_off == vouched) {
        return coordinator_refuse(wish->message, STATUS_EXISTS,
                                  "it is being replaced; see `orbloom status`");
    }
    return coordinator_refuse(
        wish->message, STATUS_OK, "%" PRIu32 " replicas of slot groups move to %s%s",
        usage_slots(self, wish->record->id), successor->name, host_warning(&stuck));
}

void coordinator_on_replace(struct coordinator *self, uint64_t now_us, const struct peer *from,
                            const struct frame *frame)
{
    carry_out(self, now_us, from, frame, judge_replace);
}

/* ---- remove ---- */

static enum status judge_remove(const struct coordinator *self, uint64_t now_us, struct wish *wish)
{
    const struct node_record *old = replaced_by_it(wish);
    const char *name = wish->record->name;
    uint32_t slots = usage_slots(self, wish->record->id);
    size_t at = (size_t)(wish->record - wish->nodes.nodes);

    if (slots > 0) {
        return coordinator_refuse(
            wish->message, STATUS_INVALID,
            "node %.128s holds %" PRIu32 " replicas of slot groups: first `orbloom node "
            "%s %.128s%s`, and wait until `orbloom status` says that nothing is left",
            name, slots, heard_alive(self, now_us, wish->record->id) ? "drain" : "replace", name,
            heard_alive(self, now_us, wish->record->id) ? "" : " NEW");
    }
    if (old != NULL) {
        return coordinator_refuse(wish->message, STATUS_INVALID,
                                  "node %s takes the place of %s; remove that one first", name,
                                  old->name);
    }
    if (heard_alive(self, now_us, wish->record->id)) {
        return coordinator_refuse(
            wish->message, STATUS_INVALID,
            "node %s holds nothing, but its process runs and would register again; end "
            "it, wait %" PRIu64 " ms, and repeat this",
            name, self->config.node_timeout_us / 1000);
    }
    (void)coordinator_refuse(wish->message, STATUS_OK, "removed");
    for (uint32_t i = 0; i < wish->nodes.count; i++) {
        uint32_t id = wish->nodes.nodes[i].id;

        wish->nodes.last_id = id > wish->nodes.last_id ? id : wish->nodes.last_id;
    }
    memmove(&wish->nodes.nodes[at], &wish->nodes.nodes[at + 1],
            (wish->nodes.count - at - 1) * sizeof *wish->nodes.nodes);
    wish->nodes.count--;
    return STATUS_OK;
}

void coordinator_on_remove(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame)
{
    carry_out(self, now_us, from, frame, judge_remove);
}
