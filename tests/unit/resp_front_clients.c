/* What client libraries send when they connect, by their public sources and by what was seen of
 * them on the wire, and the answers that they need to go on. Errors that stand here are those that
 * the library expects of a server without that command. */
#include "router/resp/command.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LINES = 20 };

#define MAP3    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n"
#define MAP2    "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n"
#define OK      "+OK\r\n"
#define UNKNOWN "-ERR unknown"

struct line {
    const char *said;
    const char *answer; /* begins so */
};

struct client {
    const char *name;
    bool guarded; /* a router with a password */
    struct line lines[MOST_LINES];
};

static const struct client clients[] = {
    {"go-redis 9",
     false,
     {{"hello 3", MAP3},
      {"client maint_notifications on moving-endpoint-type internal-ip", UNKNOWN " subcommand"},
      {"client setinfo LIB-NAME go-redis(,go1.22)", OK},
      {"client setinfo LIB-VER 9.22.0", OK}}},
    {"go-redis 9 with all that can be said",
     true,
     {{"hello 3 auth default \"open sesame\" setname me", MAP3},
      {"select 1", OK},
      {"readonly", OK},
      {"client setname me", OK},
      {"client setinfo LIB-NAME go-redis(mine,go1.22)", OK}}},
    {"go-redis 9, RESP 2",
     true,
     {{"hello 2 auth default \"open sesame\"", MAP2}, {"client setname me", OK}}},
    {"Lettuce 6 and 7",
     false,
     {{"HELLO 3", MAP3},
      {"CLIENT SETINFO lib-name Lettuce", OK},
      {"CLIENT SETINFO lib-ver 6.5.0.RELEASE/abc", OK},
      {"CLIENT MAINT_NOTIFICATIONS on moving-endpoint-type internal-ip", UNKNOWN " subcommand"},
      {"PING", "+PONG"}}},
    {"Lettuce with a password",
     true,
     {{"HELLO 3 AUTH default \"open sesame\" SETNAME me", MAP3},
      {"SELECT 2", OK},
      {"READONLY", OK},
      {"CLIENT SETINFO lib-name Lettuce", OK}}},
    {"Lettuce, RESP 2",
     true,
     {{"AUTH \"open sesame\"", OK}, {"SELECT 2", OK}, {"CLIENT SETNAME me", OK}}},
    {"Jedis",
     false,
     {{"CLIENT SETNAME me", OK},
      {"CLIENT SETINFO lib-name jedis", OK},
      {"CLIENT SETINFO lib-ver 5.2.0", OK},
      {"SELECT 3", OK},
      {"PING", "+PONG"}}},
    {"Jedis 7, which asks for RESP 3",
     true,
     {{"HELLO 3 AUTH default \"open sesame\"", MAP3},
      {"CLIENT SETINFO LIB-NAME jedis(spring-data-redis_v3.2.0)", OK},
      {"CLIENT SETINFO LIB-VER 7.0.0", OK}}},
    {"redis-py 4",
     true,
     {{"AUTH \"open sesame\"", OK}, {"CLIENT SETNAME me", OK}, {"SELECT 1", OK}}},
    {"redis-py 5 and later",
     false,
     {{"HELLO 3", MAP3},
      {"CLIENT SETINFO LIB-NAME redis-py", OK},
      {"CLIENT SETINFO LIB-VER 5.2.1", OK},
      {"SELECT 1", OK}}},
    {"redis-py 8 with a password",
     true,
     {{"HELLO 3 AUTH default \"open sesame\"", MAP3},
      {"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip", UNKNOWN " subcommand"},
      {"CLIENT SETINFO LIB-NAME redis-py", OK},
      {"CLIENT SETINFO LIB-VER 8.0.0", OK},
      {"PING", "+PONG"}}},
    {"ioredis 5",
     true,
     {{"auth \"open sesame\"", OK},
      {"select 1", OK},
      {"client setname me", OK},
      {"client SETINFO LIB-VER 5.11.1", OK},
      {"client SETINFO LIB-NAME ioredis", OK},
      {"info", "$"}}},
    {"ioredis 6",
     true,
     {{"hello 3 AUTH default \"open sesame\"", MAP3},
      {"client SETINFO LIB-VER 6.0.0", OK},
      {"client SETINFO LIB-NAME ioredis", OK},
      {"info", "$"},
      {"cluster SLOTS", "*1\r\n*3\r\n:0\r\n:16383\r\n"},
      {"cluster INFO", "$"},
      {"quit", OK}}},
    {"node-redis 4",
     false,
     {{"CLIENT SETINFO LIB-NAME node-redis", OK}, {"CLIENT SETINFO LIB-VER 4.7.1", OK}}},
    {"node-redis 6",
     true,
     {{"HELLO 3 AUTH default \"open sesame\" SETNAME me", MAP3},
      {"SELECT 1", OK},
      {"CLIENT SETINFO LIB-VER 6.3.1", OK},
      {"CLIENT SETINFO LIB-NAME node-redis", OK},
      {"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type external-ip", UNKNOWN " subcommand"}}},
    {"StackExchange.Redis 2",
     false,
     {{"CLIENT SETNAME host(SE.Redis-v2.8.0)", OK},
      {"CLIENT SETINFO lib-name SE.Redis", OK},
      {"CLIENT SETINFO lib-ver 2.8.0", OK},
      {"CLIENT ID", ":1\r\n"},
      {"CONFIG GET timeout", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n"},
      {"CONFIG GET slave-read-only", "*0\r\n"},
      {"CONFIG GET databases", "*2\r\n$9\r\ndatabases\r\n$2\r\n16\r\n"},
      {"SENTINEL MASTERS",
       "-ERR unknown command 'SENTINEL', with args beginning with: 'MASTERS' \r\n"},
      {"INFO replication", "$"},
      {"INFO server", "$"},
      {"CLUSTER NODES", "$"},
      {"GET __Booksleeve_TieBreak", "$-1\r\n"},
      {"ECHO \"\\x01\\x02\\x03\\x04\"", "$4\r\n\x01\x02\x03\x04\r\n"}}},
    {"StackExchange.Redis 2, its connection for subscriptions",
     true,
     {{"AUTH \"open sesame\"", OK},
      {"CLIENT SETNAME host(SE.Redis-v2.8.0)", OK},
      {"CLIENT ID", ":1\r\n"},
      {"ECHO x", "$1\r\nx\r\n"},
      {"SUBSCRIBE __Booksleeve_MasterChanged",
       "*3\r\n$9\r\nsubscribe\r\n$26\r\n__Booksleeve_MasterChanged\r\n:1\r\n"},
      {"PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n"},
      {"UNSUBSCRIBE of-an-older-one",
       "*3\r\n$11\r\nunsubscribe\r\n$15\r\nof-an-older-one\r\n:1\r\n"}}},
    {"StackExchange.Redis 2 and 3 with RESP 3",
     true,
     {{"AUTH default \"open sesame\"", OK},
      {"HELLO 3", MAP3},
      {"CLIENT SETNAME host(SE.Redis-v3.0.0)", OK},
      {"CONFIG GET replica-read-only", "%0\r\n"},
      {"GET __Booksleeve_TieBreak", "_\r\n"},
      {"ECHO x", "$1\r\nx\r\n"},
      {"SUBSCRIBE __Booksleeve_MasterChanged",
       ">3\r\n$9\r\nsubscribe\r\n$26\r\n__Booksleeve_MasterChanged\r\n:1\r\n"},
      {"PING", "+PONG\r\n"}}},
};

static struct front_stage stage;

/* The router tells its counters; of each name there is no filter. */
static void answer_what_is_asked(size_t asked)
{
    struct fake_sent sent;
    const struct admin_reply none = {.status = STATUS_NOT_FOUND, .message = ""};

    if (stage.nasked > asked) {
        front_stage_stats(&stage, stage.nasked - 1);
    }
    if (front_stage_take(&stage, &sent)) {
        front_stage_answer_with(&stage, &sent.frame, &none);
    }
}

static void expect_line(const char *client, const struct line *line)
{
    size_t asked = stage.nasked;
    char said[256];
    const char *text;

    (void)snprintf(said, sizeof said, "%s\r\n", line->said);
    front_stage_say(&stage, 0, said);
    answer_what_is_asked(asked);
    text = stage.streams[0].text != NULL ? stage.streams[0].text : "";
    cr_assert_eq(strncmp(text, line->answer, strlen(line->answer)), 0, "%s: %s: %s", client,
                 line->said, text);
    front_stage_expect(&stage, 0, text);
}

Test(resp_clients, each_has_what_it_needs_to_begin)
{
    for (size_t i = 0; i < sizeof clients / sizeof clients[0]; i++) {
        struct front_config config = front_stage_config();

        config.guarded = clients[i].guarded;
        config.auth_us = 10000000;
        cr_assert_eq(password_read(&config.password, span_text("open sesame\n")), STATUS_OK);
        front_stage_init(&stage, &config);
        front_stage_open(&stage, 0);
        for (size_t j = 0; clients[i].lines[j].said != NULL; j++) {
            expect_line(clients[i].name, &clients[i].lines[j]);
        }
        front_stage_fini(&stage);
    }
}

/* What they read in it, line by line. */
Test(resp_clients, info_says_what_they_look_for)
{
    static const char *const wanted[] = {"redis_version:7.", "redis_mode:standalone\r\n",
                                         "loading:0\r\n", "role:master\r\n"};

    front_stage_start(&stage, 1);
    front_stage_say(&stage, 0, "INFO\r\n");
    front_stage_stats(&stage, 0);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        cr_assert_not_null(strstr(stage.streams[0].text, wanted[i]), "%s", wanted[i]);
    }
    front_stage_expect(&stage, 0, stage.streams[0].text);
    front_stage_fini(&stage);
}
