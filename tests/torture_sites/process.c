/* Finds a playground's process by its pid file, and starts it again as a child of ours. */
#include "tests/torture_sites/process.h"

#include "tests/torture/journal.h"
#include "tests/torture_sites/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_FAILED = 127, GONE_MS = 20000 };

const char *process_role_name(enum role role)
{
    static const char *const names[] = {[ROLE_LINK] = "link",
                                        [ROLE_NODE] = "node",
                                        [ROLE_ROUTER] = "router",
                                        [ROLE_COORDINATOR] = "coordinator",
                                        [ROLE_PLAYGROUND] = "playground"};

    return names[role];
}

const char *process_path(const struct process *self, const char *file,
                         char path[PROCESS_PATH_BYTES])
{
    (void)snprintf(path, PROCESS_PATH_BYTES, "%s/%s", self->dir, file);
    return path;
}

const char *process_bin_dir(void)
{
    const char *dir = getenv("ORBLOOM_BIN_DIR");

    return dir != NULL && dir[0] != '\0' ? dir : ORBLOOM_BIN_DIR;
}

static bool hold(struct process *self, bool ours, enum process_state state)
{
    self->pidfd = (int)syscall(SYS_pidfd_open, self->pid, 0);
    if (self->pidfd < 0) {
        verdict_fail("%s, process %d, is not there: %s", self->name, (int)self->pid,
                     strerror(errno));
        return false;
    }
    self->ours = ours;
    self->state = state;
    return true;
}

bool process_adopt(struct process *self)
{
    char path[PROCESS_PATH_BYTES];
    FILE *file = fopen(process_path(self, "pid", path), "re");
    int pid = 0;
    bool good = file != NULL && fscanf(file, "%d", &pid) == 1 && pid > 1;

    if (file != NULL) {
        (void)fclose(file);
    }
    if (!good) {
        verdict_fail("%s does not say which process it is", path);
        return false;
    }
    self->pid = pid;
    return hold(self, false, PROCESS_RUNNING);
}

/* After fork(): nothing but calls that are safe there. */
static _Noreturn void become(char *const *words, int output, int log, pid_t parent)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpgid(0, 0); /* Ctrl-C is for the torture. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(output, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0) {
        (void)execv(words[0], words);
    }
    _exit(EXEC_FAILED);
}

bool process_start_words(struct process *self, char *const *words)
{
    char path[PROCESS_PATH_BYTES];
    pid_t parent = getpid();
    int output = open(process_path(self, "ready", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                      0600);
    int log = open(process_path(self, "log", path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                   0600);
    bool good = output >= 0 && log >= 0 && (self->pid = fork()) >= 0;

    if (good && self->pid == 0) {
        become(words, output, log, parent);
    }
    if (!good) {
        verdict_fail("cannot start %s: %s", self->name, strerror(errno));
    }
    (void)close(output);
    (void)close(log);
    if (good) {
        journal_say("start %s, process %d", self->name, (int)self->pid);
    }
    return good && hold(self, true, PROCESS_STARTING);
}

bool process_start(struct process *self)
{
    char program[PROCESS_PATH_BYTES];
    char conf[PROCESS_PATH_BYTES];
    char flag[] = "--config";
    char *words[] = {program, flag, conf, NULL};

    (void)snprintf(program, sizeof program, "%s/orbloom-%s",
                   self->programs != NULL ? self->programs : process_bin_dir(),
                   process_role_name(self->role));
    (void)process_path(self, self->conf != NULL ? self->conf : "conf", conf);
    return process_start_words(self, words);
}

bool process_is_ready(const struct process *self)
{
    char path[PROCESS_PATH_BYTES];
    char line[256];
    FILE *file = fopen(process_path(self, "ready", path), "re");
    bool ready = false;

    while (file != NULL && !ready && fgets(line, sizeof line, file) != NULL) {
        ready = strncmp(line, "ready ", 6) == 0 && strchr(line, '\n') != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return ready;
}

void process_signal(const struct process *self, int signal)
{
    if (self->state != PROCESS_DEAD) {
        (void)syscall(SYS_pidfd_send_signal, self->pidfd, signal, NULL, 0);
    }
}

bool process_ended(struct process *self, uint64_t wait_ms, int *status)
{
    struct pollfd waited = {.fd = self->pidfd, .events = POLLIN};

    *status = 0;
    if (self->state == PROCESS_DEAD || poll(&waited, 1, (int)wait_ms) <= 0) {
        return false;
    }
    if (self->ours) {
        (void)waitpid(self->pid, status, 0);
    }
    (void)close(self->pidfd);
    self->state = PROCESS_DEAD;
    return true;
}

void process_kill(struct process *self)
{
    int status;

    process_signal(self, SIGKILL);
    if (self->state != PROCESS_DEAD && !process_ended(self, GONE_MS, &status)) {
        verdict_fail("%s, process %d, does not die", self->name, (int)self->pid);
    }
}
