/* A filter without key log on real disks: its log is cut, and what was acknowledged is there after
 * kill -9 and after the loss of a whole folder. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 100, PATH_BYTES = 256, KEYS = 60000, ROUNDS = 30, MOST_BYTES = 24 << 20 };

static struct playground playground;
static char *keys;

static void make_keys(void)
{
    size_t used = 0;

    keys = malloc((size_t)KEYS * 16);
    cr_assert_not_null(keys);
    for (int i = 0; i < KEYS; i++) {
        used += (size_t)sprintf(keys + used, "key-%d\n", i);
    }
}

/* Small segments, so that some get full soon. */
static void restart_with_small_segments(const char *daemon)
{
    char path[PATH_BYTES];
    FILE *conf;

    (void)snprintf(path, sizeof path, "%s/%s/conf", playground.dir, daemon);
    conf = fopen(path, "a");
    cr_assert_not_null(conf);
    cr_assert_gt(fputs("\nlog_segment = \"1MiB\";\nlog_retain = \"1MiB\";\n", conf), 0);
    cr_assert_eq(fclose(conf), 0);
    playground_kill(&playground, daemon);
    playground_restart(&playground, daemon);
}

static void expect_kept(void)
{
    struct command command;

    command_run(&command, span_text(keys), "orbloom", "check", "bits", "--only", "absent",
                "--timeout", "20s", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "", "acknowledged keys are absent");
    command_forget(&command);
}

static void expect_full(uint32_t replicas)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%u FULL 0 JOINING 0 BUILDING", replicas);
    playground_wait_status(text);
}

Test(keylog_off, survives_kills_and_a_lost_folder, .timeout = LIMIT_S)
{
    static const char *const nodes[] = {"node-1", "node-2", "node-3"};
    char text[PATH_BYTES];
    struct command command;

    make_keys();
    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    PLAYGROUND_DO("", "create", "bits", "--capacity", "100k", "--fpr", "1%", "--keylog", "off");
    command_run(&command, span_text(""), "orbloom", "info", "bits", NULL);
    cr_assert_not_null(strstr(command.output, "key log off"), "%s", command.output);
    command_forget(&command);
    for (int i = 0; i < 3; i++) {
        restart_with_small_segments(nodes[i]);
        expect_full(3);
    }
    for (int i = 0; i < ROUNDS; i++) {
        PLAYGROUND_DO(keys, "add", "bits");
    }
    for (int i = 0; i < 3; i++) {
        playground_wait_counter(&playground, nodes[i], "snapshots_total", 1);
        cr_assert_lt(playground_counter(&playground, nodes[i], "log_bytes"), MOST_BYTES);
        cr_assert_eq(playground_counter(&playground, nodes[i], "runs"), 0);
    }
    expect_kept();

    playground_kill(&playground, "node-2");
    playground_restart(&playground, "node-2");
    expect_full(3);
    playground_kill(&playground, "node-3");
    expect_kept();
    playground_restart(&playground, "node-3");
    expect_full(3);

    playground_kill(&playground, "node-1");
    (void)snprintf(text, sizeof text, "rm -rf %s/node-1/data", playground.dir);
    cr_assert_eq(system(text), 0);
    playground_restart(&playground, "node-1");
    expect_full(3);
    playground_wait_counter(&playground, "node-1", "pages_copied_total", 1);
    playground_kill(&playground, "node-2");
    expect_kept(); /* Node 1 has to answer. */
    playground_restart(&playground, "node-2");
    playground_stop(&playground);
    free(keys);
}
