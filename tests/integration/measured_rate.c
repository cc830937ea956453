/* What `orbloom info` tells of the rate that nodes measure, of a filter with as many keys as it is
 * for. */
#include "tests/support/command.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEYS = 50000, LINE_BYTES = 16, LIMIT_S = 120, PROBES = 20000, TRIES = 200 };

static struct playground playground;
static struct command command;

static void add_keys(void)
{
    static char lines[KEYS * LINE_BYTES];
    size_t size = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        size += (size_t)snprintf(lines + size, sizeof lines - size, "key-%u\n", i);
    }
    command_run(&command, span_of(lines, size), "orbloom", "add", "urls", NULL);
    command_forget(&command);
}

/* A number of what `info --json` says now. */
static double told(const char *member)
{
    char name[64];
    const char *at;
    double value;

    (void)snprintf(name, sizeof name, "\"%s\": ", member);
    command_run(&command, span_text(""), "orbloom", "info", "urls", "--json", NULL);
    at = strstr(command.output, name);
    cr_assert_not_null(at, "%s", command.output);
    value = strtod(at + strlen(name), NULL);
    command_forget(&command);
    return value;
}

static void wait_for_probes(void)
{
    const struct timespec pause = {.tv_nsec = 100000000};

    for (unsigned i = 0; told("probes") < PROBES; i++) {
        cr_assert_lt(i, TRIES);
        (void)nanosleep(&pause, NULL);
    }
}

Test(measured_rate, is_near_what_keys_let_expect, .timeout = LIMIT_S)
{
    double measured;
    double expected;

    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "urls", "--capacity", "50k", "--fpr", "1%", "--when-full",
                  "refuse");
    add_keys();
    wait_for_probes();
    measured = told("measured_fpr");
    expected = told("rate_now");
    cr_expect_gt(expected, 0.004);
    cr_expect(measured > expected / 2 && measured < 2 * expected, "%f, expected %f", measured,
              expected);
    cr_expect_lt(told("measured_fpr_low"), measured);
    cr_expect_gt(told("measured_fpr_high"), measured);
    command_run(&command, span_text(""), "orbloom", "info", "urls", NULL);
    cr_expect_not_null(strstr(command.output, "measured rate "), "%s", command.output);
    cr_expect_not_null(strstr(command.output, " probes)"), "%s", command.output);
    command_forget(&command);
    playground_stop(&playground);
}
