/* playground.h - a real cluster for one test: processes of `orbloom playground`, killed with it.
 *
 * Daemons are named as their folders: "coordinator", "router", "router-2", "node-1"...; of several
 * sites "site-1/coordinator", "site-1/link"...
 * Once it is started ORBLOOM_ROUTER and ORBLOOM_COORDINATOR are in the environment, so that
 * commands and the C library find it.
 *
 * One that was killed as a whole, or was left, may be started again in its folder.
 *
 * Errors:  a failed cr_assert. All waiting has a deadline.
 * Owner:   playground_start()'s caller calls playground_stop(); a test that fails before leaves
 *          no process: the kernel kills the playground, and that its daemons.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_PLAYGROUND_H
#define ORBLOOM_TESTS_SUPPORT_PLAYGROUND_H

#include "tests/support/command.h"

#include <stdbool.h>

enum {
    PLAYGROUND_MAX = 16,
    PLAYGROUND_START_MS = 20000,
    PLAYGROUND_STOP_MS = 20000,
    PLAYGROUND_WAIT_MS = 20000, /* for a condition */
    PLAYGROUND_ENDPOINT_BYTES = 256,
};

struct playground_plan {
    uint32_t nodes;     /* 0: 3 */
    uint32_t routers;   /* 0: 1 */
    uint32_t sites;     /* 0: 1; of more each has all of that, and a link */
    const char *memory; /* of each node; NULL: the default */
    bool in_memory;     /* nodes write nothing to disk */
};

struct playground {
    char dir[64];
    struct playground_plan plan;
    struct command process;
    struct {
        char name[32];
        pid_t pid;               /* as last started */
        struct command *started; /* by the test, after it was killed */
    } daemons[PLAYGROUND_MAX];
    size_t ndaemons;
};

void playground_start(struct playground *self, const struct playground_plan *plan);

/* Everything stops and exits 0, nothing is left running, no log holds a sanitizer's report; the
 * folder is removed. */
void playground_stop(struct playground *self);

/* The same, but the folder is kept. */
void playground_leave(struct playground *self);

/* SIGKILL to all at once, as a power loss is; their ends are not waited for. */
void playground_kill_all(struct playground *self);

/* With the same plan in the same folder. */
void playground_start_again(struct playground *self);

void playground_signal(struct playground *self, const char *daemon, int signal);

/* SIGKILL, and wait until it is gone. */
void playground_kill(struct playground *self, const char *daemon);

/* Wait until it has ended by itself; its exit status, where playground_restart() had started it. */
int playground_wait_end(struct playground *self, const char *daemon);

/* Start a killed daemon again on its port. */
void playground_restart(struct playground *self, const char *daemon);

/* Kill it, and start it again with further lines in its configuration. */
void playground_configure(struct playground *self, const char *daemon, const char *lines);

void playground_endpoint(const struct playground *self, const char *daemon,
                         char endpoint[PLAYGROUND_ENDPOINT_BYTES]);

/* The daemon's log so far; free() it. */
char *playground_log(const struct playground *self, const char *daemon);

/* DIR/name; one of four texts in turn. */
const char *playground_path(const struct playground *self, const char *name);

/* A counter of a daemon now. */
uint64_t playground_counter(struct playground *self, const char *daemon, const char *counter);

/* Wait until the counter is at least `least`. */
void playground_wait_counter(struct playground *self, const char *daemon, const char *counter,
                             uint64_t least);

/* Wait until `orbloom status` says `text`. */
void playground_wait_status(const char *text);

/* Run a command that must succeed; its output is forgotten. */
#define PLAYGROUND_DO(input, ...)                                                    \
    do {                                                                             \
        struct command command_;                                                     \
        command_run(&command_, span_text(input), "orbloom", __VA_ARGS__, NULL);      \
        cr_assert_eq(command_.exit_status, 0, "exit %d: %s%s", command_.exit_status, \
                     command_.output, command_.errors);                              \
        command_forget(&command_);                                                   \
    } while (0)

#endif
