/* The page of a real coordinator, and its API, byte by byte: what a browser is told beside them,
 * how large it is, and that it is the coordinator's alone. */
#include "coordinator/web/web.h"
#include "tests/support/http_peer.h"
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LIMIT_S = 100, MOST_BYTES = 60000, POLL_MS = 100 };

static const char *const files[] = {"/", "/page.css", "/page.js", "/icon.svg"};
static const char *const answers[] = {"/api/v1/status", "/api/v1/filters", "/api/v1/changes",
                                      "/api/v1/sites"};

enum { NFILES = sizeof files / sizeof files[0], NANSWERS = sizeof answers / sizeof answers[0] };

static struct playground playground;

TestSuite(page, .timeout = LIMIT_S);

/* Start the daemon again with a port for HTTP, and further lines; returns where that is. */
static const char *open_http(const char *daemon, const char *more)
{
    static char endpoint[64];
    char lines[512];

    (void)snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", resp_peer_free_port());
    (void)snprintf(lines, sizeof lines, "http_listen = \"%s\";\n%s", endpoint, more);
    playground_configure(&playground, daemon, lines);
    return endpoint;
}

static void expect_header(const char *answer, const char *header)
{
    cr_expect_not_null(strcasestr(answer, header), "no %s in %.600s", header, answer);
}

static char *get(const char *endpoint, const char *path, unsigned code)
{
    char *answer = http_peer_get(endpoint, path, "");

    cr_assert_eq(http_peer_code(answer), code, "%s: %.300s", path, answer);
    expect_header(answer, "\r\nContent-Security-Policy: default-src 'self';");
    expect_header(answer, "\r\nX-Content-Type-Options: nosniff\r\n");
    expect_header(answer, "\r\nCache-Control: no-store\r\n");
    return answer;
}

/* What the answer says, as JSON. */
static json_t *ask(const char *endpoint, const char *path, unsigned code)
{
    char *answer = get(endpoint, path, code);
    json_t *json = json_loads(http_peer_body(answer), JSON_REJECT_DUPLICATES, NULL);

    cr_assert_not_null(json, "%s: %s", path, answer);
    expect_header(answer, "\r\nContent-Type: application/json\r\n");
    free(answer);
    return json;
}

Test(page, comes_from_the_coordinator_whole_and_small)
{
    const char *endpoint;
    size_t size = 0;

    playground_start(&playground, &(struct playground_plan){.nodes = 1});
    endpoint = open_http("coordinator", "");
    for (size_t i = 0; i < NFILES; i++) {
        char *answer = get(endpoint, files[i], 200);

        size += strlen(http_peer_body(answer));
        cr_expect_gt(strlen(http_peer_body(answer)), 100, "%s", files[i]);
        cr_expect_null(strstr(answer, "https://"), "%s is of elsewhere", files[i]);
        free(answer);
    }
    cr_expect_leq(size, MOST_BYTES);
    free(get(endpoint, "/page.html", 404));
    free(get(endpoint, "/api/v1/", 404));
    playground_stop(&playground);
}

Test(page, answers_are_json_of_what_there_is)
{
    const char *endpoint;
    json_t *json;

    playground_start(&playground, &(struct playground_plan){.nodes = 1});
    PLAYGROUND_DO("", "create", "seen:a-1", "--capacity", "10k", "--fpr", "1%", "--replicas", "1");
    PLAYGROUND_DO("", "create", "other", "--capacity", "10k", "--fpr", "1%", "--replicas", "1");
    endpoint = open_http("coordinator", "");
    for (size_t i = 0; i < NANSWERS; i++) {
        json_decref(ask(endpoint, answers[i], 200));
    }
    json = ask(endpoint, "/api/v1/filters?q=SEEN%3Aa&size=1", 200);
    cr_expect_eq(json_integer_value(json_object_get(json, "total")), 1);
    json_decref(json);
    json = ask(endpoint, "/api/v1/filters?q=%22%3Cscript%3E%FF", 200);
    cr_expect_eq(json_integer_value(json_object_get(json, "total")), 0);
    json_decref(json);
    json = ask(endpoint, "/api/v1/filters?size=201", 400);
    cr_expect(json_is_string(json_object_get(json, "error")));
    json_decref(json);
    playground_stop(&playground);
}

/* What nodes tell the coordinator of a filter while somebody looks at it, once a looked up key was
 * there by chance: the first news may be of arrays that had hardly a key. The caller's. */
static json_t *await_measured(const char *endpoint)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    for (;;) {
        json_t *all = ask(endpoint, "/api/v1/filters", 200);
        json_t *one = json_incref(json_array_get(json_object_get(all, "filters"), 0));

        json_decref(all);
        if (json_number_value(json_object_get(one, "measured_fpr")) > 0) {
            return one;
        }
        cr_assert_lt(command_now_ms(), deadline_ms, "no probe was ever a hit");
        json_decref(one);
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* Nodes look absent keys up; whoever asks for the filters has the coordinator ask what they met. */
Test(page, tells_what_nodes_have_measured)
{
    const char *endpoint;
    json_t *one;
    double low;
    double rate;
    double high;

    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    /* One that grows by itself would soon have twice the bits, and hardly ever a hit. */
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "10%", "--when-full",
                  "refuse");
    numbered_keys_add("seen", "key", 0, 9000);
    endpoint = open_http("coordinator", "");
    one = await_measured(endpoint);
    low = json_number_value(json_object_get(one, "measured_fpr_low"));
    rate = json_number_value(json_object_get(one, "measured_fpr"));
    high = json_number_value(json_object_get(one, "measured_fpr_high"));
    cr_expect(0 < low && low < rate && rate < high && high < 0.5, "%g of %g to %g", rate, low,
              high);
    json_decref(one);
    playground_stop(&playground);
}

Test(page, is_nobody_elses)
{
    static const char *const daemons[] = {"router", "node-1"};

    playground_start(&playground, &(struct playground_plan){.nodes = 1});
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        const char *endpoint = open_http(daemons[i], "");

        for (size_t k = 0; k < NFILES; k++) {
            free(get(endpoint, files[k], 404));
        }
        for (size_t k = 0; k < NANSWERS; k++) {
            free(get(endpoint, answers[k], 404));
        }
    }
    playground_stop(&playground);
}

Test(page, is_for_those_who_know_the_token)
{
    char path[128];
    char line[256];
    const char *endpoint;
    FILE *file;

    playground_start(&playground, &(struct playground_plan){.nodes = 1});
    (void)snprintf(path, sizeof path, "%s/http.token", playground.dir);
    file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_gt(fputs("s3cret\n", file), 0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, 0600), 0);
    (void)snprintf(line, sizeof line, "http_token_file = \"%s\";\n", path);
    endpoint = open_http("coordinator", line);
    for (size_t i = 0; i < NFILES + NANSWERS; i++) {
        const char *what = i < NFILES ? files[i] : answers[i - NFILES];
        char *answer = get(endpoint, what, 401);

        expect_header(answer, "\r\nWWW-Authenticate: Basic realm=\"orbloom\"");
        cr_expect_null(strchr(http_peer_body(answer), '{'), "%s", what);
        free(answer);
        answer = http_peer_get(endpoint, what, "Authorization: Basic YWRtaW46czNjcmV0\r\n");
        cr_expect_eq(http_peer_code(answer), 200, "%s", what);
        free(answer);
    }
    playground_stop(&playground);
}
