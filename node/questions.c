/* What a node answers coordinators and operators: fences, how much of a slice or an expiry it
 * has counted, info and counters. */
#include "base/heap.h"
#include "node/array/probe.h"
#include "node/private.h"
#include "proto/answers.h"

#include <inttypes.h>

/* Lines looked at for one filter's estimate of keys: 2 MiB, a tenth of a millisecond or two. */
enum { INFO_SAMPLE_LINES = 1 << 15 };

/* A slice begins to count when the coordinator has F fences, see map/history/window.h: on this
 * node's own clock, and anew when its process starts. */
static void count_slice(struct hosted_filter *hosted, uint64_t newest, uint64_t now_us,
                        uint64_t asked, struct fence_reply *reply)
{
    if (newest == 0) {
        return;
    }
    if (asked == newest && hosted->counted_slice != newest) {
        hosted->counted_slice = newest;
        hosted->counted_since_us = now_us;
    }
    if (hosted->counted_slice == newest) {
        reply->slice = newest;
        reply->counted_us = now_us - hosted->counted_since_us;
    }
}

/* From the first question that finds it, and what had been counted by then; see
 * map/history/expiry.h.
 */
static void count_expiry(struct hosted_filter *hosted, const struct expiry *expiry, uint64_t now_us,
                         struct fence_reply *reply)
{
    if (expiry->number != 0 && hosted->expiry != expiry->number) {
        hosted->expiry_since_us = now_us;
        hosted->expiry_base_us = expiry->counted_us;
    }
    hosted->expiry = expiry->number;
    if (expiry->number != 0) {
        reply->expiry = expiry->number;
        reply->expiry_us = hosted->expiry_base_us + (now_us - hosted->expiry_since_us);
    }
}

void node_on_fence_request(struct node *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame)
{
    const struct fence_request *request = &frame->body.fence_request;
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_FENCE_REPLY};
    struct fence_reply *reply = &answer.body.fence_reply;
    const struct document_entry *entry;
    struct log_need need = {0};

    /* The fence that is asked for goes up with the document, so that comes first. */
    if (request->document.size > 0) {
        node_take_document(self, now_us, request->document);
    }
    entry = document_cache_find(&self->documents, request->filter_id);
    *reply = (struct fence_reply){
        .status = STATUS_NEED_DOC,
        .filter_id = request->filter_id,
        .node_id = self->life.id,
        .incarnation = self->life.incarnation,
        .boot = self->life.identity.boot,
    };
    if (entry != NULL && entry->attachment != NULL && !entry->conflict) {
        struct hosted_filter *hosted = entry->attachment;

        reply->epoch = hosted->fence.epoch;
        reply->epoch_hash = entry->document.epoch_hash;
        /* A fence past the epoch asked for is as good; a bare number never raises one. */
        if (hosted->fence.epoch > request->epoch ||
            (hosted->fence.epoch == request->epoch && reply->epoch_hash == request->epoch_hash)) {
            reply->status = hosted->unlogged || !self->life.confirmed ? STATUS_NOT_READY
                                                                      : STATUS_OK;
            reply->position = hosted->fence_end;
            /* A fence that a power loss takes back was none. */
            need.synced = hosted->fence_end;
            self->counters[NODE_fences_total] += reply->status == STATUS_OK;
            if (reply->status == STATUS_OK) {
                count_slice(hosted, entry->document.content.newest_slice, now_us, request->slice,
                            reply);
                count_expiry(hosted, &entry->document.expiry, now_us, reply);
            }
        }
    }
    node_reply_when(self, from, &answer, need);
}

static void show_probes(struct replica_report *report, struct probe_count found)
{
    report->probes = found.probes;
    report->probe_hits = found.hits;
}

void node_on_info_request(struct node *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame)
{
    const struct document_entry *entry = document_cache_find(&self->documents,
                                                             frame->body.info_request.filter_id);
    struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;
    struct replica_report *reports = NULL;
    size_t nreports = 0;
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_INFO_REPLY};

    if (hosted != NULL && hosted->set != NULL) {
        const struct arrays *set = hosted->set;

        reports = heap_zalloc(set->ngroups, sizeof *reports);
        for (uint32_t group = 0; reports != NULL && group < set->ngroups; group++) {
            if (set->groups[group].hosted) {
                struct replica_report *report = &reports[nreports++];

                hosted_report(hosted, &entry->document, group, INFO_SAMPLE_LINES / set->ngroups,
                              report);
                report->node_id = self->life.id;
                report->incarnation = self->life.incarnation;
                report->fence = hosted->fence.epoch;
                report->disk_bytes = node_disk_bytes(self, entry, group);
                show_probes(report, probe_found(hosted, &entry->document, now_us, group));
            }
        }
    }
    answer.body.info_reply = (struct info_reply){
        .status = nreports > 0 ? STATUS_OK : STATUS_NOT_READY,
        .message = "",
        .replicas = reports,
        .nreplicas = nreports,
    };
    node_reply_frame(self, from, &answer);
    heap_free(reports);
}

/* ---- how it is ---- */

/* Slot groups here, and what comes of them. */
struct tally {
    uint64_t hosted;
    uint64_t full;
    uint64_t refused; /* filters that there is no room for, or no log */
};

static struct tally count_replicas(const struct node *self)
{
    struct tally tally = {0};

    for (size_t i = 0; i < self->documents.count; i++) {
        const struct hosted_filter *hosted = self->documents.by_id[i]->attachment;
        const struct arrays *set = hosted != NULL ? hosted->set : NULL;

        tally.refused += hosted != NULL && hosted->refused;
        for (uint32_t group = 0; set != NULL && group < set->ngroups; group++) {
            tally.hosted += set->groups[group].hosted;
            tally.full += hosted_state(hosted, group) == REPLICA_FULL;
        }
    }
    return tally;
}

void node_tell_health(const struct node *node, struct health *health)
{
    const struct tally tally = count_replicas(node);

    health_want(health, !node->life.failed, "log", "the log can't be written; see this node's log");
    health_want(health, !node->life.recovering, "recovery", "the log is being read back");
    health_want(health, node->life.confirmed, "boot",
                "no coordinator has confirmed this start of the node, nor have its peers; is one "
                "running, and what does the log say?");
    health_want(health, tally.full == tally.hosted, "replicas",
                "%" PRIu64 " of %" PRIu64 " slot groups here are FULL", tally.full, tally.hosted);
    health_want(health, tally.refused == 0, "filters",
                "%" PRIu64 " filters can't be held as they are to be; the log says why",
                tally.refused);
}

/* Where it can't be seen it is as it was. */
static void look_at_disk(struct node *self)
{
    const struct disk *disk = self->config.disk;
    uint64_t room_bytes;

    if (disk != NULL && disk->room(disk->context, &room_bytes) == STATUS_OK) {
        self->counters[NODE_disk_free_bytes] = room_bytes;
    }
}

const uint64_t *node_counts(struct node *self)
{
    const struct tally tally = count_replicas(self);

    look_at_disk(self);
    if (self->storage != NULL) {
        const struct storage_usage usage = storage_usage(self->storage);

        self->counters[NODE_log_end] = storage_end(self->storage);
        self->counters[NODE_log_synced] = storage_synced(self->storage);
        self->counters[NODE_log_bytes] = usage.log_bytes;
        self->counters[NODE_run_bytes] = usage.run_bytes;
        self->counters[NODE_run_keys] = usage.run_keys;
        self->counters[NODE_runs] = usage.nruns;
        self->counters[NODE_snapshot_bytes] = usage.snapshot_bytes;
        self->counters[NODE_snapshots_total] = usage.snapshots;
        self->counters[NODE_imprint_bytes] = usage.imprint_bytes;
        self->counters[NODE_imprints_total] = usage.imprints;
        self->counters[NODE_imprints_read_total] = usage.imprints_read;
        self->counters[NODE_imprints_refused_total] = usage.imprints_refused;
        self->counters[NODE_log_bare_total] = usage.bare_dropped;
        self->counters[NODE_unmerged_bytes] = usage.unmerged_bytes;
        self->counters[NODE_site_untaken_bytes] = node_tail_untaken(self->exchange);
    }
    self->counters[NODE_memory_limit_bytes] = self->config.memory_limit_bytes;
    self->counters[NODE_replicas] = tally.hosted;
    self->counters[NODE_filters_refused] = tally.refused;
    self->counters[NODE_gossip_behind] = node_exchange_behind(self->exchange);
    /* Those that are answered for: this boot is the one that the store names. */
    self->counters[NODE_replicas_full] = self->life.confirmed ? tally.full : 0;
    return self->counters;
}

void node_on_stats_request(struct node *self, const struct peer *from, const struct frame *frame)
{
    struct stat_value values[NODE_NCOUNTERS];
    struct frame answer;

    answer_stats(frame->correlation, "orbloom-node", self->config.name, node_counters(),
                 node_counts(self), values, &answer);
    node_reply_frame(self, from, &answer);
}
