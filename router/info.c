/* `info` of a filter: its nodes are asked for their replicas, and after a second it is answered
 * with what came. Also this router's counters. */
#include "base/heap.h"
#include "proto/answers.h"
#include "router/private.h"

#include <assert.h>
#include <string.h>

enum { INFO_PATIENCE_US = 1000000 /* for nodes that do not answer */ };

static void finish(struct router *self, struct info *info)
{
    const struct document_entry *entry = document_cache_find(&self->documents, info->filter_id);
    struct frame answer = {.correlation = info->correlation, .kind = FRAME_INFO_REPLY};

    answer.body.info_reply = (struct info_reply){
        .status = STATUS_OK,
        .message = "",
        .has_filter = true,
        .replicas = info->reports,
        .nreplicas = info->nreports,
    };
    assert(info->used);
    answer_filter_summary(&entry->document, &answer.body.info_reply.filter);
    router_reply(self, &info->client, &answer);
    heap_free(info->reports);
    *info = (struct info){0};
}

/* Ask every node that holds a slot of the filter. Returns how many were asked. */
static uint32_t ask_nodes(struct router *self, const struct info *info,
                          const struct filter_document *document)
{
    uint32_t asked = 0;
    struct frame frame = {
        .correlation = info->round,
        .kind = FRAME_INFO_REQUEST,
        .body.info_request = {.filter = "", .filter_id = document->id},
    };

    for (uint32_t i = 0; i < self->documents.nodes.count; i++) {
        uint32_t node = self->documents.nodes.nodes[i].id;

        if (document_has_member(document, node)) {
            struct backend *backend = backend_of(self, node);

            asked += backend != NULL && backend_send(self, backend, &frame);
        }
    }
    return asked;
}

void info_begin(struct router *self, uint64_t now_us, const struct peer *from,
                const struct frame *frame, const struct document_entry *entry)
{
    struct info *info = NULL;
    uint64_t patience_us = (uint64_t)frame->body.info_request.timeout_ms * 1000 / 2;

    for (size_t i = 0; i < ROUTER_MAX_INFOS && info == NULL; i++) {
        info = self->infos[i].used ? NULL : &self->infos[i];
    }
    if (info == NULL) {
        router_count(self, ROUTER_overloaded_total);
        router_refuse(self, from, frame, STATUS_OVERLOADED, "too many questions");
        return;
    }
    patience_us = patience_us > 0 && patience_us < INFO_PATIENCE_US ? patience_us
                                                                    : INFO_PATIENCE_US;
    *info = (struct info){
        .used = true,
        .round = ++self->round,
        .client = *from,
        .correlation = frame->correlation,
        .filter_id = entry->document.id,
        .deadline_us = now_us + patience_us,
    };
    info->expected = ask_nodes(self, info, &entry->document);
    if (self->next_tick_us == ACTOR_NEVER) {
        self->next_tick_us = now_us + ROUTER_TICK_US;
    }
    if (info->expected == 0) {
        finish(self, info);
    }
}

static void append(struct info *info, const struct info_reply *reply)
{
    struct replica_report *grown = heap_realloc(info->reports, info->nreports + reply->nreplicas,
                                                sizeof *grown);

    /* Without memory for it the answer has fewer replicas, as if the node were silent. */
    if (grown != NULL) {
        info->reports = grown;
        memcpy(&grown[info->nreports], reply->replicas, reply->nreplicas * sizeof *grown);
        info->nreports += reply->nreplicas;
    }
}

void info_on_reply(struct router *self, const struct frame *frame)
{
    for (size_t i = 0; i < ROUTER_MAX_INFOS; i++) {
        struct info *info = &self->infos[i];

        if (info->used && info->round == frame->correlation) {
            if (frame->body.info_reply.nreplicas > 0) {
                append(info, &frame->body.info_reply);
            }
            info->answered++;
            if (info->answered >= info->expected) {
                finish(self, info);
            }
            return;
        }
    }
}

void infos_tick(struct router *self, uint64_t now_us)
{
    for (size_t i = 0; i < ROUTER_MAX_INFOS; i++) {
        if (self->infos[i].used && now_us >= self->infos[i].deadline_us) {
            finish(self, &self->infos[i]);
        }
    }
}

bool infos_idle(const struct router *self)
{
    for (size_t i = 0; i < ROUTER_MAX_INFOS; i++) {
        if (self->infos[i].used) {
            return false;
        }
    }
    return true;
}

bool infos_use(const struct router *self, uint64_t filter_id)
{
    for (size_t i = 0; i < ROUTER_MAX_INFOS; i++) {
        if (self->infos[i].used && self->infos[i].filter_id == filter_id) {
            return true;
        }
    }
    return false;
}

void infos_fini(struct router *self)
{
    for (size_t i = 0; i < ROUTER_MAX_INFOS; i++) {
        heap_free(self->infos[i].reports);
    }
}

/* ---- counters ---- */

static const struct counter_def counter_defs[] = {
#define X(name, unit, help) {#name, unit, help},
    ROUTER_COUNTERS(X)
#undef X
};

struct counter_table router_counters(void)
{
    return (struct counter_table){.defs = counter_defs, .count = ROUTER_NCOUNTERS};
}

const uint64_t *router_counts(const struct router *router)
{
    return router->counters;
}

void router_tell_health(const struct router *router, struct health *health)
{
    health_want(
        health, (router->synced && !router->doubtful) || router->documents.count > 0, "documents",
        "no coordinator has told yet which filters there are, nor did an earlier start leave "
        "word of any; is one running, and is that what `coordinators` says?");
    health_want(health, !router->draining, "draining", "it ends, and takes no more requests");
}

void router_on_stats(struct router *self, const struct peer *from, const struct frame *frame)
{
    struct stat_value values[ROUTER_NCOUNTERS];
    struct frame answer;

    answer_stats(frame->correlation, "orbloom-router", self->config.name, router_counters(),
                 self->counters, values, &answer);
    router_reply(self, from, &answer);
}
