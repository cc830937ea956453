#include "tests/support/node_stage.h"

#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { ROUTER_PEER = 7 };

struct node_config node_stage_config(void)
{
    return (struct node_config){
        .name = "node-1",
        .host = "host-1",
        .zone = "zone-1",
        .endpoint = "tcp://node-1:7000",
        .coordinators = {"tcp://coordinator:7400"},
        .ncoordinators = 1,
        .key = *sample_key(),
        .memory_limit_bytes = 1 << 30,
        .retry_memory_bytes = 1 << 20,
        .retry_memory_us = 60000000,
        .sync_interval_us = 1000000,
        .cluster = *sample_cluster(),
    };
}

void node_stage_init(struct node_stage *self, uint64_t memory_limit_bytes)
{
    node_stage_init_retries(self, memory_limit_bytes, 1 << 20, 60000000);
}

void node_stage_init_retries(struct node_stage *self, uint64_t memory_limit_bytes,
                             uint64_t retry_memory_bytes, uint64_t retry_memory_us)
{
    struct fake_sent sent;

    *self = (struct node_stage){.now_us = 1000000, .config = node_stage_config()};
    self->config.memory_limit_bytes = memory_limit_bytes;
    self->config.retry_memory_bytes = retry_memory_bytes;
    self->config.retry_memory_us = retry_memory_us;
    fake_init(&self->fake);
    cr_assert_eq(node_create(&self->config, &self->fake.effects, &self->node), STATUS_OK);
    self->actor = node_actor(self->node);
    self->actor.time(self->actor.self, self->now_us);
    cr_assert(fake_take(&self->fake, &sent));
    cr_assert_eq(sent.frame.kind, FRAME_SYNC_REQUEST);
    cr_assert_eq(sent.link, STAGE_COORDINATOR);
    self->incarnation = sent.frame.body.sync_request.incarnation;
    cr_assert_neq(self->incarnation, 0);
}

void node_stage_fini(struct node_stage *self)
{
    node_destroy(&self->node);
    fake_fini(&self->fake);
}

void node_stage_register(struct node_stage *self)
{
    struct frame frame = {
        .kind = FRAME_SYNC_REPLY,
        .correlation = self->incarnation,
        .body.sync_reply = {.status = STATUS_OK, .message = "", .change = 1, .node_id = 1},
    };

    fake_answer(&self->actor, self->now_us, STAGE_COORDINATOR, &frame);
    cr_assert(node_registered(self->node));
}

void node_stage_document(const struct node_stage *self, uint64_t id, const char *name,
                         const struct quorum_rule *rule, uint32_t nnodes,
                         struct filter_document *out)
{
    sample_document(id, name, rule, nnodes, out);
    for (uint32_t group = 0; group < out->content.ngroups; group++) {
        for (uint32_t slot = 0; slot < rule->replicas; slot++) {
            struct member *member = &out->content.groups[group].slots[slot].current;

            member->incarnation = member->node == 1 ? self->incarnation : member->incarnation;
        }
    }
}

void node_stage_hand_signed(struct node_stage *self, struct span bytes)
{
    struct frame frame = {.kind = FRAME_DOCUMENTS, .body.documents = {.items = &bytes, .count = 1}};

    fake_request(&self->actor, self->now_us, ROUTER_PEER, &frame);
}

void node_stage_hand(struct node_stage *self, struct filter_document *document)
{
    struct buffer bytes;

    sample_sign(document, sample_key(), &bytes);
    node_stage_hand_signed(self, buffer_span(&bytes));
    buffer_fini(&bytes);
}

void node_stage_build(struct node_stage *self)
{
    int slices = 0;

    while (self->actor.work(self->actor.self, self->now_us)) {
        cr_assert_lt(++slices, 100000, "building never ends");
    }
}

struct subrequest node_stage_subrequest(const struct filter_document *document,
                                        enum operation operation, uint32_t count)
{
    return (struct subrequest){
        .filter_id = document->id,
        .epoch = document->epoch,
        .epoch_hash = document->epoch_hash,
        .operation = operation,
        .op = {.session = {1, 2}, .sequence = 3},
        .batch = {.producer_id = operation == OPERATION_ADD ? 9 : 0, .number = 1},
        .count = count,
    };
}

static void copy_answer(const struct subrequest_reply *reply, size_t ndocuments,
                        struct node_answer *out)
{
    size_t nbytes = (reply->count + 63) / 64 * sizeof(uint64_t);

    memset(out, 0, sizeof *out);
    out->subrequest = *reply;
    out->ndocuments = ndocuments;
    cr_assert_leq(reply->count, STAGE_MAX_KEYS);
    memcpy(out->present, reply->present, nbytes);
    memcpy(out->absent, reply->absent, nbytes);
}

void node_stage_send(struct node_stage *self, const struct subrequest *segments, size_t nsegments,
                     const uint64_t *fingerprints, uint64_t correlation)
{
    struct subrequest tagged[STAGE_MAX_SEGMENTS];
    struct frame frame = {.kind = FRAME_NODE_REQUEST, .correlation = correlation};
    size_t count = 0;

    cr_assert_leq(nsegments, STAGE_MAX_SEGMENTS);
    for (size_t i = 0; i < nsegments; i++) {
        tagged[i] = segments[i];
        tagged[i].tag = 100 + i;
        count += segments[i].count;
    }
    frame.body.node_request = (struct node_request){.subrequests = tagged,
                                                    .nsubrequests = nsegments,
                                                    .fingerprints = fingerprints,
                                                    .count = count};
    fake_request(&self->actor, self->now_us, ROUTER_PEER, &frame);
}

size_t node_stage_take(struct node_stage *self, struct node_answer *answers, uint64_t *correlation)
{
    struct fake_sent sent = {0};
    const struct node_reply *reply = &sent.frame.body.node_reply;

    while (sent.frame.kind != FRAME_NODE_REPLY) {
        if (!fake_take(&self->fake, &sent)) {
            return 0;
        }
    }
    cr_assert_eq(reply->incarnation, self->incarnation);
    *correlation = sent.frame.correlation;
    for (size_t i = 0; i < reply->nsubrequests; i++) {
        copy_answer(&reply->subrequests[i], reply->ndocuments, &answers[i]);
    }
    return reply->nsubrequests;
}

void node_stage_ask(struct node_stage *self, const struct subrequest *segments, size_t nsegments,
                    const uint64_t *fingerprints, struct node_answer *answers)
{
    uint64_t correlation;

    fake_forget(&self->fake);
    node_stage_send(self, segments, nsegments, fingerprints, 77);
    cr_assert_eq(node_stage_take(self, answers, &correlation), nsegments, "no answer");
    cr_assert_eq(correlation, 77);
    for (size_t i = 0; i < nsegments; i++) {
        cr_assert_eq(answers[i].subrequest.tag, 100 + i);
    }
}

uint64_t node_stage_counter(struct node_stage *self, const char *name)
{
    struct frame frame = {.kind = FRAME_STATS_REQUEST};
    struct fake_sent sent;

    fake_forget(&self->fake);
    fake_request(&self->actor, self->now_us, ROUTER_PEER, &frame);
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

void node_stage_fingerprints(const struct filter_document *document, uint32_t group, uint64_t seed,
                             uint32_t count, uint64_t *out)
{
    uint64_t state = seed * 1000003;
    uint32_t found = 0;

    while (found < count) {
        uint64_t fingerprint = random_next(&state);
        uint64_t shard = fingerprint >> (64 - document->content.shard_bits);

        if (document->content.group_of_shard[shard] == group) {
            out[found++] = fingerprint;
        }
    }
}
