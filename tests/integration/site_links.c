/* Links of sites as processes: they find each other and say so, whatever is killed; who has another
 * key, tells another name, or talks nonsense does not get in, is told why, and does no harm. */
#include "map/site_key.h"
#include "tests/support/playground.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 120, TEXT_BYTES = 4096, PATH_BYTES = 160, POLL_MS = 50, HUGE_BYTES = 80 << 20 };

#define OTHER_SECRET "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define OTHER_PUBLIC "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f"

static struct playground playground;
static struct command command;
static char gate[PLAYGROUND_ENDPOINT_BYTES]; /* of site-1's link, for other sites */
static struct curve_pair keys[2];            /* of the sites */

/* ---- two sites ---- */

static void read_key(int site)
{
    char reason[160];
    char name[32];
    char *text;

    (void)snprintf(name, sizeof name, "site-%d/site.key", site + 1);
    text = command_read_file(playground_path(&playground, name));
    cr_assert_not_null(text);
    cr_assert_eq(site_key_read(&keys[site], span_text(text), reason, sizeof reason), STATUS_OK,
                 "%s", reason);
    free(text);
}

static void start(void)
{
    char *conf;

    playground_start(&playground,
                     &(struct playground_plan){.nodes = 1, .sites = 2, .in_memory = true});
    conf = command_read_file(playground_path(&playground, "site-1/link/conf"));
    cr_assert_not_null(conf);
    cr_assert_eq(sscanf(strstr(conf, "site_listen = "), "site_listen = \"%255[^\"]\"", gate), 1);
    free(conf);
    read_key(0);
    read_key(1);
}

static void stop(void)
{
    playground_stop(&playground);
}

TestSuite(site_links, .init = start, .fini = stop, .timeout = LIMIT_S);

static void wait_for(bool (*is_so)(const char *text), const char *text, const char *what)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    while (!is_so(text)) {
        cr_assert_lt(command_now_ms(), deadline_ms, "%s never: %s", what, text);
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* What a coordinator says of sites, for programs. */
static bool says(const char *site, const char *text)
{
    char name[32];
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    bool said;

    (void)snprintf(name, sizeof name, "%s/coordinator", site);
    playground_endpoint(&playground, name, endpoint);
    command_run(&command, span_text(""), "orbloom", "site", "--coordinator", endpoint, NULL);
    said = command.exit_status == 0 && strstr(command.output, text) != NULL;
    command_forget(&command);
    return said;
}

static bool first_says(const char *text)
{
    return says("site-1", text);
}

static bool second_says(const char *text)
{
    return says("site-2", text);
}

static bool first_logs(const char *text)
{
    char *log = playground_log(&playground, "site-1/link");
    bool logs = log != NULL && strstr(log, text) != NULL;

    free(log);
    return logs;
}

/* ---- a link that the test starts ---- */

static struct command extra;
static char extra_endpoint[PLAYGROUND_ENDPOINT_BYTES];

static char *output_of(int fd)
{
    char *text = calloc(1, TEXT_BYTES * 4);

    cr_assert_not_null(text);
    cr_assert_geq(pread(fd, text, TEXT_BYTES * 4 - 1, 0), 0);
    return text;
}

static bool extra_logs(const char *text)
{
    char *log = output_of(extra.errors_fd);
    bool logs = strstr(log, text) != NULL;

    free(log);
    return logs;
}

static bool extra_ready(const char *word)
{
    char *text = output_of(extra.output_fd);
    const char *line = strstr(text, word);
    bool ready = line != NULL && strchr(line, '\n') != NULL;

    cr_assert_not(command_ended(&extra, 0), "it has ended");
    if (ready) {
        cr_assert_eq(sscanf(line, "ready %255s", extra_endpoint), 1);
    }
    free(text);
    return ready;
}

/* Of site-2's cluster, to site-1: under this site's name, with that key file, pinning that key. */
static void start_extra(const char *site, const char *key_file, const char *pinned)
{
    char path[PATH_BYTES];
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    FILE *file;

    playground_endpoint(&playground, "site-2/coordinator", endpoint);
    (void)snprintf(path, sizeof path, "%s", playground_path(&playground, "extra.conf"));
    file = fopen(path, "we");
    cr_assert_not_null(file);
    cr_assert_geq(fprintf(file,
                          "name = \"extra\"; listen = \"tcp://127.0.0.1:*\"; coordinators = "
                          "[\"%s\"]; cluster_key_file = \"%s/site-2/key\"; site = \"%s\"; "
                          "site_key_file = \"%s\"; site_peers = (\"site-1 %s %s\");\n",
                          endpoint, playground.dir, site, key_file, gate, pinned),
                  0);
    cr_assert_eq(fclose(file), 0);
    command_start(&extra, span_text(""), SIGKILL, "orbloom-link",
                  (const char *const[]){"--config", path, NULL});
    wait_for(extra_ready, "ready ", "it is ready");
}

static void stop_extra(void)
{
    cr_assert_eq(kill(extra.pid, SIGTERM), 0);
    command_finish(&extra, PLAYGROUND_STOP_MS);
    cr_assert_eq(extra.exit_status, 0, "%s", extra.errors);
    cr_assert_null(command_find_defect(extra.errors), "%s", extra.errors);
    command_forget(&extra);
}

static const char *key_text(int site)
{
    static char text[SITE_KEY_TEXT_BYTES];

    return site_key_show(keys[site].public, text);
}

/* ---- what holds ---- */

#define CONNECTED     "connected by 1 links, "
#define NOT_CONNECTED "not connected"

/* The playground has waited until both say so; the round trip is measured a moment later. */
Test(site_links, two_sites_are_connected_and_say_so)
{
    wait_for(first_says, CONNECTED, "the first site says");
    wait_for(second_says, CONNECTED, "the second site says");
    cr_assert(first_says("this site, 1 links"));
    cr_assert(second_says("this site, 1 links"));
    cr_assert(first_says("sites; this one is site-1"));
    cr_assert_eq(playground_counter(&playground, "site-1/link", "site_channels"), 1);
    cr_assert_eq(playground_counter(&playground, "site-2/link", "site_channels"), 1);
    (void)playground_counter(&playground, "site-1/link", "requests_total"); /* the router's */
}

Test(site_links, a_link_that_is_killed_is_missed_and_comes_back)
{
    playground_kill(&playground, "site-1/link");
    wait_for(second_says, NOT_CONNECTED, "the other site says");
    playground_restart(&playground, "site-1/link");
    wait_for(second_says, CONNECTED, "the other site says");
    wait_for(first_says, CONNECTED, "its own site says");
    playground_kill(&playground, "site-2/link");
    wait_for(first_says, NOT_CONNECTED, "the other site says");
    playground_restart(&playground, "site-2/link");
    wait_for(first_says, CONNECTED, "the other site says");
}

Test(site_links, two_links_of_a_site_are_both_there)
{
    start_extra("site-2", playground_path(&playground, "site-2/site.key"), key_text(0));
    wait_for(second_says, "this site, 2 links", "its own site says");
    wait_for(second_says, "connected by 2 links", "its own site says");
    playground_wait_counter(&playground, "site-1/link", "site_channels", 2);
    stop_extra();
    wait_for(second_says, "connected by 1 links", "its own site says");
}

/* Inside a site all may speak CURVE; a link is a router there, and tells where it is reached. */
Test(site_links, a_site_that_speaks_curve_inside_is_linked_as_well)
{
    static const char *const daemons[] = {"coordinator", "node-1", "router", "link"};
    char credential[PATH_BYTES];
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    char name[32];

    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        (void)snprintf(name, sizeof name, "site-1/%s", daemons[i]);
        playground_configure(&playground, name, "transport = \"curve\";\n");
    }
    playground_endpoint(&playground, "site-1/coordinator", endpoint);
    (void)snprintf(credential, sizeof credential, "%s", playground_path(&playground, "admin.cred"));
    PLAYGROUND_DO("", "user", "create", "boss", "--role", "admin", "--credential", credential,
                  "--cluster-key", playground_path(&playground, "site-1/key"), "--coordinator",
                  endpoint, "--timeout", "20s");
    wait_for(second_says, CONNECTED, "the other site says");
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", credential, 1), 0);
    wait_for(first_says, CONNECTED, "its own site says");
    cr_assert_eq(playground_counter(&playground, "site-1/link", "site_channels"), 1);
    cr_assert_eq(unsetenv("ORBLOOM_CREDENTIAL"), 0);
}

/* ---- who is not who it should be ---- */

Test(site_links, what_has_another_key_than_the_pinned_one_is_not_spoken_to)
{
    start_extra("site-2", playground_path(&playground, "site-2/site.key"), OTHER_PUBLIC);
    wait_for(extra_logs, "does not let us in as site site-1 should", "it logs");
    cr_assert_eq(playground_counter(&playground, "site-1/link", "site_channels"), 1);
    stop_extra();
}

static void write_other_key(char path[PATH_BYTES])
{
    FILE *file;

    (void)snprintf(path, PATH_BYTES, "%s", playground_path(&playground, "other.key"));
    file = fopen(path, "we");
    cr_assert_not_null(file);
    cr_assert_geq(fprintf(file, "%s %s\n", SITE_KEY_WORD, OTHER_SECRET), 0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, 0600), 0);
}

Test(site_links, a_site_that_is_not_pinned_does_not_get_in)
{
    char path[PATH_BYTES];

    write_other_key(path);
    start_extra("site-2", path, key_text(0));
    wait_for(first_logs, OTHER_PUBLIC "; if it is a link of another site, add a line", "it logs");
    wait_for(extra_logs, "does not let us in as site site-1 should", "it logs");
    cr_assert_gt(playground_counter(&playground, "site-1/link", "site_refused_peers_total"), 0);
    cr_assert_eq(playground_counter(&playground, "site-1/link", "site_channels"), 1);
    stop_extra();
}

Test(site_links, a_site_that_tells_another_name_is_told_why_it_is_refused)
{
    start_extra("asia", playground_path(&playground, "site-2/site.key"), key_text(0));
    wait_for(first_logs, "a link calls its site asia, and site_peers here", "it logs");
    wait_for(extra_logs, "the link of site site-1", "it logs");
    wait_for(extra_logs, "a link calls its site asia, and site_peers here", "it logs");
    wait_for(extra_logs, "link extra is of site asia, and this is a coordinator of site site-2",
             "it logs");
    cr_assert_eq(playground_counter(&playground, "site-1/link", "site_channels"), 1);
    stop_extra();
}

/* ---- nonsense ---- */

static struct frame greeting(void)
{
    return (struct frame){.correlation = 77,
                          .kind = FRAME_SITE_HELLO,
                          .body.site_hello = {.version = SITE_LINK_VERSION,
                                              .site = "site-2",
                                              .id = site_key_id(keys[1].public),
                                              .boot = 5}};
}

/* What cut its connection takes what was queued with it: so it is said again. */
static void greet_until_answered(struct stranger *stranger)
{
    uint64_t deadline_ms = command_now_ms() + COMMAND_LIMIT_MS;
    const struct frame hello = greeting();
    struct frame answer;

    do {
        cr_assert_lt(command_now_ms(), deadline_ms, "no answer");
        stranger_send_frame(stranger, &hello);
    } while (!stranger_receive(stranger, POLL_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_HELLO);
}

/* A link of another version, which is told so, whatever it says next; other links go on. */
Test(site_links, a_link_of_another_version_is_told_which_one_to_upgrade)
{
    struct frame hello = greeting();
    struct stranger stranger;
    struct frame answer;

    hello.body.site_hello.version = 9;
    stranger_open_curve(&stranger, gate, &keys[1], keys[0].public);
    stranger_send_frame(&stranger, &hello);
    cr_assert(stranger_receive(&stranger, COMMAND_LIMIT_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_CLOSE);
    cr_assert_not_null(strstr(answer.body.site_close.message, "upgrade the older one"), "%s",
                       answer.body.site_close.message);
    stranger_close(&stranger);
    wait_for(first_logs, "speaks version 9 of what links tell each other", "it logs");
    wait_for(first_says, CONNECTED, "it says");
}

/* By plain TCP, by plain ZMTP, and by one who has the key of a site. */
Test(site_links, garbage_and_huge_frames_do_no_harm)
{
    static uint8_t garbage[4096];
    static uint8_t huge[HUGE_BYTES];
    struct stranger stranger;

    for (size_t i = 0; i < sizeof garbage; i++) {
        garbage[i] = (uint8_t)(i * 131 + i / 256);
    }
    stranger_tcp(gate, span_of(garbage, sizeof garbage));
    stranger_tcp(gate, span_of(garbage, 0));
    stranger_open_curve(&stranger, gate, &keys[1], keys[0].public);
    stranger_send(&stranger, span_of(garbage, sizeof garbage));
    stranger_send(&stranger, span_of(garbage, 0));
    stranger_send_parts(&stranger, span_of(garbage, 8), span_of(garbage, 8));
    playground_wait_counter(&playground, "site-1/link", "site_refused_total", 2);
    wait_for(first_logs, "refused a frame of", "it logs");
    cr_assert_eq(playground_counter(&playground, "site-1/link", "site_channels"), 1);
    stranger_send(&stranger, span_of(huge, sizeof huge));
    greet_until_answered(&stranger);
    stranger_close(&stranger);
    /* Until it has been silent for long enough the stranger counts as a link, too. */
    wait_for(first_says, CONNECTED, "it says");
}

/* The frames of a link, by one who has not greeted; and a greeting that is answered. */
Test(site_links, nobody_is_listened_to_before_it_has_greeted)
{
    const struct frame open = {.kind = FRAME_SITE_OPEN, .body.site_open = {.stream = 6}};
    const struct frame question = {.kind = FRAME_STATS_REQUEST};
    struct frame hello = greeting();
    struct stranger stranger;
    struct frame answer;

    stranger_open_curve(&stranger, gate, &keys[1], keys[0].public);
    stranger_send_frame(&stranger, &open);
    stranger_send_frame(&stranger, &question);
    stranger_send_frame(&stranger, &hello);
    cr_assert(stranger_receive(&stranger, COMMAND_LIMIT_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_HELLO, "what came before the greeting was answered");
    cr_assert_eq(answer.correlation, 77);
    cr_assert_str_eq(answer.body.site_hello.site, "site-1");
    hello.body.site_hello.version++;
    stranger_send_frame(&stranger, &hello);
    cr_assert(stranger_receive(&stranger, COMMAND_LIMIT_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_CLOSE);
    cr_assert_not_null(strstr(answer.body.site_close.message, "upgrade the older one"));
    stranger_close(&stranger);
}

static void greet_by(struct stranger *stranger, uint32_t connection, uint64_t boot)
{
    struct frame hello = greeting();

    hello.body.site_hello.boot = boot;
    hello.body.site_hello.connection = connection;
    hello.body.site_hello.connections = connection + 1;
    hello.body.site_hello.wants_connections = true;
    stranger_send_frame(stranger, &hello);
}

/* By one that is not the first: of a link that is not there, beyond the bound, with what may not go
 * by it, and with garbage. */
Test(site_links, a_further_connection_is_held_to_what_it_is_for)
{
    static const uint8_t garbage[] = "garbage";
    const struct frame open = {.kind = FRAME_SITE_OPEN, .body.site_open = {.stream = 6}};
    const struct frame batch = {.kind = FRAME_SITE_BATCH,
                                .body.site_batch = {.stream = 6, .number = 1}};
    struct stranger first;
    struct stranger other;
    struct frame answer;

    playground_configure(&playground, "site-1/link", "site_connections = \"4\";\n");
    stranger_open_curve(&first, gate, &keys[1], keys[0].public);
    stranger_open_curve(&other, gate, &keys[1], keys[0].public);
    greet_by(&other, 1, 5);
    stranger_send_frame(&other, &open);
    cr_assert_not(stranger_receive(&other, 10 * POLL_MS, &answer), "its link has not greeted");
    greet_until_answered(&first);
    greet_by(&other, 1, 6);
    cr_assert_not(stranger_receive(&other, 10 * POLL_MS, &answer), "it is another link's");
    greet_by(&other, 4, 5);
    cr_assert(stranger_receive(&other, COMMAND_LIMIT_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_CLOSE);
    cr_assert_not_null(strstr(answer.body.site_close.message, "more than the 4 connections"), "%s",
                       answer.body.site_close.message);
    greet_by(&other, 1, 5);
    cr_assert(stranger_receive(&other, COMMAND_LIMIT_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_HELLO);
    cr_assert_eq(answer.body.site_hello.connection, 1);
    stranger_send_frame(&other, &open);
    stranger_send(&other, span_of(garbage, sizeof garbage));
    playground_wait_counter(&playground, "site-1/link", "site_refused_total", 3);
    stranger_send_frame(&other, &batch);
    cr_assert(stranger_receive(&first, COMMAND_LIMIT_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_CLOSE, "by the first one it is told of no such stream");
    cr_assert_eq(answer.body.site_close.stream, 6);
    stranger_close(&other);
    stranger_close(&first);
    wait_for(first_says, CONNECTED, "it says");
}

/* Who takes it for a router. */
Test(site_links, clients_are_told_to_ask_a_router)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    playground_endpoint(&playground, "site-1/link", endpoint);
    command_run(&command, span_text("a\n"), "orbloom", "check", "seen", "--router", endpoint, NULL);
    cr_assert_neq(command.exit_status, 0);
    cr_assert_not_null(strstr(command.errors, "this is a link between sites"), "%s",
                       command.errors);
    command_forget(&command);
}

/* Routers ask them; a router knows no answer. */
Test(site_links, routers_ask_links_how_far_other_sites_are)
{
    const struct frame question = {.correlation = 77,
                                   .kind = FRAME_SITE_AGE_REQUEST,
                                   .body.site_age_request = {.filter_id = 4711, .wait_ms = 5000}};
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct stranger stranger;
    struct frame answer;

    playground_endpoint(&playground, "site-1/link", endpoint);
    stranger_open(&stranger, endpoint);
    stranger_send_frame(&stranger, &question);
    cr_assert(stranger_receive(&stranger, COMMAND_LIMIT_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_SITE_AGE_REPLY);
    cr_assert_eq(answer.correlation, 77);
    cr_assert_eq(answer.body.site_age_reply.status, STATUS_NOT_FOUND);
    cr_assert_eq(answer.body.site_age_reply.filter_id, 4711);
    stranger_close(&stranger);
    cr_assert_eq(playground_counter(&playground, "site-1/link", "site_ages_total"), 1);
    playground_endpoint(&playground, "site-1/router", endpoint);
    stranger_open(&stranger, endpoint);
    stranger_send_frame(&stranger, &question);
    cr_assert(stranger_receive(&stranger, COMMAND_LIMIT_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_ERROR);
    cr_assert_eq(answer.body.error.status, STATUS_INVALID);
    stranger_close(&stranger);
}
