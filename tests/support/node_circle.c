/* Carries frames between nodes, plays their coordinator, and keeps one clock for all. */
#include "tests/support/node_circle.h"

#include "base/heap.h"
#include "coordinator/plan/boot.h"
#include "proto/signed_document.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_PEER = 0, MAX_STEPS = 200000, ARENA_BYTES = 64 << 20 };

/* ---- what a node can do to its world ---- */

static void push(struct circle *self, const struct circle_frame *frame, struct span bytes)
{
    struct circle_frame *kept;

    cr_assert_lt(self->last - self->first, CIRCLE_FRAMES, "more frames than a test should cause");
    kept = &self->frames[self->last++ % CIRCLE_FRAMES];
    *kept = *frame;
    kept->bytes = malloc(bytes.size + 1);
    cr_assert_not_null(kept->bytes);
    kept->size = bytes.size;
    memcpy(kept->bytes, bytes.data, bytes.size);
}

static enum status on_reply(void *context, const struct peer *to, struct span bytes)
{
    struct circle_node *node = context;
    const struct circle_frame frame = {
        .from = node->id, .to = to->id[0], .link = to->id[1], .answer = true};

    push(node->circle, &frame, bytes);
    return STATUS_OK;
}

static enum status on_send(void *context, uint32_t link, struct span bytes)
{
    struct circle_node *node = context;
    struct circle_frame frame = {.from = node->id, .link = link};

    cr_assert(link >= 1 && link <= node->nlinks);
    frame.to = node->links[link - 1];
    push(node->circle, &frame, bytes);
    return STATUS_OK;
}

static uint32_t on_link_open(void *context, const char *endpoint)
{
    struct circle_node *node = context;
    unsigned to = 0;

    cr_assert_lt(node->nlinks, CIRCLE_LINKS);
    if (strncmp(endpoint, "tcp://coordinator", strlen("tcp://coordinator")) != 0) {
        cr_assert_eq(sscanf(endpoint, "tcp://node-%u:7000", &to), 1, "%s", endpoint);
    }
    node->links[node->nlinks] = to;
    return ++node->nlinks;
}

static void on_link_close(void *context, uint32_t link)
{
    struct circle_node *node = context;

    cr_assert(link >= 1 && link <= node->nlinks);
    node->nclosed++;
}

static uint64_t on_random(void *context)
{
    struct circle_node *node = context;

    return random_next(&node->circle->random);
}

static void on_submit(void *context, enum job_lane lane, struct job *job)
{
    struct circle_node *node = context;
    struct job **at = &node->jobs[lane];

    while (*at != NULL) {
        at = &(*at)->next;
    }
    job->next = NULL;
    *at = job;
}

/* ---- life and death ---- */

void circle_start(struct circle *self, uint32_t id)
{
    struct circle_node *one = &self->nodes[id - 1];
    struct node_config config = {
        .coordinators = {"tcp://coordinator:7400"},
        .ncoordinators = 1,
        .key = *sample_key(),
        .memory_limit_bytes = 1 << 30,
        .retry_memory_bytes = 1 << 20,
        .retry_memory_us = 60000000,
        .sync_interval_us = 1000000,
        .cluster = *sample_cluster(),
        .disk = memory_disk_seam(one->disk),
        .kernel_boot = 7,
        .segment_bytes = 1 << 20,
        .retain_bytes = (uint64_t)self->retain_mib << 20,
        .reserve_bytes = 1 << 16,
        .gossip_delay_us = 1000000,
        .catch_up_wait_us = 2000000,
        .gossip_rate = 200 << 20,
        .scrub_interval_us = self->scrub_us,
    };

    cr_assert_null(one->node);
    memcpy(config.steps, self->steps, sizeof config.steps);
    (void)snprintf(config.name, sizeof config.name, "node-%u", id);
    (void)snprintf(config.host, sizeof config.host, "host-%u", id);
    (void)snprintf(config.endpoint, sizeof config.endpoint, "tcp://node-%u:7000", id);
    one->nlinks = 0;
    cr_assert_eq(node_create(&config, &one->effects, &one->node), STATUS_OK);
    one->actor = node_actor(one->node);
}

void circle_stop(struct circle *self, uint32_t id)
{
    struct circle_node *one = &self->nodes[id - 1];

    memset(one->jobs, 0, sizeof one->jobs);
    node_destroy(&one->node);
    one->actor = (struct actor){0};
    memory_disk_kill(one->disk);
}

static void make_records(struct circle *self)
{
    for (uint32_t id = 1; id <= self->count; id++) {
        struct node_record *record = &self->records[id - 1];

        *record = (struct node_record){.id = id, .incarnation = id, .memory_limit_bytes = 1 << 30};
        (void)snprintf(record->name, sizeof record->name, "node-%u", id);
        (void)snprintf(record->host, sizeof record->host, "host-%u", id);
        (void)snprintf(record->endpoint, sizeof record->endpoint, "tcp://node-%u:7000", id);
    }
}

void circle_init(struct circle *self, uint32_t count)
{
    *self = (struct circle){.count = count, .now_us = 1000000, .random = 42, .retain_mib = 64};
    cr_assert_eq(codec_arena_create(ARENA_BYTES, &self->arena), STATUS_OK);
    make_records(self);
    for (uint32_t id = 1; id <= count; id++) {
        struct circle_node *one = &self->nodes[id - 1];

        one->circle = self;
        one->id = id;
        one->effects = (struct effects){
            .context = one,
            .reply = on_reply,
            .link_open = on_link_open,
            .link_close = on_link_close,
            .send = on_send,
            .random = on_random,
            .submit = on_submit,
        };
        one->disk = memory_disk_create();
        circle_start(self, id);
    }
    circle_run(self, 10000);
    for (uint32_t id = 1; id <= count; id++) {
        cr_assert(node_registered(circle_node(self, id)));
    }
}

void circle_fini(struct circle *self)
{
    for (uint32_t id = 1; id <= self->count; id++) {
        circle_stop(self, id);
        memory_disk_destroy(&self->nodes[id - 1].disk);
    }
    while (self->first < self->last) {
        free(self->frames[self->first++ % CIRCLE_FRAMES].bytes);
    }
    codec_arena_destroy(&self->arena);
}

const struct effects *circle_guest_effects(struct circle *self)
{
    struct circle_node *guest = &self->nodes[CIRCLE_GUEST - 1];

    *guest = (struct circle_node){.circle = self, .id = CIRCLE_GUEST};
    guest->effects = (struct effects){
        .context = guest,
        .reply = on_reply,
        .link_open = on_link_open,
        .link_close = on_link_close,
        .send = on_send,
        .random = on_random,
    };
    return &guest->effects;
}

void circle_guest_start(struct circle *self, const struct actor *actor)
{
    self->nodes[CIRCLE_GUEST - 1].actor = *actor;
}

void circle_guest_stop(struct circle *self)
{
    self->nodes[CIRCLE_GUEST - 1].actor = (struct actor){0};
}

struct node *circle_node(struct circle *self, uint32_t id)
{
    return self->nodes[id - 1].node;
}

/* ---- frames on their way ---- */

static void encode(const struct frame *frame, struct buffer *out)
{
    buffer_init(out, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, out), STATUS_OK);
}

/* The node list as the store has it. */
static void sign_list(const struct circle *self, struct buffer *out)
{
    struct node_list list = {.revision = self->revision, .count = self->count};

    list.nodes = heap_alloc(self->count, sizeof *list.nodes);
    cr_assert_not_null(list.nodes);
    memcpy(list.nodes, self->records, self->count * sizeof *list.nodes);
    buffer_init(out, DOCUMENT_MAX_BYTES);
    cr_assert_eq(codec_node_list_sign(&list, sample_key(), out), STATUS_OK);
    node_list_fini(&list);
}

static enum status enlist(struct circle *self, uint32_t id, const struct sync_request *request)
{
    struct node_record *record = &self->records[id - 1];
    const struct boot_claim claim = {.incarnation = request->incarnation,
                                     .boot = request->boot,
                                     .boot_before = request->boot_before,
                                     .replaces = request->replaces};
    enum boot_verdict verdict = boot_judge(self->registered[id - 1] ? record : NULL, &claim);

    if (verdict == BOOT_NEXT || verdict == BOOT_FRESH) {
        record->incarnation = claim.incarnation;
        record->boot = claim.boot;
        record->durable = true;
        self->registered[id - 1] = true;
        self->revision++;
    }
    return verdict == BOOT_OLD || verdict == BOOT_BLIND ? STATUS_STALE : STATUS_OK;
}

/* A router hears of the node list, and of the filter with its secret. */
static void coordinate_guest(struct circle *self, const struct circle_frame *asked,
                             const struct frame *request)
{
    struct circle_node *guest = &self->nodes[CIRCLE_GUEST - 1];
    struct frame reply = {.correlation = request->correlation, .kind = FRAME_SYNC_REPLY};
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct sealed_secret secret = {.sealed = span_of(sealed, sizeof sealed)};
    struct buffer list;
    struct buffer stored;
    struct buffer bytes;
    struct span documents[2];

    if (self->silent || self->stored == NULL || guest->actor.self == NULL) {
        return;
    }
    secret.filter_id = self->stored->id;
    sample_sealed_secret(secret.filter_id, sealed);
    sign_list(self, &list);
    sample_sign(self->stored, sample_key(), &stored);
    documents[0] = buffer_span(&list);
    documents[1] = buffer_span(&stored);
    reply.body.sync_reply = (struct sync_reply){.message = "",
                                                .change = self->stored->revision,
                                                .documents = documents,
                                                .ndocuments = 2,
                                                .secrets = &secret,
                                                .nsecrets = 1};
    if (self->sync_guest != NULL) {
        self->sync_link = asked->link;
        self->sync_guest(self->sync_context, &request->body.sync_request, &reply.body.sync_reply);
    }
    encode(&reply, &bytes);
    guest->actor.on_answer(guest->actor.self, self->now_us, asked->link, buffer_span(&bytes));
    buffer_fini(&bytes);
    buffer_fini(&stored);
    buffer_fini(&list);
}

static void coordinate(struct circle *self, const struct circle_frame *asked,
                       const struct frame *request)
{
    struct circle_node *one = &self->nodes[asked->from - 1];
    const struct node_record *present;
    struct frame reply = {.correlation = request->correlation, .kind = FRAME_SYNC_REPLY};
    struct buffer list;
    struct buffer bytes;
    struct buffer stored;
    struct span documents[2];
    enum status status;

    cr_assert_eq(request->kind, FRAME_SYNC_REQUEST);
    if (self->silent || one->node == NULL) {
        return;
    }
    present = &self->records[asked->from - 1];
    status = enlist(self, asked->from, &request->body.sync_request);
    sign_list(self, &list);
    documents[0] = buffer_span(&list);
    if (self->stored != NULL) {
        sample_sign(self->stored, sample_key(), &stored);
        documents[1] = buffer_span(&stored);
    }
    reply.body.sync_reply = (struct sync_reply){.status = status,
                                                .message = "",
                                                .change = 1,
                                                .node_id = asked->from,
                                                .present = {present->incarnation, present->boot},
                                                .documents = documents,
                                                .ndocuments = self->stored != NULL ? 2 : 1};
    encode(&reply, &bytes);
    one->actor.on_answer(one->actor.self, self->now_us, asked->link, buffer_span(&bytes));
    buffer_fini(&bytes);
    buffer_fini(&list);
    if (self->stored != NULL) {
        buffer_fini(&stored);
    }
}

static void keep_answer(struct circle *self, const struct frame *frame)
{
    self->answered = true;
    self->answer = *frame;
    if (frame->kind == FRAME_NODE_REPLY) {
        const struct subrequest_reply *reply = &frame->body.node_reply.subrequests[0];
        size_t size = (reply->count + 63) / 64 * sizeof(uint64_t);

        cr_assert_eq(frame->body.node_reply.nsubrequests, 1);
        self->reply = *reply;
        memcpy(self->present, reply->present, size);
        memcpy(self->absent, reply->absent, size);
    }
}

/* Between nodes: counted, cut, looked at. */
static bool passes(struct circle *self, struct circle_frame *frame, struct frame *decoded)
{
    if (self->nodes[frame->from - 1].cut || self->nodes[frame->to - 1].cut) {
        return false;
    }
    self->bytes += frame->size;
    if (decoded->kind == FRAME_PULL_REQUEST) {
        self->requests[decoded->body.pull_request.kind]++;
    }
    return self->spy == NULL || self->spy(self, frame, decoded);
}

static void arrive(struct circle *self, const struct circle_frame *frame)
{
    struct circle_node *to = &self->nodes[frame->to - 1];
    const struct peer from = {.size = 2, .id = {(uint8_t)frame->from, (uint8_t)frame->link}};
    struct span bytes = span_of(frame->bytes, frame->size);

    if (to->actor.self == NULL) {
        return;
    }
    if (!frame->answer) {
        to->actor.on_request(to->actor.self, self->now_us, &from, bytes);
    } else if (frame->link <= to->nlinks) {
        to->actor.on_answer(to->actor.self, self->now_us, frame->link, bytes);
    }
}

static void deliver(struct circle *self)
{
    struct circle_frame frame = self->frames[self->first++ % CIRCLE_FRAMES];
    struct frame decoded;

    cr_assert_eq(codec_decode(self->arena, span_of(frame.bytes, frame.size), &decoded), STATUS_OK);
    if (frame.to == 0 && frame.answer) {
        keep_answer(self, &decoded);
    } else if (frame.to == 0 && frame.from == CIRCLE_GUEST) {
        coordinate_guest(self, &frame, &decoded);
    } else if (frame.to == 0) {
        coordinate(self, &frame, &decoded);
    } else if (passes(self, &frame, &decoded)) {
        arrive(self, &frame);
    }
    free(frame.bytes);
}

/* ---- time ---- */

bool circle_run_job(struct circle *self, struct circle_node *one)
{
    for (unsigned lane = 0; lane < JOB_NLANES; lane++) {
        struct job *job = one->jobs[lane];

        if (job != NULL && !(one->frozen && lane == JOB_COMMIT)) {
            one->jobs[lane] = job->next;
            job->run(job);
            job->done(job, self->now_us);
            return true;
        }
    }
    return false;
}

/* Everything that happens now, at one node. */
static bool step(struct circle *self, struct circle_node *one)
{
    bool more = false;

    if (one->actor.self == NULL) {
        return false;
    }
    more = circle_run_job(self, one);
    more = one->actor.work(one->actor.self, self->now_us) || more;
    one->actor.turn(one->actor.self, self->now_us);
    if (one->actor.next_us(one->actor.self) <= self->now_us) {
        one->actor.time(one->actor.self, self->now_us);
        more = true;
    }
    return more || (one->jobs[JOB_COMMIT] != NULL && !one->frozen) ||
           one->jobs[JOB_BACKGROUND] != NULL;
}

static void settle(struct circle *self)
{
    bool more = true;

    for (int steps = 0; more; steps++) {
        cr_assert_lt(steps, MAX_STEPS, "it never comes to rest");
        more = false;
        for (uint32_t i = 0; i < self->count; i++) {
            more = step(self, &self->nodes[i]) || more;
        }
        more = step(self, &self->nodes[CIRCLE_GUEST - 1]) || more;
        if (self->first < self->last) {
            deliver(self);
            more = true;
        }
    }
}

void circle_run(struct circle *self, uint64_t us)
{
    uint64_t until_us = self->now_us + us;

    settle(self);
    while (self->now_us < until_us) {
        uint64_t next_us = until_us;

        for (uint32_t i = 0; i <= CIRCLE_MAX; i++) {
            const struct circle_node *one = &self->nodes[i];
            uint64_t due_us = one->actor.self != NULL ? one->actor.next_us(one->actor.self)
                                                      : until_us;

            next_us = due_us < next_us ? due_us : next_us;
        }
        self->now_us = next_us > self->now_us ? next_us : self->now_us + 1;
        settle(self);
    }
}

/* ---- what tests say ---- */

void circle_document(struct circle *self, uint64_t id, const struct quorum_rule *rule,
                     uint32_t nnodes, struct filter_document *out)
{
    char name[DOCUMENT_NAME_BYTES];

    (void)snprintf(name, sizeof name, "filter-%llu", (unsigned long long)id);
    sample_document(id, name, rule, nnodes, out);
    out->durability = DURABILITY_SYNC;
    out->capacity = out->generations[0].capacity = 1000000;
    out->max_capacity = 64000000;
    out->generations[0].geometry.lines = 1 << 13;
    for (uint32_t group = 0; group < out->content.ngroups; group++) {
        for (uint32_t slot = 0; slot < rule->replicas; slot++) {
            struct member *member = &out->content.groups[group].slots[slot].current;

            member->incarnation = circle_node(self, member->node)->life.incarnation;
        }
    }
}

void circle_hand(struct circle *self, struct filter_document *document, uint32_t id)
{
    const struct peer peer = {.size = 2, .id = {TEST_PEER, 0}};
    struct buffer signed_bytes;
    struct buffer bytes;
    struct span span;
    struct frame frame = {.kind = FRAME_DOCUMENTS};

    sample_sign(document, sample_key(), &signed_bytes);
    span = buffer_span(&signed_bytes);
    frame.body.documents = (struct documents){.items = &span, .count = 1};
    encode(&frame, &bytes);
    for (uint32_t i = 0; i < self->count; i++) {
        struct circle_node *one = &self->nodes[i];

        if (one->node != NULL && (id == 0 || one->id == id)) {
            one->actor.on_request(one->actor.self, self->now_us, &peer, buffer_span(&bytes));
        }
    }
    buffer_fini(&bytes);
    buffer_fini(&signed_bytes);
    circle_run(self, 1000);
}

void circle_ask(struct circle *self, uint32_t id, struct frame *frame)
{
    const struct peer peer = {.size = 2, .id = {TEST_PEER, 0}};
    struct circle_node *one = &self->nodes[id - 1];
    struct buffer bytes;

    self->answered = false;
    encode(frame, &bytes);
    one->actor.on_request(one->actor.self, self->now_us, &peer, buffer_span(&bytes));
    buffer_fini(&bytes);
    for (int i = 0; i < 1000 && !self->answered; i++) {
        circle_run(self, 1);
    }
    cr_assert(self->answered, "no answer");
}

static void ask_subrequest(struct circle *self, uint32_t id, const struct filter_document *document,
                           enum operation operation, uint64_t batch, const uint64_t *fingerprints,
                           uint32_t count)
{
    uint64_t shard = fingerprints[0] >> (64 - document->content.shard_bits);
    const struct subrequest subrequest = {
        .filter_id = document->id,
        .epoch = document->epoch,
        .epoch_hash = document->epoch_hash,
        .group = document->content.group_of_shard[shard],
        .operation = operation,
        .op = {.session = {1, 2}, .sequence = batch},
        .batch = {.producer_id = operation == OPERATION_ADD ? CIRCLE_ROUTER : 0, .number = batch},
        .count = count,
        .keyset = operation == OPERATION_ADD ? self->keyset : 0,
        .relayed = operation == OPERATION_ADD && self->relayed,
    };
    struct frame frame = {
        .correlation = 77,
        .kind = FRAME_NODE_REQUEST,
        .body.node_request = {.subrequests = &subrequest,
                              .nsubrequests = 1,
                              .fingerprints = fingerprints,
                              .count = count},
    };

    circle_ask(self, id, &frame);
}

enum status circle_add(struct circle *self, uint32_t id, const struct filter_document *document,
                       uint64_t batch, const uint64_t *fingerprints, uint32_t count)
{
    ask_subrequest(self, id, document, OPERATION_ADD, batch, fingerprints, count);
    return self->reply.status;
}

int circle_count(struct circle *self, uint32_t id, const struct filter_document *document,
                 const uint64_t *fingerprints, uint32_t count)
{
    int present = 0;

    ask_subrequest(self, id, document, OPERATION_CHECK, 0, fingerprints, count);
    if (self->reply.status != STATUS_OK || self->reply.state != REPLICA_FULL) {
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        present += (self->present[i / 64] >> (i % 64) & 1) != 0;
    }
    return present;
}

uint64_t circle_counter(const struct circle *self, uint32_t id, enum node_counter counter)
{
    return self->nodes[id - 1].node->counters[counter];
}
