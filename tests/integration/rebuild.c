/* Filters rebuilt from a list, with real processes: what was fed or added since begin is kept, the
 * rest is forgotten; an abort changes nothing; bad words say why. */
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Keys of four kinds: OLD were added before begin, of those the first KEPT are in the list; BOTH
 * between begin and feed, LATE between feed and commit; FED are in the list and were never added.
 */
enum {
    LIMIT_S = 120,
    EACH = 3000,
    KEPT = 1000,
    OLD = 0,
    BOTH = 100000,
    LATE = 200000,
    FED = 300000,
    /* Of 2,000 keys that are forgotten, at 1 %: the upper 99.9999 % limit. */
    FORGOTTEN_MOST = 48,
};

static struct playground playground;
static struct command command;

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "1%");
}

static void stop(void)
{
    playground_stop(&playground);
}

static void feed(int first, int count)
{
    char *text = numbered_keys_lines("key", first, count);

    command_run(&command, span_text(text), "orbloom", "rebuild", "seen", "feed", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    free(text);
}

static void expect_all_present(void)
{
    cr_assert_eq(numbered_keys_present("seen", "key", OLD, EACH), EACH);
    cr_assert_eq(numbered_keys_present("seen", "key", BOTH, EACH), EACH);
    cr_assert_eq(numbered_keys_present("seen", "key", LATE, EACH), EACH);
    cr_assert_leq(numbered_keys_present("seen", "key", FED, KEPT), FORGOTTEN_MOST,
                  "the list is not served yet");
}

static void expect_committed(void)
{
    cr_assert_eq(numbered_keys_present("seen", "key", OLD, KEPT), KEPT, "fed");
    cr_assert_eq(numbered_keys_present("seen", "key", FED, KEPT), KEPT, "fed only");
    cr_assert_eq(numbered_keys_present("seen", "key", BOTH, EACH), EACH, "added since begin");
    cr_assert_eq(numbered_keys_present("seen", "key", LATE, EACH), EACH, "added since the feed");
    cr_assert_leq(numbered_keys_present("seen", "key", OLD + KEPT, EACH - KEPT), FORGOTTEN_MOST,
                  "forgotten");
}

#define REBUILD(...) PLAYGROUND_DO("", "rebuild", "seen", __VA_ARGS__)

#define EXPECT_REFUSED(status, text, ...)                                              \
    do {                                                                               \
        command_run(&command, span_text(""), "orbloom", "rebuild", __VA_ARGS__, NULL); \
        command_expect_errors(&command, status, text);                                 \
        command_forget(&command);                                                      \
    } while (0)

static void until_before_commit(void)
{
    numbered_keys_add("seen", "key", OLD, EACH);
    REBUILD("begin");
    numbered_keys_add("seen", "key", BOTH, EACH);
    feed(OLD, KEPT);
    feed(FED, KEPT);
    numbered_keys_add("seen", "key", LATE, EACH);
    expect_all_present();
}

static void restart(const char *process)
{
    playground_kill(&playground, process);
    playground_restart(&playground, process);
}

Test(rebuild, keeps_the_list_and_what_came_since_and_forgets_the_rest, .timeout = LIMIT_S)
{
    start();
    until_before_commit();
    REBUILD("begin"); /* joined */
    REBUILD("commit");
    expect_committed();
    stop();
}

/* Whoever was told DEADLINE asks again, and hears of it once enough nodes have confirmed. */
Test(rebuild, a_commit_is_repeated_until_it_is_confirmed, .timeout = LIMIT_S)
{
    start();
    until_before_commit();
    REBUILD("commit");
    restart("coordinator");
    REBUILD("commit"); /* By one that knows nothing of who has confirmed. */
    playground_signal(&playground, "node-1", SIGSTOP);
    playground_signal(&playground, "node-3", SIGSTOP);
    EXPECT_REFUSED(1, "the commit is written, but too few nodes have confirmed it", "seen",
                   "commit", "--timeout", "1s");
    playground_signal(&playground, "node-1", SIGCONT);
    playground_signal(&playground, "node-3", SIGCONT);
    command_run(&command, span_text(""), "orbloom", "rebuild", "seen", "commit", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.output, "seen: rebuild 2 is committed already"), "%s",
                       command.output);
    command_forget(&command);
    EXPECT_REFUSED(1, "no rebuild of it is open: begin first", "seen", "abort");
    stop();
}

/* Any number of them, one after the other; what the one before forgot does not come back. */
Test(rebuild, aborted_changes_nothing_and_the_next_one_begins_empty, .timeout = LIMIT_S)
{
    start();
    until_before_commit();
    REBUILD("abort");
    expect_all_present();
    REBUILD("begin");
    EXPECT_REFUSED(1, "say --yes", "seen", "commit");
    REBUILD("commit", "--yes");
    cr_assert_leq(numbered_keys_present("seen", "key", OLD, EACH), FORGOTTEN_MOST + EACH / 100);
    cr_assert_leq(numbered_keys_present("seen", "key", BOTH, EACH), FORGOTTEN_MOST + EACH / 100);
    stop();
}

/* A coordinator is killed between all steps, and a node while the rebuild is open and after. */
Test(rebuild, outlives_kills, .timeout = LIMIT_S)
{
    start();
    numbered_keys_add("seen", "key", OLD, EACH);
    REBUILD("begin");
    restart("coordinator");
    numbered_keys_add("seen", "key", BOTH, EACH);
    restart("node-2");
    feed(OLD, KEPT);
    feed(FED, KEPT);
    restart("coordinator");
    numbered_keys_add("seen", "key", LATE, EACH);
    expect_all_present();
    REBUILD("commit");
    restart("coordinator");
    restart("node-1");
    expect_committed();
    stop();
}

Test(rebuild, what_cannot_be_is_refused_and_says_why, .timeout = LIMIT_S)
{
    start();
    PLAYGROUND_DO("", "create", "bits", "--capacity", "10k", "--fpr", "1%", "--keylog", "off");
    EXPECT_REFUSED(1, "begin first", "seen", "feed");
    EXPECT_REFUSED(1, "begin first", "seen", "commit");
    EXPECT_REFUSED(1, "begin first", "seen", "abort");
    EXPECT_REFUSED(1, "it keeps bits only", "bits", "begin");
    EXPECT_REFUSED(1, "NOT_FOUND", "sean", "begin");
    REBUILD("begin");
    REBUILD("feed");
    EXPECT_REFUSED(1, "say --yes", "seen", "commit");
    command_run(&command, span_text(""), "orbloom", "expand", "seen", "--capacity", "200k", NULL);
    command_expect_errors(&command, 1, "a rebuild from a list is open");
    command_forget(&command);
    feed(OLD, 5);
    playground_wait_status("5 keys fed, about 5 in the new set");
    PLAYGROUND_DO("", "drop", "seen");
    EXPECT_REFUSED(1, "NOT_FOUND", "seen", "commit");
    stop();
}

Test(rebuild, wrong_words_are_usage, .timeout = LIMIT_S)
{
    EXPECT_REFUSED(2, "unknown word \"start\"", "seen", "start");
    EXPECT_REFUSED(2, "only feed does", "seen", "commit", "file");
    EXPECT_REFUSED(2, "--yes goes with commit", "seen", "abort", "--yes");
    EXPECT_REFUSED(2, "orbloom: ", "no blanks", "begin");
    EXPECT_REFUSED(2, "orbloom: ", "seen");
}
