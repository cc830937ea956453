/* process.h - one process under torture: adopted from the playground, killed, stopped, started
 * again.
 *
 *   DIR/NAME/conf  its configuration    DIR/NAME/log    its stderr, of all its lives
 *   DIR/NAME/data  its data             DIR/NAME/ready  its stdout, when we have started it
 *   DIR/NAME/conf-newer  ... of this release, while others are of an older one
 *
 * It is signalled by a pidfd, so never anybody else. Those that we start die with us.
 *
 * Errors:  false, and said by verdict_fail().
 * Threads: the main thread, which must live as long as they do.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_PROCESS_H
#define ORBLOOM_TESTS_TORTURE_SITES_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum role { ROLE_LINK, ROLE_NODE, ROLE_ROUTER, ROLE_COORDINATOR, ROLES, ROLE_PLAYGROUND = ROLES };

enum process_state { PROCESS_DEAD, PROCESS_STARTING, PROCESS_RUNNING, PROCESS_STOPPED };

enum { PROCESS_NAME_BYTES = 32, PROCESS_PATH_BYTES = 512 };

struct process {
    enum role role;
    uint32_t site;                 /* from 0 */
    char name[PROCESS_NAME_BYTES]; /* "site-1/node-2" */
    char dir[PROCESS_PATH_BYTES - 64];
    const char *programs; /* the folder of its program; NULL: of this build */
    const char *conf;     /* a file as above; NULL: conf */
    enum process_state state;
    uint64_t due_ms; /* dead: it is to start then; stopped: it is to go on */
    pid_t pid;
    int pidfd;
    bool ours; /* our child, not the playground's */
};

/* "link". */
const char *process_role_name(enum role role);

/* DIR/NAME/file. Returns `path`. */
const char *process_path(const struct process *self, const char *file,
                         char path[PROCESS_PATH_BYTES]);

/* One that the playground has started. */
bool process_adopt(struct process *self);

/* A daemon with its configuration, or the playground with `words`. */
bool process_start(struct process *self);
bool process_start_words(struct process *self, char *const *words);

/* Has one that we have started said that it serves? */
bool process_is_ready(const struct process *self);

void process_signal(const struct process *self, int signal);

/* SIGKILL, and wait until it is gone. */
void process_kill(struct process *self);

/* Has it ended? Waits for at most `wait_ms`. *status as of waitpid(), 0 of one that is not ours. */
bool process_ended(struct process *self, uint64_t wait_ms, int *status);

/* DIR of the programs, as in $ORBLOOM_BIN_DIR or of this build. */
const char *process_bin_dir(void);

#endif
