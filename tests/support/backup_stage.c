/* The cluster that backups are tried on, and what tests of them do again and again. */
#include "tests/support/backup_stage.h"

#include "tests/support/numbered_keys.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct playground backup_stage;

/* ---- keys, as lines ---- */

void stage_add_keys(const char *filter, const char *name, int count)
{
    char *text = numbered_keys_lines(name, 0, count);

    PLAYGROUND_DO(text, "add", filter, "--timeout", "20s");
    free(text);
}

void stage_expect_all(const char *filter, const char *name, int count)
{
    numbered_keys_expect_all(filter, name, 0, count);
}

void stage_expect_few(const char *filter, const char *name)
{
    char *text = numbered_keys_lines(name, 0, 1000);
    struct command command;

    command_run(&command, span_text(text), "orbloom", "check", filter, "--only", "present", NULL);
    command_expect_exit(&command, 0);
    cr_assert_lt(command.output_size, 100 * strlen(name), "it has not everything");
    command_forget(&command);
    free(text);
}

/* ---- commands ---- */

/* By a shell, with $ORBLOOM for the program. */
void stage_start_shell(struct command *command, const char *script)
{
    const char *const words[] = {"-c", script, NULL};
    char program[STAGE_PATH_BYTES * 2];

    (void)snprintf(program, sizeof program, "%s/orbloom", command_bin_dir());
    cr_assert_eq(setenv("ORBLOOM", program, 1), 0);
    command_start(command, span_text(""), SIGKILL, "/bin/sh", words);
}

void stage_expect_fails(const char *text, const char *const *words)
{
    struct command command;

    command_start(&command, span_text(""), SIGKILL, "orbloom", words);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_neq(command.exit_status, 0);
    cr_assert_not_null(strstr(command.errors, text), "%s", command.errors);
    command_forget(&command);
}

/* It ends like this, and says all that; NULL: nothing more. */
void stage_expect_end(struct command *command, int status, const char *text)
{
    command_finish(command, COMMAND_LIMIT_MS);
    command_expect_exit(command, status);
    if (text != NULL) {
        cr_assert(strstr(command->errors, text) != NULL || strstr(command->output, text) != NULL,
                  "\"%s\" is not in: %s%s", text, command->output, command->errors);
    }
    command_forget(command);
}

/* It begins anew. */
void stage_back_up_anew(const char *filter, const char *path, const char *within)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "backup", filter, path, "--resume-within",
                within, NULL);
    command_expect_exit(&command, 0);
    cr_assert_null(strstr(command.errors, "goes on"), "%s", command.errors);
    command_forget(&command);
}

void stage_start(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&backup_stage, &(struct playground_plan){.nodes = 3});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "1M", "--fpr", "1%", "--timeout", "20s");
    stage_add_keys("seen", "old", STAGE_KEYS);
}

/* Whoever reads from it goes on. */
void stage_open_gate(const char *gate)
{
    int fd = open(gate, O_WRONLY | O_CLOEXEC);

    cr_assert_geq(fd, 0);
    (void)close(fd);
}

char *stage_path_of(const char *name, char path[STAGE_PATH_BYTES])
{
    (void)snprintf(path, STAGE_PATH_BYTES, "%s/%s", backup_stage.dir, name);
    return path;
}

void stage_write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, 0600), 0);
}

long stage_size_of(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 ? (long)about.st_size : -1;
}

void stage_stop(void)
{
    playground_stop(&backup_stage);
}
