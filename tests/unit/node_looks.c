/* When filters are looked at: does each keep its own time while others come and go? */
#include "node/sync/looks.h"
#include "tests/support/random.h"
#include "tests/support/story.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct document_cache documents;
static struct looks looks;

static void teardown(void)
{
    looks_fini(&looks);
    document_cache_fini(&documents);
}

TestSuite(looks, .fini = teardown);

static void come(uint64_t id)
{
    struct filter_document document = {.id = id, .revision = 1, .epoch = 1};
    bool changed = false;

    document.content.state = FILTER_ACTIVE;
    (void)snprintf(document.content.name, sizeof document.content.name, "filter-%llu",
                   (unsigned long long)id);
    cr_assert_eq(document_cache_take(&documents, &document, span_of("x", 1), &changed), STATUS_OK);
    cr_assert(changed);
}

static bool any(void *context, struct document_entry *entry)
{
    (void)context;
    (void)entry;
    return true;
}

static void go(uint64_t id)
{
    struct dropped_record record = {.revision = documents.dropped.revision + 1};
    bool changed = false;

    cr_assert_eq(id_set_copy(&documents.dropped.ids, &record.ids), STATUS_OK);
    cr_assert_eq(id_set_add(&record.ids, id), STATUS_OK);
    cr_assert_eq(document_cache_take_dropped(&documents, &record, span_of("y", 1), &changed),
                 STATUS_OK);
    document_cache_sweep(&documents, any, NULL);
}

/* The earliest is found, whatever came and went. */
static void expect_in_order(void)
{
    uint64_t first_us = UINT64_MAX;

    for (size_t i = 0; i < looks.count; i++) {
        first_us = looks.items[i].due_us < first_us ? looks.items[i].due_us : first_us;
    }
    cr_assert_eq(looks_next_us(&looks), first_us);
}

/* Each one's time is its id, once it was looked at; and they stand where the documents do. */
static void look_at_all(void)
{
    const uint32_t *places;
    size_t count;

    cr_assert_eq(looks_follow(&looks, &documents), STATUS_OK);
    cr_assert_eq(looks.count, documents.count);
    expect_in_order();
    count = looks_pop_due(&looks, 0, &places);
    for (size_t i = 0; i < count; i++) {
        looks_by(&looks, places[i], looks.items[places[i]].filter_id);
    }
    for (size_t i = 0; i < looks.count; i++) {
        cr_assert_eq(looks.items[i].filter_id, documents.by_id[i]->document.id);
        cr_assert_eq(looks.items[i].due_us, looks.items[i].filter_id);
    }
    expect_in_order();
}

Test(looks, those_that_are_due_are_found)
{
    const uint32_t *places;
    uint64_t random = 5;

    for (uint64_t id = 1; id <= 300; id++) {
        come(id);
    }
    look_at_all();
    for (uint64_t now_us = 10; now_us <= 300; now_us += 10) {
        size_t count = looks_pop_due(&looks, now_us, &places);

        cr_assert_eq(count, 10);
        for (size_t i = 0; i < count; i++) {
            cr_assert_eq(places[i], now_us - 10 + i, "those of the time since, the earliest first");
        }
        looks_by(&looks, random_below(&random, now_us - 1), 1000 + now_us);
        expect_in_order();
    }
    cr_assert_geq(looks_next_us(&looks), 1010);
}

Test(looks, who_is_new_is_due_at_once)
{
    cr_assert_eq(looks_follow(&looks, &documents), STATUS_OK);
    cr_assert_eq(looks_next_us(&looks), UINT64_MAX);
    come(5);
    come(7);
    look_at_all();
    cr_assert_eq(looks_next_us(&looks), 5);
    come(9);
    cr_assert_eq(looks_follow(&looks, &documents), STATUS_OK);
    cr_assert_eq(looks.items[2].due_us, 0);
    cr_assert_eq(looks.items[1].due_us, 7, "it keeps its time");
}

Test(looks, one_is_made_due)
{
    come(5);
    come(7);
    look_at_all();
    looks_now(&looks, 7);
    looks_now(&looks, 6);
    cr_assert_eq(looks.items[0].due_us, 5);
    cr_assert_eq(looks.items[1].due_us, 0);
    cr_assert_eq(looks_next_us(&looks), 0);
}

static void tell_taken(struct story *story, const char *reason, unsigned bit)
{
    size_t at;

    if (looks_take(&looks, bit, &at)) {
        story_tell(story, "%s: %zu", reason, at);
    } else {
        story_tell(story, "%s: nobody", reason);
    }
}

Test(looks, who_waits_is_found_in_turn)
{
    struct story story = {0};

    come(5);
    come(7);
    come(9);
    look_at_all();
    cr_assert_eq(looks_wait(&looks, 2, LOOK_BIT(LOOK_WAITS_LOG)), STATUS_OK);
    cr_assert_eq(looks_wait(&looks, 0, LOOK_BIT(LOOK_WAITS_LOG) | LOOK_BIT(63)), STATUS_OK);
    cr_assert_eq(looks_wait(&looks, 2, LOOK_BIT(LOOK_WAITS_LOG)), STATUS_OK);
    story_tell(&story, "wait for the log: %zu, for a repair: %zu",
               (size_t)looks_waiting(&looks, LOOK_WAITS_LOG),
               (size_t)looks_waiting(&looks, LOOK_WAITS_REPAIR));
    tell_taken(&story, "log", LOOK_WAITS_LOG);
    cr_assert_eq(looks_wait(&looks, 2, LOOK_BIT(LOOK_WAITS_LOG)), STATUS_OK);
    tell_taken(&story, "log", LOOK_WAITS_LOG);
    tell_taken(&story, "log, come back", LOOK_WAITS_LOG);
    tell_taken(&story, "log", LOOK_WAITS_LOG);
    tell_taken(&story, "last reason", 63);
    story_expect(&story, "wait for the log: 2, for a repair: 0\n"
                         "log: 2\n"
                         "log: 0\n"
                         "log, come back: 2\n"
                         "log: nobody\n"
                         "last reason: 0\n");
}

Test(looks, many_wait_and_some_have_gone)
{
    size_t at;

    for (uint64_t id = 1; id <= 200; id++) {
        come(id);
    }
    look_at_all();
    for (size_t i = 0; i < 200; i++) {
        cr_assert_eq(looks_wait(&looks, i, LOOK_BIT(LOOK_WAITS_ROOM)), STATUS_OK);
    }
    for (uint64_t id = 2; id <= 200; id += 2) {
        go(id);
    }
    cr_assert_eq(looks_follow(&looks, &documents), STATUS_OK);
    for (size_t i = 0; i < 100; i++) {
        cr_assert(looks_take(&looks, LOOK_WAITS_ROOM, &at));
        cr_assert_eq(at, i);
    }
    cr_assert_not(looks_take(&looks, LOOK_WAITS_ROOM, &at));
}

Test(looks, queues_of_nodes_are_apart_from_others)
{
    for (uint32_t node = 0; node < 100; node++) {
        for (unsigned purpose = 0; purpose < PULL_NPURPOSES; purpose++) {
            unsigned queue = looks_peer(node, (enum pull_purpose)purpose);

            cr_assert(queue >= LOOK_WAITS_PEER && queue < LOOK_NWAITS);
        }
    }
    cr_assert_neq(looks_peer(1, PULL_SYNC), looks_peer(1, PULL_DELTA));
    cr_assert_neq(looks_peer(1, PULL_DELTA), looks_peer(2, PULL_DELTA));
}

/* As many as before, with the same one at the end: still not the same ones. */
Test(looks, one_goes_as_another_comes_below)
{
    come(5);
    come(9);
    look_at_all();
    go(5);
    come(7);
    look_at_all();
    cr_assert_eq(looks.items[0].filter_id, 7);
}

Test(looks, they_follow_whatever_comes_and_goes)
{
    uint64_t random = 11;

    for (int round = 0; round < 400; round++) {
        uint64_t id = random_below(&random, 200) + 1;

        if (document_cache_find(&documents, id) != NULL) {
            go(id);
        } else if (!document_cache_is_dropped(&documents, id)) {
            come(id);
        }
        if (random_below(&random, 3) == 0) {
            look_at_all();
        }
    }
    look_at_all();
}
