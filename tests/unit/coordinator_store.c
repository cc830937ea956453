/* The laws of coordinator/store/store.h for one process. */
#include "base/heap.h"
#include "coordinator_store_backends.h"

TestSuite(coordinator_store, .init = set_up, .fini = tear_down, .timeout = 120);

/* The law of compare-and-swap, on an absent and on a present key. */
static void swap_needs_the_version(const struct backend *backend)
{
    struct store *store = open_store(backend);
    uint64_t change = 99;
    uint64_t first;

    cr_assert_eq(change_of(store), 0);
    expect_none(store, "filter/1");
    cr_assert_eq(swap_one(store, "filter/1", 1, "a", &change), STATUS_CONFLICT);
    cr_assert_eq(change, 99, "untouched by a conflict");
    expect_none(store, "filter/1");
    cr_assert_eq(swap_one(store, "filter/1", 0, "a", &change), STATUS_OK);
    first = change;
    cr_assert_gt(first, 0);
    expect_value(store, "filter/1", "a", first);
    cr_assert_eq(swap_one(store, "filter/1", 0, "b", &change), STATUS_CONFLICT);
    cr_assert_eq(swap_one(store, "filter/1", first + 1, "b", &change), STATUS_CONFLICT);
    cr_assert_eq(swap_one(store, "filter/1", UINT64_MAX, "b", &change), STATUS_CONFLICT);
    expect_value(store, "filter/1", "a", first);
    cr_assert_eq(swap_one(store, "filter/1", first, "", &change), STATUS_OK);
    cr_assert_gt(change, first);
    expect_value(store, "filter/1", "", change);
    cr_assert_eq(change_of(store), change);
    backend->close(&store);
    cr_assert_null(store);
    backend->close(&store);
}

/* All keys of a swap or none, under one change number; also when the last expectation fails. */
static void swap_is_all_or_nothing(const struct backend *backend)
{
    struct store *store = open_store(backend);
    struct store_swap swaps[STORE_MAX_SWAPS];
    char keys[STORE_MAX_SWAPS][8];
    uint64_t change = 0;
    uint64_t first;

    for (unsigned i = 0; i < STORE_MAX_SWAPS; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "k/%u", i);
        swaps[i] = (struct store_swap){.key = keys[i], .value = span_text("v")};
    }
    cr_assert_eq(swap_one(store, "k/7", 0, "old", &first), STATUS_OK);
    cr_assert_eq(store->swap(store->self, swaps, STORE_MAX_SWAPS, &change), STATUS_CONFLICT);
    for (unsigned i = 0; i < STORE_MAX_SWAPS - 1; i++) {
        expect_none(store, keys[i]);
    }
    expect_value(store, "k/7", "old", first);
    cr_assert_eq(change_of(store), first);
    swaps[STORE_MAX_SWAPS - 1].expected = first;
    cr_assert_eq(store->swap(store->self, swaps, STORE_MAX_SWAPS, &change), STATUS_OK);
    cr_assert_gt(change, first);
    for (unsigned i = 0; i < STORE_MAX_SWAPS; i++) {
        expect_value(store, keys[i], "v", change);
    }
    backend->close(&store);
}

/* A removed key is as one that never was; with a wrong version nothing goes. */
static void swap_removes(const struct backend *backend)
{
    struct store *store = open_store(backend);
    struct store_swap swaps[] = {
        {.key = "count", .value = span_text("1")},
        {.key = "a", .remove = true},
        {.key = "b", .remove = true},
    };
    uint64_t change = 0;

    cr_assert_eq(swap_one(store, "a", 0, "1", &swaps[1].expected), STATUS_OK);
    cr_assert_eq(swap_one(store, "b", 0, "2", &swaps[2].expected), STATUS_OK);
    swaps[2].expected--;
    cr_assert_eq(store->swap(store->self, swaps, 3, &change), STATUS_CONFLICT);
    expect_value(store, "a", "1", swaps[1].expected);
    expect_none(store, "count");
    swaps[2].expected++;
    cr_assert_eq(store->swap(store->self, swaps, 3, &change), STATUS_OK);
    expect_none(store, "a");
    expect_none(store, "b");
    expect_value(store, "count", "1", change);
    cr_assert_eq(change_of(store), change);
    swaps[0].expected = change;
    cr_assert_eq(store->swap(store->self, swaps, 2, &change), STATUS_CONFLICT, "it is gone");
    cr_assert_eq(swap_one(store, "a", swaps[1].expected, "x", &change), STATUS_CONFLICT);
    cr_assert_eq(swap_one(store, "a", 0, "again", &change), STATUS_OK);
    expect_value(store, "a", "again", change);
    backend->close(&store);
}

/* Of two handles that expect the same version, one wins; the other sees what it wrote. */
static void two_handles_agree(const struct backend *backend)
{
    struct store *one = open_store(backend);
    struct store *two = open_store(backend);
    uint64_t version = 0;
    uint64_t change = 0;

    for (unsigned i = 0; i < 20; i++) {
        struct store *first = i % 2 == 0 ? one : two;
        struct store *second = i % 2 == 0 ? two : one;

        cr_assert_eq(swap_one(first, "k", version, "mine", &change), STATUS_OK);
        cr_assert_gt(change, version);
        cr_assert_eq(swap_one(second, "k", version, "yours", &version), STATUS_CONFLICT);
        expect_value(second, "k", "mine", change);
        cr_assert_eq(change_of(second), change);
        version = change;
    }
    backend->close(&one);
    backend->close(&two);
}

struct seen {
    uint64_t version;
    unsigned count;
    unsigned stop_after; /* 0: never */
    char last[16];
};

static bool note(void *context, const char *key, uint64_t version, struct span value)
{
    struct seen *seen = context;

    cr_assert_geq(version, seen->version, "in order");
    cr_assert(span_equal(value, span_text("v")));
    seen->version = version;
    seen->count++;
    (void)snprintf(seen->last, sizeof seen->last, "%s", key);
    return seen->count != seen->stop_after;
}

/* Everything after a change is told once, in order; a key that moved is told where it is now. */
static void since_is_complete_and_ordered(const struct backend *backend)
{
    struct store *store = open_store(backend);
    uint64_t changes[53] = {0};
    char key[16];

    for (unsigned i = 1; i <= 50; i++) {
        (void)snprintf(key, sizeof key, "k/%02u", i % 10 == 0 ? i : 50 - i);
        cr_assert_eq(swap_one(store, key, 0, "v", &changes[i]), STATUS_OK);
    }
    cr_assert_eq(swap_one(store, "k/49", changes[1], "v", &changes[51]), STATUS_OK);
    changes[52] = changes[51] + 1;
    for (unsigned i = 0; i <= 52; i++) {
        struct seen seen = {.version = changes[i] + 1};
        unsigned wanted = i == 0 ? 50 : i <= 51 ? 51 - i : 0;

        cr_assert_eq(store->since(store->self, changes[i], note, &seen), STATUS_OK);
        cr_assert_eq(seen.count, wanted, "after %u: %u", i, seen.count);
        cr_assert_str_eq(seen.last, wanted > 0 ? "k/49" : "");
    }
    backend->close(&store);
}

/* A visitor may stop, and go on later from the version that it has seen. */
static void since_can_be_resumed(const struct backend *backend)
{
    struct store *store = open_store(backend);
    struct seen seen = {.stop_after = 3};
    uint64_t changes[10];
    char key[16];

    for (unsigned i = 0; i < 10; i++) {
        (void)snprintf(key, sizeof key, "k/%u", i);
        cr_assert_eq(swap_one(store, key, 0, "v", &changes[i]), STATUS_OK);
    }
    cr_assert_eq(store->since(store->self, 0, note, &seen), STATUS_OK);
    cr_assert_eq(seen.count, 3);
    cr_assert_eq(seen.version, changes[2]);
    seen.stop_after = 0;
    cr_assert_eq(store->since(store->self, seen.version, note, &seen), STATUS_OK);
    cr_assert_eq(seen.count, 10);
    seen.count = 0;
    cr_assert_eq(store->since(store->self, UINT64_MAX, note, &seen), STATUS_OK);
    cr_assert_eq(seen.count, 0);
    backend->close(&store);
}

enum { MANY = 100 }; /* swaps of STORE_MAX_SWAPS keys: more than a store may read at a time */

struct tally {
    uint64_t version;
    unsigned of_version;
    unsigned count;
};

static bool tally(void *context, const char *key, uint64_t version, struct span value)
{
    struct tally *tally = context;

    (void)key;
    (void)value;
    if (version != tally->version) {
        cr_assert_gt(version, tally->version);
        cr_assert(tally->count <= 1 || tally->of_version == STORE_MAX_SWAPS, "a swap is torn");
        tally->of_version = 0;
    }
    tally->version = version;
    tally->of_version++;
    tally->count++;
    return true;
}

/* However many there are, they come once, and those of one swap together. */
static void since_tells_of_many(const struct backend *backend)
{
    struct store *store = open_store(backend);
    struct store_swap swaps[STORE_MAX_SWAPS];
    char keys[STORE_MAX_SWAPS][16];
    struct tally all = {0};
    uint64_t change = 0;

    for (unsigned i = 0; i < MANY; i++) {
        /* One alone first: pages of any even size end within a swap. */
        size_t count = i > 0 ? STORE_MAX_SWAPS : 1;

        for (size_t k = 0; k < count; k++) {
            (void)snprintf(keys[k], sizeof keys[k], "k/%u/%zu", i, k);
            swaps[k] = (struct store_swap){.key = keys[k], .value = span_text("v")};
        }
        cr_assert_eq(store->swap(store->self, swaps, count, &change), STATUS_OK);
    }
    cr_assert_eq(store->since(store->self, 0, tally, &all), STATUS_OK);
    cr_assert_eq(all.count, (MANY - 1) * STORE_MAX_SWAPS + 1);
    cr_assert_eq(all.version, change);
    backend->close(&store);
}

static bool weigh(void *context, const char *key, uint64_t version, struct span value)
{
    uint64_t *bytes = context;

    (void)key;
    (void)version;
    *bytes += value.size;
    return true;
}

/* The largest values, so many that a store may not read them at once. */
static void since_tells_of_large_ones(const struct backend *backend)
{
    enum { LARGE = 19 }; /* 25 MiB as etcd sends them */
    struct store *store = open_store(backend);
    uint8_t *value = heap_zalloc(STORE_MAX_VALUE_BYTES, 1);
    struct store_swap swap = {.value = span_of(value, STORE_MAX_VALUE_BYTES)};
    uint64_t change = 0;
    uint64_t bytes = 0;

    for (unsigned i = 0; i < LARGE; i++) {
        char key[16];

        (void)snprintf(key, sizeof key, "k/%u", i);
        swap.key = key;
        cr_assert_eq(store->swap(store->self, &swap, 1, &change), STATUS_OK);
    }
    cr_assert_eq(store->since(store->self, 0, weigh, &bytes), STATUS_OK);
    cr_assert_eq(bytes, (uint64_t)LARGE * STORE_MAX_VALUE_BYTES);
    heap_free(value);
    backend->close(&store);
}

/* Any bytes, up to the limit, survive; keys differ in case. */
static void values_are_any_bytes(const struct backend *backend)
{
    struct store *store = open_store(backend);
    uint8_t *value = heap_alloc(STORE_MAX_VALUE_BYTES, 1);
    struct store_swap swap = {.key = "big", .value = span_of(value, STORE_MAX_VALUE_BYTES)};
    uint64_t number = 0;
    struct buffer got;

    for (size_t i = 0; i < STORE_MAX_VALUE_BYTES; i++) {
        value[i] = (uint8_t)(i * 31 >> 3);
    }
    buffer_init(&got, STORE_MAX_VALUE_BYTES);
    cr_assert_eq(store->swap(store->self, &swap, 1, &number), STATUS_OK);
    cr_assert_eq(store->get(store->self, "big", &got, &number), STATUS_OK);
    cr_assert(span_equal(buffer_span(&got), swap.value));
    expect_none(store, "BIG");
    buffer_fini(&got);
    buffer_init(&got, 10);
    cr_assert_eq(store->get(store->self, "big", &got, &number), STATUS_TOO_LARGE);
    buffer_fini(&got);
    heap_free(value);
    backend->close(&store);
}

static void everything_survives_a_reopening(const struct backend *backend)
{
    struct store *store = open_store(backend);
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t c = 0;

    cr_assert_eq(swap_one(store, "a", 0, "1", &a), STATUS_OK);
    cr_assert_eq(swap_one(store, "b", 0, "2", &b), STATUS_OK);
    cr_assert_eq(swap_one(store, "a", a, "3", &a), STATUS_OK);
    backend->close(&store);
    store = open_store(backend);
    expect_value(store, "a", "3", a);
    expect_value(store, "b", "2", b);
    cr_assert_eq(change_of(store), a);
    cr_assert_eq(swap_one(store, "c", 0, "4", &c), STATUS_OK);
    cr_assert_gt(c, a);
    backend->close(&store);
}

static void opening_survives_lack_of_memory(const struct backend *backend)
{
    enum status status = STATUS_NOMEM;
    struct store *store = NULL;
    size_t before = heap_live();

    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        heap_fault_after(n);
        status = try_open(backend, &store);
        heap_fault_clear();
        cr_assert((status == STATUS_OK) == (store != NULL));
        cr_assert_lt(n, 100);
    }
    cr_assert_eq(status, STATUS_OK);
    backend->close(&store);
    cr_assert_eq(heap_live(), before);
}

LAW(coordinator_store, swap_needs_the_version)
LAW(coordinator_store, swap_is_all_or_nothing)
LAW(coordinator_store, swap_removes)
LAW(coordinator_store, two_handles_agree)
LAW(coordinator_store, since_is_complete_and_ordered)
LAW(coordinator_store, since_can_be_resumed)
LAW(coordinator_store, since_tells_of_many)
LAW(coordinator_store, since_tells_of_large_ones)
LAW(coordinator_store, values_are_any_bytes)
LAW(coordinator_store, everything_survives_a_reopening)
LAW(coordinator_store, opening_survives_lack_of_memory)
