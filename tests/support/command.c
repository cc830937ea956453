/* Starts a program with its files in memory, waits for it, and looks at what it said. */
#include "tests/support/command.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

const char *command_bin_dir(void)
{
    const char *dir = getenv("ORBLOOM_BIN_DIR");

    return dir != NULL && dir[0] != '\0' ? dir : ORBLOOM_BIN_DIR;
}

uint64_t command_now_ms(void)
{
    struct timespec now;

    cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int memory_file(struct span content)
{
    int fd = memfd_create("command", MFD_CLOEXEC);
    size_t done = 0;

    cr_assert_geq(fd, 0, "memfd: %s", strerror(errno));
    while (done < content.size) {
        ssize_t written = write(fd, content.data + done, content.size - done);

        cr_assert_gt(written, 0);
        done += (size_t)written;
    }
    cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* In the child: never returns. */
static void become(const char *path, char *const *words, const int fds[3], int kill_signal,
                   pid_t parent)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, kill_signal);
    if (getppid() != parent || dup2(fds[0], 0) < 0 || dup2(fds[1], 1) < 0 || dup2(fds[2], 2) < 0) {
        _exit(126);
    }
    (void)execv(path, words);
    _exit(127);
}

void command_start(struct command *self, struct span input, int kill_signal, const char *program,
                   const char *const *words)
{
    char path[PATH_BYTES];
    char *argv[COMMAND_MAX_WORDS + 2];
    pid_t parent = getpid();
    size_t count = 1;
    int fds[3];

    *self = (struct command){0};
    (void)snprintf(path, sizeof path, "%s%s%s", program[0] == '/' ? "" : command_bin_dir(),
                   program[0] == '/' ? "" : "/", program);
    cr_assert_eq(access(path, X_OK), 0, "%s is not there: build it, or set ORBLOOM_BIN_DIR", path);
    argv[0] = path;
    for (; words[count - 1] != NULL; count++) {
        cr_assert_leq(count, COMMAND_MAX_WORDS);
        argv[count] = (char *)(uintptr_t)words[count - 1]; /* execv() does not write to them. */
    }
    argv[count] = NULL;
    fds[0] = memory_file(input);
    fds[1] = self->output_fd = memory_file(span_of("", 0));
    fds[2] = self->errors_fd = memory_file(span_of("", 0));
    self->started_ms = command_now_ms();
    self->pid = fork();
    cr_assert_geq(self->pid, 0);
    if (self->pid == 0) {
        become(path, argv, fds, kill_signal, parent);
    }
    self->pidfd = (int)syscall(SYS_pidfd_open, self->pid, 0);
    cr_assert_geq(self->pidfd, 0, "pidfd_open: %s", strerror(errno));
    (void)close(fds[0]);
}

static char *read_all(int fd, size_t *size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char *text = malloc((size_t)end + 1);
    size_t done = 0;

    cr_assert_not_null(text);
    while (done < (size_t)end) {
        ssize_t got = pread(fd, text + done, (size_t)end - done, (off_t)done);

        cr_assert_gt(got, 0);
        done += (size_t)got;
    }
    text[done] = '\0';
    if (size != NULL) {
        *size = done;
    }
    return text;
}

int command_ended(struct command *self, uint64_t wait_ms)
{
    struct pollfd waited = {.fd = self->pidfd, .events = POLLIN};

    return poll(&waited, 1, (int)wait_ms) > 0;
}

void command_finish(struct command *self, uint64_t limit_ms)
{
    int status = 0;
    bool ended = command_ended(self, limit_ms);

    if (!ended) {
        (void)kill(self->pid, SIGKILL);
    }
    cr_assert_eq(waitpid(self->pid, &status, 0), self->pid);
    self->took_ms = command_now_ms() - self->started_ms;
    self->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    self->output = read_all(self->output_fd, &self->output_size);
    self->errors = read_all(self->errors_fd, &self->errors_size);
    (void)close(self->output_fd);
    (void)close(self->errors_fd);
    (void)close(self->pidfd);
    cr_assert_null(command_find_defect(self->errors), "%s", self->errors);
    cr_assert(ended, "a command did not end within %d ms; it said: %s%s", (int)limit_ms,
              self->output, self->errors);
}

void command_run(struct command *self, struct span input, const char *program, ...)
{
    const char *words[COMMAND_MAX_WORDS + 1];
    size_t count = 0;
    va_list list;

    va_start(list, program);
    do {
        cr_assert_lt(count, COMMAND_MAX_WORDS);
        words[count] = va_arg(list, const char *);
    } while (words[count++] != NULL);
    va_end(list);
    command_start(self, input, SIGKILL, program, words);
    command_finish(self, COMMAND_LIMIT_MS);
}

void command_expect_exit(const struct command *self, int status)
{
    cr_assert_eq(self->exit_status, status, "exit %d: %s%s", self->exit_status, self->output,
                 self->errors);
}

void command_expect_errors(const struct command *self, int status, const char *text)
{
    command_expect_exit(self, status);
    cr_assert_not_null(strstr(self->errors, text), "\"%s\" is not in: %s", text, self->errors);
}

void command_forget(struct command *self)
{
    free(self->output);
    free(self->errors);
    *self = (struct command){0};
}

char *command_read_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text;

    if (fd < 0) {
        return NULL;
    }
    text = read_all(fd, NULL);
    (void)close(fd);
    return text;
}

const char *command_find_defect(const char *text)
{
    static const char *const signs[] = {"Sanitizer", "runtime error: ", "Assertion `"};
    const char *found = NULL;

    for (size_t i = 0; i < sizeof signs / sizeof signs[0] && found == NULL; i++) {
        found = strstr(text, signs[i]);
    }
    return found;
}

size_t command_count_lines(const char *text, const char *line)
{
    size_t size = strlen(line);
    size_t count = 0;

    for (const char *at = text; *at != '\0';) {
        const char *end = strchr(at, '\n');
        size_t length = end != NULL ? (size_t)(end - at) : strlen(at);

        count += length == size && memcmp(at, line, size) == 0;
        at += length + (end != NULL);
    }
    return count;
}
