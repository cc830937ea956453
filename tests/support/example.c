/* Runs an example in a playground, and compares what it says with what it should. */
#include "tests/support/example.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 32 };

void example_start(struct example *self, const char *filter, const char *capacity, const char *rate)
{
    *self = (struct example){.folder = "/tmp/orbloom-example-XXXXXX"};
    cr_assert_not_null(mkdtemp(self->folder));
    (void)snprintf(self->input, sizeof self->input, "%.64s/input", self->folder);
    (void)snprintf(self->database, sizeof self->database, "%.64s/db", self->folder);
    playground_start(&self->playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", filter, "--capacity", capacity, "--fpr", rate);
}

void example_stop(struct example *self)
{
    (void)unlink(self->database);
    (void)unlink(self->input);
    cr_assert_eq(rmdir(self->folder), 0);
    playground_stop(&self->playground);
}

void example_pause_nodes(struct example *self)
{
    playground_signal(&self->playground, "node-1", SIGSTOP);
    playground_signal(&self->playground, "node-2", SIGSTOP);
}

void example_continue_nodes(struct example *self)
{
    playground_signal(&self->playground, "node-1", SIGCONT);
    playground_signal(&self->playground, "node-2", SIGCONT);
}

char *example_lines(const char *prefix, int first, int end, int step)
{
    size_t count = (size_t)((end - first + step - 1) / step);
    char *text = malloc(count * LINE_BYTES + 1);
    size_t used = 0;

    cr_assert_not_null(text);
    for (int i = first; i < end; i += step) {
        used += (size_t)snprintf(text + used, LINE_BYTES, "%s%d\n", prefix, i);
    }
    return text;
}

void example_write_input(const struct example *self, const char *text)
{
    FILE *file = fopen(self->input, "we");

    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

void example_expect_exit(const struct example *self, int status)
{
    cr_assert_eq(self->command.exit_status, status, "exit %d, not %d: %s",
                 self->command.exit_status, status, self->command.errors);
}

void example_expect_error(const struct example *self, const char *text)
{
    cr_assert_not_null(strstr(self->command.errors, text), "\"%s\" is not in: %s", text,
                       self->command.errors);
}
