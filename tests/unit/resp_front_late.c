/* Commands that change filters name what was seen, and none is carried out that waited while the
 * router was stopped. */
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <string.h>

static struct front_stage stage;

static void start(void)
{
    front_stage_start(&stage, 1);
    stage.looks = true;
}

/* The question must be this; its answer is a look's. */
static void see(uint64_t filter_id, uint64_t revision)
{
    const struct frame look = front_stage_question(&stage);
    const struct admin_reply reply = {.message = "",
                                      .seen = {.filter_id = filter_id, .revision = revision}};

    cr_assert_eq(look.body.admin_request.action, ADMIN_LOOK);
    cr_assert_str_eq(look.body.admin_request.name, "a");
    front_stage_answer_with(&stage, &look, &reply);
}

static struct frame expect_change(enum admin_action action, uint64_t filter_id, uint64_t revision)
{
    const struct frame change = front_stage_question(&stage);

    cr_assert_eq(change.body.admin_request.action, action);
    cr_assert_eq(change.body.admin_request.filter_id, filter_id);
    cr_assert_eq(change.body.admin_request.seen.revision, revision);
    cr_assert_gt(change.body.admin_request.timeout_ms, 0);
    return change;
}

static void answer_moved(const struct frame *change)
{
    const struct admin_reply reply = {.status = STATUS_CONFLICT, .message = "moved", .moved = true};

    front_stage_answer_with(&stage, change, &reply);
}

Test(resp_late, a_drop_names_the_filter_that_was_seen)
{
    struct frame change;

    start();
    front_stage_say(&stage, 0, "DEL a\r\n");
    see(5, 11);
    change = expect_change(ADMIN_DROP, 5, 11);
    answer_moved(&change);
    see(5, 12);
    change = expect_change(ADMIN_DROP, 5, 12);
    front_stage_answer(&stage, &change, STATUS_OK, false);
    front_stage_expect(&stage, 0, ":1\r\n");
    front_stage_fini(&stage);
}

Test(resp_late, the_next_filter_of_the_name_is_not_meant)
{
    struct frame change;

    start();
    front_stage_say(&stage, 0, "EXPIRE a 100\r\n");
    see(5, 11);
    change = expect_change(ADMIN_EXPIRE, 5, 11);
    answer_moved(&change);
    see(6, 1);
    front_stage_expect(&stage, 0, "-CONFLICT moved\r\n");
    front_stage_fini(&stage);
}

Test(resp_late, nothing_is_changed_that_waited_while_the_router_was_stopped)
{
    struct fake_sent sent;

    start();
    stage.fake.waited_us = front_stage_config().timeout_us;
    front_stage_say(&stage, 0, "DEL a\r\nBF.ADD a x\r\nPING\r\n");
    cr_assert_eq(strncmp(stage.streams[0].text, "-DEADLINE ", 10), 0);
    cr_assert_not_null(strstr(stage.streams[0].text + 10, "-DEADLINE "));
    cr_assert_not_null(strstr(stage.streams[0].text, "+PONG"));
    cr_assert_not(fake_take(&stage.fake, &sent));
    front_stage_fini(&stage);
}
