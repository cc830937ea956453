/* Filters with a time window, with real processes: keys stay as long as was promised, whatever is
 * killed meanwhile, and go. */
#include "client/orbloom.h"
#include "tests/support/flood.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 120, BATCHES = 40, TRIES = 300, PAUSE_US = 100000 };

static struct playground playground;
static struct flood flood;
static struct command command;

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool info_says(const char *text)
{
    bool said;

    command_run(&command, span_text(""), "orbloom", "info", "recent", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    said = strstr(command.output, text) != NULL;
    command_forget(&command);
    return said;
}

static unsigned slice(void)
{
    static const char label[] = "adds go to slice ";
    const char *at;
    unsigned number;

    command_run(&command, span_text(""), "orbloom", "info", "recent", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    at = strstr(command.output, label);
    cr_assert_not_null(at, "%s", command.output);
    number = (unsigned)strtoul(at + sizeof label - 1, NULL, 10);
    command_forget(&command);
    return number;
}

/* One that is looked for may have come and gone between two looks. */
static void wait_slice(unsigned least)
{
    int tries = 0;

    while (slice() < least) {
        cr_assert_lt(tries++, TRIES, "adds never go to slice %u", least);
        (void)usleep(PAUSE_US);
    }
}

static void open_window(const char *window, const char *slices)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "recent", "--capacity", "60k", "--fpr", "1%", "--window", window,
                  "--slices", slices);
    flood_open(&flood, "recent");
}

static void close_window(void)
{
    flood_close(&flood);
    playground_stop(&playground);
}

/* All that was added since `sent_s`, unless so much time went by that nothing is promised. */
static void expect_kept(double sent_s, double window_s)
{
    uint32_t lost = flood_count_lost(&flood);

    cr_assert_gt(flood.nacked, 0);
    cr_assert(lost == 0 || now_s() - sent_s >= window_s, "%u of %u keys are gone", lost,
              flood.nacked);
}

/* A window of 6 s: present until then, gone some slices later. */
Test(windows, keys_stay_for_the_window_and_go, .timeout = LIMIT_S)
{
    double sent_s;

    open_window("6s", "3");
    sent_s = now_s();
    flood_add(&flood, BATCHES, NULL);
    cr_assert_eq(flood.nacked, BATCHES * FLOOD_BATCH, "%s", flood.first_error);
    expect_kept(sent_s, 6);
    cr_assert(info_says("6s in 3 slices of 2s"));
    wait_slice(3);
    expect_kept(sent_s, 6);
    wait_slice(5); /* Slices 2 to 5 are kept. */
    command_run(&command, span_text("flood-0\nflood-1\nflood-2\nflood-3\n"), "orbloom", "check",
                "recent", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_geq(command_count_lines(command.output, "absent"), 3, "%s", command.output);
    command_forget(&command);
    playground_wait_status("another slice begins in about");
    close_window();
}

/* Each kind of process is killed while slices come and go. */
Test(windows, whoever_is_killed_keys_stay, .timeout = LIMIT_S)
{
    static const char *const victims[] = {"node-1", "coordinator", "node-2", "coordinator"};

    open_window("40s", "20");
    for (size_t i = 0; i < sizeof victims / sizeof victims[0]; i++) {
        double sent_s = now_s();

        playground_kill(&playground, victims[i]);
        flood_add(&flood, BATCHES, NULL);
        playground_restart(&playground, victims[i]);
        flood_add(&flood, BATCHES, NULL);
        expect_kept(sent_s, 30);
    }
    wait_slice(4);
    close_window();
}

/* It grows by itself while it moves on: the capacity is of all slices, and one of them is full. */
Test(windows, it_grows_while_it_moves, .timeout = LIMIT_S)
{
    double sent_s = now_s();

    open_window("40s", "20");
    for (int i = 0; i < 6; i++) {
        flood_add(&flood, BATCHES, NULL);
        (void)usleep(PAUSE_US);
    }
    wait_slice(3);
    cr_assert_not(info_says("capacity      60,000"));
    expect_kept(sent_s, 40);
    close_window();
}

#define EXPECT_REFUSED(status, text, ...)                                                       \
    do {                                                                                        \
        command_run(&command, span_text(""), "orbloom", "create", "other", "--capacity", "10k", \
                    "--fpr", "1%", __VA_ARGS__, NULL);                                          \
        command_expect_errors(&command, status, text);                                          \
        command_forget(&command);                                                               \
    } while (0)

Test(windows, what_can_not_be_is_refused, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    EXPECT_REFUSED(2, "--slices", "--window", "1h", "--slices", "0");
    EXPECT_REFUSED(2, "--slices", "--window", "1h", "--slices", "65");
    EXPECT_REFUSED(2, "--window", "--window", "0s");
    EXPECT_REFUSED(2, "--window", "--window", "-1h");
    EXPECT_REFUSED(2, "--window", "--window", "1");
    EXPECT_REFUSED(2, "a slice takes 1 s at least", "--window", "6s");
    EXPECT_REFUSED(2, "slices take a window", "--slices", "4");
    EXPECT_REFUSED(1, "a window takes a key log on disk", "--window", "1h", "--keylog", "off");
    EXPECT_REFUSED(1, "a window takes a key log on disk", "--window", "1h", "--durability",
                   "memory");
    PLAYGROUND_DO("", "create", "recent", "--capacity", "10k", "--fpr", "1%", "--window", "7d");
    cr_assert(info_says("7d in 7 slices of 1d"));
    command_run(&command, span_text(""), "orbloom", "rebuild", "recent", "begin", NULL);
    command_expect_errors(&command, 1, "window");
    command_forget(&command);
    playground_stop(&playground);
}
