/* While members of etcd choose a leader they are there, and can't say. */
#include "coordinator/store/etcd/etcd.h"
#include "tests/support/etcd.h"
#include "tests/support/gateway.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

static struct etcd etcd;

static void set_up(void)
{
    etcd_make(&etcd);
    etcd_start(&etcd);
    cr_redirect_stderr();
}

static void tear_down(void)
{
    etcd_remove(&etcd);
}

TestSuite(coordinator_store_etcd_election, .init = set_up, .fini = tear_down, .timeout = 120);

static enum status put(struct store *store, uint64_t *version)
{
    struct store_swap swap = {.key = "a", .expected = *version, .value = span_text("v")};

    return store->swap(store->self, &swap, 1, version);
}

struct election {
    struct gateway gateway;
    unsigned refusals; /* so many requests meet no leader */
};

static struct span choose_leader(void *context, const char *request)
{
    struct election *election = context;

    if (strstr(request, "L28vZm9ybWF0") == NULL && election->refusals > 0) { /* "/o/format" */
        election->refusals--;
        return span_text("HTTP/1.1 503 Service Unavailable\r\n\r\n"
                         "{\"error\":\"etcdserver: leader changed\",\"code\":14}");
    }
    return gateway_pass_on(etcd.endpoint, request);
}

/* Members of etcd that are there serve again within a moment: nobody is to notice. */
Test(coordinator_store_etcd_election, who_meets_an_election_asks_once_more)
{
    struct election election = {.gateway = {.handle = choose_leader, .context = &election}};
    struct store_etcd_config config = {.nendpoints = 1, .timeout_us = 3000000, .prefix = "/o/"};
    struct store *store = NULL;
    struct buffer value;
    uint64_t change = 0;

    gateway_start(&election.gateway);
    (void)snprintf(config.endpoints[0], sizeof config.endpoints[0], "%s",
                   election.gateway.endpoint);
    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    election.refusals = 1;
    cr_assert_eq(put(store, &change), STATUS_OK);
    election.refusals = 1;
    buffer_init(&value, 100);
    cr_assert_eq(store->get(store->self, "a", &value, &change), STATUS_OK);
    buffer_fini(&value);
    election.refusals = 2;
    cr_assert_eq(put(store, &change), STATUS_IO, "it lasts");
    gateway_stop(&election.gateway);
    store_etcd_close(&store);
}
