/* Starts a daemon in its folder, signals it, and waits for its end. */
#include "tests/torture/daemon.h"

#include "tests/torture/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_FAILED = 127, END_MS = 60000, END_POLL_MS = 5 };

const char *daemon_kind_name(enum daemon_kind kind)
{
    static const char *const names[] = {
        [DAEMON_NODE] = "node", [DAEMON_ROUTER] = "router", [DAEMON_COORDINATOR] = "coordinator"};

    return names[kind];
}

const char *daemon_path(const struct daemon *self, const char *file, char path[DAEMON_PATH_BYTES])
{
    (void)snprintf(path, DAEMON_PATH_BYTES, "%s/%s", self->dir, file);
    return path;
}

/* After fork(): nothing but calls that are safe there. */
static _Noreturn void become(const struct daemon *self, const struct network *network, int output,
                             int log, char **words, pid_t parent)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpgid(0, 0); /* Ctrl-C is for the driver. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || network_enter(network, self->host) != 0 ||
        dup2(output, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) {
        _exit(EXEC_FAILED);
    }
    (void)execv(words[0], words);
    _exit(EXEC_FAILED);
}

static void launch(struct daemon *self, const struct network *network, const int pipe[2], int log)
{
    const char *build = getenv("ORBLOOM_BIN_DIR");
    const char *bin = self->programs != NULL ? self->programs : build;
    char program[DAEMON_PATH_BYTES];
    char conf[DAEMON_PATH_BYTES];
    char flag[] = "--config";
    char *words[] = {program, flag, conf, NULL};
    pid_t parent = getpid();

    (void)snprintf(program, sizeof program, "%s/orbloom-%s", bin != NULL ? bin : ORBLOOM_BIN_DIR,
                   daemon_kind_name(self->kind));
    (void)daemon_path(self, "conf", conf);
    self->pid = fork();
    if (self->pid == 0) {
        become(self, network, pipe[1], log, words, parent);
    }
}

void daemon_start(struct daemon *self, const struct network *network)
{
    char path[DAEMON_PATH_BYTES];
    int pipe[2];
    int log = open(daemon_path(self, "log", path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (log < 0 || pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        journal_tell("cannot start %s: %s", self->name, strerror(errno));
        return;
    }
    self->lives++; /* From here on it reads files as they are by now. */
    launch(self, network, pipe, log);
    (void)close(log);
    (void)close(pipe[1]);
    self->output = pipe[0];
    self->line_size = 0;
    self->state = DAEMON_STARTING;
    journal_say("start %s, life %u, pid %d", self->name, self->lives, (int)self->pid);
}

static void forget(struct daemon *self)
{
    atomic_store(&self->usable, false);
    (void)close(self->output);
    self->output = -1;
    self->pid = 0;
    self->state = DAEMON_DEAD;
}

void daemon_kill(struct daemon *self)
{
    if (self->state != DAEMON_DEAD) {
        daemon_signal(self, SIGKILL);
        (void)waitpid(self->pid, NULL, 0);
        forget(self);
    }
}

void daemon_signal(const struct daemon *self, int signal)
{
    if (self->state != DAEMON_DEAD && self->pid > 0) {
        (void)kill(self->pid, signal);
    }
}

static void take_line(struct daemon *self, const char *line)
{
    static const char word[] = "ready ";

    if (self->state == DAEMON_STARTING && strncmp(line, word, sizeof word - 1) == 0) {
        if (strcmp(self->endpoint, line + sizeof word - 1) != 0) { /* the first time */
            (void)snprintf(self->endpoint, sizeof self->endpoint, "%.60s", line + sizeof word - 1);
        }
        self->state = DAEMON_RUNNING;
        self->ready_ms = journal_now_ms();
        atomic_store(&self->usable, true);
        journal_say("ready %s at %s", self->name, self->endpoint);
    }
}

void daemon_poll(struct daemon *self)
{
    ssize_t size;
    char *stop;

    if (self->state == DAEMON_DEAD) {
        return;
    }
    size = read(self->output, self->line + self->line_size,
                sizeof self->line - 1 - self->line_size);
    if (size <= 0) {
        return;
    }
    self->line_size += (size_t)size;
    self->line[self->line_size] = '\0';
    stop = strchr(self->line, '\n');
    if (stop != NULL) {
        *stop = '\0';
        take_line(self, self->line);
    }
    if (stop != NULL || self->line_size == sizeof self->line - 1) {
        self->line_size = 0;
    }
}

bool daemon_ended(struct daemon *self, int *status)
{
    if (self->state == DAEMON_DEAD || waitpid(self->pid, status, WNOHANG) != self->pid) {
        return false;
    }
    forget(self);
    return true;
}

const char *daemon_show_status(int status, char text[64])
{
    if (WIFSIGNALED(status)) {
        (void)snprintf(text, 64, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(text, 64, "exit status %d", WEXITSTATUS(status));
    }
    return text;
}

bool daemon_await_end(struct daemon *self, uint64_t limit_ms)
{
    bool good = true;
    int status = 0;
    char text[64];

    while (self->state != DAEMON_DEAD && !daemon_ended(self, &status)) {
        if (journal_now_ms() > limit_ms) {
            journal_tell("%s does not end on SIGTERM", self->name);
            daemon_kill(self);
            good = false;
        }
        journal_pause_ms(END_POLL_MS);
    }
    if (status != 0) {
        journal_tell("%s ended with %s on SIGTERM", self->name, daemon_show_status(status, text));
        good = false;
    }
    return good;
}

bool daemon_end(struct daemon *self)
{
    daemon_signal(self, SIGTERM);
    return daemon_await_end(self, journal_now_ms() + END_MS);
}
