/* SLOWLOG: commands that took too long, and of their arguments no more than may be told. */
#include "router/resp/command.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000 };

/* The stage's clock and its clients' address. */
#define WHEN ":1700000000\r\n"
#define PEER "$15\r\n127.0.0.1:50312\r\n"

static struct front_stage stage;

static void start(uint64_t slow_us, bool items)
{
    struct front_config config = front_stage_config();

    config.slow_us = slow_us;
    config.slow_items = items;
    front_stage_init(&stage, &config);
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
}

static void expect(const char *said, const char *answer)
{
    front_stage_answers(&stage, 0, said, answer);
}

/* The second connection says it, and it is answered after so long. */
static void say_slowly(const char *said, uint64_t duration_us, const char *letters)
{
    front_stage_say(&stage, 1, said);
    front_stage_pass(&stage, duration_us);
    front_stage_turn(&stage);
    front_stage_reply(&stage, stage.nasked - 1, STATUS_OK, letters);
    front_stage_turn(&stage);
    front_stage_expect(&stage, 1, stage.streams[1].text != NULL ? stage.streams[1].text : "");
}

Test(resp_slowlog, what_takes_long_is_noted_and_nothing_else)
{
    start(10 * MS, false);
    say_slowly("BF.ADD f item\r\n", 10 * MS - 1, "a");
    expect("SLOWLOG LEN\r\n", ":0\r\n");
    front_stage_answers(&stage, 1, "CLIENT SETNAME me\r\n", "+OK\r\n");
    say_slowly("BF.MADD f item longer-item\r\n", 10 * MS, "ap");
    expect("SLOWLOG LEN\r\nSLOWLOG GET\r\n",
           ":1\r\n*1\r\n*6\r\n:0\r\n" WHEN ":10000\r\n*4\r\n$7\r\nbf.madd\r\n$1\r\nf\r\n"
           "$16\r\n(4 bytes hidden)\r\n$17\r\n(11 bytes hidden)\r\n" PEER "$2\r\nme\r\n");
    cr_assert_eq(front_stage_counter(&stage, "resp_slow_total"), 1);
    expect("SLOWLOG RESET\r\nSLOWLOG LEN\r\n", "+OK\r\n:0\r\n");
    say_slowly("BF.EXISTS f x\r\n", 11 * MS, "a");
    expect("SLOWLOG GET 1\r\n",
           "*1\r\n*6\r\n:1\r\n" WHEN ":11000\r\n*3\r\n$9\r\nbf.exists\r\n$1\r\nf\r\n"
           "$16\r\n(1 bytes hidden)\r\n" PEER "$2\r\nme\r\n");
    front_stage_fini(&stage);
}

Test(resp_slowlog, it_looks_the_same_in_resp_3)
{
    start(10 * MS, true);
    say_slowly("BF.ADD f item\r\n", 10 * MS, "a");
    front_stage_say(&stage, 0, "HELLO 3\r\n");
    front_stage_expect(&stage, 0, stage.streams[0].text);
    expect("SLOWLOG GET\r\n",
           "*1\r\n*6\r\n:0\r\n" WHEN ":10000\r\n*3\r\n$6\r\nbf.add\r\n$1\r\nf\r\n"
           "$4\r\nitem\r\n" PEER "$0\r\n\r\n");
    front_stage_fini(&stage);
}

Test(resp_slowlog, it_counts_as_redis_does)
{
    start(10 * MS, false);
    say_slowly("BF.ADD f a\r\n", 10 * MS, "a");
    say_slowly("BF.ADD f b\r\n", 10 * MS, "a");
    for (size_t i = 0; i < 3; i++) {
        static const char *const said[] = {"SLOWLOG GET -1\r\n", "SLOWLOG GET 2\r\n",
                                           "SLOWLOG GET 9000000000\r\n"};

        front_stage_say(&stage, 0, said[i]);
        cr_assert_eq(strncmp(stage.streams[0].text, "*2\r\n*6\r\n:1\r\n", 12), 0, "newest first");
        front_stage_expect(&stage, 0, stage.streams[0].text);
    }
    expect("SLOWLOG GET 0\r\n", "*0\r\n");
    expect("SLOWLOG GET -2\r\nSLOWLOG GET x\r\n",
           "-ERR count should be greater than or equal to -1\r\n"
           "-ERR count should be greater than or equal to -1\r\n");
    expect("SLOWLOG GET 1 2\r\n", "-ERR unknown subcommand or wrong number of arguments for 'GET'. "
                                  "Try SLOWLOG HELP.\r\n");
    front_stage_fini(&stage);
}

/* Those whose items share a request, and those that came before them. */
Test(resp_slowlog, the_last_128_are_kept)
{
    char said[32];
    char letters[131] = "";

    start(10 * MS, true);
    say_slowly("BF.ADD f first\r\n", 10 * MS, "a");
    for (int i = 0; i < 130; i++) {
        (void)snprintf(said, sizeof said, "BF.EXISTS f %03d\r\n", i);
        front_stage_type(&stage, 1, said);
    }
    memset(letters, 'a', 130);
    say_slowly("", 20 * MS, letters);
    expect("SLOWLOG LEN\r\n", ":128\r\n");
    expect("SLOWLOG GET 1\r\n",
           "*1\r\n*6\r\n:130\r\n" WHEN
           ":20000\r\n*3\r\n$9\r\nbf.exists\r\n$1\r\nf\r\n$3\r\n129\r\n" PEER "$0\r\n\r\n");
    front_stage_say(&stage, 0, "SLOWLOG GET -1\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text, "$3\r\n002\r\n"));
    cr_assert_null(strstr(stage.streams[0].text, "$3\r\n001\r\n"));
    front_stage_expect(&stage, 0, stage.streams[0].text);
    say_slowly("BF.ADD f last\r\n", 10 * MS, "a");
    expect("SLOWLOG LEN\r\n", ":128\r\n");
    cr_assert_eq(front_stage_counter(&stage, "resp_slow_total"), 132);
    front_stage_fini(&stage);
}

Test(resp_slowlog, long_commands_and_words_are_cut)
{
    char said[1024] = "BF.MEXISTS f ";
    char *entry;

    start(10 * MS, true);
    memset(said + strlen(said), 'x', 130);
    for (int i = 0; i < 31; i++) {
        (void)snprintf(said + strlen(said), 16, " %02d", i);
    }
    (void)snprintf(said + strlen(said), 16, "\r\n");
    say_slowly(said, 10 * MS, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    front_stage_say(&stage, 0, "SLOWLOG GET\r\n");
    entry = stage.streams[0].text;
    cr_assert_not_null(strstr(entry, ":10000\r\n*32\r\n$10\r\nbf.mexists\r\n"), "%s", entry);
    cr_assert_not_null(strstr(entry, "$146\r\nxxxxxxxx"), "%s", entry);
    cr_assert_not_null(strstr(entry, "x... (2 more bytes)\r\n$2\r\n00\r\n"), "%s", entry);
    cr_assert_not_null(strstr(entry, "$2\r\n27\r\n$22\r\n... (3 more arguments)\r\n" PEER), "%s",
                       entry);
    front_stage_expect(&stage, 0, entry);
    front_stage_fini(&stage);
}

/* What is answered at once takes no time. */
Test(resp_slowlog, at_0_all_are_noted_with_what_may_be_told)
{
    static const char *const cases[][2] = {
        {"AUTH default secret", "*3\r\n$4\r\nauth\r\n$10\r\n(redacted)\r\n$10\r\n(redacted)\r\n"},
        {"AUTH root secret", "*3\r\n$4\r\nauth\r\n$10\r\n(redacted)\r\n$10\r\n(redacted)\r\n"},
        {"PING secret", "*2\r\n$4\r\nping\r\n$16\r\n(6 bytes hidden)\r\n"},
        {"CLIENT SETNAME me", "*3\r\n$6\r\nclient\r\n$7\r\nSETNAME\r\n$2\r\nme\r\n"},
        {"BF.DEL f secret", "*3\r\n$6\r\nbf.del\r\n$1\r\nf\r\n$16\r\n(6 bytes hidden)\r\n"},
        {"BF.REBUILD bad/name FEED secret",
         "*4\r\n$10\r\nbf.rebuild\r\n$8\r\nbad/name\r\n$4\r\nFEED\r\n$16\r\n(6 bytes hidden)\r\n"},
        {"BF.REBUILD bad/name COMMIT YES",
         "*4\r\n$10\r\nbf.rebuild\r\n$8\r\nbad/name\r\n$6\r\nCOMMIT\r\n$3\r\nYES\r\n"},
        {"BF.LOADCHUNK f 1 secret",
         "*4\r\n$12\r\nbf.loadchunk\r\n$1\r\nf\r\n$10\r\n(redacted)\r\n$10\r\n(redacted)\r\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char said[64];
        char wanted[256];

        start(0, false);
        (void)snprintf(said, sizeof said, "%s\r\n", cases[i][0]);
        front_stage_say(&stage, 1, said);
        (void)snprintf(wanted, sizeof wanted, "*1\r\n*6\r\n:0\r\n" WHEN ":0\r\n%s" PEER,
                       cases[i][1]);
        front_stage_say(&stage, 0, "SLOWLOG GET\r\n");
        cr_assert_eq(strncmp(stage.streams[0].text, wanted, strlen(wanted)), 0, "%s: %s",
                     cases[i][0], stage.streams[0].text);
        front_stage_fini(&stage);
    }
}

Test(resp_slowlog, what_a_coordinator_answers_late_is_noted_and_by_whom_it_was_not)
{
    struct frame question;

    start(10 * MS, false);
    front_stage_say(&stage, 1, "TYPE f\r\n");
    front_stage_pass(&stage, 30 * MS);
    question = front_stage_question(&stage);
    front_stage_gone(&stage, 1);
    front_stage_answer(&stage, &question, STATUS_NOT_FOUND, false);
    expect("SLOWLOG GET\r\n", "*1\r\n*6\r\n:0\r\n" WHEN
                              ":30000\r\n*2\r\n$4\r\ntype\r\n$1\r\nf\r\n$0\r\n\r\n$0\r\n\r\n");
    front_stage_fini(&stage);
}

Test(resp_slowlog, it_may_be_switched_off)
{
    start(FRONT_SLOW_NEVER_US, false);
    say_slowly("BF.ADD f a\r\n", 4000 * MS, "a");
    expect("SLOWLOG LEN\r\n", ":0\r\n");
    front_stage_fini(&stage);
}

/* What is under way when the front ends is let go of, with its words. */
Test(resp_slowlog, nothing_is_left_behind)
{
    start(10 * MS, false);
    front_stage_say(&stage, 1, "TYPE f\r\nBF.ADD f a\r\n");
    say_slowly("BF.ADD g a\r\n", 10 * MS, "a");
    front_stage_fini(&stage);
}
