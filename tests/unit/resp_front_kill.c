/* CLIENT KILL: which connections it closes. All of the stage's clients have one address; the first
 * has come to 192.0.2.1:6380. */
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { CLIENTS = 4, SECOND = 1000000 };

static struct front_stage stage;

/* Of four clients the last one has subscribed to something, and the first speaks. */
static void start(void)
{
    front_stage_start(&stage, CLIENTS - 1);
    front_stage_pass(&stage, 20 * SECOND);
    front_stage_open(&stage, CLIENTS - 1);
    front_stage_say(&stage, CLIENTS - 1, "SUBSCRIBE a\r\n");
}

static const struct {
    const char *said;
    const char *answer;
    const char *closed; /* 1: of this client */
} cases[] = {
    {"ID 2", ":1\r\n", "0100"},
    {"ID 7", ":0\r\n", "0000"},
    {"ID 1", ":0\r\n", "0000"},
    {"ID 1 SKIPME no", ":1\r\n", "1000"},
    {"ADDR 127.0.0.1:50312", ":3\r\n", "0111"},
    {"ADDR 127.0.0.1:50312 SKIPME NO", ":4\r\n", "1111"},
    {"ADDR 127.0.0.1:1", ":0\r\n", "0000"},
    {"LADDR 192.0.2.1:6380 SKIPME no", ":1\r\n", "1000"},
    {"TYPE normal", ":2\r\n", "0110"},
    {"type pubsub", ":1\r\n", "0001"},
    {"TYPE master", ":0\r\n", "0000"},
    {"TYPE replica", ":0\r\n", "0000"},
    {"USER default ID 3", ":1\r\n", "0010"},
    {"MAXAGE 20 SKIPME no", ":3\r\n", "1110"},
    {"MAXAGE 21", ":0\r\n", "0000"},
    {"127.0.0.1:50312", "+OK\r\n", "1111"},
    {"127.0.0.1:1", "-ERR No such client\r\n", "0000"},
    {"ID 0", "-ERR client-id should be greater than 0\r\n", "0000"},
    {"ID x", "-ERR client-id should be greater than 0\r\n", "0000"},
    {"MAXAGE x", "-ERR maxage is not an integer or out of range\r\n", "0000"},
    {"MAXAGE 0", "-ERR maxage should be greater than 0\r\n", "0000"},
    {"TYPE none", "-ERR Unknown client type 'none'\r\n", "0000"},
    {"USER root", "-ERR No such user 'root'\r\n", "0000"},
    {"SKIPME perhaps", "-ERR syntax error\r\n", "0000"},
    {"NAME me", "-ERR syntax error\r\n", "0000"},
    {"ID 2 ADDR", "-ERR syntax error\r\n", "0000"},
};

Test(resp_kill, it_closes_those_that_all_filters_fit)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char said[128];

        start();
        (void)snprintf(said, sizeof said, "CLIENT KILL %s\r\n", cases[i].said);
        front_stage_answers(&stage, 0, said, cases[i].answer);
        for (size_t j = 0; j < CLIENTS; j++) {
            cr_assert_eq(stage.streams[j].closed, cases[i].closed[j] == '1', "%s: client %zu",
                         cases[i].said, j);
        }
        front_stage_fini(&stage);
    }
}

/* What it has under way has nobody to be told, and is not counted twice. */
Test(resp_kill, one_with_something_under_way)
{
    start();
    front_stage_say(&stage, 1, "BF.EXISTS f a\r\n");
    front_stage_answers(&stage, 0, "CLIENT KILL ID 2\r\nCLIENT KILL ID 2\r\n", ":1\r\n:0\r\n");
    cr_assert(stage.streams[1].dropped);
    front_stage_gone(&stage, 1);
    front_stage_reply(&stage, stage.nasked - 1, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_answers(&stage, 0, "CLIENT KILL\r\n",
                        "-ERR wrong number of arguments for 'client|kill' command\r\n");
    front_stage_fini(&stage);
}

/* The answers that EXEC has announced come, then the end. */
Test(resp_kill, oneself_in_a_transaction)
{
    start();
    front_stage_say(
        &stage, 0,
        "MULTI\r\nCLIENT KILL ID 1 SKIPME no\r\nPING\r\nBF.EXISTS f a\r\nEXEC\r\nPING\r\n");
    front_stage_expect(&stage, 0, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n+PONG\r\n");
    cr_assert_not(stage.streams[0].closed);
    front_stage_reply(&stage, stage.nasked - 1, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n");
    cr_assert(stage.streams[0].closed);
    front_stage_fini(&stage);
}

Test(resp_kill, client_list_tells_what_it_goes_by)
{
    start();
    front_stage_say(&stage, 0, "CLIENT INFO\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text,
                              "id=1 addr=127.0.0.1:50312 laddr=192.0.2.1:6380 name= age=20 "),
                       "%s", stage.streams[0].text);
    cr_assert_not_null(strstr(stage.streams[0].text, " user=default resp=2 "));
    front_stage_fini(&stage);
}
