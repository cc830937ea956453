/* router_dump.h - a router that asks replicas what they have, and the test that answers for them.
 */
#ifndef ORBLOOM_TESTS_UNIT_ROUTER_DUMP_H
#define ORBLOOM_TESTS_UNIT_ROUTER_DUMP_H

#include "map/dump.h"
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_QUESTIONS = 64, TIMEOUT_US = 5000000 };

#define STEP (UINT64_C(1) << DUMP_STEP_BITS)

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

/* What replicas were asked, and not answered yet. */
static struct question {
    uint32_t link;
    uint64_t correlation;
    struct pull_request request;
} questions[MAX_QUESTIONS];
static size_t nquestions;
static size_t nhanded;

static inline void collect(void)
{
    struct fake_sent sent;

    while (fake_take(&stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_PULL_REQUEST) {
            cr_assert_lt(nquestions, MAX_QUESTIONS);
            questions[nquestions++] = (struct question){sent.link, sent.frame.correlation,
                                                        sent.frame.body.pull_request};
        } else if (sent.frame.kind == FRAME_SYNC_REQUEST) {
            stage.sync = sent.frame.correlation;
            stage.nsyncs++;
        } else if (sent.frame.kind == FRAME_DOCUMENTS) {
            nhanded++;
        }
    }
}

/* The document as it is now, from the coordinator. */
static inline void sync_document(void)
{
    struct frame frame = {.kind = FRAME_SYNC_REPLY, .correlation = stage.sync};
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct sealed_secret secret = {.filter_id = stage.document.id,
                                   .sealed = span_of(sealed, sizeof sealed)};
    struct buffer bytes;
    struct span item;

    sample_sealed_secret(stage.document.id, sealed);
    sample_sign(&stage.document, sample_key(), &bytes);
    item = buffer_span(&bytes);
    frame.body.sync_reply = (struct sync_reply){.message = "",
                                                .change = 1 + stage.document.revision,
                                                .documents = &item,
                                                .ndocuments = 1,
                                                .secrets = &secret,
                                                .nsecrets = 1};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
    buffer_fini(&bytes);
}

static inline void begin(uint32_t nnodes)
{
    router_stage_init(&stage, &rule, nnodes, WHEN_UNAVAILABLE_ERROR);
    stage.document.durability = DURABILITY_SYNC;
    stage.document.revision++;
    sync_document();
    nquestions = 0;
    nhanded = 0;
}

static inline void end(void)
{
    router_stage_fini(&stage);
}

/* Time in which the test sees all that is sent. */
static inline void pass(uint64_t duration_us)
{
    for (uint64_t end_us = stage.now_us + duration_us; stage.now_us < end_us;) {
        stage.now_us += 1000;
        stage.actor.time(stage.actor.self, stage.now_us);
        collect();
    }
}

static inline struct question take_question(void)
{
    struct question question = questions[0];

    cr_assert_gt(nquestions, 0, "nobody is asked");
    memmove(questions, questions + 1, --nquestions * sizeof questions[0]);
    return question;
}

/* What the replica that was asked would say of these keys. */
static inline struct pull_reply reply_to(const struct question *question, const uint64_t *keys,
                                         size_t count)
{
    return (struct pull_reply){
        .kind = PULL_RANGES,
        .scope = question->request.scope,
        .source = question->request.source,
        .boot = 1,
        .state = REPLICA_FULL,
        .fence_epoch = stage.document.epoch,
        .from = question->request.from,
        .end = true,
        .view = 5,
        .fingerprints = keys,
        .count = count,
    };
}

static inline void answer(const struct question *question, const struct pull_reply *reply)
{
    struct frame frame = {
        .kind = FRAME_PULL_REPLY, .correlation = question->correlation, .body.pull_reply = *reply};

    fake_answer(&stage.actor, stage.now_us, question->link, &frame);
    collect();
}

#endif
