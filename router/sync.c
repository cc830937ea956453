/* News from coordinators: when the router asks for them, one question at a time and not too often,
 * and what it takes out of an answer.
 *
 * Whoever asks for an unknown name waits for an answer to a question that was sent after the
 * request came, and all who wait share it. That "unknown" is never said from memory: the name may
 * have been created by way of another router a moment ago, and who was told of that must find it.
 * What bounds the reads of the store is their rate: beyond it those who wait do so a little longer.
 */
#include "map/feature.h"
#include "proto/signed_document.h"
#include "router/private.h"

#include <assert.h>
#include <string.h>

enum {
    /* A coordinator that does not serve for longer is worth a line: twice the usual node_timeout,
     * after which it knows which nodes there are. */
    UNSERVED_US = 10000000,
    CONNECT_POLL_US = 50000, /* how soon to try again while nobody is connected */
    ANSWER_US = 250000,      /* a question that somebody waits for is given up after this ... */
    ANSWER_DOUBLINGS = 3,    /* ... and twice as long after each that was, so often */
    SYNCS_PER_SECOND = 100,  /* at most; a quarter of a second may be saved up */
};

/* What else is told depends on who is asked. */
static bool send_to(struct router *self, uint64_t now_us, uint32_t coordinator, struct frame *frame)
{
    if (self->sync_extra.fill != NULL) {
        self->sync_extra.fill(self->sync_extra.context, now_us, coordinator,
                              &frame->body.sync_request);
    }
    buffer_clear(&self->out);
    return codec_encode(frame, &self->out) == STATUS_OK &&
           link_ring_send_to(&self->coordinators, &self->effects, coordinator,
                             buffer_span(&self->out));
}

static bool send(struct router *self, uint64_t now_us)
{
    struct frame frame = {
        .correlation = ++self->sync,
        .kind = FRAME_SYNC_REQUEST,
        .body.sync_request =
            {
                .role = SYNC_ROUTER,
                .name = self->config.name,
                .endpoint = self->link.endpoint, /* "" but of a link; as is its site */
                .host = "",
                .zone = "",
                .since = self->since,
                .store = self->store,
                .features = features_known(),
                .key = cluster_key_tag(&self->config.key),
                .curve = self->link.curve,
                .site = self->link.site,
                .link = self->link_report,
                .uses = self->uses,
                .nuses = self->nuses,
            },
    };

    self->uses_sent = self->nuses;
    memset(self->uses_since, 0, sizeof self->uses_since);
    for (uint32_t i = 0; i < self->coordinators.count; i++) {
        if (send_to(self, now_us, link_ring_turn(&self->coordinators), &frame)) {
            return true;
        }
    }
    return false;
}

void router_tell_link(struct router *router, const struct router_link *link)
{
    assert(link->report->npeers <= LINK_MAX_PEERS);
    router->link_report = *link->report;
    router->link = *link;
    router->link.report = &router->link_report;
}

/* The newest time of each is told. Beyond the bound they are not: the next use will be. */
void router_note_use(struct router *self, const struct user_use *use)
{
    for (size_t i = 0; i < self->nuses; i++) {
        if (self->uses[i].user == use->user && self->uses[i].credential == use->credential) {
            self->uses[i].at_ms = use->at_ms;
            self->uses_since[i] = true;
            return;
        }
    }
    if (self->nuses < CODEC_MAX_USES) {
        self->uses[self->nuses++] = *use;
    }
}

/* They have been heard, but for those that were noted since. */
static void forget_uses(struct router *self)
{
    size_t kept = 0;

    assert(self->uses_sent <= self->nuses);
    for (size_t i = 0; i < self->nuses; i++) {
        if (i >= self->uses_sent || self->uses_since[i]) {
            self->uses[kept++] = self->uses[i];
        }
    }
    self->nuses = kept;
    self->uses_sent = 0;
}

static uint64_t answer_us(const struct router *self)
{
    return (uint64_t)ANSWER_US << self->syncs_lost;
}

/* What was given up may have been for somebody, too. */
static uint64_t patience_us(const struct router *self, bool hurry)
{
    uint64_t answer = answer_us(self);
    uint64_t interval = self->config.sync_interval_us;

    return hurry || interval < answer ? answer : interval;
}

void sync_send(struct router *self, uint64_t now_us)
{
    bool given_up = self->sync_open;
    bool hurry = self->sync_wanted || given_up;

    self->syncs_lost += given_up && self->syncs_lost < ANSWER_DOUBLINGS;
    token_bucket_take(&self->sync_rate, now_us, 1, SYNCS_PER_SECOND);
    assert(self->syncs_lost <= ANSWER_DOUBLINGS);
    self->sync_wanted = false;
    self->sync_open = send(self, now_us);
    self->sync_us = now_us;
    self->next_sync_us = now_us + (self->sync_open ? patience_us(self, hurry) : CONNECT_POLL_US);
}

void sync_want(struct router *self, uint64_t now_us)
{
    /* The one under way may have read the store before this was wanted, so it does not do. */
    uint64_t next_us = self->sync_open ? self->sync_us + answer_us(self)
                                       : token_bucket_ready_us(&self->sync_rate, now_us);

    self->sync_wanted = true;
    self->next_sync_us = next_us < self->next_sync_us ? next_us : self->next_sync_us;
}

/* There is something to read, and no more of these than changes: not held up by the rate. */
void sync_hinted(struct router *self, uint64_t now_us)
{
    self->sync_rate = (struct token_bucket){0};
    sync_want(self, now_us);
}

/* Number `sync` was answered; not `well`: by a refusal, so that the next one has time. */
static void answered(struct router *self, uint64_t now_us, uint64_t sync, bool well)
{
    if (!self->sync_open || sync != self->sync) {
        return; /* One that was given up: what it tells is as good, but another is under way. */
    }
    self->sync_open = false;
    self->syncs_lost = 0;
    if (well) {
        forget_uses(self);
    }
    self->next_sync_us = self->sync_us + self->config.sync_interval_us;
    if (self->sync_wanted && well) {
        sync_want(self, now_us);
    }
}

void router_set_sync_extra(struct router *router, const struct router_sync_extra *extra)
{
    router->sync_extra = *extra;
}

void router_sync_soon(struct router *router, uint64_t now_us)
{
    sync_want(router, now_us);
}

/* A store that is older than its nodes, or has not heard of them yet, has not judged what was told
 * either. */
static void tell_extra(struct router *self, uint64_t now_us, const struct sync_reply *reply,
                       bool last)
{
    if (self->sync_extra.answered != NULL && reply->status == STATUS_OK) {
        self->sync_extra.answered(self->sync_extra.context, now_us, reply, last);
    }
}

void sync_on_refusal(struct router *self, uint64_t now_us, const struct frame *frame)
{
    answered(self, now_us, frame->correlation, false);
    log_limited(&self->coordinator_limit, now_us, LOG_WARN, "the coordinator refused a frame: %s",
                frame->body.error.message);
}

/* ---- what an answer says ---- */

/* A coordinator that has just started says UNAVAILABLE until nodes have told what they hold: normal
 * life, unless it lasts. */
static void say_answer(struct router *self, uint64_t now_us, const struct sync_reply *reply)
{
    enum log_level level = LOG_ERROR;

    if (reply->status == STATUS_UNAVAILABLE) {
        level = log_level_lasting(&self->unavailable_us, now_us, UNSERVED_US);
    } else {
        self->unavailable_us = 0;
    }
    if (reply->status != STATUS_OK) {
        log_limited(&self->coordinator_limit, now_us, level, "the coordinator answers %s: %s",
                    status_code(reply->status), reply->message);
    }
}

/* Without memory it is told anew. */
static void keep_cluster(struct router *self, struct span bytes)
{
    buffer_clear(&self->cluster_bytes);
    self->keeping.wanted = true;
    if (buffer_append(&self->cluster_bytes, bytes) != STATUS_OK) {
        self->cluster_hash = 0;
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
        keep_cluster(self, reply->cluster);
        return true;
    }
    log_limited(
        &self->coordinator_limit, now_us, LOG_ERROR,
        "the filters that this router knows are of cluster %s, and the coordinator is of "
        "cluster %s: nothing of that one is taken. Name the coordinators of the right "
        "cluster; if it is to change, restart the router, and take its kept_file away if it "
        "has one",
        cluster_id_show(&self->cluster, ours), cluster_id_show(&cluster, theirs));
    return false;
}

/* Documents first: a secret belongs to one. False: not all of it could be taken. */
static bool take_all(struct router *self, uint64_t now_us, const struct sync_reply *reply)
{
    uint64_t refused = self->counters[ROUTER_documents_refused_total];

    for (size_t i = 0; i < reply->ndocuments; i++) {
        router_take_document(self, now_us, reply->documents[i]);
    }
    for (size_t i = 0; i < reply->nsecrets; i++) {
        router_take_secret(self, now_us, &reply->secrets[i]);
    }
    return self->counters[ROUTER_documents_refused_total] == refused;
}

bool sync_on_reply(struct router *self, uint64_t now_us, uint64_t correlation,
                   const struct sync_reply *reply)
{
    bool well = reply->status == STATUS_OK || reply->status == STATUS_UNAVAILABLE;
    bool last = self->sync_open && correlation == self->sync;
    bool whole;

    say_answer(self, now_us, reply);
    answered(self, now_us, correlation, well);
    if (reply->status == STATUS_VERSION) {
        kept_forget(self); /* This router is not to serve by it either. */
    }
    if (!well || !same_cluster(self, now_us, reply)) {
        return false;
    }
    self->routers = reply->routers != 0 ? reply->routers : self->routers;
    site_links_take(self, reply);
    whole = take_all(self, now_us, reply);
    tell_extra(self, now_us, reply, last);
    /* An older store tells what it has; what it has not may exist all the same. */
    self->doubtful = !whole || reply->status != STATUS_OK;
    if (reply->change > self->since || reply->store != self->store) {
        self->since = reply->change;
        self->store = reply->store;
    }
    if (!whole) {
        self->since = 0; /* Ask for everything again: perhaps memory was short. */
    } else if (reply->more) {
        self->next_sync_us = now_us;
        return false;
    }
    self->synced = true;
    return true;
}

/* A record that is refused counts as if it had not been kept: that is no news of users. */
void sync_take_kept(struct router *self, uint64_t now_us, const struct sync_reply *reply)
{
    bool users_refused = self->users_refused;

    if (same_cluster(self, now_us, reply)) {
        (void)take_all(self, now_us, reply);
    }
    self->users_refused = users_refused;
}
