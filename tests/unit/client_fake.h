/* client_fake.h - a world for one session: links that are up or down, frames kept as sent. */
#ifndef ORBLOOM_TESTS_UNIT_CLIENT_FAKE_H
#define ORBLOOM_TESTS_UNIT_CLIENT_FAKE_H

#include "base/heap.h"
#include "client/session.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum {
    FAKE_LINKS = 8,
    FAKE_MAX_SENT = 8192,
    FAKE_ARENA_BYTES = 4 << 20,
    MS = 1000,
    SECOND = 1000 * MS,
    ATTEMPT_US = SECOND,
    TIMEOUT_US = 5 * SECOND,
};

/* What the session sent, as far as tests look at it. */
struct fake_sent {
    uint32_t link;
    enum frame_kind kind;
    uint64_t correlation;
    struct op_id op;
    uint32_t attempt;
    uint32_t timeout_ms;
    uint64_t filter_id;
    uint64_t max_staleness;
    uint32_t acks;
    enum admin_action action;
    struct admin_seen seen;
    size_t count;
    char key[32]; /* the first one */
    char name[DOCUMENT_NAME_BYTES];
    char successor[DOCUMENT_NAME_BYTES];
};

struct fake {
    struct effects effects;
    struct session *session;
    struct actor actor;
    uint64_t now_us;
    char endpoints[FAKE_LINKS][DOCUMENT_TEXT_BYTES]; /* by link - 1 */
    uint32_t nlinks;
    bool down[FAKE_LINKS];
    uint64_t random;
    struct fake_sent sent[FAKE_MAX_SENT];
    size_t nsent;
    struct codec_arena *arena;
};

/* The outcome of one operation, copied in the callback. */
struct fake_outcome {
    unsigned calls;
    enum status status;
    char message[512];
    uint32_t attempts;
    size_t count;
    uint64_t present;
    uint64_t absent;
    enum frame_kind kind; /* of the answer handed on */
};

static inline uint32_t fake_link_open(void *context, const char *endpoint)
{
    struct fake *fake = context;

    cr_assert_lt(fake->nlinks, FAKE_LINKS);
    (void)snprintf(fake->endpoints[fake->nlinks], DOCUMENT_TEXT_BYTES, "%s", endpoint);
    return ++fake->nlinks;
}

static inline void fake_link_close(void *context, uint32_t link)
{
    (void)context;
    (void)link;
}

static inline void fake_keep(struct fake *fake, uint32_t link, const struct frame *frame)
{
    struct fake_sent *sent = &fake->sent[fake->nsent++];

    cr_assert_lt(fake->nsent, FAKE_MAX_SENT);
    *sent = (struct fake_sent){
        .link = link, .kind = frame->kind, .correlation = frame->correlation};
    if (frame->kind == FRAME_CLIENT_REQUEST) {
        const struct client_request *request = &frame->body.client_request;

        sent->op = request->op;
        sent->attempt = request->attempt;
        sent->timeout_ms = request->timeout_ms;
        sent->filter_id = request->filter_id;
        sent->max_staleness = request->max_staleness;
        sent->acks = request->acks;
        sent->count = request->count;
        cr_assert_lt(request->lengths[0], sizeof sent->key);
        memcpy(sent->key, request->keys.data, request->lengths[0]);
        (void)snprintf(sent->name, sizeof sent->name, "%s", request->filter);
    } else if (frame->kind == FRAME_ADMIN_REQUEST) {
        sent->action = frame->body.admin_request.action;
        sent->filter_id = frame->body.admin_request.filter_id;
        sent->timeout_ms = frame->body.admin_request.timeout_ms;
        sent->seen = frame->body.admin_request.seen;
        (void)snprintf(sent->name, sizeof sent->name, "%s", frame->body.admin_request.name);
        (void)snprintf(sent->successor, sizeof sent->successor, "%s",
                       frame->body.admin_request.successor);
    } else if (frame->kind == FRAME_INFO_REQUEST) {
        (void)snprintf(sent->name, sizeof sent->name, "%s", frame->body.info_request.filter);
    } else if (frame->kind == FRAME_DUMP_REQUEST) {
        sent->timeout_ms = frame->body.dump_request.timeout_ms;
        (void)snprintf(sent->name, sizeof sent->name, "%s", frame->body.dump_request.filter);
    }
}

static inline enum status fake_send(void *context, uint32_t link, struct span bytes)
{
    struct fake *fake = context;
    struct frame frame;

    if (fake->down[link - 1]) {
        return STATUS_UNAVAILABLE;
    }
    cr_assert_eq(codec_decode(fake->arena, bytes, &frame), STATUS_OK);
    fake_keep(fake, link, &frame);
    return STATUS_OK;
}

static inline uint64_t fake_random(void *context)
{
    struct fake *fake = context;

    return ++fake->random;
}

static inline void fake_config(struct session_config *config, uint32_t nrouters)
{
    *config = (struct session_config){.nrouters = nrouters,
                                      .ncoordinators = 1,
                                      .attempt_us = ATTEMPT_US,
                                      .max_inflight_bytes = 4096};
    for (uint32_t i = 0; i < nrouters; i++) {
        (void)snprintf(config->routers[i], DOCUMENT_TEXT_BYTES, "tcp://r%u:1", i + 1);
    }
    (void)snprintf(config->coordinators[0], DOCUMENT_TEXT_BYTES, "tcp://c1:1");
}

/* A world without a session yet. */
static inline struct fake *fake_new(void)
{
    static struct fake fake; /* A test is a process of its own. */

    fake.now_us = 1000 * (uint64_t)SECOND;
    fake.effects = (struct effects){.context = &fake,
                                    .link_open = fake_link_open,
                                    .link_close = fake_link_close,
                                    .send = fake_send,
                                    .random = fake_random};
    cr_assert_eq(codec_arena_create(FAKE_ARENA_BYTES, &fake.arena), STATUS_OK);
    return &fake;
}

static inline struct fake *fake_start(uint32_t nrouters)
{
    struct session_config config;
    struct fake *fake = fake_new();

    fake_config(&config, nrouters);
    cr_assert_eq(session_create(&config, &fake->effects, &fake->session), STATUS_OK);
    fake->actor = session_actor(fake->session);
    return fake;
}

/* Frees all; nothing may be left. */
static inline void fake_end(struct fake *fake)
{
    session_destroy(&fake->session);
    codec_arena_destroy(&fake->arena);
    cr_assert_eq(heap_live(), 0, "%zu allocations left", heap_live());
}

static inline void fake_done(void *context, const struct session_result *result)
{
    struct fake_outcome *outcome = context;

    outcome->calls++;
    outcome->status = result->status;
    (void)snprintf(outcome->message, sizeof outcome->message, "%s", result->message);
    outcome->attempts = result->attempts;
    outcome->count = result->count;
    if (result->count > 0) {
        outcome->present = result->present[0];
        outcome->absent = result->absent[0];
    }
    outcome->kind = result->frame != NULL ? result->frame->kind : FRAME_NONE;
}

/* Submit `count` keys "key-1" ... of filter "f". */
static inline enum status fake_submit_for(struct fake *fake, enum operation operation, size_t count,
                                          uint64_t timeout_us, struct fake_outcome *outcome)
{
    uint8_t blob[64 * 8];
    uint32_t lengths[64];
    struct session_keys keys = {
        .filter = "f", .operation = operation, .blob = blob, .lengths = lengths, .count = count};
    size_t used = 0;

    cr_assert_leq(count, 64);
    for (size_t i = 0; i < count; i++) {
        lengths[i] = (uint32_t)snprintf((char *)blob + used, sizeof blob - used, "key-%zu", i + 1);
        used += lengths[i];
    }
    return session_submit(fake->session, fake->now_us, timeout_us, &keys, fake_done, outcome);
}

static inline enum status fake_submit(struct fake *fake, enum operation operation, size_t count,
                                      struct fake_outcome *outcome)
{
    return fake_submit_for(fake, operation, count, TIMEOUT_US, outcome);
}

/* Let `us` pass, with time() whenever the session wants it. */
static inline void fake_pass(struct fake *fake, uint64_t us)
{
    uint64_t end = fake->now_us + us;
    unsigned steps = 0;

    while (fake->actor.next_us(fake->actor.self) <= end) {
        uint64_t next = fake->actor.next_us(fake->actor.self);

        fake->now_us = next > fake->now_us ? next : fake->now_us;
        fake->actor.time(fake->actor.self, fake->now_us);
        fake->actor.turn(fake->actor.self, fake->now_us);
        cr_assert_lt(++steps, 100000, "time() is wanted without end");
    }
    fake->now_us = end;
}

static inline void fake_answer_frame(struct fake *fake, uint32_t link, const struct frame *frame)
{
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    fake->actor.on_answer(fake->actor.self, fake->now_us, link, buffer_span(&bytes));
    fake->actor.turn(fake->actor.self, fake->now_us);
    buffer_fini(&bytes);
}

/* Answer what was sent as number `index`, as a router of that site, or none. */
static inline void fake_answer_of(struct fake *fake, size_t index, const char *site,
                                  enum status status, uint64_t present, uint64_t absent)
{
    const struct fake_sent *sent = &fake->sent[index];
    struct frame frame = {.kind = FRAME_CLIENT_REPLY, .correlation = sent->correlation};

    cr_assert_lt(index, fake->nsent);
    frame.body.client_reply = (struct client_reply){
        .op = sent->op,
        .attempt = sent->attempt,
        .status = status,
        .message = status == STATUS_OK ? "" : "as the test says",
        .count = sent->count,
        .present = &present,
        .absent = &absent,
        .site = site,
        .site_id = {.low = (uint64_t)site[0]}};
    fake_answer_frame(fake, sent->link, &frame);
}

static inline void fake_answer(struct fake *fake, size_t index, enum status status,
                               uint64_t present, uint64_t absent)
{
    fake_answer_of(fake, index, "", status, present, absent);
}

#endif
