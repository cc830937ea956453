/* Puts a status answer together of documents and of what nodes said last; those that are silent
 * say nothing of now. */
#include "base/heap.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/records.h"
#include "coordinator/users/users.h"
#include "coordinator/view/process_keys.h"
#include "coordinator/view/view.h"
#include "coordinator/work.h"
#include "proto/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Everything that a status answer points into. */
struct overview {
    struct node_summary *nodes;
    size_t nnodes;
    char (*waits)[COORDINATOR_MESSAGE_BYTES]; /* of the nodes */
    struct filter_summary *filters;
    size_t nfilters;
    struct replica_report *replicas;
    size_t nreplicas;
    struct change_summary *changes;
    size_t nchanges;
    struct key_use *behind;
    size_t nbehind;
    struct users_asker asker;                                /* who sees some of the filters only */
    char (*texts)[TELLING_TEXTS][COORDINATOR_MESSAGE_BYTES]; /* of the filters */
};

/* What a silent node said last tells nothing about now. */
static bool is_alive(const struct coordinator *self, uint64_t now_us, const struct heard *heard)
{
    return coordinator_lately(self, now_us, heard->last_us);
}

static const char *successor_name(const struct coordinator *self, const struct node_record *record)
{
    const struct node_record *successor = record->replaced_by != 0
                                              ? node_list_find(&self->documents.nodes,
                                                               record->replaced_by)
                                              : NULL;

    return successor != NULL ? successor->name : "";
}

/* Names of filters that not everybody may see are in some texts. */
static bool sees_all(const struct users_asker *asker)
{
    return asker->user == NULL || asker->user->role != USER_CLIENT;
}

void view_describe_node(const struct coordinator *self, uint64_t now_us,
                        const struct node_record *record, struct node_summary *summary)
{
    const struct heard *heard = coordinator_heard(self, record->id);

    *summary = (struct node_summary){
        .id = record->id,
        .name = record->name,
        .host = record->host,
        .zone = record->zone,
        .endpoint = record->endpoint,
        .incarnation = record->incarnation,
        .memory_limit_bytes = record->memory_limit_bytes,
        .durable = record->durable,
        .draining = record->draining,
        .replaced_by = successor_name(self, record),
        .slots = usage_slots(self, record->id),
        .awaited = "",
    };
    if (heard != NULL) {
        summary->alive = is_alive(self, now_us, heard);
        summary->seen_ago_ms = heard->last_us < now_us ? (now_us - heard->last_us) / 1000 : 0;
        summary->memory_used_bytes = heard->memory_used_bytes;
        summary->disk_used_bytes = heard->disk_used_bytes;
        if (summary->alive) {
            summary->replicas_full = heard->states[REPLICA_FULL];
            summary->replicas_joining = heard->states[REPLICA_JOINING];
            summary->replicas_building = heard->states[REPLICA_BUILDING];
        }
    }
}

static void describe_node(const struct coordinator *self, uint64_t now_us,
                          const struct node_record *record, const struct users_asker *asker,
                          char *waits, struct node_summary *summary)
{
    struct moves_stuck stuck;

    view_describe_node(self, now_us, record, summary);
    if (sees_all(asker) &&
        moves_judge(self, now_us, &self->documents.nodes, record, &stuck) == STATUS_OK) {
        (void)snprintf(waits, COORDINATOR_MESSAGE_BYTES, "%s", stuck.text);
    }
    summary->awaited = waits;
}

static bool is_asked_for(const struct overview *overview, const struct filter_document *document,
                         const char *name)
{
    return document->content.state != FILTER_DROPPED && users_show(&overview->asker, document) &&
           (name[0] == '\0' || strcmp(name, document->content.name) == 0);
}

/* Who may not see all is not told whether there is one. */
static bool is_restricted(const struct users_asker *asker)
{
    return asker->user != NULL && asker->user->role == USER_CLIENT;
}

void view_describe_filter(struct coordinator *self, uint64_t now_us,
                          const struct document_entry *entry, struct telling *out)
{
    answer_filter_summary(&entry->document, out->summary);
    for (size_t i = 0; duties[i] != NULL; i++) {
        if (duties[i]->describe != NULL) {
            duties[i]->describe(self, now_us, entry, out);
        }
    }
    lack_describe(self, now_us, &entry->document, out);
}

static void describe_filter(struct coordinator *self, uint64_t now_us,
                            const struct document_entry *entry, struct overview *overview)
{
    size_t at = overview->nfilters++;
    struct telling out = {
        .summary = &overview->filters[at],
        .change = &overview->changes[overview->nchanges],
        .texts = overview->texts[at],
    };

    view_describe_filter(self, now_us, entry, &out);
    overview->nchanges += out.changes;
}

static void collect_filters(struct coordinator *self, uint64_t now_us, const char *name,
                            struct overview *overview)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        if (is_asked_for(overview, &self->documents.by_id[i]->document, name)) {
            describe_filter(self, now_us, self->documents.by_id[i], overview);
        }
    }
}

static bool is_about(const struct coordinator *self, const struct overview *overview,
                     const struct replica_report *report, const char *name)
{
    bool all = name[0] == '\0' && sees_all(&overview->asker);
    const struct document_entry *entry =
        all ? NULL : document_cache_find(&self->documents, report->filter_id);

    return all || (entry != NULL && is_asked_for(overview, &entry->document, name));
}

/* Of the filter that was asked for, or of all. */
static void collect_replicas(const struct coordinator *self, uint64_t now_us, const char *name,
                             struct overview *overview)
{
    for (size_t i = 0; i < self->nheard; i++) {
        if (!is_alive(self, now_us, &self->heard[i]) ||
            node_list_find(&self->documents.nodes, self->heard[i].node) == NULL) {
            continue;
        }
        for (size_t j = 0; j < self->heard[i].nreports; j++) {
            if (is_about(self, overview, &self->heard[i].reports[j], name)) {
                overview->replicas[overview->nreplicas++] = self->heard[i].reports[j];
            }
        }
    }
}

static enum status collect(struct coordinator *self, uint64_t now_us, const char *name,
                           struct overview *overview)
{
    size_t nreports = 0;

    for (size_t i = 0; i < self->nheard; i++) {
        nreports += self->heard[i].nreports;
    }
    overview->nodes = heap_zalloc(self->documents.nodes.count, sizeof *overview->nodes);
    overview->waits = heap_zalloc(self->documents.nodes.count, sizeof *overview->waits);
    overview->filters = heap_zalloc(self->documents.count, sizeof *overview->filters);
    overview->replicas = heap_zalloc(nreports, sizeof *overview->replicas);
    overview->changes = heap_zalloc(self->documents.count, sizeof *overview->changes);
    overview->texts = heap_zalloc(self->documents.count, sizeof *overview->texts);
    overview->behind = heap_zalloc(PROCESS_KEYS_MOST, sizeof *overview->behind);
    if (overview->nodes == NULL || overview->waits == NULL || overview->filters == NULL ||
        overview->replicas == NULL || overview->changes == NULL || overview->texts == NULL ||
        overview->behind == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < self->documents.nodes.count; i++) {
        describe_node(self, now_us, &self->documents.nodes.nodes[i], &overview->asker,
                      overview->waits[i], &overview->nodes[overview->nnodes++]);
    }
    collect_filters(self, now_us, name, overview);
    collect_replicas(self, now_us, name, overview);
    overview->nbehind = process_keys_behind(self, now_us, overview->behind);
    return STATUS_OK;
}

void coordinator_on_status(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame, enum status read, const char *doubt)
{
    const char *name = frame->body.admin_request.name;
    char message[COORDINATOR_MESSAGE_BYTES] = "";
    struct overview overview = {
        .asker = users_asker(self, from, &frame->body.admin_request),
    };
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_ADMIN_REPLY};
    enum status status = users_judge(self, from, &frame->body.admin_request, read, message);

    if (status != STATUS_OK) {
        coordinator_answer(self, from, frame->correlation, status, false,
                           status == read ? doubt : message);
        return;
    }
    status = collect(self, now_us, name, &overview);

    if (status == STATUS_OK && name[0] != '\0' && overview.nfilters == 0) {
        status = STATUS_NOT_FOUND;
        (void)snprintf(message, sizeof message, "there is no filter %.128s%s; see `orbloom info`",
                       name, is_restricted(&overview.asker) ? " that you may see" : "");
    }
    if (status == STATUS_OK && age_reason(self) != NULL) {
        (void)snprintf(message, sizeof message, "%s", age_reason(self));
    }
    if (status == STATUS_OK && doubt[0] != '\0') {
        (void)snprintf(message, sizeof message, "%s", doubt);
    }
    answer.body.admin_reply = (struct admin_reply){
        .status = status,
        .message = message,
        .filters = overview.filters,
        .nfilters = overview.nfilters,
        .nodes = overview.nodes,
        .nnodes = overview.nnodes,
        .replicas = overview.replicas,
        .nreplicas = overview.nreplicas,
        .changes = overview.changes,
        .nchanges = overview.nchanges,
        .keys = {.signing = cluster_key_tag(&self->config.key),
                 .records_left = signatures_left(self),
                 .behind = overview.behind,
                 .nbehind = overview.nbehind},
    };
    coordinator_reply(self, from, &answer);
    heap_free(overview.nodes);
    heap_free(overview.waits);
    heap_free(overview.filters);
    heap_free(overview.replicas);
    heap_free(overview.changes);
    heap_free(overview.texts);
    heap_free(overview.behind);
}

/* ---- how it is ---- */

enum { STORE_PATIENCE_US = 5000000 };

void coordinator_tell_health(struct coordinator *coordinator, uint64_t now_us,
                             struct health *health)
{
    uint64_t waits_us = work_waits(coordinator) ? work_waits_us(coordinator, now_us) : 0;
    const char *age = age_reason(coordinator);

    health_want(health, coordinator->read.status == STATUS_OK, "store",
                "the store can't be read: %s; the log says more",
                status_meaning(coordinator->read.status));
    health_want(health, waits_us < STORE_PATIENCE_US, "store",
                "the store has not answered for %" PRIu64 " s", waits_us / 1000000);
    health_want(health, coordinator->settled, "start",
                "it has not heard yet what its nodes hold, and changes nothing before");
    health_want(health, age == NULL, "age", "%s", age);
}

/* ---- counters ---- */

static const struct counter_def counter_defs[] = {
#define X(name, unit, help) {#name, unit, help},
    COORDINATOR_COUNTERS(X)
#undef X
};

struct counter_table coordinator_counters(void)
{
    return (struct counter_table){.defs = counter_defs, .count = COORDINATOR_NCOUNTERS};
}

const uint64_t *coordinator_counts(struct coordinator *self)
{
    const struct store *store = self->store;
    struct store_room room = store->room != NULL ? store->room(store->self)
                                                 : (struct store_room){0};

    self->counters[COORDINATOR_store_bytes] = room.bytes;
    self->counters[COORDINATOR_store_in_use_bytes] = room.in_use;
    self->counters[COORDINATOR_store_quota_bytes] = room.quota;
    return self->counters;
}

void coordinator_on_stats(struct coordinator *self, const struct peer *from,
                          const struct frame *frame)
{
    struct stat_value values[COORDINATOR_NCOUNTERS];
    struct frame answer;

    answer_stats(frame->correlation, "orbloom-coordinator", self->config.name,
                 coordinator_counters(), coordinator_counts(self), values, &answer);
    coordinator_reply(self, from, &answer);
}
