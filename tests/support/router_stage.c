/* Plays clients, nodes and a coordinator to one router, and sorts what it sends. */
#include "tests/support/router_stage.h"

#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATS_PEER = 4000000 };

static const char coordinator_endpoint[] = "tcp://coordinator:7400";

static uint32_t node_of_link(const struct router_stage *self, uint32_t link)
{
    unsigned node = 0;

    cr_assert_eq(sscanf(self->fake.endpoints[link - 1], "tcp://node-%u:", &node), 1);
    return node;
}

static void note_asked(struct router_stage *self, const struct fake_sent *sent)
{
    const struct node_request *request = &sent->frame.body.node_request;
    struct router_asked *asked = &self->asked[self->nasked++];

    cr_assert_leq(self->nasked, ROUTER_STAGE_MAX);
    cr_assert_leq(request->nsubrequests, ROUTER_STAGE_SUBREQUESTS);
    *asked = (struct router_asked){
        .node = node_of_link(self, sent->link),
        .link = sent->link,
        .correlation = sent->frame.correlation,
        .nsubrequests = request->nsubrequests,
        .fingerprint = request->count > 0 ? request->fingerprints[0] : 0,
    };
    memcpy(asked->subrequests, request->subrequests,
           request->nsubrequests * sizeof asked->subrequests[0]);
}

static void note_told(struct router_stage *self, const struct fake_sent *sent)
{
    struct router_told *told = &self->told[self->ntold++];

    cr_assert_leq(self->ntold, ROUTER_STAGE_MAX);
    *told = (struct router_told){
        .peer = sent->peer, .correlation = sent->frame.correlation, .kind = sent->frame.kind};
    if (sent->frame.kind == FRAME_CLIENT_REPLY) {
        const struct client_reply *reply = &sent->frame.body.client_reply;

        told->status = reply->status;
        told->op = reply->op;
        told->attempt = reply->attempt;
        told->filter_id = reply->filter_id;
        told->epoch = reply->epoch;
        told->copies = reply->copies;
        told->count = reply->count;
        told->present = reply->count > 0 ? reply->present[0] : 0;
        told->absent = reply->count > 0 ? reply->absent[0] : 0;
        (void)snprintf(told->message, sizeof told->message, "%s", reply->message);
    } else if (sent->frame.kind == FRAME_ERROR) {
        told->status = sent->frame.body.error.status;
        (void)snprintf(told->message, sizeof told->message, "%s", sent->frame.body.error.message);
    } else if (sent->frame.kind == FRAME_INFO_REPLY) {
        told->status = sent->frame.body.info_reply.status;
    } else if (sent->frame.kind == FRAME_DUMP_REPLY) {
        told->status = sent->frame.body.dump_reply.status;
        (void)snprintf(told->message, sizeof told->message, "%s",
                       sent->frame.body.dump_reply.message);
    }
}

static void note_uses(struct router_stage *self, const struct sync_request *request)
{
    self->nuses = request->nuses;
    for (size_t i = 0; i < request->nuses && i < ROUTER_STAGE_USES; i++) {
        self->uses[i] = request->uses[i];
    }
}

static void collect(struct router_stage *self)
{
    struct fake_sent sent;

    while (fake_take(&self->fake, &sent)) {
        if (sent.link == 0) {
            note_told(self, &sent);
        } else if (sent.frame.kind == FRAME_NODE_REQUEST) {
            note_asked(self, &sent);
        } else if (sent.frame.kind == FRAME_SITE_CURSOR_REQUEST) {
            cr_assert_lt(self->nsite_asked, ROUTER_STAGE_SITE_ASKS);
            self->site_asked[self->nsite_asked++] = (struct router_site_asked){
                .node = node_of_link(self, sent.link),
                .link = sent.link,
                .correlation = sent.frame.correlation,
                .request = sent.frame.body.site_cursor_request,
            };
        } else if (sent.frame.kind == FRAME_SITE_AGE_REQUEST) {
            cr_assert_lt(self->nages, ROUTER_STAGE_AGES);
            self->ages[self->nages++] = (struct router_age_asked){sent.link, sent.frame.correlation,
                                                                  sent.frame.body.site_age_request};
        } else if (sent.frame.kind == FRAME_DOCUMENTS) {
            self->handed[self->nhanded++] = node_of_link(self, sent.link);
        } else if (sent.frame.kind == FRAME_SYNC_REQUEST) {
            self->coordinator_link = sent.link;
            self->sync = sent.frame.correlation;
            self->nsyncs++;
            note_uses(self, &sent.frame.body.sync_request);
        }
    }
}

uint64_t router_stage_hedge_us = ROUTER_STAGE_HEDGE_US;

static struct actor start(struct router_stage *self)
{
    struct router_config config = {
        .name = "router-1",
        .ncoordinators = 1,
        .key = *sample_key(),
        .max_inflight_bytes = ROUTER_STAGE_MAX_INFLIGHT,
        .hedge_us = router_stage_hedge_us,
        .retry_us = ROUTER_STAGE_RETRY_US,
        .max_timeout_us = 60000000,
        .sync_interval_us = 1000000,
    };

    (void)snprintf(config.coordinators[0], sizeof config.coordinators[0], "%s",
                   coordinator_endpoint);
    cr_assert_eq(router_create(&config, &self->fake.effects, &self->router), STATUS_OK);
    return router_actor(self->router);
}

void router_stage_init(struct router_stage *self, const struct quorum_rule *rule, uint32_t nnodes,
                       enum when_unavailable when_unavailable)
{
    struct buffer nodes;
    struct span item;
    struct frame frame = {.kind = FRAME_SYNC_REPLY};

    *self = (struct router_stage){.now_us = 1000000};
    fake_init(&self->fake);
    self->actor = start(self);
    self->actor.time(self->actor.self, self->now_us);
    collect(self);
    cr_assert_eq(self->nsyncs, 1);
    cr_assert_not(router_synced(self->router));
    sample_node_list(nnodes, 1, sample_key(), &nodes);
    item = buffer_span(&nodes);
    frame.correlation = self->sync;
    frame.body.sync_reply = (struct sync_reply){
        .message = "", .change = 1, .more = true, .documents = &item, .ndocuments = 1};
    fake_answer(&self->actor, self->now_us, self->coordinator_link, &frame);
    buffer_fini(&nodes);
    sample_document(ROUTER_STAGE_FILTER, "urls", rule, nnodes, &self->document);
    self->document.when_unavailable = when_unavailable;
    self->actor.time(self->actor.self, self->now_us);
    collect(self);
    router_stage_sync(self, self->sync, true);
    cr_assert(router_synced(self->router));
}

void router_stage_fini(struct router_stage *self)
{
    router_destroy(&self->router);
    document_fini(&self->document);
    fake_fini(&self->fake);
}

void router_stage_sync(struct router_stage *self, uint64_t sync, bool with_document)
{
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct sealed_secret secret = {.filter_id = self->document.id,
                                   .sealed = span_of(sealed, sizeof sealed)};
    struct frame frame = {.kind = FRAME_SYNC_REPLY, .correlation = sync};
    struct buffer bytes;
    struct span item;

    sample_sealed_secret(self->document.id, sealed);
    sample_sign(&self->document, sample_key(), &bytes);
    item = buffer_span(&bytes);
    frame.body.sync_reply = (struct sync_reply){
        .message = "",
        .change = 1 + self->document.revision,
        .documents = &item,
        .ndocuments = with_document,
        .secrets = &secret,
        .nsecrets = with_document,
        .links = self->links,
        .nlinks = self->nlinks,
    };
    fake_answer(&self->actor, self->now_us, self->coordinator_link, &frame);
    collect(self);
    buffer_fini(&bytes);
}

void router_stage_age_answer(struct router_stage *self, size_t which,
                             const struct site_age_reply *reply)
{
    struct frame frame = {.kind = FRAME_SITE_AGE_REPLY,
                          .correlation = self->ages[which].correlation,
                          .body.site_age_reply = *reply};

    fake_answer(&self->actor, self->now_us, self->ages[which].link, &frame);
    collect(self);
}

struct client_request router_stage_request(enum operation operation, uint64_t sequence,
                                           size_t count)
{
    static const char keys[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static uint32_t lengths[sizeof keys];

    cr_assert_lt(count, sizeof keys);
    for (size_t i = 0; i < count; i++) {
        lengths[i] = 1;
    }
    return (struct client_request){
        .filter = "urls",
        .filter_id = operation == OPERATION_CHECK ? 0 : ROUTER_STAGE_FILTER,
        .operation = operation,
        .op = {.session = {11, 12}, .sequence = sequence},
        .timeout_ms = 5000,
        .keys = span_of(keys, count),
        .lengths = lengths,
        .count = count,
    };
}

void router_stage_send(struct router_stage *self, uint32_t peer,
                       const struct client_request *request)
{
    struct frame frame = {.kind = FRAME_CLIENT_REQUEST,
                          .correlation = request->op.sequence,
                          .body.client_request = *request};

    router_stage_send_frame(self, peer, &frame);
}

void router_stage_send_frame(struct router_stage *self, uint32_t peer, const struct frame *frame)
{
    fake_request(&self->actor, self->now_us, peer, frame);
    collect(self);
}

void router_stage_pass(struct router_stage *self, uint64_t duration_us)
{
    uint64_t end_us = self->now_us + duration_us;

    for (;;) {
        uint64_t next_us = self->actor.next_us(self->actor.self);

        if (next_us > end_us) {
            break;
        }
        self->now_us = next_us > self->now_us ? next_us : self->now_us;
        self->actor.time(self->actor.self, self->now_us);
        self->actor.turn(self->actor.self, self->now_us);
        collect(self);
    }
    self->now_us = end_us;
    collect(self);
}

struct router_asked *router_stage_asked(struct router_stage *self, uint32_t node)
{
    for (size_t i = self->nasked; i > 0; i--) {
        if (self->asked[i - 1].node == node && !self->asked[i - 1].answered) {
            return &self->asked[i - 1];
        }
    }
    return NULL;
}

size_t router_stage_open(const struct router_stage *self)
{
    size_t open = 0;

    for (size_t i = 0; i < self->nasked; i++) {
        open += !self->asked[i].answered;
    }
    return open;
}

static enum status refusal_of(char letter)
{
    switch (letter) {
    case 'S':
        return STATUS_STALE;
    case 'N':
        return STATUS_NEED_DOC;
    case 'R':
        return STATUS_NOT_READY;
    case 'C':
        return STATUS_CONFLICT;
    case 'O':
        return STATUS_OVERLOADED;
    default:
        return STATUS_OK;
    }
}

static void fill_vote(const struct subrequest *subrequest, char letter, uint64_t planes[2],
                      struct subrequest_reply *reply)
{
    uint64_t all = subrequest->count == 64 ? UINT64_MAX : (UINT64_C(1) << subrequest->count) - 1;

    cr_assert_leq(subrequest->count, 64);
    planes[0] = strchr("pjdJ", letter) != NULL ? all : letter == '1' ? 1 : 0;
    planes[1] = strchr("ajiehJ", letter) != NULL ? all : letter == '1' ? 1 : 0;
    *reply = (struct subrequest_reply){
        .tag = subrequest->tag,
        .status = refusal_of(letter),
        .epoch = subrequest->epoch + (letter == 'e'),
        .epoch_hash = subrequest->epoch_hash + (letter == 'h'),
        .state = strchr("jJfg1", letter) != NULL ? REPLICA_JOINING : REPLICA_FULL,
        .repeated = letter == 'd',
        .at_capacity = strchr("Ff1Gg", letter) != NULL,
        .makes_room = letter == 'G' || letter == 'g',
        .count = subrequest->count,
        .present = &planes[0],
        .absent = &planes[1],
    };
    reply->count = reply->status == STATUS_OK ? subrequest->count : 0;
}

void router_stage_vote(struct router_stage *self, uint32_t node, char letter)
{
    struct router_asked *asked = router_stage_asked(self, node);
    struct subrequest_reply replies[ROUTER_STAGE_SUBREQUESTS];
    uint64_t planes[ROUTER_STAGE_SUBREQUESTS][2];
    struct frame frame = {.kind = FRAME_NODE_REPLY};
    struct buffer bytes;
    struct span item;

    cr_assert_not_null(asked, "node %u was not asked", node);
    asked->answered = true;
    sample_sign(&self->document, sample_key(), &bytes);
    item = buffer_span(&bytes);
    for (size_t i = 0; i < asked->nsubrequests; i++) {
        fill_vote(&asked->subrequests[i], letter, planes[i], &replies[i]);
        if (replies[i].status == STATUS_OK && asked->subrequests[i].relayed) {
            replies[i].boot = ROUTER_STAGE_BOOT + node;
        }
        if (replies[i].status == STATUS_OK && asked->subrequests[i].operation == OPERATION_ENDS) {
            replies[i].boot = ROUTER_STAGE_BOOT + node;
            replies[i].position = self->position;
        }
    }
    frame.correlation = asked->correlation;
    frame.body.node_reply = (struct node_reply){
        .node_id = node,
        .incarnation = SAMPLE_INCARNATION + node + (letter == 'i' || letter == 'J'),
        .subrequests = replies,
        .nsubrequests = asked->nsubrequests,
        .documents = &item,
        .ndocuments = letter == 'S',
    };
    fake_answer(&self->actor, self->now_us, asked->link, &frame);
    buffer_fini(&bytes);
    collect(self);
}

struct router_told router_stage_told(struct router_stage *self)
{
    cr_assert_eq(self->ntold, 1, "%zu answers", self->ntold);
    self->ntold = 0;
    return self->told[0];
}

uint64_t router_stage_counter(struct router_stage *self, const char *name)
{
    return fake_counter(&self->fake, &self->actor, self->now_us, STATS_PEER, name);
}

struct router_site_asked *router_stage_site_asked(struct router_stage *self, uint32_t node)
{
    for (size_t i = self->nsite_asked; i > 0; i--) {
        if (self->site_asked[i - 1].node == node && !self->site_asked[i - 1].answered) {
            return &self->site_asked[i - 1];
        }
    }
    return NULL;
}

void router_stage_site_answer(struct router_stage *self, uint32_t node,
                              const struct site_cursor_reply *reply)
{
    struct router_site_asked *asked = router_stage_site_asked(self, node);
    struct frame frame = {.kind = FRAME_SITE_CURSOR_REPLY, .body.site_cursor_reply = *reply};

    cr_assert_not_null(asked, "node %u was not asked", node);
    asked->answered = true;
    frame.correlation = asked->correlation;
    fake_answer(&self->actor, self->now_us, asked->link, &frame);
    collect(self);
}
