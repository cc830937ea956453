/* EXPIRE, TTL and their kin: what a coordinator is asked, and what its answers become. */
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <string.h>

static struct front_stage stage;

static void start(void)
{
    front_stage_start(&stage, 1);
    stage.fake.date_ms = 1000000;
}

static struct expiry_wish wish_of(const char *text)
{
    struct frame question;

    front_stage_say(&stage, 0, text);
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.action, ADMIN_EXPIRE, "%s", text);
    cr_assert_str_eq(question.body.admin_request.name, "f");
    front_stage_answer(&stage, &question, STATUS_OK, true);
    front_stage_expect(&stage, 0, ":1\r\n");
    return question.body.admin_request.expire;
}

static void expect_wish(const char *text, struct expiry_wish expected)
{
    struct expiry_wish wish = wish_of(text);

    cr_assert_eq(wish.never, expected.never, "%s", text);
    cr_assert_eq(wish.after_us, expected.after_us, "%s: %lu", text, (unsigned long)wish.after_us);
    cr_assert_eq(wish.dated, expected.dated, "%s", text);
    cr_assert_eq(wish.at_ms, expected.at_ms, "%s", text);
    cr_assert_eq(wish.if_none, expected.if_none, "%s", text);
    cr_assert_eq(wish.if_some, expected.if_some, "%s", text);
    cr_assert_eq(wish.if_later, expected.if_later, "%s", text);
    cr_assert_eq(wish.if_sooner, expected.if_sooner, "%s", text);
}

#define WISH(text, ...) expect_wish(text, (struct expiry_wish){__VA_ARGS__})

Test(resp_expiry, what_a_coordinator_is_asked)
{
    start();
    WISH("EXPIRE f 100\r\n", .after_us = 100000000);
    WISH("pexpire f 100\r\n", .after_us = 100000);
    WISH("EXPIREAT f 1100\r\n", .dated = true, .at_ms = 1100000, .after_us = 100000000);
    WISH("PEXPIREAT f 1000007\r\n", .dated = true, .at_ms = 1000007, .after_us = 7000);
    WISH("EXPIREAT f 5\r\n", .dated = true, .at_ms = 5000);
    WISH("EXPIREAT f -5\r\n", .dated = true);
    WISH("EXPIRE f -5\r\n", .after_us = 0);
    WISH("EXPIRE f 1 nx\r\n", .after_us = 1000000, .if_none = true);
    WISH("EXPIRE f 1 XX GT\r\n", .after_us = 1000000, .if_some = true, .if_later = true);
    WISH("EXPIRE f 1 lt\r\n", .after_us = 1000000, .if_sooner = true);
    WISH("PERSIST f\r\n", .never = true);
    front_stage_fini(&stage);
}

Test(resp_expiry, what_can_not_be_is_refused)
{
    static const char *const bad[][2] = {
        {"EXPIRE f\r\n", "-ERR wrong number of arguments for 'expire' command\r\n"},
        {"EXPIRE f x\r\n", "-ERR value is not an integer or out of range\r\n"},
        {"EXPIRE f 1.5\r\n", "-ERR value is not an integer or out of range\r\n"},
        {"EXPIRE f 9223372036854775807\r\n", "-ERR invalid expire time in 'expire' command\r\n"},
        {"EXPIRE f -9223372036854775808\r\n", "-ERR invalid expire time in 'expire' command\r\n"},
        {"PEXPIRE f 9223372036854775807\r\n", "-ERR invalid expire time in 'pexpire' command\r\n"},
        {"PEXPIREAT f 9223372036854775807\r\n",
         "-ERR invalid expire time in 'pexpireat' command\r\n"},
        {"EXPIREAT f 9223372036854776\r\n", "-ERR invalid expire time in 'expireat' command\r\n"},
        {"EXPIRE f 1 QX\r\n", "-ERR Unsupported option QX\r\n"},
        {"EXPIRE f 1 NX XX\r\n",
         "-ERR NX and XX, GT or LT options at the same time are not compatible\r\n"},
        {"EXPIRE f 1 NX LT\r\n",
         "-ERR NX and XX, GT or LT options at the same time are not compatible\r\n"},
        {"EXPIRE f 1 GT LT\r\n", "-ERR GT and LT options at the same time are not compatible\r\n"},
        {"EXPIRE bad/name 1\r\n", ":0\r\n"},
        {"PERSIST bad/name\r\n", ":0\r\n"},
        {"TTL bad/name\r\n", ":-2\r\n"},
    };

    start();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        front_stage_say(&stage, 0, bad[i][0]);
        front_stage_expect(&stage, 0, bad[i][1]);
    }
    front_stage_fini(&stage);
}

static void expect_answer(enum status status, bool created, const char *answer)
{
    struct frame question;

    front_stage_say(&stage, 0, "EXPIRE f 1\r\n");
    question = front_stage_question(&stage);
    front_stage_answer(&stage, &question, status, created);
    front_stage_expect(&stage, 0, answer);
}

Test(resp_expiry, what_its_answer_becomes)
{
    start();
    expect_answer(STATUS_OK, true, ":1\r\n");
    expect_answer(STATUS_OK, false, ":0\r\n");
    expect_answer(STATUS_NOT_FOUND, false, ":0\r\n");
    expect_answer(STATUS_CONFLICT, false, "-CONFLICT said so\r\n");
    expect_answer(STATUS_DEADLINE, true, "-DEADLINE said so\r\n");
    front_stage_fini(&stage);
}

static void expect_told(const char *text, const struct filter_summary *filter, const char *answer)
{
    struct frame question;

    front_stage_say(&stage, 0, text);
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.action, ADMIN_STATUS);
    if (filter != NULL) {
        front_stage_answer_filter(&stage, &question, filter);
    } else {
        front_stage_answer(&stage, &question, STATUS_NOT_FOUND, false);
    }
    front_stage_expect(&stage, 0, answer);
}

Test(resp_expiry, how_long_it_stays)
{
    struct filter_summary filter = {
        .name = "f",
        .state = FILTER_ACTIVE,
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_REFUSE,
        .keylog = KEYLOG_ON,
        .durability = DURABILITY_SYNC,
        .ngenerations = 0,
        .rebuild_awaited = "",
        .lacking = "",
        .lacking_remedy = "",
        .growth_awaited = "",
        .growth_refused = "",
        .window_awaited = "",
        .expiry_awaited = "",
    };

    start();
    expect_told("TTL f\r\n", NULL, ":-2\r\n");
    expect_told("TTL f\r\n", &filter, ":-1\r\n");
    expect_told("PEXPIRETIME f\r\n", &filter, ":-1\r\n");
    filter.expiry = 3;
    filter.expires_at_ms = 1900000000700;
    filter.expires_left_us = 99600001;
    expect_told("TTL f\r\n", &filter, ":100\r\n");
    expect_told("PTTL f\r\n", &filter, ":99601\r\n");
    expect_told("EXPIRETIME f\r\n", &filter, ":1900000001\r\n");
    expect_told("PEXPIRETIME f\r\n", &filter, ":1900000000700\r\n");
    filter.expires_left_us = 1;
    expect_told("TTL f\r\n", &filter, ":1\r\n");
    expect_told("PTTL f\r\n", &filter, ":1\r\n");
    filter.state = FILTER_DROPPING;
    expect_told("TTL f\r\n", &filter, ":-2\r\n");
    front_stage_fini(&stage);
}
