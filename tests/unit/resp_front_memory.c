/* What all connections hold together: who is closed when it is too much; and requests that are
 * begun and not finished. */
#include "base/heap.h"
#include "router/resp/private.h"
#include "tests/support/front_stage.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MS = 1000,
    SECOND = 1000 * MS,
    KIB = 1 << 10,
    BUDGET = 1 << 20,
    CLIENTS = 40,
    STEPS = 20000,
};

#define TOO_MUCH                                                                         \
    "-OVERLOADED all clients hold more than resp_memory, this one the most; connection " \
    "closed\r\n"
#define TOO_SLOW \
    "-ERR the request was not complete within resp_request_timeout; connection closed\r\n"

static struct front_stage stage;

static void start(size_t clients)
{
    struct front_config config = front_stage_config();

    config.max_memory = BUDGET;
    config.request_us = 30 * SECOND;
    front_stage_init(&stage, &config);
    for (size_t i = 0; i < clients; i++) {
        front_stage_open(&stage, i);
    }
}

static uint64_t held(void)
{
    return front_stage_counter(&stage, "resp_memory_bytes");
}

/* A part of an argument that is never finished. */
static void fill(size_t stream, size_t size)
{
    char *bytes = malloc(size);

    memset(bytes, 'x', size);
    front_stage_bytes(&stage, stream, span_of(bytes, size));
    front_stage_turn(&stage);
    free(bytes);
}

static void begin_request(size_t stream, size_t size)
{
    front_stage_say(&stage, stream, "*2\r\n$4\r\nECHO\r\n$8000000\r\n");
    fill(stream, size);
}

/* ---- who is closed ---- */

Test(resp_memory, who_holds_the_most_is_told_and_closed)
{
    start(4);
    begin_request(0, 100 * KIB);
    begin_request(1, 300 * KIB);
    begin_request(2, 200 * KIB);
    cr_assert(held() >= 600 * KIB && held() <= BUDGET);
    begin_request(3, 200 * KIB);
    cr_assert_leq(held(), BUDGET);
    cr_assert(stage.streams[1].closed && !stage.streams[1].dropped);
    front_stage_expect(&stage, 1, TOO_MUCH);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(stage.streams[i].closed, i == 1);
    }
    cr_assert_eq(front_stage_counter(&stage, "resp_memory_total"), 1);
    front_stage_fini(&stage);
}

Test(resp_memory, answers_that_it_awaits_come_before_the_error)
{
    start(2);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nPING\r\n");
    begin_request(0, 600 * KIB);
    begin_request(1, 200 * KIB);
    front_stage_expect(&stage, 0, "");
    cr_assert_not(stage.streams[0].closed);
    cr_assert_leq(held(), 300 * KIB, "what it had sent is gone at once");
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n+PONG\r\n" TOO_MUCH);
    cr_assert(stage.streams[0].closed);
    front_stage_fini(&stage);
}

/* Whoever reads nothing would not read that either, and keep what it has. */
Test(resp_memory, who_does_not_read_is_dropped)
{
    start(2);
    stage.streams[0].unsent = 900 * KIB;
    front_stage_say(&stage, 0, "PING\r\n");
    cr_assert_eq(held() / KIB, 900);
    begin_request(1, 200 * KIB);
    cr_assert(stage.streams[0].dropped);
    cr_assert_not(stage.streams[1].closed);
    cr_assert_leq(held(), 300 * KIB);
    front_stage_gone(&stage, 0);
    front_stage_fini(&stage);
}

/* The last of it leaves without anything being said of it. */
Test(resp_memory, answers_that_have_left_do_not_count)
{
    start(2);
    stage.streams[0].unsent = 900 * KIB;
    front_stage_say(&stage, 0, "PING\r\n");
    stage.streams[0].unsent = 100 * KIB;
    begin_request(1, 200 * KIB);
    cr_assert_not(stage.streams[0].closed);
    cr_assert_not(stage.streams[1].closed);
    front_stage_fini(&stage);
}

/* One that is at its end and not read by its client holds as much as any other. */
Test(resp_memory, last_answers_that_are_not_read_are_dropped)
{
    start(4);
    stage.streams[0].unsent = 500 * KIB;
    front_stage_say(&stage, 0, "QUIT\r\n");
    cr_assert(stage.streams[0].closed && !stage.streams[0].dropped);
    for (size_t i = 1; i < 4; i++) {
        begin_request(i, 200 * KIB);
    }
    cr_assert(stage.streams[0].dropped);
    cr_assert_not(stage.streams[1].closed || stage.streams[2].closed || stage.streams[3].closed);
    front_stage_fini(&stage);
}

Test(resp_memory, a_transaction_counts)
{
    char line[256];

    start(2);
    (void)snprintf(line, sizeof line, "ECHO %0200d\r\n", 7);
    front_stage_say(&stage, 0, "MULTI\r\n");
    for (int i = 0; i < 8000 && !stage.streams[0].closed; i++) {
        front_stage_say(&stage, 0, line);
    }
    cr_assert(stage.streams[0].closed);
    cr_assert_eq(front_stage_counter(&stage, "resp_memory_total"), 1);
    cr_assert_leq(held(), KIB);
    front_stage_say(&stage, 1, "PING\r\n");
    front_stage_expect(&stage, 1, "+PONG\r\n");
    front_stage_fini(&stage);
}

/* Closing who sent them would not end them. */
Test(resp_memory, keys_under_way_are_refused_beyond_a_part_of_it)
{
    enum { KEYS = 200 };

    char *text = malloc(KEYS * 1100);

    start(2);
    for (size_t n = 0; n < 3; n++) {
        size_t size = (size_t)sprintf(text, "*202\r\n$7\r\nBF.MADD\r\n$2\r\nf%zu\r\n", n);

        for (size_t i = 0; i < KEYS; i++) {
            size += (size_t)sprintf(text + size, "$1000\r\n%01000zu\r\n", i);
        }
        front_stage_say(&stage, 0, text);
    }
    cr_assert_eq(stage.nasked, 1, "%zu requests of 200 KiB", stage.nasked);
    cr_assert_leq(held(), BUDGET);
    front_stage_reply(&stage, 0, STATUS_UNAVAILABLE, "");
    front_stage_turn(&stage);
    cr_assert_not(stage.streams[0].closed);
    cr_assert_eq(held(), 0, "%zu", (size_t)held());
    front_stage_say(&stage, 1, "BF.ADD g x\r\n");
    cr_assert_eq(stage.nasked, 2);
    free(text);
    front_stage_fini(&stage);
}

/* Whatever they do, all hold no more than they may, and it is known to the byte. */
Test(resp_memory, never_more_than_allowed_whatever_comes)
{
    uint64_t random = 7;
    size_t served = 0;

    start(CLIENTS);
    for (int i = 0; i < STEPS; i++) {
        size_t stream = random_below(&random, CLIENTS);

        if (stage.streams[stream].session == NULL) {
            front_stage_open(&stage, stream);
        }
        if (stage.streams[stream].closed) {
            front_stage_gone(&stage, stream);
            continue;
        }
        stage.streams[stream].unsent = random_below(&random, 4) == 0
                                           ? random_below(&random, 100 * KIB)
                                           : 0;
        if (random_below(&random, 3) == 0) {
            front_stage_say(&stage, stream, "\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$80000000\r\n");
        } else {
            fill(stream, 1 + random_below(&random, 60 * KIB));
        }
        served += stage.streams[stream].size > 0;
        stage.streams[stream].size = 0;
        cr_assert_leq(held(), BUDGET);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        if (stage.streams[i].session != NULL) {
            front_stage_gone(&stage, i);
        }
    }
    front_stage_turn(&stage);
    cr_assert_eq(held(), 0);
    cr_assert_gt(served, 0);
    cr_assert_gt(front_stage_counter(&stage, "resp_memory_total"), 100);
    front_stage_fini(&stage);
}

/* ---- requests that are not finished ---- */

Test(resp_unfinished, a_request_that_is_not_finished_in_time_ends_its_connection)
{
    start(2);
    front_stage_say(&stage, 0, "*2\r\n$4\r\nECHO\r\n$5\r\nhal");
    front_stage_say(&stage, 1, "PIN");
    for (int i = 0; i < 28; i++) {
        front_stage_pass(&stage, SECOND);
        front_stage_say(&stage, 1, "G");
    }
    cr_assert_not(stage.streams[0].closed);
    front_stage_pass(&stage, 4 * SECOND);
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, TOO_SLOW);
    front_stage_expect(&stage, 1, TOO_SLOW);
    cr_assert(stage.streams[0].closed && stage.streams[1].closed, "a byte now and then, too");
    cr_assert_eq(front_stage_counter(&stage, "resp_unfinished_total"), 2);
    front_stage_fini(&stage);
}

/* Each request has that time of its own. */
Test(resp_unfinished, who_finishes_one_after_another_stays)
{
    start(1);
    front_stage_say(&stage, 0, "PI");
    for (int i = 0; i < 10; i++) {
        front_stage_pass(&stage, 20 * SECOND);
        front_stage_say(&stage, 0, "NG\r\nPI");
        front_stage_expect(&stage, 0, "+PONG\r\n");
    }
    front_stage_say(&stage, 0, "NG\r\n");
    front_stage_pass(&stage, 100 * SECOND);
    cr_assert_not(stage.streams[0].closed, "an idle one is not unfinished");
    cr_assert_eq(stage.actor.next_us(stage.actor.self), ACTOR_NEVER, "no timer without need");
    front_stage_fini(&stage);
}

/* Nor one whose rest is not read, as its answers are not. */
Test(resp_unfinished, who_is_not_read_from_is_not_late)
{
    start(1);
    stage.streams[0].unsent = (1 << 19) + 1;
    front_stage_say(&stage, 0, "PING\r\nPI");
    cr_assert_not(stage.streams[0].reading);
    front_stage_pass(&stage, 100 * SECOND);
    cr_assert_not(stage.streams[0].closed);
    front_stage_drained(&stage, 0);
    front_stage_turn(&stage);
    front_stage_pass(&stage, 20 * SECOND);
    cr_assert_not(stage.streams[0].closed);
    front_stage_pass(&stage, 20 * SECOND);
    cr_assert(stage.streams[0].closed);
    front_stage_fini(&stage);
}

Test(resp_unfinished, may_be_for_ever_if_so_configured)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "PI");
    front_stage_pass(&stage, 1000 * (uint64_t)SECOND);
    cr_assert_eq(stage.actor.next_us(stage.actor.self), ACTOR_NEVER);
    front_stage_say(&stage, 0, "NG\r\n");
    front_stage_expect(&stage, 0, "+PONG\r\n");
    front_stage_fini(&stage);
}
