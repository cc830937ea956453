/* Do keys, and names of filters, go over the wire so that whoever listens there can read them? Each
 * way between processes goes through a wiretap: clients to the router and the coordinator, the
 * router and nodes to the coordinator, the router, the coordinator and nodes to nodes. By plain
 * they are there, so that this test can fail; by CURVE they are not. */
#include "tests/support/wiretap.h"

#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY    "key-that-nobody-may-see"
#define FILTER "name-that-nobody-may-see"

enum { LIMIT_S = 240, PATH_BYTES = 512, CONF_BYTES = 8192, NNODES = 3, NKEYS = 2000 };

static struct playground playground;
static struct wiretap coordinator;
static struct wiretap router;
static struct wiretap nodes[NNODES];

/* ---- a cluster, all of whose words pass by us ---- */

static void tap(struct wiretap *self, const char *daemon)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    playground_endpoint(&playground, daemon, endpoint);
    wiretap_start(self, endpoint);
}

/* Put `text` in the place of "coordinators = ...", if the daemon has that. */
static void write_conf(const char *daemon, const char *text)
{
    char path[PATH_BYTES];
    char *conf;
    char *rest;
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s/conf", playground.dir, daemon);
    conf = command_read_file(path);
    cr_assert_not_null(conf);
    file = fopen(path, "we");
    cr_assert_not_null(file);
    for (char *line = strtok_r(conf, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "coordinators", strlen("coordinators")) != 0) {
            cr_assert_gt(fprintf(file, "%s\n", line), 0);
        }
    }
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
    free(conf);
}

static void start_again(const char *daemon, const char *transport, const struct wiretap *asked,
                        const struct wiretap *own)
{
    char text[CONF_BYTES];
    int used = snprintf(text, sizeof text, "transport = \"%s\";\n", transport);

    if (asked != NULL) {
        used += snprintf(text + used, sizeof text - (size_t)used, "coordinators = [\"%s\"];\n",
                         asked->endpoint);
    }
    if (own != NULL) {
        (void)snprintf(text + used, sizeof text - (size_t)used, "advertise = \"%s\";\n",
                       own->endpoint);
    }
    playground_kill(&playground, daemon);
    write_conf(daemon, text);
    playground_restart(&playground, daemon);
}

static void start(const char *transport)
{
    char name[32];

    (void)unsetenv("ORBLOOM_CREDENTIAL");
    playground_start(&playground, &(struct playground_plan){.nodes = NNODES});
    tap(&coordinator, "coordinator");
    tap(&router, "router");
    start_again("coordinator", transport, NULL, NULL);
    for (size_t i = 0; i < NNODES; i++) {
        (void)snprintf(name, sizeof name, "node-%zu", i + 1);
        tap(&nodes[i], name);
        start_again(name, transport, &coordinator, &nodes[i]);
    }
    start_again("router", transport, &coordinator, NULL);
    cr_assert_eq(setenv("ORBLOOM_COORDINATOR", coordinator.endpoint, 1), 0);
    cr_assert_eq(setenv("ORBLOOM_ROUTER", router.endpoint, 1), 0);
}

static void stop(void)
{
    playground_stop(&playground);
    wiretap_stop(&coordinator);
    wiretap_stop(&router);
    for (size_t i = 0; i < NNODES; i++) {
        wiretap_stop(&nodes[i]);
    }
}

/* ---- what is said there ---- */

static void make_admin(void)
{
    const char *credential = playground_path(&playground, "admin.cred");

    PLAYGROUND_DO("", "user", "create", "boss", "--role", "admin", "--credential", credential,
                  "--cluster-key", playground_path(&playground, "key"), "--timeout", "20s");
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", credential, 1), 0);
}

static void work(void)
{
    static char keys[NKEYS * (sizeof KEY + 8)];
    size_t used = 0;

    for (unsigned i = 0; i < NKEYS; i++) {
        used += (size_t)snprintf(keys + used, sizeof keys - used, KEY "-%u\n", i);
    }
    playground_wait_status("node-3");
    PLAYGROUND_DO("", "create", FILTER, "--capacity", "100k", "--fpr", "0.1%", "--timeout", "30s");
    PLAYGROUND_DO(keys, "add", FILTER);
    PLAYGROUND_DO(keys, "check", FILTER);
    PLAYGROUND_DO("", "info", FILTER);
    PLAYGROUND_DO("", "expand", FILTER, "--capacity", "300k", "--timeout", "60s");
    cr_assert_gt(wiretap_bytes(&router), NKEYS, "the router is reached another way");
    cr_assert_gt(wiretap_bytes(&coordinator), NKEYS, "the coordinator is reached another way");
    for (size_t i = 0; i < NNODES; i++) {
        cr_assert_gt(wiretap_bytes(&nodes[i]), NKEYS, "node %zu is reached another way", i + 1);
    }
}

static void expect_unseen(const char *what)
{
    cr_assert_eq(wiretap_count(&router, what), 0, "at the router");
    cr_assert_eq(wiretap_count(&coordinator, what), 0, "at the coordinator");
    for (size_t i = 0; i < NNODES; i++) {
        cr_assert_eq(wiretap_count(&nodes[i], what), 0, "at node %zu", i + 1);
    }
}

Test(wiretap, curve_shows_no_key_and_no_name, .timeout = LIMIT_S)
{
    start("curve");
    make_admin();
    work();
    expect_unseen(KEY);
    expect_unseen(FILTER);
    stop();
}

/* Nodes are told neither by routers; documents have the name. */
Test(wiretap, plain_shows_both, .timeout = LIMIT_S)
{
    start("plain");
    work();
    cr_assert_geq(wiretap_count(&router, KEY), 2 * NKEYS);
    cr_assert_gt(wiretap_count(&router, FILTER), 0);
    cr_assert_gt(wiretap_count(&coordinator, FILTER), 0);
    cr_assert_eq(wiretap_count(&coordinator, KEY), 0);
    for (size_t i = 0; i < NNODES; i++) {
        cr_assert_eq(wiretap_count(&nodes[i], KEY), 0, "fingerprints alone leave a router");
    }
    stop();
}
