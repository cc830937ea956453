/* command.h - run one program: its input, output, errors and exit status, within a time limit.
 *
 * Children are killed with the test: when it fails, crashes or runs out of time they die too.
 *
 * Errors:  a failed cr_assert, also when a command outlives its limit.
 * Owner:   outputs are kept until command_forget() or the end of the test process.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_COMMAND_H
#define ORBLOOM_TESTS_SUPPORT_COMMAND_H

#include "base/span.h"

#include <stdint.h>
#include <sys/types.h>

enum { COMMAND_MAX_WORDS = 40, COMMAND_LIMIT_MS = 30000 };

struct command {
    pid_t pid;
    int pidfd;
    int output_fd;
    int errors_fd;
    uint64_t started_ms;
    int exit_status; /* 128 + signal when it was killed */
    uint64_t took_ms;
    char *output; /* with a NUL behind; may hold others */
    size_t output_size;
    char *errors;
    size_t errors_size;
};

/* Where the programs are: $ORBLOOM_BIN_DIR, else this build's. */
const char *command_bin_dir(void);

uint64_t command_now_ms(void);

/* Start DIR/program, or one that begins with '/', with words up to NULL; `input` is its stdin.
 * `kill_signal` is what it gets when the test process dies. */
void command_start(struct command *self, struct span input, int kill_signal, const char *program,
                   const char *const *words);

/* Wait for its end; a failed assertion after `limit_ms`. */
void command_finish(struct command *self, uint64_t limit_ms);

/* Both, with the usual limit: command_run(&c, span_text("a\n"), "orbloom", "add", "x", NULL). */
void command_run(struct command *self, struct span input, const char *program, ...);

/* Has it ended by itself? Waits for at most `wait_ms`. */
int command_ended(struct command *self, uint64_t wait_ms);

/* It ended like this; and says `text` on stderr. */
void command_expect_exit(const struct command *self, int status);
void command_expect_errors(const struct command *self, int status, const char *text);

void command_forget(struct command *self);

/* A whole file as text, with a NUL behind; NULL when it can't be read. free() it. */
char *command_read_file(const char *path);

/* What a sanitizer or a failed assertion of an orbloom program says; NULL when `text` is clean. */
const char *command_find_defect(const char *text);

/* Lines of `text` that are equal to `line`. */
size_t command_count_lines(const char *text, const char *line);

#endif
