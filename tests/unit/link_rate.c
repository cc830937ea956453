/* What a link measures and bounds: round trips between sites, and the bytes that it sends. */
#include "tests/support/sample_cluster.h"
#include "tests/support/site_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    EU = 0,
    US = 1,
    SECOND = 1000000,
    N1_N2 = 6,
    BATCH = 200,
    ROUNDS = 40,
    RATE = 4096,
    SAVED_US = 250000, /* that a bucket may save up */
};

TestSuite(link_rate, .timeout = 120);

static struct site_pair *pair;

static void begin(uint64_t rate)
{
    pair = calloc(1, sizeof *pair);
    cr_assert_not_null(pair);
    site_pair_init(pair, 3);
    site_pair_link_stop(pair, EU);
    pair->rate = rate;
    site_pair_link_start(pair, EU);
}

static void end(void)
{
    site_pair_fini(pair);
    free(pair);
}

/* ---- round trips ---- */

static uint64_t told_us;

static bool hear_greetings(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    if (to == US && frame->kind == FRAME_SITE_HELLO) {
        told_us = frame->body.site_hello.round_trip_us;
    }
    return true;
}

/* By who dials, who tells the other side; each way takes so long, and a step of this network. */
Test(link_rate, who_dials_measures_the_round_trip_and_tells_it)
{
    begin(0);
    pair->spy = hear_greetings;
    pair->delay_us = 40000;
    told_us = 0;
    site_pair_run(pair, 4 * SECOND);
    cr_assert_geq(told_us, 80000);
    cr_assert_leq(told_us, 80000 + 4 * SITE_PAIR_STEP_US);
    pair->delay_us = 10000;
    site_pair_run(pair, 60 * SECOND);
    cr_assert_geq(told_us, 20000);
    cr_assert_leq(told_us, 21000 + 4 * SITE_PAIR_STEP_US, "it forgets how it was");
    end();
}

/* ---- the rate ---- */

static uint64_t begun_us;
static uint64_t sent_bytes;

/* A batch leaves only once those before it are paid for. */
static bool watch_rate(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    size_t size = frame->kind == FRAME_SITE_BATCH ? frame->body.site_batch.batch.size : 0;

    if (to == US && size > 0) {
        begun_us = begun_us == 0 ? self->now_us : begun_us;
        cr_assert_leq(sent_bytes * SECOND,
                      RATE * (self->now_us - begun_us + SAVED_US + SITE_PAIR_STEP_US),
                      "%d bytes within %d us", (int)sent_bytes, (int)(self->now_us - begun_us));
        sent_bytes += size;
    }
    return true;
}

static void make_keys(uint64_t *keys, uint32_t count)
{
    uint64_t state = 1;

    for (uint32_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

Test(link_rate, batches_wait_for_the_rate_and_none_is_lost)
{
    static uint64_t keys[ROUNDS * BATCH];
    uint32_t have = 0;

    begin(RATE);
    site_pair_run(pair, 4 * SECOND);
    pair->spy = watch_rate;
    make_keys(keys, ROUNDS * BATCH);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        site_pair_add(pair, EU, N1_N2, keys + i * BATCH, BATCH);
        site_pair_run(pair, SECOND / 10);
    }
    cr_assert_gt(site_pair_counter(pair, EU, "site_rate_waits_total"), 0);
    site_pair_run(pair, 40 * SECOND);
    for (uint32_t node = 1; node <= 3; node++) {
        have += site_pair_count(pair, US, node, keys, ROUNDS * BATCH) == ROUNDS * BATCH;
    }
    cr_assert_geq(have, 2, "%d of 3 replicas have all", (int)have);
    end();
}
