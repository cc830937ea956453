/* Connections that close, do not read, send garbage; deadlines; memory that fails. */
#include "base/heap.h"
#include "router/resp/private.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MS = 1000, SECOND = 1000 * MS, HALF = 1 << 19 /* of max_unread */ };

static struct front_stage stage;

static void start(uint64_t idle_us)
{
    struct front_config config = front_stage_config();

    config.idle_us = idle_us;
    front_stage_init(&stage, &config);
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
}

/* ---- closing ---- */

/* Leaks and uses of what is freed are for front_stage_fini() and sanitizers to find. */
Test(resp_bounds, a_connection_goes_with_commands_under_way)
{
    struct frame question;

    start(0);
    front_stage_type(&stage, 0,
                     "BF.EXISTS f a\r\nBF.ADD g a\r\nPING\r\nBF.ADD g b\r\nEXISTS x y\r\n");
    front_stage_type(&stage, 1, "BF.EXISTS f b\r\nBF.ADD g c\r\nEXISTS x\r\n");
    front_stage_turn(&stage);
    front_stage_gone(&stage, 0);
    front_stage_reply(&stage, 0, STATUS_OK, "pa");
    front_stage_reply(&stage, 1, STATUS_OK, "aaa");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 1, ":0\r\n:1\r\n");
    question = front_stage_question(&stage);
    front_stage_gone(&stage, 1);
    front_stage_answer(&stage, &question, STATUS_NOT_FOUND, false);
    cr_assert_eq(front_stage_counter(&stage, "resp_connections"), 0);
    front_stage_fini(&stage);
}

Test(resp_bounds, all_of_it_ends_with_everything_under_way)
{
    start(0);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nBF.ADD g a\r\nMULTI\r\nBF.ADD f x\r\n");
    front_stage_say(&stage, 1, "BF.ADD g b\r\nKEYS *\r\n");
    front_stage_reply(&stage, 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_fini(&stage);
}

Test(resp_bounds, quit_answers_what_came_before_and_takes_nothing_after)
{
    start(0);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nQUIT\r\nBF.ADD f b\r\n");
    cr_assert_eq(stage.nasked, 1);
    cr_assert_not(stage.streams[0].closed);
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n+OK\r\n");
    cr_assert(stage.streams[0].closed && !stage.streams[0].dropped);
    front_stage_fini(&stage);
}

/* ... but whoever does not read that is not kept for ever. */
Test(resp_bounds, a_client_that_reads_nothing_at_its_end_is_dropped)
{
    start(0);
    stage.streams[0].unsent = 1000;
    front_stage_say(&stage, 0, "QUIT\r\n");
    cr_assert(stage.streams[0].closed && !stage.streams[0].dropped);
    front_stage_pass(&stage, 4 * SECOND);
    cr_assert_not(stage.streams[0].dropped);
    front_stage_pass(&stage, 3 * SECOND);
    cr_assert(stage.streams[0].dropped);
    front_stage_gone(&stage, 0);
    cr_assert_eq(stage.actor.next_us(stage.actor.self) != ACTOR_NEVER, true);
    front_stage_pass(&stage, SECOND);
    cr_assert_eq(stage.actor.next_us(stage.actor.self), ACTOR_NEVER, "no timer without need");
    front_stage_fini(&stage);
}

Test(resp_bounds, garbage_is_answered_in_its_turn_then_closed)
{
    start(0);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\n*1\r\n!\r\nPING\r\n");
    front_stage_expect(&stage, 0, "");
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n-ERR Protocol error: expected '$', got '!'\r\n");
    cr_assert(stage.streams[0].closed);
    cr_assert_eq(front_stage_counter(&stage, "resp_broken_total"), 1);
    front_stage_fini(&stage);
}

Test(resp_bounds, a_silent_connection_is_closed_unless_it_waits)
{
    start(10 * SECOND);
    front_stage_say(&stage, 1, "BF.EXISTS f a\r\n");
    front_stage_pass(&stage, 9 * SECOND);
    cr_assert_not(stage.streams[0].closed);
    front_stage_pass(&stage, 3 * SECOND);
    cr_assert(stage.streams[0].closed);
    cr_assert_eq(front_stage_counter(&stage, "resp_idle_total"), 2, "the other was answered late");
    front_stage_fini(&stage);
}

/* ---- answers that are not read ---- */

Test(resp_bounds, who_does_not_read_is_not_read_from)
{
    start(0);
    stage.streams[0].unsent = HALF + 1;
    front_stage_say(&stage, 0, "PING\r\n");
    cr_assert_not(stage.streams[0].reading);
    front_stage_expect(&stage, 0, "");
    front_stage_drained(&stage, 0);
    cr_assert(stage.streams[0].reading);
    front_stage_expect(&stage, 0, "+PONG\r\n");
    front_stage_fini(&stage);
}

Test(resp_bounds, far_too_much_unread_is_the_end)
{
    start(0);
    stage.streams[0].unsent = 2 * HALF + 1;
    front_stage_say(&stage, 0, "PING\r\n");
    cr_assert(stage.streams[0].dropped);
    cr_assert_eq(front_stage_counter(&stage, "resp_unread_total"), 1);
    front_stage_say(&stage, 1, "PING\r\n");
    front_stage_expect(&stage, 1, "+PONG\r\n");
    front_stage_fini(&stage);
}

/* What all has left at once must not leave the rest lying: nobody would come back to it. */
Test(resp_bounds, a_pipeline_goes_on_when_its_answers_leave_at_once)
{
    static char text[1000];

    start(0);
    (void)snprintf(text, sizeof text, "ECHO %0900d\r\n", 7);
    for (int i = 0; i < 2000; i++) {
        front_stage_type(&stage, 0, text);
    }
    front_stage_turn(&stage);
    cr_assert_eq(stage.streams[0].size, 2000 * (900 + strlen("$900\r\n\r\n")));
    cr_assert(stage.streams[0].reading);
    front_stage_fini(&stage);
}

/* Answers that wait for an earlier one are unread, too. */
Test(resp_bounds, a_slow_command_does_not_let_answers_pile_up)
{
    static char text[1000];

    start(0);
    (void)snprintf(text, sizeof text, "ECHO %0900d\r\n", 7);
    front_stage_type(&stage, 0, "BF.EXISTS f a\r\n");
    for (int i = 0; i < 2000; i++) {
        front_stage_type(&stage, 0, text);
    }
    front_stage_turn(&stage);
    cr_assert_leq(stage.streams[0].session->owed, HALF + 2000);
    cr_assert_not(stage.streams[0].reading);
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    front_stage_turn(&stage);
    cr_assert_eq(stage.streams[0].size, 4 + 2000 * (900 + strlen("$900\r\n\r\n")));
    cr_assert_eq(stage.streams[0].session->owed, 0);
    cr_assert(stage.streams[0].reading);
    front_stage_fini(&stage);
}

Test(resp_bounds, so_many_commands_unanswered_and_no_more)
{
    start(0);
    for (int i = 0; i < FRONT_MAX_CALLS + 10; i++) {
        front_stage_type(&stage, 0, "BF.EXISTS f a\r\n");
    }
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 1);
    cr_assert_eq(stage.asked[0].count, FRONT_MAX_CALLS);
    cr_assert_not(stage.streams[0].reading);
    front_stage_reply(&stage, 0, STATUS_UNAVAILABLE, "");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 2);
    cr_assert_eq(stage.asked[1].count, 10);
    front_stage_fini(&stage);
}

Test(resp_bounds, an_idle_connection_holds_little)
{
    static char item[100001];

    start(0);
    memset(item, 'x', sizeof item - 1);
    front_stage_type(&stage, 0, "*2\r\n$4\r\nECHO\r\n$100000\r\n");
    front_stage_type(&stage, 0, item);
    front_stage_say(&stage, 0, "\r\n");
    front_stage_type(&stage, 0, "*300\r\n$10\r\nBF.MEXISTS\r\n$1\r\nf\r\n");
    for (int i = 2; i < 300; i++) {
        front_stage_type(&stage, 0, "$1\r\na\r\n");
    }
    front_stage_say(&stage, 0, "MULTI\r\nPING\r\nEXEC\r\n");
    front_stage_reply(&stage, 0, STATUS_UNAVAILABLE, "");
    front_stage_turn(&stage);
    cr_assert_leq(sizeof(struct session) + stage.streams[0].session->input.capacity +
                      stage.streams[0].session->out.capacity +
                      stage.streams[0].session->queued.capacity +
                      stage.streams[0].session->request.words.capacity +
                      stage.streams[0].session->request.capacity * sizeof(struct span),
                  8 << 10);
    cr_assert_leq(sizeof(struct call), 128, "%zu bytes", sizeof(struct call));
    front_stage_fini(&stage);
}

/* ---- deadlines ---- */

Test(resp_bounds, a_question_nobody_answers_has_an_end)
{
    start(0);
    front_stage_say(&stage, 0, "DBSIZE\r\n");
    front_stage_pass(&stage, 4 * SECOND);
    front_stage_expect(&stage, 0, "");
    front_stage_pass(&stage, 2 * SECOND);
    front_stage_expect(&stage, 0,
                       "-UNAVAILABLE no coordinator answers in time; is it running?\r\n");
    front_stage_fini(&stage);
}

Test(resp_bounds, and_so_has_a_filter_that_is_being_made)
{
    start(0);
    front_stage_say(&stage, 0, "BF.ADD f a\r\n");
    cr_assert_eq(stage.asked[0].timeout_ms, 5001);
    front_stage_pass(&stage, 4 * SECOND);
    stage.fake.deaf = true;
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_pass(&stage, 900 * MS);
    front_stage_expect(&stage, 0, "");
    front_stage_pass(&stage, 200 * MS);
    cr_assert_not_null(strstr(stage.streams[0].text, "-UNAVAILABLE no coordinator can be reached"));
    front_stage_fini(&stage);
}

Test(resp_bounds, a_lost_answer_of_the_router_is_not_waited_for_for_ever)
{
    start(0);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\n");
    front_stage_pass(&stage, 7 * SECOND);
    front_stage_expect(&stage, 0, "-DEADLINE the router did not answer\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "");
    front_stage_fini(&stage);
}

Test(resp_bounds, so_many_questions_and_no_more)
{
    start(0);
    front_stage_type(&stage, 0, "EXISTS");
    for (int i = 0; i < FRONT_MAX_QUESTIONS; i++) {
        front_stage_type(&stage, 0, " a");
    }
    stage.fake.deaf = true;
    front_stage_say(&stage, 0, " a\r\n");
    front_stage_say(&stage, 1, "DBSIZE\r\n");
    front_stage_expect(&stage, 1, "-OVERLOADED the router has too many questions under way\r\n");
    front_stage_pass(&stage, 6 * SECOND);
    cr_assert_not_null(strstr(stage.streams[0].text, "-OVERLOADED"));
    front_stage_fini(&stage);
}

/* ---- memory ---- */

/* Whatever fails: no answer is taken for another's, nothing leaks, others go on afterwards. */
static void run_dialogue(unsigned allocations)
{
    start(0);
    heap_fault_after(allocations);
    front_stage_type(&stage, 0, "ECHO first\r\nBF.MADD f a b\r\nEXISTS x\r\nECHO last\r\n");
    front_stage_type(&stage, 1, "BF.ADD f c\r\n");
    front_stage_turn(&stage);
    heap_fault_clear();
    for (size_t i = 0; i < stage.nasked; i++) {
        front_stage_reply(&stage, i, STATUS_UNAVAILABLE, "");
    }
    front_stage_turn(&stage);
    front_stage_pass(&stage, 7 * SECOND);
}

Test(resp_bounds, memory_that_fails_costs_no_more_than_the_connection)
{
    for (unsigned n = 0; n < 60; n++) {
        run_dialogue(n);
        for (size_t i = 0; i < 2; i++) {
            const char *text = stage.streams[i].text;

            cr_assert(text == NULL || text[0] == '-' || text[0] == (i == 0 ? '$' : '-'),
                      "after %u: %s", n, text);
        }
        if (!stage.streams[1].closed) {
            front_stage_expect(&stage, 1,
                               stage.streams[1].text == NULL ? "" : stage.streams[1].text);
            front_stage_say(&stage, 1, "PING\r\n");
            front_stage_expect(&stage, 1, "+PONG\r\n");
        }
        front_stage_fini(&stage);
    }
}

/* An answer that can't be written must not let the next one take its place. */
Test(resp_bounds, an_answer_without_memory_cuts_the_connection)
{
    start(0);
    front_stage_say(&stage, 0, "BF.EXISTS f a\r\nBF.EXISTS g a\r\n");
    heap_fault_after(1); /* The stage takes one, the answer would take the next. */
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    heap_fault_clear();
    front_stage_reply(&stage, 1, STATUS_OK, "a");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "");
    cr_assert(stage.streams[0].dropped);
    front_stage_fini(&stage);
}
