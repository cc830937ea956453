/* When filters are looked at: does each keep its own time while others come and go? */
#include "node/exchange/looks.h"
#include "tests/support/random.h"

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

/* Each one's time is its id, once it was looked at; and they stand where the documents do. */
static void look_at_all(void)
{
    cr_assert_eq(looks_follow(&looks, &documents), STATUS_OK);
    cr_assert_eq(looks.count, documents.count);
    for (size_t i = 0; i < looks.count; i++) {
        struct look *look = &looks.items[i];

        cr_assert_eq(look->filter_id, documents.by_id[i]->document.id);
        cr_assert(look->due_us == 0 || look->due_us == look->filter_id);
        look->due_us = look->filter_id;
    }
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

Test(looks, who_waits_is_found)
{
    come(5);
    look_at_all();
    cr_assert_not(looks_any_waits(&looks, LOOK_WAITS_LOG));
    looks.items[0].waits = LOOK_WAITS_PEER | LOOK_WAITS_LOG;
    cr_assert(looks_any_waits(&looks, LOOK_WAITS_LOG));
    cr_assert_not(looks_any_waits(&looks, LOOK_WAITS_REPAIR));
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
