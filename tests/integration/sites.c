/* Filters in several sites as people have them: whole sites of real processes, linked. What one has
 * acknowledged every other one has soon after, whatever is killed meanwhile; none says "absent"
 * before it has what the others had. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 240, SITES = 2, POLL_MS = 100, KEYS = 3000, KEY_BYTES = 32 };

static struct playground playground;
static char text[KEYS * KEY_BYTES];

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){.nodes = 1, .sites = SITES});
}

static void stop(void)
{
    playground_stop(&playground);
}

TestSuite(sites, .init = start, .fini = stop, .timeout = LIMIT_S);

/* ---- what one site is asked ---- */

/* Commands ask that site from here on. */
static void at(int site)
{
    char name[32];
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    (void)snprintf(name, sizeof name, "site-%d/coordinator", site);
    playground_endpoint(&playground, name, endpoint);
    cr_assert_eq(setenv("ORBLOOM_COORDINATOR", endpoint, 1), 0);
    (void)snprintf(name, sizeof name, "site-%d/router", site);
    playground_endpoint(&playground, name, endpoint);
    cr_assert_eq(setenv("ORBLOOM_ROUTER", endpoint, 1), 0);
}

/* "PREFIX-0" to "PREFIX-2999", one a line. */
static const char *keys(const char *prefix)
{
    size_t used = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s-%u\n", prefix, i);
    }
    return text;
}

/* How many of these answers a check gets there. */
static unsigned count(int site, const char *prefix, const char *answer)
{
    struct command command;
    unsigned found = 0;
    size_t size = strlen(answer);

    at(site);
    command_run(&command, span_text(keys(prefix)), "orbloom", "check", "urls", "-", NULL);
    for (const char *line = command.output; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');

        found += strncmp(line, answer, size) == 0 && (line[size] == '\n' || line[size] == '\0');
        line = end != NULL ? end + 1 : NULL;
    }
    command_forget(&command);
    return found;
}

/* All of them are there soon; until then none may be called absent where that is not allowed. */
static void wait_until_present(int site, const char *prefix, bool never_absent)
{
    uint64_t deadline_ms = command_now_ms() + 2 * PLAYGROUND_WAIT_MS;

    while (count(site, prefix, "present") != KEYS) {
        cr_assert_lt(command_now_ms(), deadline_ms, "keys %s never come to site %d", prefix, site);
        cr_assert(!never_absent || count(site, prefix, "absent") == 0);
        (void)poll(NULL, 0, POLL_MS);
    }
}

static void add(int site, const char *prefix)
{
    at(site);
    PLAYGROUND_DO(keys(prefix), "add", "urls", "-");
}

static bool says(int site, const char *said)
{
    struct command command;
    bool found;

    at(site);
    command_run(&command, span_text(""), "orbloom", "site", NULL);
    found = strstr(command.output, said) != NULL;
    command_forget(&command);
    return found;
}

static void wait_until_says(int site, const char *said)
{
    uint64_t deadline_ms = command_now_ms() + 2 * PLAYGROUND_WAIT_MS;

    while (!says(site, said)) {
        cr_assert_lt(command_now_ms(), deadline_ms, "site %d never says: %s", site, said);
        (void)poll(NULL, 0, POLL_MS);
    }
}

static void expect_refusal(const char *why, const char *a, const char *b, const char *c)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "site", a, b, c, NULL);
    cr_assert_neq(command.exit_status, 0);
    cr_assert_not_null(strstr(command.errors, why), "not `%s` but: %s", why, command.errors);
    command_forget(&command);
}

/* At site 1, with keys; and then at both. */
static void create(void)
{
    at(1);
    PLAYGROUND_DO("", "create", "urls", "--capacity", "20k", "--fpr", "1%", "--replicas", "1");
    add(1, "before");
}

static void join(void)
{
    create();
    PLAYGROUND_DO("", "site", "add", "urls", "site-2", "--timeout", "20s");
}

/* ---- ---- */

Test(sites, a_filter_with_keys_gets_a_second_site_and_both_take_adds)
{
    join();
    cr_assert_eq(count(2, "before", "present"), KEYS,
                 "it was filled before it was said to be there");
    cr_assert_geq(count(2, "nobodys", "absent"), KEYS * 9 / 10, "and answers as the others do");
    add(1, "first");
    add(2, "second");
    wait_until_present(2, "first", false);
    wait_until_present(1, "second", false);
    cr_assert_eq(count(1, "before", "present"), KEYS);
}

Test(sites, a_newcomer_takes_the_bound_of_checks_and_acks_over)
{
    struct command command;

    at(1);
    PLAYGROUND_DO("", "create", "urls", "--capacity", "20k", "--fpr", "1%", "--replicas", "1",
                  "--max-staleness", "1h", "--acks", "each");
    PLAYGROUND_DO("", "site", "add", "urls", "site-2", "--timeout", "20s");
    at(2);
    command_run(&command, span_text(""), "orbloom", "info", "urls", "--json", NULL);
    cr_assert_not_null(strstr(command.output, "\"max_staleness_us\": 3600000000,"), "%s",
                       command.output);
    cr_assert_not_null(strstr(command.output, "\"acks\": \"each\","), "%s", command.output);
    command_forget(&command);
}

/* The newcomer is asked from the moment on at which it knows the filter. */
Test(sites, a_newcomer_says_absent_of_nothing_that_others_have_whatever_is_killed)
{
    static const char *const victims[] = {"site-2/link", "site-2/coordinator", "site-1/link",
                                          "site-1/coordinator"};

    create();
    PLAYGROUND_DO("", "site", "add", "urls", "site-2", "--detach");
    for (size_t i = 0; i < sizeof victims / sizeof victims[0]; i++) {
        playground_kill(&playground, victims[i]);
        playground_restart(&playground, victims[i]);
        cr_assert_eq(count(2, "before", "absent"), 0);
    }
    wait_until_present(2, "before", true);
    wait_until_says(2, "urls: takes adds, says \"absent\"");
}

/* ---- bounds of checks ---- */

/* Does a check of one key at that site, within a bound, print the answer, or is `why` told? */
static bool answers(int site, const char *key, const char *bound, const char *answer,
                    const char *why)
{
    struct command command;
    bool as_said;

    at(site);
    command_run(&command, span_text(key), "orbloom", "check", "urls", "-", "--max-staleness", bound,
                "--timeout", "3s", NULL);
    as_said = strcmp(command.output, answer) == 0 && strstr(command.errors, why) != NULL;
    command_forget(&command);
    return as_said;
}

static void wait_until_answers(int site, const char *key, const char *bound, const char *answer,
                               const char *why)
{
    uint64_t deadline_ms = command_now_ms() + 2 * PLAYGROUND_WAIT_MS;

    while (!answers(site, key, bound, answer, why)) {
        cr_assert_lt(command_now_ms(), deadline_ms, "site %d never says %s of %s", site, answer,
                     key);
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* Without a bound one of them would sooner or later be on its way still. */
static void expect_fresh(int rounds)
{
    char key[KEY_BYTES];

    for (int i = 0; i < rounds; i++) {
        (void)snprintf(key, sizeof key, "fresh-%d\n", i);
        at(1 + i % SITES);
        PLAYGROUND_DO(key, "add", "urls", "-");
        cr_assert(!answers(1 + (i + 1) % SITES, key, "0", "absent\n", ""), "%s", key);
        wait_until_answers(1 + (i + 1) % SITES, key, "0", "present\n", "");
    }
}

Test(sites, a_fresh_check_misses_nothing_that_another_site_acknowledged)
{
    join();
    expect_fresh(100);
}

/* All that these processes know of the time of day is false, and another lie every moment. */
static void let_clocks_jump(void)
{
    static const char clock[] = ORBLOOM_BIN_DIR "/preload/jumping_clock.so";
    const char *options = getenv("ASAN_OPTIONS");
    char text_of_options[256];

    (void)snprintf(text_of_options, sizeof text_of_options, "%s:verify_asan_link_order=0",
                   options != NULL ? options : "");
    cr_assert_eq(setenv("ASAN_OPTIONS", text_of_options, 1), 0);
    cr_assert_eq(access(clock, R_OK), 0, "%s", clock);
    cr_assert_eq(setenv("LD_PRELOAD", clock, 1), 0);
}

Test(sites, clocks_that_jump_change_nothing)
{
    stop();
    let_clocks_jump();
    start();
    join();
    expect_fresh(20);
    wait_until_answers(2, "nobodys-1\n", "1s", "absent\n", "");
    playground_signal(&playground, "site-1/link", SIGSTOP);
    wait_until_answers(2, "nobodys-1\n", "1s", "unknown\n", "BEHIND: site-1");
    playground_signal(&playground, "site-1/link", SIGCONT);
    wait_until_answers(2, "nobodys-1\n", "1s", "absent\n", "");
    wait_until_present(2, "before", false);
}

Test(sites, a_site_that_is_behind_is_named)
{
    join();
    wait_until_answers(1, "nobodys-1\n", "1s", "absent\n", "");
    playground_signal(&playground, "site-2/link", SIGSTOP);
    wait_until_answers(1, "nobodys-1\n", "1s", "unknown\n", "BEHIND: site-2");
    cr_assert(answers(1, "before-1\n", "0", "present\n", ""), "that waits for nobody");
    cr_assert_geq(count(1, "nobodys", "absent"), KEYS * 9 / 10, "nor do checks without a bound");
    playground_signal(&playground, "site-2/link", SIGCONT);
    wait_until_answers(1, "nobodys-1\n", "1s", "absent\n", "");
    wait_until_answers(1, "nobodys-1\n", "0", "absent\n", "");
}

/* ---- acknowledgements of several sites ---- */

/* Is one key acknowledged at that site? Else why not is told. */
static bool acknowledges(int site, const char *key, const char *acks, const char *why)
{
    struct command command;
    bool acknowledged;

    at(site);
    command_run(&command, span_text(key), "orbloom", "add", "urls", "-", "--acks", acks,
                "--timeout", "3s", NULL);
    acknowledged = command.exit_status == 0;
    cr_assert(acknowledged || strstr(command.errors, why) != NULL, "%s", command.errors);
    command_forget(&command);
    return acknowledged;
}

/* A plain check at the other site then finds it at once. */
Test(sites, what_each_site_is_to_have_each_has_once_it_is_acknowledged)
{
    enum { ROUNDS = 60 };
    static const char *const acks[] = {"each", "2"};
    struct command command;
    char key[KEY_BYTES];

    join();
    for (int i = 0; i < ROUNDS; i++) {
        int site = 1 + i % SITES;

        (void)snprintf(key, sizeof key, "each-%d\n", i);
        cr_assert(acknowledges(site, key, acks[i / 2 % 2], ""));
        at(SITES + 1 - site);
        command_run(&command, span_text(key), "orbloom", "check", "urls", "-", NULL);
        cr_assert_str_eq(command.output, "present\n", "%s", key);
        command_forget(&command);
    }
}

Test(sites, what_a_site_that_is_cut_off_does_not_have_is_not_acknowledged)
{
    uint64_t deadline_ms;

    join();
    cr_assert(acknowledges(1, "key-1\n", "each", ""));
    playground_signal(&playground, "site-2/link", SIGSTOP);
    cr_assert(!acknowledges(1, "key-2\n", "each", "BEHIND: site-2"));
    cr_assert(acknowledges(1, "key-3\n", "local", ""));
    cr_assert(!acknowledges(1, "key-4\n", "3", "takes as many sites"));
    playground_signal(&playground, "site-2/link", SIGCONT);
    deadline_ms = command_now_ms() + 2 * PLAYGROUND_WAIT_MS;
    while (!acknowledges(1, "key-2\n", "each", "BEHIND")) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it is never acknowledged");
    }
}

/* Is an add that asks for less than its filter not acknowledged, for that reason? */
static bool withholds(const char *operation, const char *why)
{
    struct command command;
    bool told;

    command_run(&command, span_text("key\n"), "orbloom", operation, "urls", "-", "--acks", "local",
                "--timeout", "3s", NULL);
    cr_assert_eq(command.exit_status, 1);
    cr_assert_eq(command.output_size, 0, "dedup calls it no first one: %s", command.output);
    told = strstr(command.errors, why) != NULL;
    command_forget(&command);
    return told;
}

static bool removes_at_once(const char *site)
{
    struct command command;
    int status;

    command_run(&command, span_text(""), "orbloom", "site", "remove", "urls", site, "--now",
                "--confirmed-off", site, "--detach", NULL);
    status = command.exit_status;
    command_forget(&command);
    return status == 0;
}

/* A request can't ask for less, and no site goes that is needed for it; but one that is off does.
 */
Test(sites, two_sites_acknowledge_what_is_added_to_a_filter_that_says_so)
{
    static const char few[] = "takes as many sites that count";
    uint64_t deadline_ms;

    at(1);
    PLAYGROUND_DO("", "create", "urls", "--capacity", "20k", "--fpr", "1%", "--replicas", "1",
                  "--acks", "2");
    cr_assert(withholds("add", few));
    PLAYGROUND_DO("", "site", "add", "urls", "site-2", "--timeout", "20s");
    PLAYGROUND_DO(keys("both"), "add", "urls", "-");
    cr_assert_eq(count(2, "both", "present"), KEYS);
    at(2);
    expect_refusal("none would be acknowledged any more", "remove", "urls", "site-2");
    at(1);
    cr_assert(!removes_at_once("site-2"), "it is not off");
    playground_kill(&playground, "site-2/link");
    cr_assert(withholds("dedup", "BEHIND: site-2: not acknowledged"));
    deadline_ms = command_now_ms() + 2 * PLAYGROUND_WAIT_MS;
    while (!removes_at_once("site-2")) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it is never taken to be off");
        (void)poll(NULL, 0, POLL_MS);
    }
    while (!withholds("add", few)) {
        cr_assert_lt(command_now_ms(), deadline_ms, "routers never hear that it is gone");
    }
}

/* ---- how far ---- */

/* A link that stands still keeps its connection for a while. */
Test(sites, what_another_site_lacks_is_told_with_what_is_at_risk)
{
    join();
    wait_until_says(1, "from it: all up to ");
    wait_until_says(1, "to it: nothing is pending");
    playground_signal(&playground, "site-2/link", SIGSTOP);
    add(1, "at-risk");
    wait_until_says(1, " behind, about 3,000 keys at risk");
    cr_assert_gt(playground_counter(&playground, "site-1/link", "site_pending_keys"), 0);
    wait_until_says(1, "not connected, all up to ");
    wait_until_says(1, "to it: nothing is sent");
    playground_wait_counter(&playground, "site-1/link", "site_lag_us", 1000000);
    playground_signal(&playground, "site-2/link", SIGCONT);
    wait_until_says(1, "to it: nothing is pending");
    wait_until_present(2, "at-risk", false);
}

/* ---- orders about a site ---- */

static void give(const char *what, const char *a, const char *b)
{
    PLAYGROUND_DO("", "site", what, a, b, "--timeout", "20s");
}

/* A cut that an operator makes: it is in the store, so nothing that is killed ends it. */
Test(sites, what_is_paused_stays_so_whatever_is_killed_until_it_is_resumed)
{
    join();
    give("pause", "site-2", "urls");
    wait_until_says(1, "from it: paused here");
    wait_until_says(2, "from it: paused at the other site");
    add(1, "paused-1");
    add(2, "paused-2");
    cr_assert(!acknowledges(1, "key-1\n", "each", "it is paused by an operator"));
    cr_assert(!acknowledges(2, "key-2\n", "each", "it is paused by an operator"));
    at(1);
    expect_refusal("first `orbloom site resume site-2 urls`", "resync", "urls", "site-2");
    playground_kill(&playground, "site-1/link");
    playground_kill(&playground, "site-1/coordinator");
    playground_restart(&playground, "site-1/coordinator");
    playground_restart(&playground, "site-1/link");
    wait_until_says(1, "from it: paused here");
    wait_until_says(1, "counted, paused here");
    cr_assert_eq(count(2, "paused-1", "present") + count(1, "paused-2", "present") < KEYS / 2,
                 true);
    at(1);
    give("resume", "site-2", "urls");
    wait_until_present(2, "paused-1", false);
    wait_until_present(1, "paused-2", false);
    wait_until_says(1, "to it: nothing is pending");
}

Test(sites, all_filters_are_paused_and_resumed_at_once)
{
    join();
    at(2);
    PLAYGROUND_DO("", "site", "pause", "site-1");
    PLAYGROUND_DO("", "site", "pause", "site-1");
    wait_until_says(2, "paused here for all filters");
    wait_until_says(1, "from it: paused at the other site");
    add(1, "paused");
    cr_assert_lt(count(2, "paused", "present"), KEYS / 2);
    at(2);
    PLAYGROUND_DO("", "site", "resume", "site-1");
    PLAYGROUND_DO("", "site", "resume", "site-1");
    wait_until_present(2, "paused", false);
}

/* It is done by the next link where the one that has begun it is killed. */
Test(sites, a_comparison_is_ordered_and_seen_through_whatever_is_killed)
{
    join();
    add(1, "here");
    at(2);
    give("resync", "urls", "site-1");
    PLAYGROUND_DO("", "site", "resync", "urls", "site-1", "--detach");
    playground_kill(&playground, "site-2/link");
    playground_restart(&playground, "site-2/link");
    add(1, "later");
    wait_until_present(2, "later", false);
    wait_until_says(2, "from it: all up to ");
    playground_wait_counter(&playground, "site-1/link", "site_copies_total", 3);
}

/* Each site serves while it is cut off, and takes over what the other one has once it is back. */
Test(sites, sites_that_are_cut_off_serve_and_are_equal_again)
{
    join();
    playground_kill(&playground, "site-1/link");
    add(1, "alone-1");
    add(2, "alone-2");
    cr_assert_eq(count(2, "alone-1", "present") + count(1, "alone-2", "present") < KEYS / 2, true);
    playground_kill(&playground, "site-2/node-1");
    playground_restart(&playground, "site-2/node-1");
    playground_restart(&playground, "site-1/link");
    wait_until_present(2, "alone-1", false);
    wait_until_present(1, "alone-2", false);
}

/* A link that is stopped has heard nothing of what came meanwhile. */
Test(sites, links_and_coordinators_are_killed_and_stopped)
{
    static const char *const victims[] = {"site-1/link", "site-2/coordinator", "site-2/link",
                                          "site-1/coordinator", "site-2/node-1"};
    char prefix[16];

    join();
    for (size_t i = 0; i < sizeof victims / sizeof victims[0]; i++) {
        (void)snprintf(prefix, sizeof prefix, "round-%zu", i);
        playground_signal(&playground, victims[i], SIGSTOP);
        (void)poll(NULL, 0, POLL_MS);
        playground_signal(&playground, victims[i], SIGCONT);
        add(1 + (int)(i % SITES), prefix);
        playground_kill(&playground, victims[i]);
        playground_restart(&playground, victims[i]);
    }
    for (size_t i = 0; i < sizeof victims / sizeof victims[0]; i++) {
        (void)snprintf(prefix, sizeof prefix, "round-%zu", i);
        wait_until_present(1, prefix, false);
        wait_until_present(2, prefix, false);
    }
}

static void wipe_node_of_site_2(void)
{
    char line[256];

    playground_kill(&playground, "site-2/node-1");
    (void)snprintf(line, sizeof line, "rm -rf %s/site-2/node-1/data", playground.dir);
    cr_assert_eq(system(line), 0, "%s", line);
    playground_restart(&playground, "site-2/node-1");
}

static void accept_loss_at_site_2(void)
{
    uint64_t deadline_ms = command_now_ms() + 2 * PLAYGROUND_WAIT_MS;
    struct command command;
    bool accepted = false;

    at(2);
    while (!accepted) {
        command_run(&command, span_text(""), "orbloom", "shard", "accept-loss", "urls", "all",
                    "--yes", NULL);
        accepted = command.exit_status == 0;
        cr_assert(!accepted || strstr(command.output, "joins its other sites anew") != NULL, "%s",
                  command.output);
        cr_assert_lt(command_now_ms(), deadline_ms, "%s", command.errors);
        command_forget(&command);
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* What an operator gave up at one site is no "absent" there before it has come from the other. */
Test(sites, an_accepted_loss_is_made_up_for_before_absent_is_said)
{
    join();
    add(2, "both");
    wait_until_present(1, "both", false);
    playground_signal(&playground, "site-1/link", SIGSTOP);
    wipe_node_of_site_2();
    accept_loss_at_site_2();
    playground_wait_counter(&playground, "site-2/node-1", "losses_accepted_total", 1);
    cr_assert_eq(count(2, "before", "absent") + count(2, "nobodys", "absent"), 0);
    playground_signal(&playground, "site-1/link", SIGCONT);
    wait_until_present(2, "before", true);
    wait_until_present(2, "both", true);
    wait_until_says(2, "says \"absent\"");
}

Test(sites, a_site_leaves_when_the_other_one_has_its_keys)
{
    join();
    add(2, "parting");
    PLAYGROUND_DO("", "site", "remove", "urls", "site-2", "--timeout", "20s");
    cr_assert_eq(count(1, "parting", "present"), KEYS);
    cr_assert_eq(count(2, "nobodys", "absent"), 0, "it says no absent any more");
}

/* With what it has kept; then with nothing, as it has dropped that. */
Test(sites, a_site_that_has_left_comes_back_as_often_as_it_likes)
{
    join();
    for (int round = 0; round < 2; round++) {
        at(2);
        PLAYGROUND_DO("", "site", "remove", "urls", "site-2", "--timeout", "20s");
        if (round == 1) {
            PLAYGROUND_DO("", "drop", "urls", "--here", "--timeout", "20s");
        }
        add(1, round == 0 ? "meanwhile-0" : "meanwhile-1");
        PLAYGROUND_DO("", "site", "add", "urls", "site-2", "--timeout", "60s");
        cr_assert_eq(count(2, round == 0 ? "meanwhile-0" : "meanwhile-1", "present"), KEYS);
        cr_assert_eq(count(2, "before", "present"), KEYS);
        cr_assert_geq(count(2, "nobodys", "absent"), KEYS * 9 / 10);
        add(2, round == 0 ? "back-0" : "back-1");
        wait_until_present(1, round == 0 ? "back-0" : "back-1", false);
    }
}

Test(sites, what_cannot_be_is_refused_with_the_reason)
{
    create();
    expect_refusal("no link of this site knows a site mars", "add", "urls", "mars");
    expect_refusal("site-1 is this site", "add", "urls", "site-1");
    expect_refusal("there is no filter nothing", "add", "nothing", "site-2");
    expect_refusal("not in a site site-2", "remove", "urls", "site-2");
    expect_refusal("not in a site site-2", "pause", "site-2", "urls");
    expect_refusal("not in a site mars", "resync", "urls", "mars");
    expect_refusal("no link of this site knows a site mars", "pause", "mars", NULL);
    expect_refusal("site-1 is this site", "resume", "site-1", NULL);
    expect_refusal("usage: orbloom site", "resync", "urls", NULL);
    expect_refusal("--detach goes with resync alone", "pause", "site-2", "--detach");
    expect_refusal("there is no filter nothing", "resync", "nothing", "site-2");
    PLAYGROUND_DO("", "create", "window", "--capacity", "10k", "--fpr", "1%", "--replicas", "1",
                  "--window", "1h");
    expect_refusal("has a window", "add", "window", "site-2");
    at(2);
    PLAYGROUND_DO("", "create", "urls", "--capacity", "20k", "--fpr", "1%", "--replicas", "1");
    at(1);
    PLAYGROUND_DO("", "site", "add", "urls", "site-2", "--detach");
    wait_until_says(2, "there is another filter urls here");
    cr_assert_eq(count(2, "before", "present") < KEYS / 2, true, "nothing is half made");
}

Test(sites, a_filter_that_is_dropped_everywhere_is_gone_at_each_site)
{
    struct command command;

    join();
    at(1);
    command_run(&command, span_text(""), "orbloom", "drop", "urls", NULL);
    cr_assert_not_null(strstr(command.errors, "--here"), "%s", command.errors);
    command_forget(&command);
    PLAYGROUND_DO("", "drop", "urls", "--everywhere", "--timeout", "20s");
    wait_until_says(2, "none is in several sites");
}
