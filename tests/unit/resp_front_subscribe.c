/* Subscriptions, to which nothing is ever sent; and GET, which finds no text. */
#include "router/resp/command.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct front_stage stage;

static void expect(const char *said, const char *answer)
{
    front_stage_answers(&stage, 0, said, answer);
}

static void speak_resp3(void)
{
    front_stage_say(&stage, 0, "HELLO 3\r\n");
    front_stage_expect(&stage, 0, stage.streams[0].text);
}

/* What both versions say alike, but for how it begins and for null. */
static void expect_confirmed(const char *head, const char *null)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "%s$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n%s$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"
                   "%s$9\r\nsubscribe\r\n$1\r\na\r\n:2\r\n",
                   head, head, head);
    expect("SUBSCRIBE a b a\r\n", text);
    (void)snprintf(text, sizeof text, "%s$10\r\npsubscribe\r\n$1\r\na\r\n:3\r\n", head);
    expect("PSUBSCRIBE a\r\n", text);
    (void)snprintf(text, sizeof text,
                   "%s$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n%s$11\r\nunsubscribe\r\n$1\r\nc\r\n"
                   ":2\r\n",
                   head, head);
    expect("UNSUBSCRIBE a c\r\n", text);
    (void)snprintf(text, sizeof text,
                   "%s$11\r\nunsubscribe\r\n$1\r\nb\r\n:1\r\n%s$11\r\nunsubscribe\r\n%s:1\r\n"
                   "%s$12\r\npunsubscribe\r\n$1\r\na\r\n:0\r\n%s$12\r\npunsubscribe\r\n%s:0\r\n",
                   head, head, null, head, head, null);
    expect("UNSUBSCRIBE\r\nUNSUBSCRIBE\r\nPUNSUBSCRIBE\r\nPUNSUBSCRIBE\r\n", text);
    expect("PING\r\n", "+PONG\r\n");
}

Test(resp_subscribe, each_channel_is_confirmed)
{
    front_stage_start(&stage, 1);
    expect_confirmed("*3\r\n", "$-1\r\n");
    speak_resp3();
    expect_confirmed(">3\r\n", "_\r\n");
    front_stage_fini(&stage);
}

#define REFUSED(name)                                                                      \
    "-ERR Can't execute '" name "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT " \
    "/ RESET are allowed in this context\r\n"

Test(resp_subscribe, resp_2_takes_little_else_then)
{
    front_stage_start(&stage, 2);
    expect("SUBSCRIBE a\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    expect("BF.EXISTS f x\r\nCLIENT ID\r\nHELLO 3\r\nMULTI\r\n",
           REFUSED("bf.exists") REFUSED("client") REFUSED("hello") REFUSED("multi"));
    expect("PING\r\nPING x\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n*2\r\n$4\r\npong\r\n$1\r\nx\r\n");
    expect("NOSUCH\r\n", "-ERR unknown command 'NOSUCH', with args beginning with: \r\n");
    front_stage_answers(&stage, 1, "PING\r\n", "+PONG\r\n");
    expect("RESET\r\nPING\r\n", "+RESET\r\n+PONG\r\n");
    expect("SUBSCRIBE a\r\nQUIT\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n+OK\r\n");
    cr_assert(stage.streams[0].closed);
    front_stage_fini(&stage);
}

Test(resp_subscribe, resp_3_takes_everything)
{
    front_stage_start(&stage, 1);
    speak_resp3();
    expect("SUBSCRIBE a\r\nPING\r\nCLIENT ID\r\n",
           ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n+PONG\r\n:1\r\n");
    front_stage_fini(&stage);
}

Test(resp_subscribe, not_in_a_transaction)
{
    front_stage_start(&stage, 1);
    expect("MULTI\r\nSUBSCRIBE a\r\nEXEC\r\n",
           "+OK\r\n-ERR Command not allowed inside a transaction\r\n"
           "-EXECABORT Transaction discarded because of previous errors.\r\n");
    expect("SUBSCRIBE\r\n", "-ERR wrong number of arguments for 'subscribe' command\r\n");
    front_stage_fini(&stage);
}

/* Also a login, as in Redis; RESP 3 takes it, and what was subscribed to stays. */
Test(resp_subscribe, who_has_subscribed_logs_in_by_resp_3_alone)
{
    front_stage_start(&stage, 1);
    expect("SUBSCRIBE a\r\nAUTH default x\r\nRESET\r\nAUTH default x\r\n",
           "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n" REFUSED("auth") "+RESET\r\n+OK\r\n");
    speak_resp3();
    expect("SUBSCRIBE a\r\nAUTH default x\r\nSUBSCRIBE b\r\n",
           ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n+OK\r\n"
           ">3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n");
    front_stage_fini(&stage);
}

Test(resp_subscribe, there_are_bounds)
{
    static char said[64];
    size_t before;

    front_stage_start(&stage, 1);
    for (int i = 0; i < 1024; i++) {
        (void)snprintf(said, sizeof said, "PSUBSCRIBE channel-%04d\r\n", i);
        front_stage_say(&stage, 0, said);
    }
    front_stage_expect(&stage, 0, stage.streams[0].text);
    before = stage.front->held;
    expect("SUBSCRIBE one-more\r\n",
           "-OVERLOADED a connection has at most 1024 subscriptions and 64 KiB of names\r\n");
    expect("PSUBSCRIBE channel-0007\r\n",
           "*3\r\n$10\r\npsubscribe\r\n$12\r\nchannel-0007\r\n:1024\r\n");
    cr_assert_geq(before, 1024 * 16, "they count as what the connection holds");
    front_stage_fini(&stage);
}

Test(resp_subscribe, names_have_bounds_too)
{
    static char said[70000];
    size_t used;

    front_stage_start(&stage, 1);
    used = (size_t)snprintf(said, sizeof said, "*2\r\n$9\r\nSUBSCRIBE\r\n$66000\r\n");
    memset(said + used, 'x', 66000);
    memcpy(said + used + 66000, "\r\n", 3);
    expect(said, "-OVERLOADED a connection has at most 1024 subscriptions and 64 KiB of names\r\n");
    expect("CLIENT ID\r\n", ":1\r\n");
    front_stage_fini(&stage);
}

Test(resp_subscribe, who_waits_for_messages_is_not_idle)
{
    struct front_config config = front_stage_config();

    config.idle_us = 10000000;
    front_stage_init(&stage, &config);
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
    expect("SUBSCRIBE a\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    front_stage_pass(&stage, 30000000);
    cr_assert_not(stage.streams[0].closed);
    cr_assert(stage.streams[1].closed);
    front_stage_fini(&stage);
}

/* ---- GET ---- */

static void answer_one(const char *name)
{
    struct frame question = front_stage_question(&stage);
    struct filter_summary filter = front_stage_filter(name);

    cr_assert_eq(question.body.admin_request.action, ADMIN_STATUS);
    front_stage_answer_filter(&stage, &question, &filter);
}

Test(resp_subscribe, no_key_has_a_text)
{
    struct frame question;

    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "GET f\r\n");
    answer_one("f");
    front_stage_expect(&stage, 0,
                       "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    front_stage_say(&stage, 0, "GET none\r\n");
    question = front_stage_question(&stage);
    front_stage_answer(&stage, &question, STATUS_NOT_FOUND, false);
    front_stage_expect(&stage, 0, "$-1\r\n");
    front_stage_say(&stage, 0, "GET f\r\n");
    question = front_stage_question(&stage);
    front_stage_answer(&stage, &question, STATUS_UNAVAILABLE, false);
    front_stage_expect(&stage, 0, "-UNAVAILABLE said so\r\n");
    expect("GET no/filters/name\r\n", "$-1\r\n");
    front_stage_fini(&stage);
}
