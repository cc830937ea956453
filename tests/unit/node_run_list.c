/* The runs that a log names: beside a model, which has one place for each number that there may be.
 */
#include "base/heap.h"
#include "node/store/run_list.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <string.h>

enum { NUMBERS = 3000, EDITS = 2000, MOST = 8, RECORD_BYTES = 4096 };

static struct run_list list;
static bool there[NUMBERS];
static uint8_t record[RECORD_BYTES];

static void setup(void)
{
    list = (struct run_list){0};
    memset(there, 0, sizeof there);
}

static void teardown(void)
{
    run_list_fini(&list);
    cr_assert_eq(heap_live(), 0);
}

TestSuite(node_run_list, .init = setup, .fini = teardown);

static bool apply(const uint64_t *added, uint32_t nadded, const uint64_t *removed,
                  uint32_t nremoved)
{
    struct record_manifest manifest;
    struct record_run runs[MOST];

    for (uint32_t i = 0; i < nadded; i++) {
        runs[i] = (struct record_run){.number = added[i], .filter_id = added[i] + 1, .count = 1};
    }
    record_manifest_put(record, 1, removed, nremoved, runs, nadded);
    manifest = (struct record_manifest){
        .nremoved = nremoved,
        .nadded = nadded,
        .body = span_of(record + RECORD_HEADER_BYTES, record_manifest_size(nremoved, nadded))};
    return run_list_apply(&list, &manifest);
}

static void expect_model(void)
{
    size_t count = 0;

    for (uint64_t number = 0; number < NUMBERS; number++) {
        cr_assert_eq(run_list_has(&list, number), there[number], "%u", (unsigned)number);
        count += there[number];
    }
    cr_assert_eq(list.count, count);
    for (size_t i = 0; i < list.count; i++) {
        cr_assert_eq(list.runs[i].filter_id, list.runs[i].number + 1);
    }
}

/* Also the same one twice in a manifest, and one that it adds and removes. */
Test(node_run_list, is_what_its_manifests_have_said)
{
    uint64_t random = 7;
    uint64_t added[MOST];
    uint64_t removed[MOST];

    for (int edit = 0; edit < EDITS; edit++) {
        uint32_t nadded = (uint32_t)random_below(&random, MOST + 1);
        uint32_t nremoved = (uint32_t)random_below(&random, MOST / 2);

        for (uint32_t i = 0; i < nadded; i++) {
            added[i] = random_below(&random, NUMBERS);
            there[added[i]] = true;
        }
        for (uint32_t i = 0; i < nremoved; i++) {
            removed[i] = random_below(&random, NUMBERS);
            there[removed[i]] = false;
        }
        cr_assert(apply(added, nadded, removed, nremoved));
        if (edit % 100 == 0) {
            expect_model();
        }
    }
    expect_model();
}

Test(node_run_list, the_last_takes_the_place_of_one_that_goes)
{
    const uint64_t added[] = {5, 6, 7};

    cr_assert_not(run_list_has(&list, 5));
    cr_assert(apply(added, 3, NULL, 0));
    run_list_remove_at(&list, 0);
    cr_assert_eq(list.runs[0].number, 7);
    run_list_remove_at(&list, 1);
    run_list_remove_at(&list, 0);
    cr_assert_eq(list.count, 0);
    there[6] = true;
    cr_assert(apply(added + 1, 1, NULL, 0));
    expect_model();
}

/* Whichever allocation fails, what was there still is. */
Test(node_run_list, of_too_little_memory_nothing_is_lost)
{
    uint64_t number = 0;

    for (unsigned denied = 0; denied < 40; denied++) {
        heap_fault_after(denied % 3);
        if (apply(&number, 1, NULL, 0)) {
            there[number++] = true;
        }
        heap_fault_clear();
        expect_model();
    }
    cr_assert_gt(number, 0);
}
