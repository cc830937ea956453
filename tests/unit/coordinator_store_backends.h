/* coordinator_store_backends.h - the kinds of store that are held to the laws of store.h.
 *
 * A law is a function of a backend; LAW() makes it a test of all of them, so that another kind
 * of store needs one more entry in the table and no more tests.
 */
#ifndef ORBLOOM_TESTS_COORDINATOR_STORE_BACKENDS_H
#define ORBLOOM_TESTS_COORDINATOR_STORE_BACKENDS_H

#include "coordinator/store/etcd/etcd.h"
#include "coordinator/store/sqlite/sqlite.h"
#include "coordinator/store/store.h"
#include "tests/support/etcd.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct backend {
    const char *name;
    enum status (*open)(const char *place, struct store **out); /* several handles share a place */
    void (*close)(struct store **store);
};

static struct etcd etcd;

/* A place is a prefix of keys there. */
static inline enum status open_etcd(const char *place, struct store **out)
{
    struct store_etcd_config config = {.nendpoints = 1, .timeout_us = 10000000};

    (void)snprintf(config.endpoints[0], sizeof config.endpoints[0], "%s", etcd.endpoint);
    (void)snprintf(config.prefix, sizeof config.prefix, "%s/", place);
    return store_etcd_open(&config, out);
}

static const struct backend backends[] = {
    {"sqlite", store_sqlite_open, store_sqlite_close},
    {"etcd", open_etcd, store_etcd_close},
};

enum { NBACKENDS = sizeof backends / sizeof backends[0] };

static char folder[] = "/tmp/orbloom-store-XXXXXX";

static inline void set_up(void)
{
    if (mkdtemp(folder) == NULL) {
        abort();
    }
    etcd_make(&etcd);
    etcd_start(&etcd);
}

static inline void tear_down(void)
{
    char command[128];

    etcd_remove(&etcd);

    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) {
        abort();
    }
}

static inline enum status try_open(const struct backend *backend, struct store **store)
{
    char place[128];

    (void)snprintf(place, sizeof place, "%s/%s", folder, backend->name);
    return backend->open(place, store);
}

static inline struct store *open_store(const struct backend *backend)
{
    struct store *store = NULL;

    cr_assert_eq(try_open(backend, &store), STATUS_OK, "%s", backend->name);
    return store;
}

static inline enum status swap_one(struct store *store, const char *key, uint64_t expected,
                                   const char *value, uint64_t *change)
{
    struct store_swap swap = {.key = key, .expected = expected, .value = span_text(value)};

    return store->swap(store->self, &swap, 1, change);
}

static inline void expect_value(struct store *store, const char *key, const char *value,
                                uint64_t version)
{
    uint64_t found = 0;
    struct buffer got;

    buffer_init(&got, STORE_MAX_VALUE_BYTES);
    cr_assert_eq(store->get(store->self, key, &got, &found), STATUS_OK, "%s", key);
    cr_assert(span_equal(buffer_span(&got), span_text(value)), "%s", key);
    cr_assert_eq(found, version, "%s", key);
    buffer_fini(&got);
}

static inline void expect_none(struct store *store, const char *key)
{
    uint64_t version = 0;
    struct buffer got;

    buffer_init(&got, STORE_MAX_VALUE_BYTES);
    cr_assert_eq(store->get(store->self, key, &got, &version), STATUS_NOT_FOUND);
    cr_assert_eq(got.size, 0);
    buffer_fini(&got);
}

static inline uint64_t change_of(struct store *store)
{
    uint64_t change = 99;

    cr_assert_eq(store->change(store->self, &change), STATUS_OK);
    return change;
}

#define LAW(suite, name)                           \
    Test(suite, name)                              \
    {                                              \
        for (unsigned i = 0; i < NBACKENDS; i++) { \
            (name)(&backends[i]);                  \
        }                                          \
    }

#endif
