/* `expand` to fewer keys: nodes are asked how many they have now, as what they report by themselves
 * may be a load behind. */
#include "coordinator_expansion.h"

enum { CORRELATION = 5 };

static void ask_only(uint64_t capacity)
{
    struct admin_request request = expand(capacity, 0);

    coordinator_stage_command(&stage, CORRELATION, &request);
}

/* Node n answers the newest question asked of it. */
static void tell(uint32_t n, uint64_t keys)
{
    struct replica_report report = report_of(n);

    report.keys = keys;
    for (size_t i = stage.nquestions; i-- > 0;) {
        if (stage.questions[i].node == n) {
            coordinator_stage_answer(&stage, &stage.questions[i], &report, 1);
            return;
        }
    }
    cr_assert_fail("node %u was not asked", n);
}

static void tell_nothing(uint32_t n)
{
    for (size_t i = 0; i < stage.nquestions; i++) {
        if (stage.questions[i].node == n) {
            coordinator_stage_answer(&stage, &stage.questions[i], NULL, 0);
        }
    }
}

Test(coordinator_shrink, a_load_that_no_report_tells_of_yet_is_found_by_asking)
{
    open_with(WHEN_FULL_REFUSE);
    for (uint32_t n = 1; n <= NODES; n++) {
        says[n].keys = 9000; /* by now; the last reports say 1,000 */
    }
    expect_refusal(ask(5000, 0), STATUS_INVALID,
                   "about 9,000 keys, more than the capacity of 5,000");
    cr_assert_eq(document_at(&stage)->revision, 1, "nothing was written");
    cr_assert_eq(ask(9500, 0).status, STATUS_OK);
    cr_assert_eq(document_at(&stage)->capacity, 9500);
    close_stage();
}

Test(coordinator_shrink, every_node_that_lives_has_to_answer)
{
    open_with(WHEN_FULL_REFUSE);
    ask_only(5000);
    cr_assert_eq(stage.nquestions, NODES);
    tell(1, 900);
    tell(3, 900);
    tell(3, 900); /* twice is once */
    coordinator_stage_turn(&stage);
    cr_assert_eq(stage.ntold, 0, "node-2 may have the keys");
    tell(2, 6000);
    expect_refusal(coordinator_stage_told(&stage), STATUS_INVALID, "about 6,000 keys");
    close_stage();
}

Test(coordinator_shrink, growing_asks_nobody_and_waits_for_nobody)
{
    open_with(WHEN_FULL_REFUSE);
    ask_only(20000);
    cr_assert_eq(stage.nquestions, 0);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

/* What is asked meanwhile is answered at once. */
Test(coordinator_shrink, who_does_not_answer_is_named_in_the_end_and_holds_up_nobody)
{
    struct admin_request status = {.action = ADMIN_STATUS, .name = ""};
    struct coordinator_told told;

    open_with(WHEN_FULL_REFUSE);
    says[2].mute = true;
    ask_only(5000);
    answer_questions(&stage);
    coordinator_stage_command(&stage, 6, &status);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.correlation, 6);
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_gt(stage.nquestions, 0, "it is asked again");
    cr_assert_eq(stage.questions[0].node, 2, "... and nobody else");
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.correlation, CORRELATION);
    expect_refusal(told, STATUS_UNAVAILABLE, "node node-2 was asked and has not answered");
    cr_assert_eq(document_at(&stage)->revision, 1);
    coordinator_stage_pass(&stage, 60 * SECOND_US);
    cr_assert_eq(stage.ntold, 0, "answered once");
    close_stage();
}

Test(coordinator_shrink, a_node_that_has_been_silent_for_long_is_left_out)
{
    open_with(WHEN_FULL_REFUSE);
    says[2].dead = true;
    for (int i = 0; i < 6; i++) {
        report_all(&stage);
        coordinator_stage_pass(&stage, 2 * SECOND_US);
    }
    cr_assert_eq(ask(5000, 0).status, STATUS_OK);
    close_stage();
}

Test(coordinator_shrink, one_that_still_reads_its_log_can_not_tell)
{
    open_with(WHEN_FULL_REFUSE);
    ask_only(5000);
    tell_nothing(1);
    tell_nothing(2);
    tell(3, 900);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK, "the others suffice");
    close_stage();
}

Test(coordinator_shrink, with_nobody_who_can_tell_it_is_refused)
{
    open_with(WHEN_FULL_REFUSE);
    ask_only(5000);
    for (uint32_t n = 1; n <= NODES; n++) {
        tell_nothing(n);
    }
    expect_refusal(coordinator_stage_told(&stage), STATUS_UNAVAILABLE, "can tell");
    close_stage();
}

Test(coordinator_shrink, an_answer_to_another_question_does_not_count)
{
    struct coordinator_question strange;

    open_with(WHEN_FULL_REFUSE);
    ask_only(5000);
    for (size_t i = 0; i < NODES; i++) {
        struct replica_report report = report_of(stage.questions[i].node);

        strange = stage.questions[i];
        strange.correlation += 7;
        coordinator_stage_answer(&stage, &strange, &report, 1);
    }
    cr_assert_eq(stage.ntold, 0);
    answer_questions(&stage);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
}

Test(coordinator_shrink, going_back_to_less_asks_too)
{
    open_with(WHEN_FULL_REFUSE);
    begin(40000);
    says[3].keys = 12000; /* not reported yet */
    expect_refusal(take_back(), STATUS_INVALID, "about 12000 keys by now");
    close_stage();
}

Test(coordinator_shrink, dropped_meanwhile_it_says_so)
{
    struct admin_request drop = coordinator_stage_drop();

    open_with(WHEN_FULL_REFUSE);
    ask_only(5000);
    coordinator_stage_command(&stage, 6, &drop);
    cr_assert_eq(stage.ntold, 0);
    tell(1, 900);
    tell(2, 900);
    tell(3, 900);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_DROPPED);
    close_stage();
}

/* As many as there may be wait; one more is told so, and nothing of it is left. */
Test(coordinator_shrink, too_many_that_wait_are_refused)
{
    struct coordinator_told told;

    open_with(WHEN_FULL_REFUSE);
    for (int i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        stage.nquestions = 0;
        ask_only(5000);
    }
    cr_assert_eq(stage.ntold, 0);
    stage.nquestions = 0;
    ask_only(5000);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told.message, "nothing was changed"), "%s", told.message);
    close_stage();
}
