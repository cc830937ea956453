/* Which cluster this node belongs to: the first thing in its folder, learned from a coordinator. */
#include "map/document.h"
#include "map/feature.h"
#include "node/private.h"
#include "proto/registration.h"
#include "proto/signed_document.h"

/* A claim to nothing: it has no incarnation yet, as nothing is written. */
static void fill_question(const struct node *self, struct sync_request *request)
{
    *request = (struct sync_request){
        .role = SYNC_NODE,
        .name = self->config.name,
        .endpoint = self->config.endpoint,
        .curve = self->config.curve,
        .host = self->config.host,
        .zone = self->config.zone,
        .site = self->config.site,
        .memory_limit_bytes = self->config.memory_limit_bytes,
        .features = features_known(),
        .key = cluster_key_tag(&self->config.key),
    };
    registration_sign(&self->config.key, request);
}

void node_on_nameless(void *context, uint64_t now_us)
{
    struct node *self = context;

    self->nameless = true;
    self->next_sync_us = now_us;
}

void node_ask_cluster(struct node *self, uint64_t now_us)
{
    struct frame frame = {.kind = FRAME_SYNC_REQUEST};

    fill_question(self, &frame.body.sync_request);
    self->next_sync_us = now_us + self->config.sync_interval_us;
    buffer_clear(&self->out);
    if (codec_encode(&frame, &self->out) == STATUS_OK &&
        !link_ring_send(&self->coordinators, &self->effects, buffer_span(&self->out))) {
        self->next_sync_us = now_us + NODE_CONNECT_POLL_US;
    }
}

/* False: the answer names none, or one that this node's key does not vouch for. */
static bool read_cluster(struct node *self, uint64_t now_us, struct span bytes,
                         struct cluster_id *out)
{
    enum status status;

    if (bytes.size == 0) {
        return false;
    }
    status = codec_cluster_open(bytes, &self->config.key, out);
    if (status != STATUS_OK) {
        node_count(self, NODE_documents_refused_total);
        log_limited(&self->bad_document_limit, now_us, LOG_WARN, "refused the cluster's id: %s; %s",
                    status_code(status), status_meaning(status));
    }
    return status == STATUS_OK;
}

void node_take_cluster(struct node *self, uint64_t now_us, const struct sync_reply *reply)
{
    struct cluster_id cluster;
    char text[CLUSTER_ID_TEXT_BYTES];
    enum status status;

    if (reply->status != STATUS_OK) {
        log_limited(&self->coordinator_limit, now_us, LOG_ERROR,
                    "the coordinator does not tell which cluster this is: %s: %s",
                    status_code(reply->status), reply->message);
        return;
    }
    if (!read_cluster(self, now_us, reply->cluster, &cluster)) {
        return;
    }
    self->nameless = false;
    log_line(LOG_INFO, "the data folder is of cluster %s", cluster_id_show(&cluster, text));
    status = storage_name(self->storage, &cluster);
    if (status != STATUS_OK) {
        node_fail(self, "the log can't be read back", status);
    }
}

/* What is in memory only, and nothing yet, may go with another store. */
static bool holds_nothing(const struct node *self)
{
    return self->storage == NULL && self->documents.count == 0 &&
           self->documents.nodes.revision == 0;
}

bool node_same_cluster(struct node *self, uint64_t now_us, const struct sync_reply *reply)
{
    uint64_t hash = document_epoch_hash(reply->cluster);
    struct cluster_id cluster;
    char ours[CLUSTER_ID_TEXT_BYTES];
    char theirs[CLUSTER_ID_TEXT_BYTES];

    if (hash == self->cluster_hash || !read_cluster(self, now_us, reply->cluster, &cluster)) {
        return true; /* As before; or nothing is known, and documents are signed. */
    }
    if (holds_nothing(self)) {
        self->cluster = cluster;
    }
    if (!cluster_id_differ(&self->cluster, &cluster)) {
        self->cluster = cluster;
        self->cluster_hash = hash;
        return true;
    }
    log_limited(&self->coordinator_limit, now_us, LOG_ERROR,
                "what this node holds belongs to cluster %s, and the coordinator is of cluster %s: "
                "%s; nothing of that one is taken. Name the coordinators of the right cluster, or "
                "give this node a data_dir of its own. If the store was lost: see "
                "`orbloom map restore`",
                cluster_id_show(&self->cluster, ours), cluster_id_show(&cluster, theirs),
                reply->message[0] != '\0' ? reply->message : status_code(reply->status));
    return false;
}
