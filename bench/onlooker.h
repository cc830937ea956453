/* onlooker.h - somebody else at a RESP server under load: how long its PINGs take, and how much
 * memory of its own (RssAnon) the server has meanwhile, looked at every 2 ms, also while a PING
 * waits.
 *
 * Errors:  false with a reason; a PING without an answer within 10 s is one, and ends it.
 * Threads: a thread of its own, from start to stop.
 */
#ifndef ORBLOOM_BENCH_ONLOOKER_H
#define ORBLOOM_BENCH_ONLOOKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ONLOOKER_REASON_BYTES = 160 };

struct onlooker {
    const char *path; /* of a unix-domain socket */
    pid_t pid;        /* of the server */
    uint64_t first_bytes;
    uint64_t peak_bytes;
    uint64_t last_bytes;
    uint64_t pings;
    uint64_t worst_ping_us;
    char reason[ONLOOKER_REASON_BYTES];
    /* its own */
    int fd;
    int status;
    pthread_t thread;
    atomic_bool stop;
    bool failed;
};

/* `path` is borrowed until the stop. */
bool onlooker_start(struct onlooker *self, const char *path, pid_t pid);

bool onlooker_stop(struct onlooker *self);

#endif
