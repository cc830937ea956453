/* A store that is lost, or put back from an older copy: noticed before a number is given away
 * twice, and restored past what nodes hold, with every key. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 100, PATH_BYTES = 256, TEXT_BYTES = 600, UID_DIGITS = 32 };

static const char keys[] = "one\ntwo\nthree\nfour\nfive\n";
static const char present[] = "present\npresent\npresent\npresent\npresent\n";
static const char absent[] = "absent\nabsent\nabsent\nabsent\nabsent\n";

static struct playground playground;

static const char *at(const char *name)
{
    return playground_path(&playground, name);
}

/* A command line in five parts, blanks between them. */
static void shell(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof text, "%s %s %s %s %s", a, b, c, d, e);
    cr_assert_eq(system(text), 0, "%s", text);
}

static void make_filter(const char *name)
{
    PLAYGROUND_DO("", "create", name, "--capacity", "10k", "--fpr", "1%");
    PLAYGROUND_DO(keys, "add", name);
}

static void expect_answer(const char *name, const char *answer)
{
    struct command command;

    command_run(&command, span_text(keys), "orbloom", "check", name, NULL);
    cr_assert_str_eq(command.output, answer, "%s: %s", name, command.errors);
    command_forget(&command);
}

static void expect_all_keys(const char *name)
{
    expect_answer(name, present);
}

static void read_uid(const char *name, char uid[UID_DIGITS + 1])
{
    static const char label[] = "uid           ";
    struct command command;
    const char *at;

    command_run(&command, span_text(""), "orbloom", "info", name, NULL);
    command_expect_exit(&command, 0);
    at = strstr(command.output, label);
    cr_assert_not_null(at, "%s", command.output);
    at += sizeof label - 1;
    cr_assert_eq(strspn(at, "0123456789abcdef"), UID_DIGITS, "%s", command.output);
    memcpy(uid, at, UID_DIGITS);
    uid[UID_DIGITS] = '\0';
    command_forget(&command);
}

static void expect_refused(const char *text, const char *first, const char *second)
{
    struct command command;

    if (strcmp(first, "create") == 0) {
        command_run(&command, span_text(""), "orbloom", "create", second, "--capacity", "10k",
                    "--fpr", "1%", NULL);
    } else {
        command_run(&command, span_text(""), "orbloom", "map", first, second, "--timeout", "2s",
                    NULL);
    }
    command_expect_errors(&command, 1, text);
    command_forget(&command);
}

static void lose_store(void)
{
    playground_kill(&playground, "coordinator");
    shell("rm -r", at("coordinator/data"), "&& mkdir -m 700", at("coordinator/data"), "");
    playground_restart(&playground, "coordinator");
}

static const char *const others[] = {"node-1", "node-2", "node-3", "router"};

static void restart_all(void)
{
    for (size_t i = 0; i < 4; i++) {
        playground_kill(&playground, others[i]);
        playground_restart(&playground, others[i]);
    }
}

/* Nobody was told that its healthy folder is an older copy. */
static void expect_no_amnesia(size_t nodes)
{
    for (size_t i = 0; i < nodes; i++) {
        cr_assert_eq(playground_counter(&playground, others[i], "amnesia_total"), 0, "%s",
                     others[i]);
    }
}

Test(map, a_lost_store_is_noticed_and_restored, .timeout = LIMIT_S)
{
    char kept[UID_DIGITS + 1];
    char gone[UID_DIGITS + 1];
    char now[UID_DIGITS + 1];

    playground_start(&playground, &(struct playground_plan){0});
    make_filter("kept");
    make_filter("gone");
    read_uid("kept", kept);
    read_uid("gone", gone);
    cr_assert_str_neq(kept, gone);
    PLAYGROUND_DO("", "map", "backup", at("backup"));
    PLAYGROUND_DO("", "drop", "gone");
    lose_store();
    playground_wait_status("the store was lost");
    expect_refused("map restore", "create", "kept");
    expect_refused("map restore", "create", "other");
    expect_refused("map restore", "backup", at("other"));
    expect_all_keys("kept"); /* The router knows it. */
    PLAYGROUND_DO("six\n", "add", "kept");
    PLAYGROUND_DO("", "map", "restore", at("backup"));
    expect_all_keys("kept");
    restart_all();
    playground_wait_status("1 FULL 0 JOINING 0 BUILDING");
    expect_all_keys("kept");
    PLAYGROUND_DO("seven\n", "add", "kept");
    read_uid("kept", now);
    cr_assert_str_eq(now, kept, "the same filter");
    make_filter("gone"); /* It stayed dropped; the id is another one. */
    expect_all_keys("gone");
    read_uid("gone", now);
    cr_assert_str_neq(now, gone);
    PLAYGROUND_DO("", "drop", "kept");
    playground_stop(&playground);
}

/* The backup has it alive, the store has forgotten it, nodes have nothing of it but its id. */
Test(map, a_forgotten_filter_does_not_come_back_from_a_backup, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    make_filter("kept");
    make_filter("gone");
    PLAYGROUND_DO("", "map", "backup", at("backup"));
    PLAYGROUND_DO("", "drop", "gone");
    playground_wait_counter(&playground, "coordinator", "filters_forgotten_total", 1);
    restart_all();
    lose_store();
    playground_wait_status("the store was lost");
    PLAYGROUND_DO("", "map", "restore", at("backup"));
    expect_all_keys("kept");
    PLAYGROUND_DO("", "create", "gone", "--capacity", "10k", "--fpr", "1%");
    expect_answer("gone", absent);
    restart_all();
    playground_wait_status("2 FULL 0 JOINING 0 BUILDING");
    expect_all_keys("kept");
    expect_answer("gone", absent);
    playground_stop(&playground);
}

/* The backup names boots that have long been replaced, and routers have forgotten all. */
Test(map, everything_starts_again_before_the_restore, .timeout = LIMIT_S)
{
    struct command command;

    playground_start(&playground, &(struct playground_plan){0});
    make_filter("kept");
    PLAYGROUND_DO("", "map", "backup", at("backup"));
    restart_all();
    playground_wait_status("1 FULL 0 JOINING 0 BUILDING");
    PLAYGROUND_DO("six\n", "add", "kept");
    lose_store();
    restart_all();
    restart_all();
    command_run(&command, span_text("one\n"), "orbloom", "check", "kept", "--timeout", "2s", NULL);
    command_expect_errors(&command, 1, "UNAVAILABLE"); /* And not that there is no such filter. */
    command_forget(&command);
    PLAYGROUND_DO("", "map", "restore", at("backup"));
    playground_wait_status("1 FULL 0 JOINING 0 BUILDING");
    expect_all_keys("kept");
    expect_no_amnesia(3);
    playground_stop(&playground);
}

Test(map, a_silent_node_is_named_and_must_be_vouched_for, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    make_filter("kept");
    PLAYGROUND_DO("", "map", "backup", at("backup"));
    playground_kill(&playground, "node-3");
    lose_store();
    expect_refused("not heard of: node-3", "restore", at("backup"));
    PLAYGROUND_DO("", "map", "restore", at("backup"), "--confirmed-off", "node-3");
    expect_all_keys("kept");
    expect_no_amnesia(2);
    playground_restart(&playground, "node-3"); /* Not off for good: what it had counts no more. */
    playground_wait_counter(&playground, "node-3", "amnesia_total", 1);
    playground_wait_counter(&playground, "node-3", "replicas_full", 1);
    expect_all_keys("kept");
    playground_stop(&playground);
}

Test(map, an_older_store_is_noticed_and_restored, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){0});
    make_filter("first");
    PLAYGROUND_DO("", "map", "backup", at("early"));
    playground_kill(&playground, "coordinator");
    shell("cp -a", at("coordinator/data"), at("older"), "", "");
    playground_restart(&playground, "coordinator");
    playground_wait_status("1 FULL 0 JOINING 0 BUILDING");
    make_filter("second");
    PLAYGROUND_DO("", "map", "backup", at("late"));
    playground_kill(&playground, "coordinator");
    shell("rm -r", at("coordinator/data"), "", "", "");
    shell("cp -a", at("older"), at("coordinator/data"), "", "");
    playground_restart(&playground, "coordinator");
    playground_wait_status("put back from an older copy");
    expect_refused("map restore", "create", "third");
    expect_all_keys("second");
    expect_refused("--yes", "restore", at("early")); /* It has no secret of the second one. */
    PLAYGROUND_DO("", "map", "restore", at("late"));
    restart_all();
    playground_wait_status("2 FULL 0 JOINING 0 BUILDING");
    expect_all_keys("first");
    expect_all_keys("second");
    make_filter("third");
    playground_stop(&playground);
}

Test(map, what_is_no_backup_of_this_cluster_is_refused, .timeout = LIMIT_S)
{
    char foreign[] = "/tmp/orbloom-map-XXXXXX";

    cr_assert_geq(mkstemp(foreign), 0);
    playground_start(&playground, &(struct playground_plan){0});
    make_filter("one");
    PLAYGROUND_DO("", "map", "backup", at("backup"));
    PLAYGROUND_DO("", "map", "backup", at("backup"));
    shell("head -c 300", at("backup"), ">", at("torn"), "");
    shell(": >", at("empty"), "", "", "");
    shell("truncate -s 3G", at("huge"), "", "", "");
    shell("sed s/one/two/", at("backup"), ">", at("garbled"), "");
    expect_refused("nothing to restore", "restore", at("backup"));
    expect_refused("cut short", "restore", at("torn"));
    expect_refused("it is empty", "restore", at("empty"));
    expect_refused("TOO_LARGE", "restore", at("huge"));
    expect_refused("damaged", "restore", at("garbled"));
    expect_refused("no backup", "restore", at("key"));
    expect_refused("not written over", "backup", at("key"));
    expect_refused("No such file", "restore", at("nothing"));
    shell("cp", at("backup"), foreign, "", "");
    playground_stop(&playground);
    playground_start(&playground, &(struct playground_plan){0});
    expect_refused("another cluster", "restore", foreign);
    (void)unlink(foreign);
    playground_stop(&playground);
}
