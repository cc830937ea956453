/* Imprints on a real disk: a start after kill -9 reads one, and whatever has become of the file,
 * or of the process that wrote it, all keys are there. One node, so nobody else could have them. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIMIT_S = 100, KEYS = 60000, ROUNDS = 6, KILLS = 8, KILL_STEP_MS = 12 };

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

/* In the node's folder. */
static void in_folder(const char *what)
{
    char text[512];

    (void)snprintf(text, sizeof text, "cd %s/node-1/data && %s", playground.dir, what);
    cr_assert_eq(system(text), 0, "%s", text);
}

/* By its own word: what coordinators know may be from before it was killed. */
static void expect_full(void)
{
    playground_wait_counter(&playground, "node-1", "replicas_full", 1);
}

static void expect_kept(void)
{
    struct command command;

    command_run(&command, span_text(keys), "orbloom", "check", "big", "--only", "absent",
                "--timeout", "20s", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "", "acknowledged keys are absent");
    command_forget(&command);
}

static void start(void)
{
    make_keys();
    playground_start(&playground, &(struct playground_plan){.nodes = 1});
    PLAYGROUND_DO("", "create", "big", "--capacity", "100k", "--fpr", "1%", "--replicas", "1",
                  "--when-full", "refuse");
    playground_configure(&playground, "node-1",
                         "log_segment = \"1MiB\";\nlog_retain = \"1MiB\";\n"
                         "imprint_size = \"64KiB\";\n");
    expect_full();
    for (int i = 0; i < ROUNDS; i++) {
        PLAYGROUND_DO(keys, "add", "big");
    }
    playground_wait_counter(&playground, "node-1", "imprints_total", 1);
}

static void stop(void)
{
    playground_stop(&playground);
    free(keys);
}

static void restart_and_expect(bool read)
{
    playground_restart(&playground, "node-1");
    expect_full();
    cr_assert_eq(playground_counter(&playground, "node-1", "imprints_read_total"), read);
    /* One that was being taken is refused, too. */
    cr_assert_geq(playground_counter(&playground, "node-1", "imprints_refused_total"), !read);
    cr_assert_eq(playground_counter(&playground, "node-1", "amnesia_total"), 0);
    expect_kept();
}

Test(imprints, are_read_at_a_start_and_no_loss_whatever_becomes_of_them, .timeout = LIMIT_S)
{
    static const char *const damages[] = {
        "s=$(stat -c %s $f) && "
        "printf '\\252' | dd of=$f bs=1 seek=$((s / 2)) conv=notrunc status=none",
        "truncate -s $(($(stat -c %s $f) / 2)) $f",
        "truncate -s 0 $f",
        "mv $f $(echo $f | sed 's/-0/-7/')",
        "head -c 200000 /dev/urandom > $f",
    };
    char text[256];

    start();
    expect_kept();
    playground_kill(&playground, "node-1");
    restart_and_expect(true);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        playground_kill(&playground, "node-1");
        (void)snprintf(text, sizeof text, "for f in imprint-*; do %s; done", damages[i]);
        in_folder(text);
        restart_and_expect(false);
        playground_wait_counter(&playground, "node-1", "imprints_total", 1);
    }
    playground_kill(&playground, "node-1");
    restart_and_expect(true);
    stop();
}

/* Without one each start takes one soon: it is killed before, meanwhile and after. */
Test(imprints, may_be_cut_short_by_kills, .timeout = LIMIT_S)
{
    start();
    for (int i = 0; i < KILLS; i++) {
        const struct timespec while_ = {.tv_nsec = (long)i * KILL_STEP_MS * 1000000};

        playground_kill(&playground, "node-1");
        in_folder("rm -f imprint-*");
        playground_restart(&playground, "node-1");
        expect_full();
        (void)nanosleep(&while_, NULL);
        playground_kill(&playground, "node-1");
        playground_restart(&playground, "node-1");
        expect_full();
        expect_kept();
    }
    stop();
}

/* An imprint of a life that was lost says nothing of the next one. */
Test(imprints, of_another_life_are_not_used, .timeout = LIMIT_S)
{
    start();
    playground_kill(&playground, "node-1");
    in_folder("mkdir ../kept && mv imprint-* ../kept && rm -f log-* run-* cluster");
    playground_restart(&playground, "node-1");
    playground_wait_counter(&playground, "node-1", "log_synced", 1);
    playground_kill(&playground, "node-1");
    in_folder("mv ../kept/* .");
    playground_restart(&playground, "node-1");
    playground_wait_counter(&playground, "node-1", "imprints_refused_total", 1);
    cr_assert_eq(playground_counter(&playground, "node-1", "imprints_read_total"), 0);
    in_folder("test -z \"$(ls | grep imprint-)\"");
    stop();
}
