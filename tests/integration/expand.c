/* Filters that grow, with real processes: no key is lost on the way, and each refusal says why. */
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

enum { LIMIT_S = 120 };

static struct playground playground;
static struct command command;

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
}

static void stop(void)
{
    playground_stop(&playground);
}

static void expect_output(const char *text, const char *first, const char *second)
{
    command_run(&command, span_text(""), "orbloom", first, second, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.output, text), "%s does not say %s:\n%s", first, text,
                       command.output);
    command_forget(&command);
}

#define EXPECT_REFUSED(status, text, ...)                                             \
    do {                                                                              \
        command_run(&command, span_text(""), "orbloom", "expand", __VA_ARGS__, NULL); \
        command_expect_errors(&command, status, text);                                \
        command_forget(&command);                                                     \
    } while (0)

/* Half of the keys come while it grows. One per cent was asked for: of 100,000 keys that are not
 * there 1,100 are above its upper 99.9 % limit. */
Test(expand, grows_under_load_and_back_to_one_array, .timeout = LIMIT_S)
{
    enum { BEFORE = 40000, DURING = 160000, ABSENT = 100000, MOST = 1100 };

    start();
    PLAYGROUND_DO("", "create", "seen", "--capacity", "50k", "--fpr", "1%", "--when-full",
                  "refuse");
    numbered_keys_add("seen", "key", 0, BEFORE);
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "400k", "--detach");
    numbered_keys_offer("seen", "key", BEFORE, DURING, "FULL");
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "400k");
    cr_assert_eq(numbered_keys_present("seen", "key", 0, BEFORE + DURING), BEFORE + DURING);
    cr_assert_leq(numbered_keys_present("seen", "key", 10000000, ABSENT), MOST);
    expect_output("400,000 keys at 1 %", "info", "seen");
    expect_output("epoch         1, ", "info", "seen");
    PLAYGROUND_DO("", "create", "seen", "--capacity", "50k", "--fpr", "1%");
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "300k", "--fpr", "0.1%");
    cr_assert_eq(numbered_keys_present("seen", "key", 0, BEFORE + DURING), BEFORE + DURING);
    cr_assert_leq(numbered_keys_present("seen", "key", 10000000, ABSENT), MOST / 10 + 40);
    stop();
}

Test(expand, by_itself_before_it_is_full, .timeout = LIMIT_S)
{
    enum { KEYS = 18000 };

    start();
    PLAYGROUND_DO("", "create", "seen", "--capacity", "20k", "--max-capacity", "40k", "--fpr",
                  "1%");
    numbered_keys_add("seen", "key", 0, KEYS);
    playground_wait_status("40,000");
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "40k"); /* joined, until it is there */
    cr_assert_eq(numbered_keys_present("seen", "key", 0, KEYS), KEYS);
    stop();
}

/* The keys have just come, so that it would grow from less than twice as many. What is there when
 * the command ends stays, and another change can begin. */
Test(expand, to_less_stays_or_is_refused, .timeout = LIMIT_S)
{
    enum { KEYS = 20000 };

    start();
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "1%");
    expect_output("by itself at 85,000 keys (85 %)", "info", "seen");
    numbered_keys_add("seen", "key", 0, KEYS);
    EXPECT_REFUSED(1, "it would do so at once; ask for ", "seen", "--capacity", "23k");
    expect_output("100,000 keys at 1 %", "info", "seen");
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "42k");
    PLAYGROUND_DO("", "rebuild", "seen", "begin");
    PLAYGROUND_DO("", "rebuild", "seen", "abort");
    expect_output("42,000 keys at 1 %", "info", "seen");
    cr_assert_eq(numbered_keys_present("seen", "key", 0, KEYS), KEYS);
    stop();
}

/* A node that is stopped keeps it from its end for some seconds. */
Test(expand, can_be_left_picked_up_and_taken_back, .timeout = LIMIT_S)
{
    static const char *const words[] = {"expand", "seen", "--capacity", "90k", NULL};
    enum { KEYS = 4000 };
    struct command watch;

    start();
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "1%");
    numbered_keys_add("seen", "key", 0, KEYS);
    /* With one of them it would come to its end. */
    playground_signal(&playground, "node-2", SIGSTOP);
    playground_signal(&playground, "node-3", SIGSTOP);
    command_start(&watch, span_text(""), SIGKILL, "orbloom", words);
    playground_wait_status("is followed by");
    EXPECT_REFUSED(1, "EXISTS: filter seen: it is on its way to 90,000 keys at 1 % already", "seen",
                   "--capacity", "80k");
    cr_assert_not(command_ended(&watch, 100));
    cr_assert_eq(kill(watch.pid, SIGINT), 0);
    command_finish(&watch, COMMAND_LIMIT_MS);
    command_expect_errors(&watch, 1, "it goes on by itself");
    command_forget(&watch);
    PLAYGROUND_DO("", "expand", "seen", "--abort", "--detach");
    playground_signal(&playground, "node-2", SIGCONT);
    playground_signal(&playground, "node-3", SIGCONT);
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "10k"); /* as it was */
    expect_output("1: 10,000 keys at 1 %", "info", "seen");
    expect_output("does not grow by itself", "info", "seen");
    cr_assert_eq(numbered_keys_present("seen", "key", 0, KEYS), KEYS);
    stop();
}

Test(expand, what_cannot_be_is_refused_and_says_why, .timeout = LIMIT_S)
{
    start();
    PLAYGROUND_DO("", "create", "seen", "--capacity", "20M", "--fpr", "1%");
    PLAYGROUND_DO("", "create", "bits", "--capacity", "10k", "--fpr", "1%", "--keylog", "off",
                  "--when-full", "refuse");
    numbered_keys_add("seen", "key", 0, 3000);
    playground_wait_status(" 3,0"); /* keys, about */
    EXPECT_REFUSED(1, "more than the capacity of 1,000; ask for more", "seen", "--capacity",
                   "1000");
    EXPECT_REFUSED(1, "more than its max-capacity of 1,280,000,000", "seen", "--capacity", "1T");
    EXPECT_REFUSED(1, "NO_SPACE: filter seen: memory does not suffice: node node-", "seen",
                   "--capacity", "1G");
    EXPECT_REFUSED(1, "nothing is under way; say how far", "seen");
    EXPECT_REFUSED(1, "nothing is under way to be taken back", "seen", "--abort");
    EXPECT_REFUSED(1, "it has no key log", "bits", "--capacity", "20k");
    EXPECT_REFUSED(1, "NOT_FOUND: filter sean: there is no such filter", "sean", "--capacity",
                   "1M");
    expect_output("20,000,000 keys at 1 %", "info", "seen");
    stop();
}

Test(expand, wrong_words_are_usage, .timeout = LIMIT_S)
{
    EXPECT_REFUSED(2, "--capacity", "seen", "--capacity", "0");
    EXPECT_REFUSED(2, "--capacity", "seen", "--capacity", "-5");
    EXPECT_REFUSED(2, "--capacity", "seen", "--capacity", "2T");
    EXPECT_REFUSED(2, "--capacity", "seen", "--capacity", "much");
    EXPECT_REFUSED(2, "--fpr", "seen", "--fpr", "nan");
    EXPECT_REFUSED(2, "--fpr", "seen", "--fpr", "0");
    EXPECT_REFUSED(2, "--fpr", "seen", "--fpr", "99%");
    EXPECT_REFUSED(2, "leave out --capacity", "seen", "--abort", "--capacity", "20k");
    EXPECT_REFUSED(2, "leave out --capacity", "seen", "--abort", "--fpr", "1%");
    EXPECT_REFUSED(2, "orbloom: ", "no blanks", "--capacity", "20k");
    EXPECT_REFUSED(2, "orbloom: ", "seen", "twice", "--capacity", "20k");
    EXPECT_REFUSED(2, "orbloom: ", "--capacity", "20k");
}
