/* Filters that are missing are made by adds; transactions. */
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct front_stage stage;

static void start(bool strict_missing)
{
    struct front_config config = front_stage_config();

    config.strict_missing = strict_missing;
    front_stage_init(&stage, &config);
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
}

/* ---- filters that are missing ---- */

Test(resp_make, an_add_makes_the_filter_and_is_sent_again)
{
    struct frame question;

    start(false);
    front_stage_say(&stage, 0, "BF.ADD f a\r\n");
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "");
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.action, ADMIN_CREATE);
    cr_assert_str_eq(question.body.admin_request.name, "f");
    cr_assert_eq(question.body.admin_request.create.capacity, 1000);
    front_stage_answer(&stage, &question, STATUS_OK, true);
    cr_assert_eq(stage.nasked, 2);
    cr_assert_str_eq(stage.asked[1].keys, "a");
    cr_assert_neq(stage.asked[0].op.sequence, stage.asked[1].op.sequence);
    front_stage_reply(&stage, 1, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n");
    cr_assert_eq(front_stage_counter(&stage, "resp_filters_created_total"), 1);
    front_stage_fini(&stage);
}

Test(resp_make, another_has_made_it_meanwhile)
{
    struct frame question;

    start(false);
    front_stage_say(&stage, 0, "BF.INSERT f CAPACITY 50 ITEMS a\r\n");
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.create.capacity, 50);
    front_stage_answer(&stage, &question, STATUS_EXISTS, false);
    front_stage_reply(&stage, 1, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "*1\r\n:0\r\n");
    cr_assert_eq(front_stage_counter(&stage, "resp_filters_created_total"), 0);
    front_stage_fini(&stage);
}

Test(resp_make, what_can_not_be_made_is_one_error_per_command)
{
    struct frame question;

    start(false);
    front_stage_type(&stage, 0, "BF.MADD f a b\r\n");
    front_stage_type(&stage, 1, "BF.ADD f c\r\n");
    front_stage_turn(&stage);
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    question = front_stage_question(&stage);
    front_stage_answer(&stage, &question, STATUS_NO_SPACE, false);
    front_stage_expect(&stage, 0, "-NO_SPACE said so\r\n");
    front_stage_expect(&stage, 1, "-NO_SPACE said so\r\n");
    front_stage_fini(&stage);
}

/* A frame of another kind must not be read as the one that was asked for. */
Test(resp_make, a_coordinators_error_is_an_error)
{
    struct frame question;

    start(false);
    front_stage_say(&stage, 0, "BF.ADD f a\r\nEXISTS g\r\n");
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    question = front_stage_question(&stage);
    front_stage_answer_error(&stage, &question, STATUS_UNAUTHENTIC);
    front_stage_expect(&stage, 0, "-UNAUTHENTIC said so\r\n");
    question = front_stage_question(&stage);
    front_stage_answer_error(&stage, &question, STATUS_MALFORMED);
    front_stage_expect(&stage, 0, "-MALFORMED said so\r\n");
    front_stage_fini(&stage);
}

Test(resp_make, who_never_finds_it_stops_trying)
{
    start(false);
    front_stage_say(&stage, 0, "BF.ADD f a\r\n");
    for (size_t i = 0; i < 3; i++) {
        struct frame question;

        front_stage_reply(&stage, i, STATUS_NOT_FOUND, "");
        question = front_stage_question(&stage);
        front_stage_answer(&stage, &question, STATUS_OK, true);
    }
    front_stage_reply(&stage, 3, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "-ERR not found\r\n");
    front_stage_fini(&stage);
}

Test(resp_make, nocreate_makes_nothing)
{
    start(false);
    front_stage_say(&stage, 0, "BF.INSERT f NOCREATE ITEMS a b\r\n");
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "-ERR not found\r\n");
    front_stage_fini(&stage);
}

Test(resp_make, a_check_of_a_missing_filter_finds_nothing)
{
    start(false);
    front_stage_say(&stage, 0, "BF.MEXISTS f a b\r\nBF.EXISTS f c\r\nBF.EXISTS bad/name c\r\n");
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "*2\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
    front_stage_fini(&stage);
}

Test(resp_make, or_that_is_an_error)
{
    start(true);
    front_stage_say(&stage, 0, "BF.MEXISTS f a b\r\nBF.EXISTS f c\r\nBF.EXISTS bad/name c\r\n");
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "-ERR not found\r\n-ERR not found\r\n-ERR not found\r\n");
    front_stage_fini(&stage);
}

Test(resp_make, a_name_bound_anew_is_asked_again_at_the_end_of_the_turn)
{
    start(false);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\n");
    front_stage_reply(&stage, 0, STATUS_STALE, "");
    cr_assert_eq(stage.nasked, 1, "not from within the router's answer");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 2);
    front_stage_reply(&stage, 1, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n");
    front_stage_fini(&stage);
}

/* ---- how much it grows at a time ---- */

static void expect_refused(const char *said, const char *answer)
{
    struct fake_sent sent;

    front_stage_say(&stage, 0, said);
    front_stage_expect(&stage, 0, answer);
    cr_assert_eq(stage.nasked, 0, "%s", said);
    cr_assert_not(fake_take(&stage.fake, &sent), "%s", said);
}

/* RedisBloom 2.4 to 2.8. Since Redis 8 it takes 0 for NONSCALING, which here has to be said. */
Test(resp_make, an_expansion_of_nothing_is_an_error)
{
    static const char *const low[] = {"0", "-1", "-0", "-9223372036854775808"};
    char said[128];

    start(false);
    for (size_t i = 0; i < sizeof low / sizeof low[0]; i++) {
        (void)snprintf(said, sizeof said, "BF.RESERVE f 0.01 100 EXPANSION %s\r\n", low[i]);
        expect_refused(said, "-ERR expansion should be greater or equal to 1\r\n");
        (void)snprintf(said, sizeof said, "BF.INSERT f EXPANSION %s ITEMS a\r\n", low[i]);
        expect_refused(said,
                       "-Bad argument received: expansion should be greater or equal to 1\r\n");
    }
    expect_refused("BF.INSERT f NOCREATE EXPANSION 0 ITEMS a\r\n",
                   "-Bad argument received: expansion should be greater or equal to 1\r\n");
    expect_refused("BF.RESERVE f 0.01 100 NONSCALING EXPANSION 0\r\n",
                   "-ERR expansion should be greater or equal to 1\r\n");
    front_stage_fini(&stage);
}

Test(resp_make, other_expansions_that_are_none)
{
    start(false);
    expect_refused("BF.RESERVE f 0.01 100 EXPANSION 32769\r\n",
                   "-ERR expansion must be in the range [1, 32768]\r\n");
    expect_refused("BF.RESERVE f 0.01 100 EXPANSION 1.5\r\n", "-ERR bad expansion\r\n");
    expect_refused("BF.RESERVE f 0.01 100 EXPANSION\r\n", "-ERR no expansion\r\n");
    expect_refused("BF.RESERVE f 0.01 100 NONSCALING EXPANSION 2\r\n",
                   "-Nonscaling filters cannot expand\r\n");
    expect_refused("BF.INSERT f EXPANSION 32769 ITEMS a\r\n", "-Bad expansion\r\n");
    expect_refused("BF.INSERT f EXPANSION x ITEMS a\r\n", "-Bad expansion\r\n");
    front_stage_fini(&stage);
}

static enum when_full made_with(const char *said)
{
    struct frame question;

    front_stage_say(&stage, 0, said);
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.action, ADMIN_CREATE);
    front_stage_answer(&stage, &question, STATUS_OK, true);
    front_stage_expect(&stage, 0, "+OK\r\n");
    return question.body.admin_request.create.when_full;
}

Test(resp_make, what_refuses_more_is_nonscaling)
{
    start(false);
    cr_assert_eq(made_with("BF.RESERVE f 0.01 100 EXPANSION 1\r\n"), 0, "the cluster chooses");
    cr_assert_eq(made_with("BF.RESERVE g 0.01 100 EXPANSION 32768\r\n"), 0);
    cr_assert_eq(made_with("BF.RESERVE h 0.01 100 NONSCALING\r\n"), WHEN_FULL_REFUSE);
    front_stage_fini(&stage);
}

/* ---- transactions ---- */

Test(resp_multi, queued_commands_are_one_array)
{
    start(false);
    front_stage_say(&stage, 0, "MULTI\r\nBF.ADD f a\r\nPING\r\nBF.EXISTS f a\r\nBF.EXISTS\r\n");
    front_stage_expect(&stage, 0,
                       "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
                       "-ERR wrong number of arguments for 'bf.exists' command\r\n");
    front_stage_say(&stage, 0, "PING\r\nEXEC\r\nPING\r\n");
    front_stage_expect(
        &stage, 0,
        "+QUEUED\r\n-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n");
    cr_assert_eq(stage.nasked, 0);
    front_stage_say(&stage, 0, "MULTI\r\nBF.ADD f a\r\nPING\r\nBF.EXISTS f a\r\nEXEC\r\nPING\r\n");
    front_stage_expect(&stage, 0, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_reply(&stage, 1, STATUS_UNAVAILABLE, "u");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n+PONG\r\n-UNAVAILABLE said so\r\n+PONG\r\n");
    front_stage_fini(&stage);
}

Test(resp_multi, out_of_place)
{
    start(false);
    front_stage_say(&stage, 0, "EXEC\r\nDISCARD\r\nMULTI\r\nMULTI\r\nEXEC\r\nEXEC\r\n");
    front_stage_expect(&stage, 0,
                       "-ERR EXEC without MULTI\r\n-ERR DISCARD without MULTI\r\n+OK\r\n"
                       "-ERR MULTI calls can not be nested\r\n*0\r\n-ERR EXEC without MULTI\r\n");
    front_stage_fini(&stage);
}

Test(resp_multi, discard_and_reset_forget_it)
{
    start(false);
    front_stage_say(&stage, 0, "MULTI\r\nBF.ADD f a\r\nDISCARD\r\nPING\r\n");
    front_stage_expect(&stage, 0, "+OK\r\n+QUEUED\r\n+OK\r\n+PONG\r\n");
    front_stage_say(&stage, 0, "MULTI\r\nBF.ADD f a\r\nRESET\r\nPING\r\n");
    front_stage_expect(&stage, 0, "+OK\r\n+QUEUED\r\n+RESET\r\n+PONG\r\n");
    cr_assert_eq(stage.nasked, 0);
    front_stage_fini(&stage);
}

/* 8 MiB at most: what is too much aborts the transaction, and what was kept of it is not run. */
Test(resp_multi, a_transaction_that_is_too_large_is_aborted)
{
    static char item[60001];

    start(false);
    memset(item, 'x', sizeof item - 1);
    front_stage_say(&stage, 0, "MULTI\r\n");
    for (int i = 0; i < 150; i++) {
        front_stage_type(&stage, 0, "BF.ADD f ");
        front_stage_type(&stage, 0, item);
        front_stage_say(&stage, 0, "\r\n");
    }
    cr_assert_not_null(strstr(stage.streams[0].text, "-ERR the transaction is too large\r\n"));
    front_stage_expect(&stage, 0, stage.streams[0].text);
    front_stage_say(&stage, 0, "EXEC\r\nPING\r\n");
    front_stage_expect(&stage, 0,
                       "-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n");
    cr_assert_eq(stage.nasked, 0);
    front_stage_fini(&stage);
}

/* What came behind EXEC is run behind it, even where its commands must wait for one another. */
Test(resp_multi, exec_waits_for_what_came_before_it)
{
    start(false);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nMULTI\r\nBF.EXISTS f b\r\nEXEC\r\nBF.ADD f c\r\n");
    cr_assert_eq(stage.nasked, 1);
    front_stage_reply(&stage, 0, STATUS_OK, "a");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 3);
    front_stage_reply(&stage, 2, STATUS_OK, "a");
    front_stage_reply(&stage, 1, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":0\r\n+OK\r\n+QUEUED\r\n*1\r\n:0\r\n:1\r\n");
    front_stage_fini(&stage);
}
