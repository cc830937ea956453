/* What only a server can do: be away, stop, come back, be another program's, forget its past. */
#include "coordinator/store/etcd/etcd.h"
#include "tests/support/command.h"
#include "tests/support/etcd.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT_MS = 30000, TIMEOUT_US = 300000 };

static struct etcd etcd;

static void set_up(void)
{
    etcd_make(&etcd);
    cr_redirect_stderr();
}

static void tear_down(void)
{
    etcd_remove(&etcd);
}

TestSuite(coordinator_store_etcd, .init = set_up, .fini = tear_down, .timeout = 120);

static struct store_etcd_config configure(void)
{
    struct store_etcd_config config = {.nendpoints = 1, .timeout_us = TIMEOUT_US, .prefix = "/o/"};

    (void)snprintf(config.endpoints[0], sizeof config.endpoints[0], "%s", etcd.endpoint);
    return config;
}

static struct store *open_store(void)
{
    struct store_etcd_config config = configure();
    struct store *store = NULL;

    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    return store;
}

static enum status put(struct store *store, const char *key, uint64_t *version)
{
    struct store_swap swap = {.key = key, .expected = *version, .value = span_text("v")};

    return store->swap(store->self, &swap, 1, version);
}

/* Everything that was logged has the words. */
static void expect_logged(const char *words)
{
    FILE *log = cr_get_redirected_stderr();
    char text[4096];
    size_t size;

    (void)fflush(stderr);
    size = fread(text, 1, sizeof text - 1, log);
    text[size] = '\0';
    cr_assert_not_null(strstr(text, words), "not '%s' but: %s", words, text);
}

/* Swaps again and again, as new news come in, until one is executed. */
static void expect_recovery(struct store *store, uint64_t *version)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    enum status status = put(store, "k", version);

    while (status != STATUS_OK) {
        struct buffer value;

        cr_assert_lt(command_now_ms(), deadline_ms, "still %s", status_code(status));
        (void)poll(NULL, 0, 20);
        buffer_init(&value, 100);
        (void)store->get(store->self, "k", &value, version);
        buffer_fini(&value);
        status = put(store, "k", version);
    }
}

Test(coordinator_store_etcd, a_store_that_is_not_there_at_start_is_used_when_it_comes)
{
    struct store *store = open_store();
    uint64_t version = 0;

    expect_logged("is etcd running");
    cr_assert_eq(put(store, "k", &version), STATUS_IO);
    cr_assert_eq(store->change(store->self, &version), STATUS_IO);
    etcd_start(&etcd);
    expect_recovery(store, &version);
    cr_assert_gt(version, 0);
    store_etcd_close(&store);
}

Test(coordinator_store_etcd, a_killed_server_is_an_error_until_it_is_back)
{
    uint64_t version = 0;
    uint64_t change = 0;
    struct store *store;

    etcd_start(&etcd);
    store = open_store();
    cr_assert_eq(put(store, "k", &version), STATUS_OK);
    etcd_signal(&etcd, SIGKILL);
    change = version;
    cr_assert_eq(put(store, "k", &change), STATUS_IO);
    cr_assert_eq(store->change(store->self, &change), STATUS_IO);
    etcd_start(&etcd);
    change = version;
    expect_recovery(store, &version);
    cr_assert_gt(version, change);
    store_etcd_close(&store);
}

/* It takes connections, and answers none. What was asked of it may be executed when it goes on. */
Test(coordinator_store_etcd, a_stopped_server_is_an_error_in_bounded_time)
{
    uint64_t version = 0;
    uint64_t before_ms;
    struct store *store;

    etcd_start(&etcd);
    store = open_store();
    cr_assert_eq(put(store, "k", &version), STATUS_OK);
    etcd_signal(&etcd, SIGSTOP);
    before_ms = command_now_ms();
    for (unsigned i = 0; i < 1000; i++) {
        cr_assert_eq(put(store, "k", &version), STATUS_IO);
    }
    cr_assert_lt(command_now_ms() - before_ms, LIMIT_MS, "all but the first fail at once");
    expect_logged("raise etcd_timeout");
    etcd_signal(&etcd, SIGCONT);
    expect_recovery(store, &version);
    store_etcd_close(&store);
}

Test(coordinator_store_etcd, endpoints_are_asked_in_turn)
{
    struct store_etcd_config config = configure();
    struct store *store = NULL;
    uint64_t version = 0;
    struct etcd nobody;

    etcd_make(&nobody);
    etcd_start(&etcd);
    (void)snprintf(config.endpoints[0], sizeof config.endpoints[0], "%s", nobody.endpoint);
    (void)snprintf(config.endpoints[1], sizeof config.endpoints[1], "%s", etcd.endpoint);
    config.nendpoints = 2;
    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    cr_assert_eq(put(store, "k", &version), STATUS_OK);
    store_etcd_close(&store);
    etcd_remove(&nobody);
}

/* ---- whose keys these are ---- */

static void expect_refused(enum status wanted, const char *words)
{
    struct store_etcd_config config = configure();
    struct store *store = NULL;

    cr_assert_eq(store_etcd_open(&config, &store), wanted);
    cr_assert_null(store);
    expect_logged(words);
}

/* "/o/mine" = "1" */
Test(coordinator_store_etcd, another_programs_prefix_is_refused)
{
    etcd_start(&etcd);
    (void)etcd_post(&etcd, "/v3/kv/put", "{\"key\":\"L28vbWluZQ==\",\"value\":\"MQ==\"}");
    expect_refused(STATUS_VERSION, "belong to another program");
}

/* "/o/format" = "orbloom 2" */
Test(coordinator_store_etcd, a_newer_format_is_refused)
{
    etcd_start(&etcd);
    (void)etcd_post(&etcd, "/v3/kv/put", "{\"key\":\"L28vZm9ybWF0\",\"value\":\"b3JibG9vbSAy\"}");
    expect_refused(STATUS_VERSION, "their format is \"orbloom 2\"");
}

/* "/o/record/k" = "1": no name of a swap. */
Test(coordinator_store_etcd, a_damaged_record_is_an_error)
{
    struct buffer value;
    uint64_t version = 0;
    struct store *store;

    etcd_start(&etcd);
    store = open_store();
    cr_assert_eq(put(store, "k", &version), STATUS_OK);
    (void)etcd_post(&etcd, "/v3/kv/put", "{\"key\":\"L28vcmVjb3JkL2s=\",\"value\":\"MQ==\"}");
    buffer_init(&value, 100);
    cr_assert_eq(store->get(store->self, "k", &value, &version), STATUS_IO);
    buffer_fini(&value);
    expect_logged("that orbloom did not write");
    store_etcd_close(&store);
}

/* ---- its limits and its past ---- */

static unsigned long long asked_revision(const char *answer)
{
    const char *at = strstr(answer, "\"revision\":\"");

    cr_assert_not_null(at, "%s", answer);
    return strtoull(at + strlen("\"revision\":\""), NULL, 10);
}

static bool count(void *context, const char *key, uint64_t version, struct span value)
{
    unsigned *seen = context;

    (void)key;
    (void)version;
    (void)value;
    ++*seen;
    return true;
}

Test(coordinator_store_etcd, compaction_does_no_harm)
{
    uint64_t versions[10] = {0};
    unsigned seen = 0;
    struct store *store;
    char json[64];

    etcd_start(&etcd);
    store = open_store();
    for (unsigned i = 0; i < 100; i++) {
        char key[2] = {(char)('a' + i % 10), '\0'};

        cr_assert_eq(put(store, key, &versions[i % 10]), STATUS_OK);
    }
    (void)snprintf(json, sizeof json, "{\"revision\":\"%llu\",\"physical\":true}",
                   asked_revision(etcd_post(&etcd, "/v3/kv/range", "{\"key\":\"YQ==\"}")));
    (void)etcd_post(&etcd, "/v3/kv/compaction", json);
    cr_assert_eq(store->since(store->self, 0, count, &seen), STATUS_OK);
    cr_assert_eq(seen, 10);
    seen = 0;
    cr_assert_eq(store->since(store->self, versions[4], count, &seen), STATUS_OK);
    cr_assert_eq(seen, 5);
    cr_assert_eq(put(store, "a", &versions[0]), STATUS_OK);
    store_etcd_close(&store);
}

/* All that one swap may hold is more than etcd takes at once; nothing is written then. */
Test(coordinator_store_etcd, a_swap_past_the_limit_of_etcd_is_refused)
{
    static uint8_t value[STORE_MAX_VALUE_BYTES];
    struct store_swap swaps[2] = {{.key = "a", .value = span_of(value, sizeof value)},
                                  {.key = "b", .value = span_of(value, sizeof value)}};
    struct store_etcd_config config = configure();
    struct store *store = NULL;
    uint64_t change = 7;

    etcd_start(&etcd);
    config.timeout_us = 20000000;
    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    cr_assert_eq(store->swap(store->self, swaps, 2, &change), STATUS_TOO_LARGE);
    cr_assert_eq(change, 7);
    expect_logged("--max-request-bytes");
    cr_assert_eq(store->change(store->self, &change), STATUS_OK);
    cr_assert_eq(change, 0);
    cr_assert_eq(store->swap(store->self, swaps, 1, &change), STATUS_OK);
    store_etcd_close(&store);
}
