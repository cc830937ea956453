/* A filter without key log on real disks: its log is cut, and what was acknowledged is there after
 * kill -9 and after the loss of a whole folder; also where it has grown by generations. */
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 10, /* of so many keys, as it grows */
    STEP = 10000,
    ABSENT = 100000,
    MOST_PRESENT = 1100, /* the upper 99.9 % limit of 1 % */
};
enum { LIMIT_S = 100, PATH_BYTES = 256, KEYS = 60000, ROUNDS = 30, MOST_BYTES = 24 << 20 };

static struct playground playground;
static char *keys;

/* So that some get full soon. */
static void restart_with_small_segments(const char *daemon)
{
    playground_configure(&playground, daemon,
                         "\nlog_segment = \"1MiB\";\nlog_retain = \"1MiB\";\n");
}

static void expect_kept(void)
{
    numbered_keys_expect_all("bits", "key", 0, KEYS);
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

    keys = numbered_keys_lines("key", 0, KEYS);
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

static void expect_refused(const char *flag, const char *value, const char *text)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "expand", "bits", flag, value, NULL);
    command_expect_errors(&command, 1, text);
    command_forget(&command);
}

static void wipe(const char *node)
{
    char text[PATH_BYTES];

    playground_kill(&playground, node);
    (void)snprintf(text, sizeof text, "rm -rf %s/%s/data", playground.dir, node);
    cr_assert_eq(system(text), 0);
    playground_restart(&playground, node);
    expect_full(3);
}

Test(keylog_off, grows_by_generations_that_are_read_together, .timeout = LIMIT_S)
{
    struct command command;

    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    PLAYGROUND_DO("", "create", "bits", "--capacity", "20k", "--fpr", "1%", "--keylog", "off");
    for (int i = 0; i < STEPS; i++) {
        numbered_keys_offer("bits", "key", i * STEP, STEP, "full until it has grown");
    }
    cr_assert_eq(numbered_keys_present("bits", "key", 0, STEPS * STEP), STEPS * STEP);
    cr_assert_leq(numbered_keys_present("bits", "other", 0, ABSENT), MOST_PRESENT);
    command_run(&command, span_text(""), "orbloom", "info", "bits", NULL);
    cr_assert_not_null(strstr(command.output, "read together, at 0."), "%s", command.output);
    cr_assert_not_null(strstr(command.output, "20,000 keys at 0.5 %"), "%s", command.output);
    command_forget(&command);
    expect_refused("--capacity", "20k", "it can only grow");
    expect_refused("--fpr", "0.1%", "leave out --fpr");
    PLAYGROUND_DO("", "expand", "bits", "--capacity", "1M");

    wipe("node-1");
    playground_kill(&playground, "node-2");
    cr_assert_eq(numbered_keys_present("bits", "key", 0, STEPS * STEP), STEPS * STEP,
                 "node 1 has to answer");
    playground_restart(&playground, "node-2");
    expect_full(3);
    playground_kill(&playground, "node-1");
    playground_restart(&playground, "node-1");
    expect_full(3);
    playground_kill(&playground, "node-3");
    cr_assert_eq(numbered_keys_present("bits", "key", 0, STEPS * STEP), STEPS * STEP,
                 "and after a start");
    playground_restart(&playground, "node-3");
    playground_stop(&playground);
}

/* ---- a snapshot with a damaged page ---- */

enum {
    MANY = 900000, /* a snapshot is due once, and not again before the restarts */
    PART = 60000,
    DAMAGED_AT = 128 + 1100 * 4096, /* in the second slice that is read back */
};

static void damage_snapshot(const char *node)
{
    char text[2 * PATH_BYTES];

    (void)snprintf(text, sizeof text,
                   "printf '\\377\\000\\252\\125' | dd of=$(ls %s/%s/data/snap-* | head -n 1) "
                   "bs=1 seek=%d conv=notrunc 2>/dev/null",
                   playground.dir, node, DAMAGED_AT);
    cr_assert_eq(system(text), 0);
}

Test(keylog_off, a_damaged_snapshot_leaves_no_bits_that_no_log_has, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){.nodes = 2});
    PLAYGROUND_DO("", "create", "bits", "--capacity", "4M", "--fpr", "1%", "--keylog", "off",
                  "--replicas", "2", "--write-quorum", "2", "--read-quorum", "1");
    for (int i = 1; i <= 2; i++) {
        restart_with_small_segments(i == 1 ? "node-1" : "node-2");
        expect_full(2);
    }
    for (int i = 0; i < MANY; i += PART) {
        numbered_keys_add("bits", "key", i, PART);
    }
    playground_wait_counter(&playground, "node-2", "snapshots_total", 1);
    playground_kill(&playground, "node-2");
    damage_snapshot("node-2");
    playground_restart(&playground, "node-2");
    playground_wait_counter(&playground, "node-2", "amnesia_total", 1);
    playground_wait_status("node-2 came back without its data");
    PLAYGROUND_DO("", "shard", "accept-loss", "bits", "all", "--yes"); /* Node 1 has it all. */
    expect_full(2);

    playground_kill(&playground, "node-1");
    playground_kill(&playground, "node-2");
    playground_restart(&playground, "node-2");
    expect_full(1);
    cr_assert_eq(numbered_keys_present("bits", "key", 0, MANY), MANY, "node 2 has to answer");
    playground_restart(&playground, "node-1");
    playground_stop(&playground);
}
