/* Plays nodes and operators to one coordinator, and keeps what it tells them. */
#include "tests/support/coordinator_stage.h"

#include "proto/admin_message.h"
#include "proto/registration.h"
#include "proto/signed_document.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { OPERATOR_PEER = 900, STATS_PEER = 901, MAX_REPORTS = 16 };

const struct cluster_key *coordinator_stage_key;
bool coordinator_stage_disks;
uint64_t coordinator_stage_features;
uint64_t coordinator_stage_max_filters;
bool coordinator_stage_survey;
const struct audit_sink *coordinator_stage_audit;
struct job_lanes *coordinator_stage_lanes;

static void note_told(struct coordinator_stage *self, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct coordinator_told *told = &self->told[self->ntold++];

    cr_assert_leq(self->ntold, COORDINATOR_STAGE_MAX);
    *told = (struct coordinator_told){
        .correlation = frame->correlation,
        .status = reply->status,
        .created = reply->created,
        .nfilters = reply->nfilters,
        .nreplicas = reply->nreplicas,
        .nnodes = reply->nnodes,
        .nchanges = reply->nchanges,
        .moved = reply->moved,
        .seen = reply->seen,
    };
    if (reply->nfilters > 0) {
        told->durability = reply->filters[0].durability;
        told->expires_left_us = reply->filters[0].expires_left_us;
        (void)snprintf(told->expiry_awaited, sizeof told->expiry_awaited, "%s",
                       reply->filters[0].expiry_awaited);
        told->shards_lacking = reply->filters[0].shards_lacking;
        (void)snprintf(told->lacking, sizeof told->lacking, "%s", reply->filters[0].lacking);
        (void)snprintf(told->remedy, sizeof told->remedy, "%s", reply->filters[0].lacking_remedy);
    }
    if (reply->nchanges > 0) {
        told->change = reply->changes[0];
        (void)snprintf(told->awaited, sizeof told->awaited, "%s", told->change.awaited);
        told->change.awaited = NULL;
    }
    for (size_t i = 0; i < reply->nnodes && told->node_awaited[0] == '\0'; i++) {
        (void)snprintf(told->node_awaited, sizeof told->node_awaited, "%s",
                       reply->nodes[i].awaited);
    }
    (void)snprintf(told->message, sizeof told->message, "%s", reply->message);
}

static void note_states(struct coordinator_states *self, const struct sync_reply *reply)
{
    cr_assert_leq(reply->nstates, COORDINATOR_STAGE_STATES);
    *self = (struct coordinator_states){.count = reply->nstates,
                                        .to = reply->states_to,
                                        .of = reply->states_of,
                                        .more = reply->states_more};
    for (size_t i = 0; i < reply->nstates; i++) {
        self->items[i] = reply->states[i];
        (void)snprintf(self->names[i], sizeof self->names[i], "%s", reply->states[i].filter);
        self->items[i].filter = self->names[i];
    }
}

static void note_synced(struct coordinator_stage *self, const struct sync_reply *reply)
{
    self->synced = (struct coordinator_synced){
        .status = reply->status,
        .present = reply->present,
        .node_id = reply->node_id,
        .change = reply->change,
        .ndocuments = reply->ndocuments,
        .nsecrets = reply->nsecrets,
        .routers = reply->routers,
    };
    note_states(&self->states, reply);
    if (reply->cluster.size > 0) {
        const struct cluster_key *key = coordinator_stage_key != NULL ? coordinator_stage_key
                                                                      : sample_key();

        cr_assert_eq(codec_cluster_open(reply->cluster, key, &self->synced.cluster), STATUS_OK);
    }
    (void)snprintf(self->synced.message, sizeof self->synced.message, "%s", reply->message);
}

/* Whom a link leads to. */
static uint32_t node_at(const struct coordinator_stage *self, uint32_t link)
{
    unsigned node = 0;

    cr_assert_eq(sscanf(self->fake.endpoints[link - 1], "tcp://node-%u:", &node), 1);
    return node;
}

static void note_question(struct coordinator_stage *self, const struct fake_sent *sent)
{
    cr_assert_lt(self->nquestions, COORDINATOR_STAGE_MAX);
    self->questions[self->nquestions++] = (struct coordinator_question){
        .node = node_at(self, sent->link),
        .link = sent->link,
        .correlation = sent->frame.correlation,
        .filter_id = sent->frame.body.info_request.filter_id,
    };
}

static void note_fence(struct coordinator_stage *self, const struct fake_sent *sent)
{
    const struct fence_request *request = &sent->frame.body.fence_request;

    cr_assert_lt(self->nfences, COORDINATOR_STAGE_MAX);
    self->fences[self->nfences++] = (struct coordinator_fence){
        .node = node_at(self, sent->link),
        .link = sent->link,
        .filter_id = request->filter_id,
        .epoch = request->epoch,
        .epoch_hash = request->epoch_hash,
        .document_size = request->document.size,
        .slice = request->slice,
    };
}

void coordinator_stage_collect(struct coordinator_stage *self)
{
    struct fake_sent sent;

    while (fake_take(&self->fake, &sent)) {
        if (sent.frame.kind == FRAME_ADMIN_REPLY) {
            note_told(self, &sent.frame);
        } else if (sent.frame.kind == FRAME_SYNC_REPLY) {
            note_synced(self, &sent.frame.body.sync_reply);
        } else if (sent.frame.kind == FRAME_FENCE_REQUEST) {
            note_fence(self, &sent);
        } else if (sent.frame.kind == FRAME_INFO_REQUEST) {
            note_question(self, &sent);
        } else if (sent.frame.kind == FRAME_HINT) {
            self->nhints++;
        }
    }
}

void coordinator_stage_init(struct coordinator_stage *self, struct store *store)
{
    struct coordinator_config config = {
        .name = "coordinator-1",
        .key = *sample_key(),
        .max_timeout_us = 60000000,
        .node_timeout_us = 10000000,
        .fence_retry_us = 500000,
        .moves_at_once = 2,
        .max_filters = coordinator_stage_max_filters,
        .survey = coordinator_stage_survey,
        .audit = coordinator_stage_audit,
        .features = coordinator_stage_features,
    };

    *self = (struct coordinator_stage){.now_us = 1000000};
    fake_init(&self->fake);
    if (coordinator_stage_lanes != NULL) {
        fake_use_lanes(&self->fake, coordinator_stage_lanes);
    }
    cr_assert_eq(coordinator_create(&config, &self->fake.effects, store, &self->coordinator),
                 STATUS_OK);
    self->actor = coordinator_actor(self->coordinator);
}

void coordinator_stage_fini(struct coordinator_stage *self)
{
    coordinator_destroy(&self->coordinator);
    fake_fini(&self->fake);
}

struct sync_request coordinator_stage_node(uint32_t n)
{
    static char names[16][16];
    static char hosts[16][16];
    static char endpoints[16][32];

    cr_assert_lt(n, 16);
    (void)snprintf(names[n], sizeof names[n], "node-%u", n);
    (void)snprintf(hosts[n], sizeof hosts[n], "host-%u", n);
    (void)snprintf(endpoints[n], sizeof endpoints[n], "tcp://node-%u:7000", n);
    return (struct sync_request){
        .role = SYNC_NODE,
        .name = names[n],
        .host = hosts[n],
        .zone = "zone-1",
        .endpoint = endpoints[n],
        .incarnation = SAMPLE_INCARNATION + n,
        .memory_limit_bytes = UINT64_C(1) << 30,
        .boot = coordinator_stage_disks ? COORDINATOR_STAGE_BOOT + n : 0,
        .durable = coordinator_stage_disks,
    };
}

struct coordinator_synced coordinator_stage_sync(struct coordinator_stage *self, uint32_t peer,
                                                 const struct sync_request *request)
{
    struct sync_request again = *request;
    struct coordinator_synced synced = coordinator_stage_send(self, peer, request);

    if (synced.status == STATUS_STALE && request->boot_before == 0 &&
        synced.present.incarnation != request->incarnation) {
        again.replaces = synced.present;
        synced = coordinator_stage_send(self, peer, &again);
    }
    return synced;
}

struct coordinator_synced coordinator_stage_send(struct coordinator_stage *self, uint32_t peer,
                                                 const struct sync_request *request)
{
    struct frame frame = {.kind = FRAME_SYNC_REQUEST, .body.sync_request = *request};

    if (request->number == 0) {
        frame.body.sync_request.number = ++self->sent;
    }
    if (request->features == 0) {
        frame.body.sync_request.features = features_known();
    }
    registration_sign(sample_key(), &frame.body.sync_request);
    fake_request(&self->actor, self->now_us, peer, &frame);
    coordinator_stage_collect(self);
    return self->synced;
}

void coordinator_stage_report(struct coordinator_stage *self, uint32_t nnodes, uint64_t filter_id,
                              uint32_t ngroups, enum replica_state state)
{
    cr_assert_leq(ngroups, MAX_REPORTS);
    for (uint32_t n = 1; n <= nnodes; n++) {
        struct sync_request request = coordinator_stage_node(n);
        struct replica_report reports[MAX_REPORTS] = {0};

        for (uint32_t group = 0; group < ngroups; group++) {
            reports[group].filter_id = filter_id;
            reports[group].group = group;
            reports[group].state = state;
        }
        request.replicas = reports;
        request.nreplicas = ngroups;
        cr_assert_eq(coordinator_stage_sync(self, n, &request).status, STATUS_OK);
    }
}

struct admin_request coordinator_stage_create(void)
{
    return (struct admin_request){
        .action = ADMIN_CREATE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "urls",
        .create =
            {
                .capacity = 10000,
                .rate = 0.01,
                .rule = {.replicas = 3, .write = 2, .read = 2},
                .hash = HASH_SIPHASH24,
                .when_unavailable = WHEN_UNAVAILABLE_ERROR,
                .when_full = WHEN_FULL_REFUSE,
                .keylog = KEYLOG_ON,
                .durability = DURABILITY_MEMORY,
            },
    };
}

struct admin_request coordinator_stage_drop(void)
{
    return (struct admin_request){
        .action = ADMIN_DROP,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "urls",
    };
}

struct admin_request coordinator_stage_look(struct coordinator_stage *self,
                                            const struct admin_request *request)
{
    struct admin_request change = *request;
    struct admin_request look = admin_look(request);
    size_t before = self->ntold;

    look.successor = look.successor != NULL ? look.successor : "";
    coordinator_stage_ask(self, 0, &look);
    cr_assert_eq(self->ntold, before + 1);
    if (self->told[before].status == STATUS_OK) {
        admin_take_seen(&change, &self->told[before].seen);
    }
    self->ntold = before;
    if (change.timeout_ms == 0) {
        change.timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS;
    }
    return change;
}

void coordinator_stage_command(struct coordinator_stage *self, uint64_t correlation,
                               const struct admin_request *request)
{
    struct admin_request change = *request;

    if (admin_is_change(request->action)) {
        change = coordinator_stage_look(self, request);
    }
    coordinator_stage_ask(self, correlation, &change);
}

void coordinator_stage_ask(struct coordinator_stage *self, uint64_t correlation,
                           const struct admin_request *request)
{
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST, .correlation = correlation, .body.admin_request = *request};

    fake_request(&self->actor, self->now_us, OPERATOR_PEER, &frame);
    coordinator_stage_collect(self);
}

uint64_t coordinator_stage_make_filter(struct coordinator_stage *self)
{
    struct admin_request create = coordinator_stage_create();
    const uint64_t first_id = 1;
    struct coordinator_told told;

    coordinator_stage_report(self, 3, 0, 0, REPLICA_NONE);
    coordinator_stage_command(self, 1, &create);
    coordinator_stage_report(self, 3, first_id, 1, REPLICA_FULL);
    told = coordinator_stage_told(self);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(told.created);
    return first_id;
}

void coordinator_stage_turn(struct coordinator_stage *self)
{
    self->actor.turn(self->actor.self, ++self->now_us);
    coordinator_stage_collect(self);
}

void coordinator_stage_pass(struct coordinator_stage *self, uint64_t duration_us)
{
    uint64_t end_us = self->now_us + duration_us;

    for (;;) {
        uint64_t next_us = self->actor.next_us(self->actor.self);

        if (next_us > end_us) {
            break;
        }
        self->now_us = next_us > self->now_us ? next_us : self->now_us + 1;
        self->actor.time(self->actor.self, self->now_us);
        coordinator_stage_collect(self);
    }
    self->now_us = end_us;
}

/* `counts` has what it says of slices and expiries. */
static void confirm(struct coordinator_stage *self, uint32_t node, uint64_t incarnation,
                    enum status status, const struct fence_reply *counts)
{
    const struct coordinator_fence *fence = NULL;
    struct frame frame = {.kind = FRAME_FENCE_REPLY};

    for (size_t i = 0; i < self->nfences; i++) {
        fence = self->fences[i].node == node ? &self->fences[i] : fence;
    }
    cr_assert_not_null(fence, "node %u was not asked for a fence", node);
    frame.body.fence_reply = (struct fence_reply){
        .status = status,
        .filter_id = fence->filter_id,
        .epoch = fence->epoch,
        .epoch_hash = fence->epoch_hash,
        .node_id = node,
        .incarnation = incarnation,
        .slice = counts->slice,
        .counted_us = counts->counted_us,
        .expiry = counts->expiry,
        .expiry_us = counts->expiry_us,
    };
    fake_answer(&self->actor, self->now_us, fence->link, &frame);
    coordinator_stage_collect(self);
}

void coordinator_stage_confirm(struct coordinator_stage *self, uint32_t node, uint64_t incarnation,
                               enum status status)
{
    confirm(self, node, incarnation, status, &(struct fence_reply){0});
}

void coordinator_stage_count(struct coordinator_stage *self, uint32_t node, uint64_t slice,
                             uint64_t counted_us)
{
    const struct fence_reply counts = {.slice = slice, .counted_us = counted_us};

    confirm(self, node, SAMPLE_INCARNATION + node, STATUS_OK, &counts);
}

void coordinator_stage_count_expiry(struct coordinator_stage *self, uint32_t node, uint64_t expiry,
                                    uint64_t counted_us)
{
    const struct fence_reply counts = {.expiry = expiry, .expiry_us = counted_us};

    confirm(self, node, SAMPLE_INCARNATION + node, STATUS_OK, &counts);
}

void coordinator_stage_answer(struct coordinator_stage *self,
                              const struct coordinator_question *question,
                              const struct replica_report *reports, size_t nreports)
{
    struct frame frame = {
        .kind = FRAME_INFO_REPLY,
        .correlation = question->correlation,
        .body.info_reply =
            {
                .status = nreports > 0 ? STATUS_OK : STATUS_NOT_READY,
                .message = "",
                .replicas = reports,
                .nreplicas = nreports,
            },
    };

    fake_answer(&self->actor, self->now_us, question->link, &frame);
    coordinator_stage_collect(self);
}

struct coordinator_told coordinator_stage_told(struct coordinator_stage *self)
{
    cr_assert_eq(self->ntold, 1, "%zu answers", self->ntold);
    self->ntold = 0;
    return self->told[0];
}

uint64_t coordinator_stage_counter(struct coordinator_stage *self, const char *name)
{
    struct frame frame = {.kind = FRAME_STATS_REQUEST};
    struct fake_sent sent;

    fake_request(&self->actor, self->now_us, STATS_PEER, &frame);
    cr_assert(fake_take(&self->fake, &sent));
    cr_assert_eq(sent.frame.kind, FRAME_STATS_REPLY);
    for (size_t i = 0; i < sent.frame.body.stats_reply.nvalues; i++) {
        if (strcmp(sent.frame.body.stats_reply.values[i].name, name) == 0) {
            return sent.frame.body.stats_reply.values[i].value;
        }
    }
    cr_assert_fail("no counter %s", name);
    return 0;
}
