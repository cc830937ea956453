/* The end of a router: what was read is answered, nothing else is taken, all connections close. */
#include "router/resp/private.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MS = 1000, SECOND = 1000 * MS, HALF = 1 << 19 /* of max_unread */ };

static struct front_stage stage;

static void drain(uint64_t timeout_us)
{
    front_drain(stage.front, stage.now_us, timeout_us);
    front_stage_turn(&stage);
}

static bool is_over(void)
{
    return stage.actor.over(stage.actor.self);
}

static bool is_closed(size_t stream)
{
    return stage.streams[stream].closed && !stage.streams[stream].dropped;
}

Test(resp_drain, nobody_there_is_nothing_to_wait_for)
{
    front_stage_start(&stage, 1);
    front_stage_gone(&stage, 0);
    cr_assert_not(is_over());
    drain(SECOND);
    cr_assert(is_over());
    front_stage_fini(&stage);
}

Test(resp_drain, a_silent_connection_is_closed_at_once)
{
    front_stage_start(&stage, 1);
    drain(SECOND);
    cr_assert(is_closed(0));
    cr_assert_not(is_over(), "it is not gone yet");
    front_stage_gone(&stage, 0);
    cr_assert(is_over());
    front_stage_fini(&stage);
}

Test(resp_drain, what_was_read_is_answered_and_what_comes_later_is_not_taken)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.ADD f a\r\nBF.EXISTS f a\r\nBF.ADD f b\r\nPI");
    cr_assert_eq(stage.nasked, 1, "the others wait for the add");
    drain(SECOND);
    cr_assert_not(stage.streams[0].closed);
    cr_assert_not(stage.streams[0].reading);
    front_stage_say(&stage, 0, "NG\r\nBF.ADD f c\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n");
    cr_assert_not(stage.streams[0].closed);
    cr_assert_eq(stage.nasked, 3);
    front_stage_reply(&stage, 1, STATUS_OK, "p");
    front_stage_reply(&stage, 2, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n:1\r\n");
    cr_assert(is_closed(0));
    cr_assert_eq(stage.nasked, 3);
    front_stage_fini(&stage);
}

Test(resp_drain, who_connects_too_late_is_refused)
{
    front_stage_start(&stage, 1);
    drain(SECOND);
    cr_assert_null(front_opened(stage.front, stage.now_us, &stage.streams[1], "late", ""));
    front_stage_fini(&stage);
}

Test(resp_drain, answers_that_are_not_read_hold_up_the_rest_of_what_was_read)
{
    front_stage_start(&stage, 1);
    stage.streams[0].unsent = HALF + 1;
    front_stage_say(&stage, 0, "PING\r\n");
    drain(SECOND);
    cr_assert_not(stage.streams[0].closed, "PING is not answered");
    front_stage_drained(&stage, 0);
    front_stage_expect(&stage, 0, "+PONG\r\n");
    cr_assert(is_closed(0));
    front_stage_fini(&stage);
}

Test(resp_drain, it_has_an_end_whatever_is_under_way)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\n");
    drain(2 * SECOND);
    front_stage_pass(&stage, SECOND);
    cr_assert_not(is_over());
    front_stage_pass(&stage, SECOND);
    cr_assert(is_over());
    cr_assert_eq(front_connections(stage.front), 1);
    front_stage_fini(&stage);
}

Test(resp_drain, a_transaction_without_its_end_is_forgotten)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "MULTI\r\nBF.ADD f a\r\n");
    drain(SECOND);
    front_stage_expect(&stage, 0, "+OK\r\n+QUEUED\r\n");
    cr_assert(is_closed(0));
    cr_assert_eq(stage.nasked, 0);
    front_stage_fini(&stage);
}

/* The settings of a front that serves may change. */
Test(resp_drain, another_configuration_counts_for_what_comes)
{
    struct front_config config = front_stage_config();

    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.EXISTS none a\r\n");
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":0\r\n");
    config.strict_missing = true;
    config.idle_us = SECOND;
    front_configure(stage.front, &config);
    front_stage_say(&stage, 0, "BF.EXISTS none a\r\n");
    front_stage_reply(&stage, 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    cr_assert_not_null(strstr(stage.streams[0].text, "-ERR not found"), "%s",
                       stage.streams[0].text);
    front_stage_pass(&stage, 5 * SECOND);
    cr_assert(is_closed(0) || stage.streams[0].dropped);
    front_stage_fini(&stage);
}
