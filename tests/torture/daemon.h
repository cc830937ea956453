/* daemon.h - one process under torture: started, killed, stopped, started again.
 *
 *   DIR/NAME/conf  its configuration    DIR/NAME/log  its stderr, of all its lives
 *   DIR/NAME/data  its data             DIR/NAME/copy  an older copy of that
 *
 * Whatever ends the driver ends its processes.
 *
 * Errors:  daemon_start(): said in the journal; the daemon is DAEMON_DEAD then.
 * Threads: the main thread, which must live as long as they do; `usable` may be read by any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_DAEMON_H
#define ORBLOOM_TESTS_TORTURE_DAEMON_H

#include "tests/torture/network.h"

#include <stdatomic.h>
#include <sys/types.h>

enum daemon_kind { DAEMON_NODE, DAEMON_ROUTER, DAEMON_COORDINATOR, DAEMON_KINDS };

enum daemon_state { DAEMON_DEAD, DAEMON_STARTING, DAEMON_RUNNING };

enum { DAEMON_NAME_BYTES = 32, DAEMON_ENDPOINT_BYTES = 64, DAEMON_PATH_BYTES = 512 };

struct daemon {
    enum daemon_kind kind;
    uint32_t host; /* in the network */
    char name[DAEMON_NAME_BYTES];
    char dir[DAEMON_PATH_BYTES - 64];
    char endpoint[DAEMON_ENDPOINT_BYTES];
    enum daemon_state state;
    const char *programs; /* the folder of its program; NULL: of this build */
    pid_t pid;
    int output; /* its stdout */
    char line[128];
    size_t line_size;
    _Atomic uint32_t lives; /* so often it was started */
    uint64_t ready_ms;      /* when it last became ready */
    _Atomic bool usable;    /* ready, neither stopped nor cut off */
};

const char *daemon_kind_name(enum daemon_kind kind);

/* DIR/NAME/file. Returns `path`. */
const char *daemon_path(const struct daemon *self, const char *file, char path[DAEMON_PATH_BYTES]);

void daemon_start(struct daemon *self, const struct network *network);

/* SIGKILL and reap. */
void daemon_kill(struct daemon *self);

/* Wait for the end that SIGTERM has asked for, and kill it when that takes too long. False: it took
 * too long, or its exit status is not 0, as the journal says. */
bool daemon_await_end(struct daemon *self, uint64_t limit_ms);

/* Ask for it, too. */
bool daemon_end(struct daemon *self);
void daemon_signal(const struct daemon *self, int signal);

/* Look at its output: has it become ready? */
void daemon_poll(struct daemon *self);

/* Has it ended by itself? Then it is reaped and *status is as of waitpid(). */
bool daemon_ended(struct daemon *self, int *status);

/* "exit status 1", "signal 6 (Aborted)". Returns `text`. */
const char *daemon_show_status(int status, char text[64]);

#endif
