/* Users of RESP clients: what they are refused is in the audit log. */
#include "tests/unit/resp_front_users.h"

static char lines[64 << 10];
static size_t nlines;

static enum status write_line(void *context, struct span line)
{
    size_t used = strlen(lines);

    (void)context;
    cr_assert_lt(used + line.size, sizeof lines);
    memcpy(lines + used, line.data, line.size);
    lines[used + line.size] = '\0';
    nlines++;
    return STATUS_OK;
}

static const struct audit_sink sink = {.write = write_line};

static void start_audited(const char *name, const char *token)
{
    start_as(name, token);
    front_attach_audit(stage.front, &sink);
}

/* The lines are these, without their times; they are forgotten. */
static void expect_lines(const char *expected)
{
    char text[sizeof lines] = "";
    const char *at = lines;

    while (*at != '\0') {
        const char *end = strchr(at, '\n');
        const char *from = strstr(at, "Z\",");

        cr_assert_eq(strncmp(at, "{\"time\":\"", 9), 0);
        cr_assert(from != NULL && from < end);
        strncat(text, from + 3, (size_t)(end - from) - 2);
        at = end + 1;
    }
    cr_assert_str_eq(text, expected);
    lines[0] = '\0';
    nlines = 0;
}

#define HEAD "\"router\":\"router-1\",\"action\":"
#define FROM "\"client\":\"127.0.0.1:50312\",\"outcome\":"

Test(resp_refused, what_is_refused_is_noted)
{
    start_audited("crawler", "alpha");
    front_stage_say(&stage, 0,
                    "BF.MEXISTS other x\r\nDEL crawl:new crawl:a\r\n"
                    "SLOWLOG GET\r\nACL LIST\r\nFLUSHALL\r\nPING\r\n");
    expect_lines(
        HEAD "\"command\",\"user\":\"crawler\",\"command\":\"bf.mexists\","
             "\"filter\":\"other\"," FROM "\"NOPERM\"}\n" HEAD
             "\"command\",\"user\":\"crawler\",\"command\":\"del\","
             "\"filter\":\"crawl:a\"," FROM "\"NOPERM\"}\n" HEAD
             "\"command\",\"user\":\"crawler\",\"command\":\"slowlog\"," FROM "\"NOPERM\"}\n" HEAD
             "\"command\",\"user\":\"crawler\",\"command\":\"acl|list\"," FROM "\"NOPERM\"}\n" HEAD
             "\"command\",\"user\":\"crawler\",\"command\":\"flushall\","
             "\"filter\":\"*\"," FROM "\"NOPERM\"}\n");
    finish();
}

Test(resp_refused, so_is_who_gave_a_wrong_password)
{
    start_audited("crawler", "alpha");
    named("boss")->limits.connections = 1;
    seal_record(&stage.users);
    front_stage_answers(&stage, 1, "AUTH boss bosstoken\r\n", "+OK\r\n");
    front_stage_say(&stage, 0, "AUTH boss bosstoken\r\nAUTH \"a\\\"b\\x00\\xff\" secret\r\n");
    expect_lines(HEAD "\"auth\",\"user\":\"boss\"," FROM "\"OVERLOADED\"}\n" HEAD
                      "\"auth\",\"user\":\"a\\u0022b\\u0000\\u00ff\"," FROM "\"WRONGPASS\"}\n");
    finish();
}

Test(resp_refused, so_is_an_add_that_may_make_no_filter)
{
    start_audited("crawler", "alpha");
    front_stage_say(&stage, 0, "BF.ADD crawl:a x\r\n");
    miss();
    front_stage_say(&stage, 0, "BF.INSERT crawl:b ITEMS x\r\n");
    miss();
    expect_lines(HEAD "\"command\",\"user\":\"crawler\",\"command\":\"bf.add\","
                      "\"filter\":\"crawl:a\"," FROM "\"NOPERM\"}\n" HEAD
                      "\"command\",\"user\":\"crawler\",\"command\":\"bf.insert\","
                      "\"filter\":\"crawl:b\"," FROM "\"NOPERM\"}\n");
    finish();
}

/* Whoever is refused over and over fills no disk. */
Test(resp_refused, of_many_refusals_some_are_left_out_and_that_is_said)
{
    start_audited("crawler", "alpha");
    for (int i = 0; i < 1000; i++) {
        expect("BF.ADD other x\r\n", NO_KEY);
    }
    cr_assert_geq(nlines, 100);
    cr_assert_leq(nlines, 130);
    cr_assert_eq(front_stage_counter(&stage, "audit_left_out_total"), 1000 - nlines);
    cr_assert_null(strstr(lines, "left_out"));
    front_stage_pass(&stage, SECOND);
    lines[0] = '\0';
    expect("BF.ADD other x\r\nBF.ADD other x\r\n", NO_KEY NO_KEY);
    cr_assert_not_null(strstr(lines, "\"left_out\":8"));
    cr_assert_eq(strstr(strstr(lines, "left_out") + 1, "left_out"), NULL);
    finish();
}
