/* node_tail.h - a link's questions to node 1 of a circle. */
#ifndef ORBLOOM_TESTS_UNIT_NODE_TAIL_H
#define ORBLOOM_TESTS_UNIT_NODE_TAIL_H

#include "map/site_tail.h"
#include "node/sync/exchange.h"
#include "tests/unit/node_circle.h"

enum { BATCH = 200, NBATCHES = 40, TAIL_ROOM = 256 };

static uint64_t keys[NBATCHES][BATCH];
static struct site_tail_filter followed; /* the circle's filter, as it is now */

static inline const struct node *asked(void)
{
    return circle_node(circle, 1);
}

/* Three nodes, of which others than node 1 are cut off; batches are made. */
static inline void open_tail(void)
{
    make_circle(3);
    circle_hand(circle, &document, 0);
    circle_run(circle, 3 * SECOND);
    circle->nodes[1].cut = circle->nodes[2].cut = true;
    make_keys(keys[0], NBATCHES, BATCH);
}

static inline void add(uint32_t batch)
{
    cr_assert_eq(circle_add(circle, 1, &document, batch + 1, keys[batch], BATCH), STATUS_OK);
}

/* For all from there on, with the list. */
static inline struct frame tail_question(uint64_t from)
{
    followed = (struct site_tail_filter){document.id, document.epoch, document.epoch_hash};
    return (struct frame){
        .correlation = 7,
        .kind = FRAME_SITE_TAIL_REQUEST,
        .body.site_tail_request =
            {
                .source = {1, asked()->life.incarnation},
                .boot = asked()->life.identity.boot,
                .from = from,
                .max_bytes = 1 << 20,
                .list = site_tail_list(&followed, 1),
                .filters = &followed,
                .nfilters = 1,
            },
    };
}

static inline const struct site_tail_reply *tail_answer(void)
{
    cr_assert_eq(circle->answer.kind, FRAME_SITE_TAIL_REPLY);
    cr_assert_eq(circle->answer.correlation, 7);
    return &circle->answer.body.site_tail_reply;
}

static inline const struct site_tail_reply *ask_tail(struct frame *frame)
{
    circle_ask(circle, 1, frame);
    return tail_answer();
}

/* Nothing more is to come at once. */
static inline uint64_t log_end(void)
{
    return storage_synced(asked()->storage);
}

/* As some link, without waiting for the answer. */
static inline void send_tail(const struct frame *frame, uint8_t link)
{
    const struct peer peer = {.size = 2, .id = {0, link}};
    struct circle_node *one = &circle->nodes[0];
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    circle->answered = false;
    one->actor.on_request(one->actor.self, circle->now_us, &peer, buffer_span(&bytes));
    buffer_fini(&bytes);
}

/* Until a link is answered: its answer lasts until there is another frame. */
static inline const struct site_tail_reply *await_tail(uint64_t us)
{
    uint64_t until_us = circle->now_us + us;

    while (!circle->answered && circle->now_us < until_us) {
        circle_run(circle, 100);
    }
    cr_assert(circle->answered, "no answer");
    return tail_answer();
}

static inline void expect_keys(const struct site_tail_reply *reply, size_t first, uint32_t batch)
{
    cr_assert_arr_eq(reply->fingerprints + first, keys[batch], sizeof keys[batch]);
}

#endif
