/* etcd over TLS: with the right certificates it is a store like any other, with wrong ones the log
 * says which. */
#include "coordinator/store/etcd/etcd.h"
#include "tests/support/command.h"
#include "tests/support/etcd.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT_MS = 30000, TIMEOUT_US = 5000000 };

static struct etcd etcd;

static void set_up(void)
{
    etcd_make(&etcd);
    etcd_make_certificates(&etcd);
    etcd_start(&etcd);
    cr_redirect_stderr();
}

static void tear_down(void)
{
    etcd_remove(&etcd);
}

TestSuite(coordinator_store_etcd_tls, .init = set_up, .fini = tear_down, .timeout = 120);

/* Files of etcd's folder; NULL: not given. */
static struct store *open_with(const char *endpoint, const char *ca, const char *client)
{
    struct store_etcd_config config = {.nendpoints = 1, .timeout_us = TIMEOUT_US, .prefix = "/o/"};
    struct store *store = NULL;

    (void)snprintf(config.endpoints[0], sizeof config.endpoints[0], "%s", endpoint);
    if (ca != NULL) {
        (void)snprintf(config.ca_file, sizeof config.ca_file, "%s/%s", etcd.dir, ca);
    }
    if (client != NULL) {
        (void)snprintf(config.cert_file, sizeof config.cert_file, "%s/%s.pem", etcd.dir, client);
        (void)snprintf(config.key_file, sizeof config.key_file, "%s/%s.key", etcd.dir, client);
    }
    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    return store;
}

static enum status put(struct store *store, uint64_t *version)
{
    struct store_swap swap = {.key = "k", .expected = *version, .value = span_text("v")};

    return store->swap(store->self, &swap, 1, version);
}

static void expect_failure(const char *endpoint, const char *ca, const char *client,
                           const char *words)
{
    struct store *store = open_with(endpoint, ca, client);
    FILE *log = cr_get_redirected_stderr();
    uint64_t version = 0;
    char text[4096];
    size_t size;

    cr_assert_eq(put(store, &version), STATUS_IO);
    (void)fflush(stderr);
    size = fread(text, 1, sizeof text - 1, log);
    text[size] = '\0';
    cr_assert_not_null(strstr(text, words), "not '%s' but: %s", words, text);
    store_etcd_close(&store);
}

static void count(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static void wait_more(atomic_int *news, int than)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;

    while (atomic_load(news) <= than) {
        cr_assert_lt(command_now_ms(), deadline_ms, "no news");
        (void)poll(NULL, 0, 5);
    }
}

Test(coordinator_store_etcd_tls, with_certificates_it_is_read_written_and_watched)
{
    struct store *store = open_with(etcd.tls_endpoint, "ca.pem", "client");
    struct buffer value;
    atomic_int news = 0;
    uint64_t version = 0;
    int before;

    cr_assert_eq(store_etcd_watch_start(store, count, &news), STATUS_OK);
    wait_more(&news, 0);
    before = atomic_load(&news);
    cr_assert_eq(put(store, &version), STATUS_OK);
    wait_more(&news, before);
    buffer_init(&value, 100);
    cr_assert_eq(store->get(store->self, "k", &value, &version), STATUS_OK);
    cr_assert(span_equal(buffer_span(&value), span_text("v")));
    buffer_fini(&value);
    store_etcd_close(&store);
}

Test(coordinator_store_etcd_tls, wrong_certificates_are_named)
{
    const char *tls = etcd.tls_endpoint;

    expect_failure(tls, "other.pem", "client", "etcd_ca_file must vouch");
    expect_failure(tls, "none.pem", "client", "check etcd_ca_file");
    expect_failure(tls, "ca.pem", "none", "check etcd_cert_file and etcd_key_file");
    expect_failure(tls, "ca.pem", NULL, "it may want etcd_cert_file");
    expect_failure(tls, "ca.pem", "stranger", "trusted-ca-file");
}

Test(coordinator_store_etcd_tls, http_where_tls_is_wanted_is_told)
{
    char plain[80];

    (void)snprintf(plain, sizeof plain, "http://127.0.0.1:%u", etcd.tls_port);
    expect_failure(plain, NULL, NULL, "the endpoint is https://HOST:PORT");
}
