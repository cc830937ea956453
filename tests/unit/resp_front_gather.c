/* Commands of many connections in few requests, and their answers in the order of commands. */
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct front_stage stage;

static void expect_asked(size_t at, enum operation operation, const char *filter, const char *keys)
{
    cr_assert_lt(at, stage.nasked);
    cr_assert_eq(stage.asked[at].operation, operation);
    cr_assert_str_eq(stage.asked[at].filter, filter);
    cr_assert_str_eq(stage.asked[at].keys, keys);
}

/* ---- which request ---- */

Test(resp_gather, commands_of_one_turn_are_one_request_per_filter_and_operation)
{
    front_stage_start(&stage, 3);
    front_stage_type(&stage, 0, "BF.EXISTS f a\r\nBF.EXISTS f b\r\n");
    front_stage_type(&stage, 1, "BF.MEXISTS f c d\r\nBF.EXISTS g x\r\n");
    front_stage_type(&stage, 2, "BF.ADD f e\r\n");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 3);
    expect_asked(0, OPERATION_CHECK, "f", "a b c d");
    expect_asked(1, OPERATION_CHECK, "g", "x");
    expect_asked(2, OPERATION_ADD, "f", "e");
    front_stage_reply(&stage, 0, STATUS_OK, "papa");
    front_stage_reply(&stage, 1, STATUS_OK, "p");
    front_stage_reply(&stage, 2, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n:0\r\n");
    front_stage_expect(&stage, 1, "*2\r\n:1\r\n:0\r\n:1\r\n");
    front_stage_expect(&stage, 2, ":1\r\n");
    front_stage_fini(&stage);
}

Test(resp_gather, requests_have_ids_of_their_own)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.ADD f a\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "a");
    front_stage_say(&stage, 0, "BF.ADD f b\r\n");
    cr_assert_eq(stage.nasked, 2);
    cr_assert_neq(stage.asked[0].op.sequence, stage.asked[1].op.sequence);
    cr_assert_neq(stage.asked[0].correlation, stage.asked[1].correlation);
    front_stage_fini(&stage);
}

/* Each list of open requests is searched by kind: they must be told apart. */
Test(resp_gather, a_thousand_filters_in_one_turn_do_not_mix)
{
    char text[64];

    front_stage_start(&stage, 1);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof text, "BF.EXISTS filter-%d key-%d\r\n", i, i);
        front_stage_type(&stage, 0, text);
    }
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 1000);
    for (size_t i = 1000; i > 0; i--) { /* in the wrong order */
        (void)snprintf(text, sizeof text, "filter-%zu", i - 1);
        cr_assert_str_eq(stage.asked[i - 1].filter, text);
        front_stage_reply(&stage, i - 1, STATUS_OK, i % 3 == 0 ? "p" : "a");
    }
    front_stage_turn(&stage);
    for (size_t i = 1; i <= 1000; i++) {
        cr_assert_eq(
            memcmp(stage.streams[0].text + (i - 1) * 4, i % 3 == 0 ? ":1\r\n" : ":0\r\n", 4), 0);
    }
    front_stage_fini(&stage);
}

/* ---- order ---- */

Test(resp_gather, answers_leave_in_the_order_of_commands)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nPING\r\nBF.EXISTS g a\r\nECHO x\r\n");
    front_stage_reply(&stage, 1, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "");
    front_stage_reply(&stage, 0, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":0\r\n+PONG\r\n:1\r\n$1\r\nx\r\n");
    front_stage_fini(&stage);
}

Test(resp_gather, a_check_waits_for_the_connections_own_adds)
{
    front_stage_start(&stage, 2);
    front_stage_type(&stage, 0, "BF.ADD f a\r\nBF.ADD f b\r\nBF.EXISTS f a\r\n");
    front_stage_type(&stage, 1, "BF.EXISTS f a\r\n");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 2, "the other connection does not wait");
    expect_asked(0, OPERATION_ADD, "f", "a b");
    expect_asked(1, OPERATION_CHECK, "f", "a");
    cr_assert_not(stage.streams[0].reading, "nothing more is read while it waits");
    front_stage_reply(&stage, 0, STATUS_OK, "ap");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 3);
    expect_asked(2, OPERATION_CHECK, "f", "a");
    cr_assert(stage.streams[0].reading);
    front_stage_reply(&stage, 2, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n:0\r\n:1\r\n");
    front_stage_fini(&stage);
}

/* What waits must not leave empty requests behind. */
Test(resp_gather, waiting_asks_nothing_of_the_router)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0,
                    "BF.ADD f a\r\nBF.INSERT f CAPACITY 10 ITEMS b\r\nBF.EXISTS f a\r\n");
    for (int i = 0; i < 5; i++) {
        front_stage_turn(&stage);
        front_stage_say(&stage, 0, "PING\r\n");
    }
    cr_assert_eq(stage.nasked, 1);
    cr_assert_eq(stage.asked[0].count, 1);
    front_stage_fini(&stage);
}

Test(resp_gather, other_filters_are_not_waited_for)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.ADD f a\r\nBF.EXISTS g a\r\nBF.ADD h a\r\n");
    cr_assert_eq(stage.nasked, 3);
    front_stage_fini(&stage);
}

Test(resp_gather, commands_about_filters_wait_for_all)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nBF.CARD g\r\n");
    cr_assert_eq(stage.nasked, 1);
    front_stage_reply(&stage, 0, STATUS_OK, "a");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 2);
    cr_assert_eq(stage.asked[1].kind, FRAME_INFO_REQUEST);
    front_stage_fini(&stage);
}

/* An answer is in the version that was chosen when its command was sent. */
Test(resp_gather, hello_waits_for_earlier_answers)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nHELLO 3\r\nBF.EXISTS f b\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    front_stage_turn(&stage);
    cr_assert_eq(strncmp(stage.streams[0].text, ":1\r\n%7\r\n", 8), 0);
    front_stage_expect(&stage, 0, stage.streams[0].text);
    front_stage_reply(&stage, 1, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "#t\r\n");
    front_stage_fini(&stage);
}

/* ---- what an answer says ---- */

Test(resp_gather, not_sure_is_present_for_a_check_and_new_for_an_add)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.MEXISTS f a b c\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "mpa");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "*3\r\n:1\r\n:1\r\n:0\r\n");
    front_stage_say(&stage, 0, "BF.MADD f a b c\r\n");
    front_stage_reply(&stage, 1, STATUS_OK, "mpa");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "*3\r\n:1\r\n:0\r\n:1\r\n");
    front_stage_fini(&stage);
}

Test(resp_gather, undecided_keys_are_errors_in_the_array_and_never_0)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.MEXISTS f a b\r\nBF.EXISTS f c\r\n");
    front_stage_reply(&stage, 0, STATUS_UNAVAILABLE, "puu");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "*2\r\n:1\r\n-UNAVAILABLE said so\r\n-UNAVAILABLE said so\r\n");
    front_stage_fini(&stage);
}

/* Neither asked again, nor taken for one of a filter that is missing. */
Test(resp_gather, what_another_site_may_have_is_an_error_that_says_so)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nBF.MEXISTS f b c d\r\n");
    front_stage_reply(&stage, 0, STATUS_BEHIND, "upum");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "-BEHIND said so\r\n*3\r\n:1\r\n-BEHIND said so\r\n:1\r\n");
    cr_assert_eq(stage.nasked, 1);
    front_stage_fini(&stage);
}

/* It is written here all the same: neither 0 nor 1 would be true of it. */
Test(resp_gather, an_add_that_other_sites_have_not_confirmed_is_an_error_that_says_so)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.ADD f a\r\nBF.MADD f b c\r\n");
    front_stage_reply(&stage, 0, STATUS_BEHIND, "uuu");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0,
                       "-BEHIND said so\r\n*2\r\n-BEHIND said so\r\n-BEHIND said so\r\n");
    cr_assert_eq(stage.nasked, 1);
    front_stage_fini(&stage);
}

Test(resp_gather, an_answer_that_is_too_short_leaves_keys_undecided)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.MEXISTS f a b\r\n");
    front_stage_reply(&stage, 0, STATUS_DEADLINE, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "*2\r\n-DEADLINE said so\r\n-DEADLINE said so\r\n");
    front_stage_fini(&stage);
}

Test(resp_gather, a_full_filter_ends_the_array)
{
    front_stage_start(&stage, 2);
    front_stage_type(&stage, 0, "BF.MADD f a b c d\r\n");
    front_stage_type(&stage, 1, "BF.ADD f e\r\n");
    front_stage_turn(&stage);
    front_stage_reply(&stage, 0, STATUS_FULL, "apuuu");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "*3\r\n:1\r\n:0\r\n-ERR non scaling filter is full\r\n");
    front_stage_expect(&stage, 1, "-ERR non scaling filter is full\r\n");
    front_stage_fini(&stage);
}

/* What the router answers in its turn, or out of its background work, must not lie until the next
 * event. */
Test(resp_gather, what_the_routers_turn_answers_leaves_with_it)
{
    front_stage_start(&stage, 1);
    front_stage_type(&stage, 0, "BF.EXISTS f a\r\n");
    stage.reply_in_turn = "p";
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n");
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\n");
    stage.reply_in_turn = "p";
    cr_assert(stage.actor.work(stage.actor.self, stage.now_us), "there is more to do");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n");
    front_stage_fini(&stage);
}

/* An answer that was settled must not be taken for a later one in the same slot. */
Test(resp_gather, an_answer_that_comes_twice_counts_once)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    front_stage_say(&stage, 0, "BF.EXISTS f b\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n");
    front_stage_reply(&stage, 1, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":0\r\n");
    front_stage_fini(&stage);
}
