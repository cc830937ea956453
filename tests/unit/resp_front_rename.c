/* RENAME and RENAMENX: what a coordinator is asked, and what its answers become. */
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>

static struct front_stage stage;

static void expect(const char *command, bool replace, enum status status, bool created,
                   const char *answer)
{
    struct frame question;

    front_stage_say(&stage, 0, command);
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.action, ADMIN_RENAME);
    cr_assert_str_eq(question.body.admin_request.name, "a");
    cr_assert_str_eq(question.body.admin_request.rename.name, "b");
    cr_assert_eq(question.body.admin_request.rename.replace, replace);
    front_stage_answer(&stage, &question, status, created);
    front_stage_expect(&stage, 0, answer);
}

Test(resp_rename, answers)
{
    front_stage_start(&stage, 1);
    expect("RENAME a b\r\n", true, STATUS_OK, true, "+OK\r\n");
    expect("RENAME a b\r\n", true, STATUS_OK, false, "+OK\r\n");
    expect("RENAME a b\r\n", true, STATUS_NOT_FOUND, false, "-ERR no such key\r\n");
    expect("RENAME a b\r\n", true, STATUS_DEADLINE, true, "-DEADLINE said so\r\n");
    expect("RENAMENX a b\r\n", false, STATUS_OK, true, ":1\r\n");
    expect("RENAMENX a b\r\n", false, STATUS_OK, false, ":0\r\n");
    expect("RENAMENX a b\r\n", false, STATUS_EXISTS, false, ":0\r\n");
    expect("RENAMENX a b\r\n", false, STATUS_NOT_FOUND, false, "-ERR no such key\r\n");
    expect("RENAMENX a b\r\n", false, STATUS_NAME_BUSY, false, "-NAME_BUSY said so\r\n");
    front_stage_fini(&stage);
}

Test(resp_rename, names_that_no_filter_can_have)
{
    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "RENAME bad/name b\r\nRENAME a bad/name\r\nRENAME a\r\n");
    front_stage_expect(&stage, 0,
                       "-ERR no such key\r\n"
                       "-ERR a filter's name takes 1 to 128 of [A-Za-z0-9._:-]\r\n"
                       "-ERR wrong number of arguments for 'rename' command\r\n");
    front_stage_fini(&stage);
}
