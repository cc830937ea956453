/* What a node tells coordinators of itself at each sync_interval, and what it does about their
 * answer: registering, documents, a new boot. */
#include "base/heap.h"
#include "map/feature.h"
#include "node/private.h"
#include "proto/registration.h"

/* ---- which documents are held, and wanted ---- */

enum { TELL_GOAL_BYTES = 1 << 20 /* of documents in one request; the rest is wanted again */ };

static void add_fences(const struct node *self, struct held_document *held, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct document_entry *entry = document_cache_find(&self->documents,
                                                                 held[i].filter_id);
        const struct hosted_filter *hosted = entry != NULL ? entry->attachment : NULL;

        held[i].fence = hosted != NULL ? hosted->fence.epoch : 0;
        /* What a power loss may take is not held yet. */
        if (held[i].filter_id == DROPPED_RECORD_ID && !node_dropped_durable(self)) {
            held[i].revision = held[i].hash = 0;
        }
    }
}

static struct span document_bytes(const struct node *self, uint64_t id)
{
    const struct document_entry *entry = document_cache_find(&self->documents, id);

    if (id == 0) {
        return span_of(self->documents.nodes_bytes, self->documents.nodes_size);
    }
    if (id == DROPPED_RECORD_ID) {
        return span_of(self->documents.dropped_bytes, self->documents.dropped_size);
    }
    if (id == USER_LIST_ID) {
        return span_of(self->documents.users_bytes, self->documents.users_size);
    }
    return entry != NULL ? span_of(entry->signed_bytes, entry->signed_size) : span_of("", 0);
}

static size_t pick_wanted(struct node *self, struct span *documents)
{
    size_t count = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < self->nwanted && bytes < TELL_GOAL_BYTES; i++) {
        struct span one = document_bytes(self, self->wanted[i]);

        if (one.size > 0) {
            documents[count++] = one;
            bytes += one.size;
        }
    }
    if (self->wanted_sends > 0 && --self->wanted_sends == 0) {
        self->nwanted = 0;
    }
    return count;
}

/* All coordinators are told a page before the next one comes. */
static void turn_page(struct node *self, uint64_t to)
{
    self->held_sends -= self->held_sends > 0;
    if (self->held_sends == 0) {
        self->held_after = to;
        self->held_sends = self->coordinators.count;
    }
}

static bool is_beyond(const struct held_document *held, uint64_t last)
{
    return !store_age_is_record(held->filter_id) && held->filter_id > last;
}

/* A coordinator that has just started has heard of no page, or of some. */
static void note_lack(struct node *self, uint64_t now_us, const struct sync_reply *reply)
{
    if (!reply->held_lacks || self->held_sends != self->coordinators.count) {
        return; /* The one that is being told to all comes first. */
    }
    self->held_after = reply->held_after;
    self->reports_due = self->coordinators.count;
    self->next_sync_us = now_us;
}

/* The last filter that the page tells of, if only of some of its groups. */
static uint64_t last_of(const struct report_page *page)
{
    if (report_page_ends(page)) {
        return UINT64_MAX;
    }
    return page->to.group > 0 ? page->to.filter_id : page->to.filter_id - 1;
}

/* What is held of the filters that the page of reports is about. */
static void tell_news(const struct node *self, struct sync_request *request,
                      struct held_document *held)
{
    const struct report_page *page = &request->page;
    uint64_t last = last_of(page);

    request->held_after = page->from.filter_id - 1;
    request->nheld = store_age_list(&self->documents, request->held_after, held, CODEC_MAX_HELD,
                                    &request->held_to);
    while (last != UINT64_MAX && request->nheld > 0 && is_beyond(&held[request->nheld - 1], last)) {
        request->nheld--;
        request->held_to = last;
    }
}

/* False: out of memory; else tell_end() frees it. */
static bool tell(struct node *self, bool whole, struct sync_request *request)
{
    struct held_document *held = heap_alloc(CODEC_MAX_HELD, sizeof *held);
    struct span *documents = heap_alloc(self->nwanted, sizeof *documents);

    if (held == NULL || documents == NULL) {
        heap_free(held);
        heap_free(documents);
        return false;
    }
    request->held = held;
    request->held_count = store_age_count(&self->documents);
    if (whole) {
        request->held_after = self->held_after;
        request->nheld = store_age_list(&self->documents, self->held_after, held, CODEC_MAX_HELD,
                                        &request->held_to);
        turn_page(self, request->held_to);
    } else {
        tell_news(self, request, held);
    }
    request->documents = documents;
    add_fences(self, held, request->nheld);
    request->ndocuments = pick_wanted(self, documents);
    return true;
}

static void tell_end(struct sync_request *request)
{
    heap_free((void *)request->held);
    heap_free((void *)request->documents);
}

static void note_wanted(struct node *self, uint64_t now_us, const struct sync_reply *reply)
{
    note_lack(self, now_us, reply);
    if (reply->nwanted == 0) {
        return; /* Another coordinator's wish stands. */
    }
    /* They are told in turn: who asked is reached by as many reports as there are of them. */
    self->wanted_sends = self->coordinators.count;
    self->nwanted = reply->nwanted;
    for (size_t i = 0; i < reply->nwanted; i++) {
        self->wanted[i] = reply->wanted[i];
    }
    self->next_sync_us = now_us;
}

/* ---- requests and answers ---- */

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
        .curve = self->config.curve,
        .host = self->config.host,
        .zone = self->config.zone,
        .site = self->config.site,
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
        .key = cluster_key_tag(&self->config.key),
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
    /* A boot that the store knows and the log does not could not be continued. */
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
    /* Here no entry is in use. */
    node_forget_dropped(self);
    if (whole) {
        host_what_waits(self);
        node_expansion_stir(self);
    }
    node_exchange_look_round(self->exchange, now_us); /* Whatever has changed. */
    if (reports == NULL) {
        put_off(self, self->next_sync_us); /* The next interval tries again. */
        return;
    }
    fill_request(self, whole, reports, &frame.body.sync_request);
    if (!tell(self, whole, &frame.body.sync_request)) {
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
    tell_end(&frame.body.sync_request);
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
    /* Whatever it says: the next page may go. */
    node_report_answered(self, now_us);
    if (!node_same_cluster(self, now_us, reply)) {
        return;
    }
    self->life.store_heard = self->life.store_heard || reply->status == STATUS_OK ||
                             reply->status == STATUS_STALE;
    note_wanted(self, now_us, reply);
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
