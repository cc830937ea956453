/* redis.h - a Redis server of one test, on a socket in a folder of its own, and impostors.
 *
 * The servers are children of the test and are killed with it. $ORBLOOM_REDIS names the one
 * that was started last.
 *
 * Errors:  a failed cr_assert. All waiting has a deadline.
 * Owner:   who started a server stops it.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_REDIS_H
#define ORBLOOM_TESTS_SUPPORT_REDIS_H

#include <stdint.h>
#include <sys/types.h>

struct redisContext;

struct redis {
    char dir[64];
    char socket[96];
    char endpoint[128]; /* "unix:..." */
    pid_t pid;
    struct redisContext *client; /* NULL of an impostor */
};

void redis_start(struct redis *self);

/* What listens there and is no Redis server. */
enum impostor {
    IMPOSTOR_WEB,      /* answers everything like a web server */
    IMPOSTOR_SILENT,   /* reads and says nothing */
    IMPOSTOR_HANGS_UP, /* closes connections as they come */
    IMPOSTOR_PONG,     /* answers PING and friends, then garbage */
    IMPOSTOR_MUTE,     /* answers PING and friends, then nothing */
    IMPOSTOR_LEAVES,   /* answers PING and friends, then ends the connection in good order */
    IMPOSTOR_NARROW,   /* answers :1 to each command, and reads on only when that was taken */
};

void redis_start_impostor(struct redis *self, enum impostor kind);

/* Kill it if it still runs, and remove its folder. */
void redis_stop(struct redis *self);

void redis_signal(struct redis *self, int signal);

/* The integer that a command answers, with 0 for "nil". */
long long redis_ask(struct redis *self, const char *command);

/* Wait until the server has processed so many commands more than now. */
void redis_wait_commands(struct redis *self, long long more);

#endif
