/* Several connections between the links of two real sites, by a line on which one carries little:
 * what is copied goes by all of them, and all of it is there whichever of them break. */
#include "tests/support/playground.h"
#include "tests/support/wiretap.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMIT_S = 240,
    POLL_MS = 100,
    KEYS = 500000, /* 3 MB of batches */
    KEY_BYTES = 16,
    PACE = 100000,
    PACE_LATER = 1000000,
    PATH_BYTES = 160,
};

static struct playground playground;
static struct wiretap line; /* from site-2's link to site-1's */
static char text[KEYS * KEY_BYTES];

/* ---- the line ---- */

/* Where site-1 listens for other sites, in the configuration of site-2's link. */
static void find_gate(const char *conf, char gate[PLAYGROUND_ENDPOINT_BYTES])
{
    const char *peer = strstr(conf, "\"site-1 ");

    cr_assert_not_null(peer);
    cr_assert_eq(sscanf(peer, "\"site-1 %255[^ ]", gate), 1);
}

static void write_conf(const char *path, const char *conf, const char *gate)
{
    const char *at = strstr(conf, gate);
    FILE *file = fopen(path, "we");

    cr_assert_not_null(file);
    cr_assert_geq(
        fprintf(file, "%.*s%s%s", (int)(at - conf), conf, line.endpoint, at + strlen(gate)), 0);
    cr_assert_eq(fclose(file), 0);
}

/* From here on site-2's link dials the line. */
static void lay_line(void)
{
    char gate[PLAYGROUND_ENDPOINT_BYTES];
    char path[PATH_BYTES];
    char *conf;

    (void)snprintf(path, sizeof path, "%s", playground_path(&playground, "site-2/link/conf"));
    conf = command_read_file(path);
    cr_assert_not_null(conf);
    find_gate(conf, gate);
    wiretap_start(&line, gate);
    write_conf(path, conf, gate);
    free(conf);
    playground_kill(&playground, "site-2/link");
    playground_restart(&playground, "site-2/link");
}

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){.nodes = 1, .sites = 2});
    lay_line();
    playground_configure(&playground, "site-2/link", "site_connections = \"4\";\n");
}

static void want_several(void)
{
    playground_configure(&playground, "site-1/link", "site_connections = \"4\";\n");
}

static void stop(void)
{
    playground_stop(&playground);
    wiretap_stop(&line);
}

TestSuite(site_connections, .init = start, .fini = stop, .timeout = LIMIT_S);

/* ---- what sites are asked ---- */

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

static const char *keys(void)
{
    size_t used = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "key-%u\n", i);
    }
    return text;
}

/* How many are not known to be present at site 2. */
static unsigned count_missing(void)
{
    struct command command;
    unsigned lines = 0;

    at(2);
    command_run(&command, span_text(keys()), "orbloom", "check", "urls", "-", NULL);
    /* Byte by byte: a checked strstr() looks at all of it each time. */
    for (const char *one = command.output; *one != '\0'; one++) {
        lines += *one == 'p' && (one == command.output || one[-1] == '\n'); /* "present" */
    }
    command_forget(&command);
    return KEYS - lines;
}

static void wait_until_all_are_there(void)
{
    uint64_t deadline_ms = command_now_ms() + 6 * PLAYGROUND_WAIT_MS;
    unsigned missing;

    while ((missing = count_missing()) > 0) {
        cr_assert_lt(command_now_ms(), deadline_ms, "%u keys never come", missing);
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* Site 2 is given what site 1 has, which takes its time. */
static void begin_copy(void)
{
    at(1);
    PLAYGROUND_DO("", "create", "urls", "--capacity", "1M", "--fpr", "1%", "--replicas", "1");
    PLAYGROUND_DO(keys(), "add", "urls", "-");
    wiretap_slow(&line, PACE);
    PLAYGROUND_DO("", "site", "add", "urls", "site-2", "--detach");
}

/* ---- what holds ---- */

Test(site_connections, a_copy_goes_by_several_and_on_when_some_break)
{
    want_several();
    begin_copy();
    playground_wait_counter(&playground, "site-1/link", "site_connections", 3);
    for (size_t i = 1; i <= 3; i++) {
        wiretap_break(&line, i);
        playground_wait_counter(&playground, "site-2/link", "site_connections", 3);
        (void)poll(NULL, 0, 10 * POLL_MS);
    }
    wiretap_slow(&line, PACE_LATER);
    wait_until_all_are_there();
    cr_assert_eq(playground_counter(&playground, "site-1/link", "site_channels"), 1);
}

/* The first one, and all the others with it. */
Test(site_connections, a_copy_goes_on_when_all_break)
{
    want_several();
    begin_copy();
    playground_wait_counter(&playground, "site-2/link", "site_connections", 3);
    wiretap_break(&line, 4);
    wiretap_slow(&line, PACE_LATER);
    wait_until_all_are_there();
}

Test(site_connections, the_side_that_has_fewer_says_how_many)
{
    playground_configure(&playground, "site-1/link", "site_connections = \"2\";\n");
    begin_copy();
    playground_wait_counter(&playground, "site-1/link", "site_connections", 1);
    wiretap_slow(&line, PACE_LATER);
    wait_until_all_are_there();
    cr_assert_leq(playground_counter(&playground, "site-2/link", "site_connections"), 1);
}
