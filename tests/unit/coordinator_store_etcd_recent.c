/* What a store in etcd remembers of its own writes is what etcd would tell: beside another writer,
 * after removals, in whatever order. */
#include "base/heap.h"
#include "coordinator/store/etcd/etcd.h"
#include "coordinator/store/etcd/recent.h"
#include "tests/support/etcd.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NKEYS = 12, NSTEPS = 300 };

/* ---- alone ---- */

static struct recent recent;

static void set_up(void)
{
    recent_init(&recent);
}

static void tear_down(void)
{
    recent_fini(&recent);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(etcd_recent, .init = set_up, .fini = tear_down);

static void note(uint64_t before, uint64_t change, const char *key, const char *value)
{
    const struct store_swap swap = {.key = key,
                                    .value = value != NULL ? span_text(value) : span_of(NULL, 0),
                                    .remove = value == NULL};

    recent_note(&recent, before, change, &swap, 1);
}

static bool write_down(void *context, const char *key, uint64_t version, struct span value)
{
    char *text = context;

    (void)snprintf(text + strlen(text), 256 - strlen(text), "%s@%lu=%.*s ", key,
                   (unsigned long)version, (int)value.size, (const char *)value.data);
    return true;
}

static void expect(uint64_t since, const char *records)
{
    char text[256] = "";

    recent_visit(&recent, since, write_down, text);
    cr_assert_str_eq(text, records);
}

Test(etcd_recent, what_was_written_in_a_row_is_known)
{
    note(10, 11, "a", "1");
    note(11, 14, "b", "2");
    note(14, 15, "a", "3");
    expect(10, "b@14=2 a@15=3 ");
    expect(14, "a@15=3 ");
    expect(15, "");
    cr_assert(recent_knows(&recent, 10, 15));
    cr_assert(recent_knows(&recent, 12, 15));
    cr_assert_not(recent_knows(&recent, 9, 15), "what was before is not known");
    cr_assert_not(recent_knows(&recent, 0, 15));
    cr_assert_not(recent_knows(&recent, 10, 16), "somebody else has written");
}

Test(etcd_recent, what_is_removed_is_gone)
{
    note(10, 11, "a", "1");
    note(11, 12, "b", "2");
    note(12, 13, "a", NULL);
    expect(10, "b@12=2 ");
    cr_assert(recent_knows(&recent, 10, 13));
}

Test(etcd_recent, another_ones_write_in_between_empties_it)
{
    note(10, 11, "a", "1");
    note(12, 13, "b", "2");
    cr_assert_not(recent_knows(&recent, 10, 13));
    cr_assert(recent_knows(&recent, 12, 13));
    expect(10, "b@13=2 ");
    recent_forget(&recent);
    cr_assert_not(recent_knows(&recent, 12, 13));
}

Test(etcd_recent, the_first_ones_make_room)
{
    char *value = malloc((1 << 20) + 1);

    memset(value, 'x', 1 << 20);
    value[1 << 20] = '\0';
    note(10, 11, "a", value);
    note(11, 12, "b", "1");
    note(12, 13, "c", value);
    cr_assert_leq(recent.bytes, (size_t)RECENT_BYTES);
    cr_assert_not(recent_knows(&recent, 10, 13));
    cr_assert(recent_knows(&recent, 11, 13));
    free(value);
}

/* ---- beside etcd ---- */

static struct etcd etcd;

static struct store *open_store(void)
{
    struct store_etcd_config config = {.timeout_us = 10000000, .prefix = "/o/", .nendpoints = 1};
    struct store *store = NULL;

    (void)snprintf(config.endpoints[0], STORE_ETCD_ENDPOINT_BYTES, "%s", etcd.endpoint);
    cr_assert_eq(store_etcd_open(&config, &store), STATUS_OK);
    return store;
}

static uint64_t version_of(struct store *store, const char *key)
{
    struct buffer value;
    uint64_t version = 0;
    enum status status;

    buffer_init(&value, 1000);
    status = store->get(store->self, key, &value, &version);
    cr_assert(status == STATUS_OK || status == STATUS_NOT_FOUND);
    buffer_fini(&value);
    return status == STATUS_OK ? version : 0;
}

/* One or two keys, the second one written or removed. */
static uint64_t swap_at_random(struct store *store, int step)
{
    char keys[2][8];
    char text[16];
    struct store_swap swaps[2];
    size_t count = 1 + (size_t)(rand() % 2);
    uint64_t change = 0;
    int first = rand() % NKEYS;

    (void)snprintf(text, sizeof text, "%d", step);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k%d", (first + (int)i) % NKEYS);
        swaps[i] = (struct store_swap){
            .key = keys[i], .expected = version_of(store, keys[i]), .value = span_text(text)};
        swaps[i].remove = i > 0 && swaps[i].expected != 0 && rand() % 2 == 0;
    }
    cr_assert_eq(store->swap(store->self, swaps, count, &change), STATUS_OK);
    return change;
}

/* Of each key; records of one version come in any order. */
struct seen {
    uint64_t version;
    char value[16];
};

static bool see(void *context, const char *key, uint64_t version, struct span value)
{
    struct seen *seen = (struct seen *)context + atoi(key + 1);

    cr_assert_eq(seen->version, 0, "%s comes twice", key);
    seen->version = version;
    memcpy(seen->value, value.data, value.size);
    return true;
}

static void expect_same(struct store *store, struct store *fresh, uint64_t since)
{
    struct seen seen[2][NKEYS] = {0};

    cr_assert_eq(store->since(store->self, since, see, seen[0]), STATUS_OK);
    cr_assert_eq(fresh->since(fresh->self, since, see, seen[1]), STATUS_OK);
    cr_assert_eq(memcmp(seen[0], seen[1], sizeof seen[0]), 0, "since %lu", (unsigned long)since);
}

Test(etcd_recent_law, it_tells_what_etcd_tells, .timeout = 120)
{
    uint64_t changes[NSTEPS] = {0};
    struct store *stores[2];
    struct store *fresh;

    etcd_make(&etcd);
    etcd_start(&etcd);
    stores[0] = open_store();
    stores[1] = open_store();
    fresh = open_store(); /* It never writes, so that it asks etcd. */
    srand(7);
    for (int step = 0; step < NSTEPS; step++) {
        changes[step] = swap_at_random(stores[rand() % 8 == 0], step);
        for (int i = 0; i < 2; i++) {
            expect_same(stores[i], fresh, changes[rand() % (step + 1)]);
        }
    }
    expect_same(stores[0], fresh, 0);
    for (int i = 0; i < 2; i++) {
        store_etcd_close(&stores[i]);
    }
    store_etcd_close(&fresh);
    etcd_remove(&etcd);
    cr_assert_eq(heap_live(), 0);
}
