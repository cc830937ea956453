/* What a router learns from coordinators and nodes: documents, secrets and drops; and what it
 * takes out of a coordinator's answer. */
#include "base/heap.h"
#include "proto/intake.h"
#include "proto/signed_document.h"
#include "router/dump.h"

enum {
    PATIENCE_US = 10000000, /* twice the usual node_timeout, after which a coordinator knows */
};

static void refuse_document(struct router *self, uint64_t now_us, enum status status)
{
    router_count(self, ROUTER_documents_refused_total);
    log_limited(&self->bad_document_limit, now_us, LOG_WARN, "refused a document: %s; %s%s",
                status_code(status), status_meaning(status), codec_document_remedy(status));
}

void router_take_document(struct router *self, uint64_t now_us, struct span bytes)
{
    struct intake intake;
    enum status status = intake_take(&self->documents, &self->config.key, bytes, &intake);

    if (status != STATUS_OK) {
        refuse_document(self, now_us, status);
    } else if (intake.changed) {
        router_count(self, ROUTER_documents_taken_total);
        if (intake.kind == DOCUMENT_NODE_LIST) {
            backends_connect(self);
        }
    }
}

static bool let_go(void *context, struct document_entry *entry)
{
    const struct router *self = context;

    if (infos_use(self, entry->document.id) || dumps_use(self, entry->document.id)) {
        return false;
    }
    routed_filter_destroy(entry->attachment);
    return true;
}

void router_forget_dropped(struct router *self, uint64_t now_us)
{
    if (self->documents.ngone > 0) {
        ops_tick(self, now_us); /* Ends those that are about such filters. */
        document_cache_sweep(&self->documents, let_go, self);
    }
}

static enum status take_secret(struct router *self, const struct sealed_secret *sealed)
{
    struct document_entry *entry = document_cache_find(&self->documents, sealed->filter_id);
    struct routed_filter *routed;

    if (entry == NULL) {
        return STATUS_OK; /* Its document was refused, and that was said. */
    }
    if (entry->attachment == NULL) {
        entry->attachment = heap_zalloc(1, sizeof(struct routed_filter));
    }
    routed = entry->attachment;
    if (routed == NULL) {
        return STATUS_NOMEM;
    }
    if (!routed->has_secret) {
        enum status status = seal_secret_open(&self->config.key, sealed->filter_id, sealed->sealed,
                                              &routed->secret);

        routed->has_secret = status == STATUS_OK;
        return status;
    }
    return STATUS_OK;
}

struct document_entry *router_find(const struct router *self, const char *name)
{
    struct document_entry *entry = document_cache_find_name(&self->documents, name);
    const struct routed_filter *routed = entry != NULL ? entry->attachment : NULL;

    return routed != NULL && routed->has_secret ? entry : NULL;
}

/* A coordinator that has just started says UNAVAILABLE until nodes have told what they hold: normal
 * life, unless it lasts. */
static void say_answer(struct router *self, uint64_t now_us, const struct sync_reply *reply)
{
    enum log_level level = LOG_ERROR;

    if (reply->status == STATUS_UNAVAILABLE) {
        level = log_level_lasting(&self->unavailable_us, now_us, PATIENCE_US);
    } else {
        self->unavailable_us = 0;
    }
    if (reply->status != STATUS_OK) {
        log_limited(&self->coordinator_limit, now_us, level, "the coordinator answers %s: %s",
                    status_code(reply->status), reply->message);
    }
}

/* Documents of two clusters must not mix: the same ids, under other secrets. One that holds no
 * filter yet goes with the store. */
static bool same_cluster(struct router *self, uint64_t now_us, const struct sync_reply *reply)
{
    uint64_t hash = document_epoch_hash(reply->cluster);
    struct cluster_id cluster;
    char ours[CLUSTER_ID_TEXT_BYTES];
    char theirs[CLUSTER_ID_TEXT_BYTES];

    if (reply->cluster.size == 0 || hash == self->cluster_hash ||
        codec_cluster_open(reply->cluster, &self->config.key, &cluster) != STATUS_OK) {
        return true; /* As before; or nothing is known, and documents are signed. */
    }
    if (self->documents.count == 0 || !cluster_id_differ(&self->cluster, &cluster)) {
        self->cluster = cluster;
        self->cluster_hash = hash;
        return true;
    }
    log_limited(&self->coordinator_limit, now_us, LOG_ERROR,
                "the filters that this router knows are of cluster %s, and the coordinator is of "
                "cluster %s: nothing of that one is taken. Name the coordinators of the right "
                "cluster; if it is to change, restart the router",
                cluster_id_show(&self->cluster, ours), cluster_id_show(&cluster, theirs));
    return false;
}

void router_on_sync_reply(struct router *self, uint64_t now_us, uint64_t correlation,
                          const struct sync_reply *reply)
{
    uint64_t taken = self->counters[ROUTER_documents_taken_total];
    uint64_t refused = self->counters[ROUTER_documents_refused_total];
    bool well = reply->status == STATUS_OK || reply->status == STATUS_UNAVAILABLE;
    bool again;

    say_answer(self, now_us, reply);
    sync_answered(self, now_us, correlation, well);
    if (!well || !same_cluster(self, now_us, reply)) {
        return;
    }
    for (size_t i = 0; i < reply->ndocuments; i++) {
        router_take_document(self, now_us, reply->documents[i]);
    }
    for (size_t i = 0; i < reply->nsecrets; i++) {
        enum status status = take_secret(self, &reply->secrets[i]);

        if (status != STATUS_OK) {
            refuse_document(self, now_us, status);
        }
    }
    /* An older store tells what it has; what it has not may exist all the same. */
    again = self->counters[ROUTER_documents_refused_total] != refused;
    self->doubtful = again || reply->status != STATUS_OK;
    if (reply->change > self->since || reply->store != self->store) {
        self->since = reply->change;
        self->store = reply->store;
    }
    if (again) {
        self->since = 0; /* Ask for everything again: perhaps memory was short. */
    }
    if (reply->more && !again) {
        self->next_sync_us = now_us;
        return;
    }
    self->synced = true;
    waiting_settle(self, now_us, correlation);
    dumps_settle(self, now_us, correlation);
    if (self->counters[ROUTER_documents_taken_total] != taken) {
        ops_tick(self, now_us); /* Restart what runs under an older epoch. */
    }
}
