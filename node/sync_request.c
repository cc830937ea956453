/* What a node tells coordinators of itself at each sync_interval, and what it does about their
 * answer: registering, documents, a new boot. */
#include "base/heap.h"
#include "map/feature.h"
#include "node/private.h"
#include "proto/registration.h"

enum { IDENTITY_POLL_US = 1000 };

static void host_what_waits(struct node *self)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        struct document_entry *entry = self->documents.by_id[i];
        const struct hosted_filter *hosted = entry->attachment;

        if (hosted == NULL || hosted->unlogged ||
            ((hosted->set == NULL || hosted->lacks_read || hosted->lacks_written ||
              hosted->lacks_ahead || hosted->lacks_groups) &&
             entry->document.content.state == FILTER_ACTIVE)) {
            node_apply(self, entry);
        }
    }
}

/* Names what a question claims: an answer to another claim is not for us. */
static uint64_t claim_number(const struct node *self)
{
    return self->life.incarnation + self->claims;
}

/* Only a boot that the store has never confirmed may say that none came before: one that is
 * confirmed and replaced while it was silent would take its place back else. */
static uint64_t boot_before(const struct node *self)
{
    if (self->life.identity.confirmed) {
        return self->life.identity.boot;
    }
    return self->life.identity.nbefore > 0 ? self->life.identity.before[self->boot_try] : 0;
}

/* Until it is confirmed: where the boot ended that it claims to continue. Starts that nobody heard
 * of have made the log longer since, which would hide that it was put back. */
static uint64_t log_position(const struct node *self)
{
    const struct record_identity *identity = &self->life.identity;

    if (self->storage == NULL) {
        return 0;
    }
    if (identity->confirmed) {
        return storage_synced(self->storage);
    }
    return identity->nbefore > 0 ? identity->ends[self->boot_try]
                                 : storage_found_end(self->storage);
}

static uint64_t disk_used(const struct node *self)
{
    struct storage_usage usage = {0};

    if (self->storage != NULL) {
        usage = storage_usage(self->storage);
    }
    return usage.log_bytes + usage.run_bytes + usage.snapshot_bytes;
}

/* Who this node is and what it has. */
static void fill_request(struct node *self, bool whole, struct replica_report *reports,
                         struct sync_request *request)
{
    struct report_page page;
    size_t nreplicas = node_report_page(self, whole, reports, &page);

    *request = (struct sync_request){
        .role = SYNC_NODE,
        .name = self->config.name,
        .endpoint = self->config.endpoint,
        .host = self->config.host,
        .zone = self->config.zone,
        .incarnation = self->life.incarnation,
        .boot = self->life.identity.boot,
        .boot_before = boot_before(self),
        .replaces = self->replaces,
        .number = ++self->reports_made,
        .durable = self->storage != NULL,
        .position = log_position(self),
        .disk_used_bytes = disk_used(self),
        .memory_limit_bytes = self->config.memory_limit_bytes,
        .memory_used_bytes = self->memory_used_bytes,
        .since = self->since,
        .store = self->store,
        .replicas = reports,
        .nreplicas = nreplicas,
        .page = page,
        .cluster = self->cluster,
        .features = features_known(),
    };
}

/* What is new waits as well: else every turn would try again. */
static void put_off(struct node *self, uint64_t until_us)
{
    self->next_sync_us = until_us;
    self->reporting.news.not_before_us = until_us;
}

void node_sync(struct node *self, uint64_t now_us)
{
    struct replica_report *reports = heap_alloc(node_report_most(self), sizeof *reports);
    struct frame frame = {.kind = FRAME_SYNC_REQUEST, .correlation = claim_number(self)};
    bool whole = node_report_whole(self, now_us);

    self->next_sync_us = now_us + self->config.sync_interval_us;
    if (self->storage != NULL && storage_synced(self->storage) < self->life.identity_end) {
        put_off(self, now_us + IDENTITY_POLL_US); /* First the boot is in the log, then in the
                                                     store. */
        heap_free(reports);
        return;
    }
    if (!whole && !node_news_may_go(self)) {
        self->next_sync_us = self->reporting.whole_us; /* Or when there is an answer. */
        heap_free(reports);
        return;
    }
    node_forget_dropped(self);
    if (whole) {
        host_what_waits(self);
        node_growth_stir(self);
    }
    node_exchange_look_round(self->exchange, now_us); /* Whatever has changed. */
    if (reports == NULL) {
        put_off(self, self->next_sync_us); /* The next interval tries again. */
        return;
    }
    fill_request(self, whole, reports, &frame.body.sync_request);
    if (!node_tell(self, whole, &frame.body.sync_request)) {
        put_off(self, self->next_sync_us);
        heap_free(reports);
        return;
    }
    registration_sign(&self->config.key, &frame.body.sync_request);
    buffer_clear(&self->out);
    if (codec_encode(&frame, &self->out) == STATUS_OK &&
        !link_ring_send(&self->coordinators, &self->effects, buffer_span(&self->out))) {
        put_off(self, now_us + NODE_CONNECT_POLL_US);
    } else if (whole) {
        node_report_opened(self, true);
        node_report_sent(self, now_us, &frame.body.sync_request.page);
    } else {
        node_report_opened(self, false);
        node_news_sent(self, now_us, &frame.body.sync_request.page);
        self->next_sync_us = self->reporting.news.sends > 0 ? now_us : self->reporting.whole_us;
    }
    node_told(&frame.body.sync_request);
    heap_free(reports);
}

static void note_refetched(struct node *self, bool refetched)
{
    if (refetched && !self->life.refetched) {
        self->life.refetched = true;
        node_exchange_stir(self->exchange);
    }
}

void node_on_sync_reply(struct node *self, uint64_t now_us, uint64_t correlation,
                        const struct sync_reply *reply)
{
    bool knew;

    if (self->nameless && !self->life.failed) {
        node_take_cluster(self, now_us, reply);
        return;
    }
    if (self->life.recovering || self->life.failed || correlation != claim_number(self)) {
        return; /* To a question of a former incarnation, or about another boot. */
    }
    node_report_answered(self, now_us);
    if (!node_same_cluster(self, now_us, reply)) {
        return;
    }
    self->life.store_heard = self->life.store_heard || reply->status == STATUS_OK ||
                             reply->status == STATUS_STALE;
    node_note_wanted(self, now_us, reply);
    if (reply->status == STATUS_STALE) {
        node_on_boot_refused(self, now_us, reply);
        return;
    }
    if (reply->status != STATUS_OK) {
        log_limited(&self->coordinator_limit, now_us, LOG_ERROR,
                    "the coordinator refuses this node: %s: %s", status_code(reply->status),
                    reply->message);
        return;
    }
    knew = self->life.confirmed;
    if (reply->node_id != 0) {
        node_confirm(self, reply->node_id);
    }
    for (size_t i = 0; i < reply->ndocuments; i++) {
        node_take_document(self, now_us, reply->documents[i]);
    }
    if (reply->change > self->since || reply->store != self->store) {
        self->since = reply->change;
        self->store = reply->store;
    }
    if (!knew) {
        host_what_waits(self); /* Later rounds do: what could not be hosted may be then. */
    }
    note_refetched(self, self->life.confirmed && !reply->more);
    if (reply->more) {
        self->next_sync_us = now_us;
    }
}

void node_on_hint(struct node *self, uint64_t now_us, const struct hint *hint)
{
    if (hint->change > self->since) {
        self->reporting.news.hinted = true;
        node_report_turn(self, now_us);
    }
}
