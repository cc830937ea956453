/* link_questions.h - two linked sites of real nodes, and a router of "us" that asks its link how
 * much is where. Shared by link_ages.c, link_confirms.c and link_ends.c only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_LINK_QUESTIONS_H
#define ORBLOOM_TESTS_UNIT_LINK_QUESTIONS_H

#include "link/private.h"
#include "tests/support/sample_cluster.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    EU = 0,
    US = 1,
    AP = 2,
    SECOND = 1000000,
    MS = 1000,
    ROUTER = 99,      /* the peer that asks */
    DIALED = 7,       /* by which eu has dialed us */
    BY_HAND = 100000, /* numbers of questions that no router has asked */
    QUESTIONS = AGES_MAX_WAITING + 8,
};

struct heard {
    bool answered;
    uint64_t at_us;
    uint64_t confirmed; /* the newest mark of eu that was, at us */
    struct site_age_reply reply;
    struct site_age sites[SITE_SET_MAX_LIVE];
};

static struct site_pair *pair;
static uint64_t last; /* number of the router's last question */
static struct heard heard[QUESTIONS];
static struct codec_arena *arena;
static enum status (*to_others)(void *context, const struct peer *to, struct span bytes);

static inline struct link *us(void)
{
    return pair->sides[US].link;
}

static inline uint64_t now(void)
{
    return pair->sides[US].circle.now_us;
}

/* link.inner.reply */
static inline enum status hear(void *context, const struct peer *to, struct span bytes)
{
    const struct inflow *inflow = inflow_find(us(), SITE_PAIR_FILTER, 0);
    struct frame frame;
    struct heard *one;

    if (to->id[0] != ROUTER) {
        return to_others(context, to, bytes);
    }
    cr_assert_eq(codec_decode(arena, bytes, &frame), STATUS_OK);
    cr_assert_eq(frame.kind, FRAME_SITE_AGE_REPLY);
    cr_assert_lt(frame.correlation, QUESTIONS);
    one = &heard[frame.correlation];
    cr_assert_not(one->answered);
    *one = (struct heard){.answered = true,
                          .at_us = now(),
                          .confirmed = inflow != NULL ? inflow->marked.confirmed : 0,
                          .reply = frame.body.site_age_reply};
    memcpy(one->sites, one->reply.sites, one->reply.nsites * sizeof one->sites[0]);
    return STATUS_OK;
}

/* Streams go both ways. `spy` sees what passes between the sites. */
static inline void begin_of(uint32_t nnodes, bool (*spy)(struct site_pair *self, uint32_t to,
                                                         const struct frame *frame))
{
    pair = malloc(sizeof *pair);
    cr_assert_not_null(pair);
    cr_assert_eq(codec_arena_create(1 << 20, &arena), STATUS_OK);
    site_pair_init(pair, nnodes);
    pair->spy = spy;
    last = 0;
    memset(heard, 0, sizeof heard);
    to_others = us()->inner.reply;
    us()->inner.reply = hear;
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_streams_in"), 1);
    cr_assert_eq(site_pair_counter(pair, US, "site_streams_in"), 1);
}

static inline void begin_with(bool (*spy)(struct site_pair *self, uint32_t to,
                                          const struct frame *frame))
{
    begin_of(3, spy);
}

static inline void end(void)
{
    site_pair_fini(pair);
    codec_arena_destroy(&arena);
    free(pair);
}

static inline const struct actor *inner(void)
{
    return &pair->sides[US].circle.nodes[CIRCLE_GUEST - 1].actor;
}

/* Its number; an answer is in heard[]. */
static inline uint64_t ask_for(const struct site_age_request *request)
{
    const struct peer from = {.size = 1, .id = {ROUTER}, .role = PEER_ROUTER};
    const struct frame frame = {
        .correlation = ++last, .kind = FRAME_SITE_AGE_REQUEST, .body.site_age_request = *request};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    inner()->on_request(inner()->self, now(), &from, buffer_span(&bytes));
    buffer_fini(&bytes);
    return last;
}

static inline void run_until_answered(uint64_t question, uint64_t limit_us)
{
    for (uint64_t us = 0; !heard[question].answered; us += MS) {
        cr_assert_lt(us, limit_us, "no answer");
        site_pair_run(pair, MS);
    }
}

/* What us would ask of eu, but with another number. */
static inline struct site_confirm question_of(uint64_t by_hand)
{
    const struct filter_document *document = &pair->sides[US].document;
    const struct site_set *set = document_sites(document);

    return (struct site_confirm){
        .number = BY_HAND + by_hand,
        .uid = document->content.uid,
        .asker_life = set->entries[set->own].life,
        .other_life = set->entries[1 - set->own].life,
        .wait_ms = 5000,
        .set_hash = mark_set_hash(set),
    };
}

/* It is there at once. */
static inline void hand(const struct site_confirm *question)
{
    const struct frame frame = {.kind = FRAME_SITE_CONFIRM, .body.site_confirm = *question};
    const struct actor *face = &pair->sides[EU].face;
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    face->on_answer(face->self, pair->sides[EU].circle.now_us, DIALED, buffer_span(&bytes));
    buffer_fini(&bytes);
}

#endif
