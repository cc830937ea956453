/* resp_dedup.c - dedup with a Redis client, hiredis: print each line that nobody has seen before.
 *
 *     ORBLOOM_RESP=/run/orbloom/resp.sock resp_dedup FILTER < LINES
 *
 * PIPELINE commands of BATCH lines are under way at once. Not sure counts as new: exit status 1. */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 500, PIPELINE = 8, LINES = BATCH * PIPELINE };
static char *lines[LINES];
static size_t sizes[LINES];
static bool unsure;
static redisReply missing = {.type = REDIS_REPLY_NIL};

static void must(bool good, const char *cause)
{
    if (!good) {
        fprintf(stderr, "resp_dedup: %s\n", cause);
        exit(1);
    }
}

/* Lines without their ends; an item has 1 to 65536 bytes. */
static size_t read_lines(void)
{
    size_t count = 0;

    while (count < LINES) {
        size_t room = 0;
        lines[count] = NULL;
        ssize_t size = getline(&lines[count], &room, stdin);
        size -= size > 0 && lines[count][size - 1] == '\n';
        if (size >= 1 && size <= 65536) {
            sizes[count++] = (size_t)size;
            continue;
        }
        free(lines[count]);
        if (size < 0) {
            break;
        }
        fprintf(stderr, "resp_dedup: a line is left out: an item has 1 to 65536 bytes\n");
    }
    return count;
}

static void send_batch(redisContext *redis, const char *filter, size_t first, size_t count)
{
    const char *words[BATCH + 2] = {"BF.MADD", filter};
    size_t lengths[BATCH + 2] = {7, strlen(filter)};

    memcpy(words + 2, lines + first, count * sizeof words[0]);
    memcpy(lengths + 2, sizes + first, count * sizeof lengths[0]);
    must(redisAppendCommandArgv(redis, (int)count + 2, words, lengths) == REDIS_OK, redis->errstr);
}

/* 1: new, 0: seen. Errors stand in the array, or instead of it; a full filter ends it early. */
static void take_batch(redisContext *redis, size_t first, size_t count)
{
    redisReply *reply = NULL;

    must(redisGetReply(redis, (void **)&reply) == REDIS_OK, redis->errstr);
    for (size_t i = 0; i < count; i++) {
        redisReply *at = reply->type != REDIS_REPLY_ARRAY ? reply : &missing;
        at = i < reply->elements ? reply->element[i] : at;
        if (at->type == REDIS_REPLY_ERROR) {
            fprintf(stderr, "resp_dedup: printed all the same: %s\n", at->str);
        }
        if (at->type != REDIS_REPLY_INTEGER || at->integer == 1) {
            printf("%.*s\n", (int)sizes[first + i], lines[first + i]);
        }
        unsure |= at->type != REDIS_REPLY_INTEGER;
        free(lines[first + i]);
    }
    freeReplyObject(reply);
}

int main(int argc, char **argv)
{
    const char *socket = getenv("ORBLOOM_RESP");
    redisContext *redis;
    size_t count, at;

    must(argc == 2 && socket != NULL, "usage: ORBLOOM_RESP=SOCKET resp_dedup FILTER < LINES");
    redis = redisConnectUnix(socket); /* redisConnect() of a host and a port */
    must(redis != NULL && redis->err == 0, redis != NULL ? redis->errstr : "out of memory");
    while ((count = read_lines()) > 0) {
        for (at = 0; at < count; at += BATCH) {
            send_batch(redis, argv[1], at, count - at < BATCH ? count - at : BATCH);
        }
        for (at = 0; at < count; at += BATCH) {
            take_batch(redis, at, count - at < BATCH ? count - at : BATCH);
        }
    }
    redisFree(redis);
    return unsure;
}
