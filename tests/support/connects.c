/* The table of client libraries and the lines that each sends when it connects. */
#include "tests/support/connects.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAP3    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n"
#define MAP2    "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n"
#define OK      "+OK\r\n"
#define UNKNOWN "-ERR unknown"
#define NO_KEY  "-NOPERM No permissions to access a key\r\n"

static const struct connect_client clients[] = {
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
      {"CLIENT ID", ":"},
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
      {"CLIENT ID", ":"},
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

const struct connect_client *connect_clients(size_t *count)
{
    *count = sizeof clients / sizeof clients[0];
    return clients;
}

const char *connect_answer(const struct connect_line *line, bool restricted)
{
    return restricted && strncmp(line->said, "GET ", 4) == 0 ? NO_KEY : line->answer;
}

static bool greets(const struct connect_client *client)
{
    return strncasecmp(client->lines[0].said, "hello", 5) == 0;
}

bool connect_logs_in_first(const struct connect_client *client)
{
    return !client->guarded && !greets(client);
}

/* In the place of `default` and the password, or of the password alone. */
static void log_in_as(const char *line, const char *user, const char *token,
                      char said[CONNECT_SAID_BYTES])
{
    static const char *const words[] = {"default \"" CONNECT_PASSWORD "\"",
                                        "\"" CONNECT_PASSWORD "\""};
    const char *at = NULL;
    size_t i = 0;

    while (i < 2 && (at = strstr(line, words[i])) == NULL) {
        i++;
    }
    if (at == NULL) {
        (void)snprintf(said, CONNECT_SAID_BYTES, "%s\r\n", line);
    } else {
        (void)snprintf(said, CONNECT_SAID_BYTES, "%.*s%s %s%s\r\n", (int)(at - line), line, user,
                       token, at + strlen(words[i]));
    }
}

bool connect_said(const struct connect_client *client, size_t line, const char *user,
                  const char *token, char said[CONNECT_SAID_BYTES])
{
    const char *text = line < CONNECT_LINES ? client->lines[line].said : NULL;

    if (text == NULL) {
        return false;
    }
    if (user == NULL) {
        (void)snprintf(said, CONNECT_SAID_BYTES, "%s\r\n", text);
    } else if (line == 0 && !client->guarded && greets(client)) {
        (void)snprintf(said, CONNECT_SAID_BYTES, "%s AUTH %s %s\r\n", text, user, token);
    } else {
        log_in_as(text, user, token, said);
    }
    return true;
}
