/* Lists keys by number, and pipes them through `orbloom add` and `orbloom check`. */
#include "tests/support/numbered_keys.h"

#include "tests/support/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBER_BYTES = 16, TRIES = 60, TRY_US = 100000 };

char *numbered_keys_lines(const char *name, int first, int count)
{
    char *text = malloc((size_t)count * (strlen(name) + NUMBER_BYTES) + 1);
    size_t used = 0;

    cr_assert_not_null(text);
    text[0] = '\0';
    for (int i = first; i < first + count; i++) {
        used += (size_t)sprintf(text + used, "%s-%d\n", name, i);
    }
    return text;
}

void numbered_keys_add(const char *filter, const char *name, int first, int count)
{
    char *text = numbered_keys_lines(name, first, count);
    struct command command;

    command_run(&command, span_text(text), "orbloom", "add", filter, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    free(text);
}

void numbered_keys_offer(const char *filter, const char *name, int first, int count,
                         const char *refusal)
{
    char *text = numbered_keys_lines(name, first, count);
    struct command command;
    int status = 1;

    for (int i = 0; status != 0 && i < TRIES; i++) {
        command_run(&command, span_text(text), "orbloom", "add", filter, NULL);
        status = command.exit_status;
        cr_assert(status == 0 || strstr(command.errors, refusal) != NULL, "%s", command.errors);
        command_forget(&command);
        if (status != 0) {
            (void)usleep(TRY_US);
        }
    }
    cr_assert_eq(status, 0, "refused for too long: %s", refusal);
    free(text);
}

void numbered_keys_expect_all(const char *filter, const char *name, int first, int count)
{
    char *text = numbered_keys_lines(name, first, count);
    struct command command;

    command_run(&command, span_text(text), "orbloom", "check", filter, "--only", "absent",
                "--timeout", "20s", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "", "acknowledged keys are absent");
    command_forget(&command);
    free(text);
}

size_t numbered_keys_present(const char *filter, const char *name, int first, int count)
{
    char *text = numbered_keys_lines(name, first, count);
    struct command command;
    size_t present;

    command_run(&command, span_text(text), "orbloom", "check", filter, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    present = command_count_lines(command.output, "present");
    command_forget(&command);
    free(text);
    return present;
}
