/* Starts `orbloom` as a child, and waits for its exit status. */
#include "tests/torture/operator.h"

#include "tests/torture/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXEC_FAILED = 126, WORD_BYTES = CLUSTER_LIST_BYTES };

/* execv() takes words that may be changed. */
struct words {
    char text[OPERATOR_MAX_WORDS + 1][WORD_BYTES];
    char *list[OPERATOR_MAX_WORDS + 2];
};

static void copy_words(struct words *self, const char *const words[OPERATOR_MAX_WORDS])
{
    const char *bin = getenv("ORBLOOM_BIN_DIR");
    size_t count = 0;

    (void)snprintf(self->text[0], WORD_BYTES, "%s/orbloom", bin != NULL ? bin : ORBLOOM_BIN_DIR);
    self->list[0] = self->text[0];
    for (; count < OPERATOR_MAX_WORDS && words[count] != NULL; count++) {
        (void)snprintf(self->text[count + 1], WORD_BYTES, "%s", words[count]);
        self->list[count + 1] = self->text[count + 1];
    }
    self->list[count + 1] = NULL;
}

/* After fork(): nothing but calls that are safe there. */
static _Noreturn void become(char **words, int output)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0) {
        (void)execv(words[0], words);
    }
    _exit(EXEC_FAILED);
}

static int await(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) != pid) {
        if (errno != EINTR) {
            return EXEC_FAILED;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXEC_FAILED;
}

int operator_run(const struct cluster *cluster, const char *const words[OPERATOR_MAX_WORDS])
{
    struct words *copy = calloc(1, sizeof *copy);
    char path[DAEMON_PATH_BYTES];
    int code = EXEC_FAILED;
    int output;

    (void)snprintf(path, sizeof path, "%s/operator", cluster->dir);
    output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (copy != NULL && output >= 0) {
        pid_t pid;

        copy_words(copy, words);
        pid = fork();
        if (pid == 0) {
            become(copy->list, output);
        }
        code = pid > 0 ? await(pid) : EXEC_FAILED;
    }
    if (code == EXEC_FAILED) {
        journal_tell("`orbloom %s %s` can't be run: %s", words[0], words[1], strerror(errno));
    }
    if (output >= 0) {
        (void)close(output);
    }
    free(copy);
    return code;
}
