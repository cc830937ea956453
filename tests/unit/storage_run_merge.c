/* Sorting, merging, and which runs are merged when. */
#include "base/heap.h"
#include "log/run_merge.h"
#include "tests/support/memory_disk.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLUSTER = 1, MANY = 2 * RUN_BLOCK_KEYS + 5 };

static struct memory_disk *memory;

static void setup(void)
{
    memory = memory_disk_create();
}

static void teardown(void)
{
    memory_disk_destroy(&memory);
}

TestSuite(run_sort);
TestSuite(run_merge, .init = setup, .fini = teardown);
TestSuite(run_merge_plan);

/* ---- run_sort ---- */

static void assert_sorts(const uint64_t *input, size_t count, const uint64_t *expected,
                         size_t nexpected)
{
    uint64_t data[8];
    uint64_t spare[8];

    memcpy(data, input, count * sizeof *input);
    cr_assert_eq(run_sort(data, spare, count), nexpected);
    cr_assert_arr_eq(data, expected, nexpected * sizeof *expected);
}

Test(run_sort, a_few_are_sorted_and_repeats_dropped)
{
    const uint64_t ends[] = {UINT64_MAX, 0, UINT64_MAX, 0, 1};

    cr_assert_eq(run_sort(NULL, NULL, 0), 0);
    assert_sorts((uint64_t[]){7}, 1, (uint64_t[]){7}, 1);
    assert_sorts((uint64_t[]){7, 7, 7}, 3, (uint64_t[]){7}, 1);
    assert_sorts((uint64_t[]){3, 1, 2, 1}, 4, (uint64_t[]){1, 2, 3}, 3);
    assert_sorts(ends, 5, (uint64_t[]){0, 1, UINT64_MAX}, 3);
}

Test(run_sort, many_equal_ones_become_one)
{
    uint64_t *data = heap_alloc(2 * MANY, sizeof *data);

    for (size_t i = 0; i < MANY; i++) {
        data[i] = 42;
    }
    cr_assert_eq(run_sort(data, data + MANY, MANY), 1);
    cr_assert_eq(data[0], 42);
    heap_free(data);
}

/* Numbers in a row differ in their last bits only, from both ends. */
Test(run_sort, descending_numbers_are_turned_round)
{
    uint64_t *data = heap_alloc(2 * MANY, sizeof *data);

    for (size_t i = 0; i < MANY; i++) {
        data[i] = MANY - i;
    }
    cr_assert_eq(run_sort(data, data + MANY, MANY), MANY);
    for (size_t i = 0; i < MANY; i++) {
        cr_assert_eq(data[i], i + 1);
    }
    heap_free(data);
}

/* ---- run_merge ---- */

/* A run of `count` numbers from `first` on, `step` apart. */
static struct run_reader *make_run(uint64_t number, uint64_t first, uint64_t step, size_t count)
{
    struct record_run run = {.number = number, .filter_id = 1};
    struct run_writer *writer = NULL;
    struct run_reader *reader = NULL;

    cr_assert_eq(run_writer_create(memory_disk_seam(memory), CLUSTER, &run, count, &writer),
                 STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = first + i * step;

        cr_assert_eq(run_writer_add(writer, &value, 1), STATUS_OK);
    }
    cr_assert_eq(run_writer_finish(writer, &run), STATUS_OK);
    run_writer_destroy(&writer);
    cr_assert_eq(run_reader_create(memory_disk_seam(memory), CLUSTER, &run, &reader), STATUS_OK);
    return reader;
}

static struct run_merge *make_merge(struct run_reader *const *runs, size_t nruns,
                                    const struct run_array *arrays, size_t narrays)
{
    struct run_merge *merge = NULL;

    cr_assert_eq(run_merge_create(runs, nruns, arrays, narrays, &merge), STATUS_OK);
    return merge;
}

/* All that is left, at most `room` at a time. */
static size_t drain(struct run_merge *merge, uint64_t *into, size_t room)
{
    size_t total = 0;
    size_t count = 1;

    while (count > 0) {
        cr_assert_eq(run_merge_next(merge, into + total, room, &count), STATUS_OK);
        cr_assert_leq(count, room);
        total += count;
    }
    cr_assert_eq(run_merge_next(merge, into, room, &count), STATUS_OK);
    cr_assert_eq(count, 0, "the end is the end");
    return total;
}

Test(run_merge, runs_become_their_union)
{
    uint64_t *into = heap_alloc(3 * MANY, sizeof *into);
    const size_t rooms[] = {1, 7, 3 * MANY};

    for (size_t r = 0; r < 3; r++) {
        /* Multiples of 2 and of 3: every sixth is in both. */
        struct run_reader *runs[] = {make_run(2 * r, 0, 2, MANY), make_run(2 * r + 1, 0, 3, MANY)};
        struct run_merge *merge = make_merge(runs, 2, NULL, 0);
        size_t total = drain(merge, into, rooms[r]);
        uint64_t value = 0;

        for (size_t i = 0; i < total; i++, value++) {
            while ((value % 2 != 0 || value >= 2 * MANY) && value % 3 != 0) {
                value++;
            }
            cr_assert_eq(into[i], value);
        }
        cr_assert_eq(into[total - 1], 3 * (MANY - 1));
        run_merge_destroy(&merge);
        cr_assert_null(merge);
        run_reader_destroy(&runs[0]);
        run_reader_destroy(&runs[1]);
    }
    heap_free(into);
}

Test(run_merge, nothing_and_empty_arrays_give_nothing)
{
    const struct run_array empty[2] = {{0}};
    struct run_merge *merge = make_merge(NULL, 0, NULL, 0);
    uint64_t into[4];

    cr_assert_eq(drain(merge, into, 4), 0);
    run_merge_destroy(&merge);
    merge = make_merge(NULL, 0, empty, 2);
    cr_assert_eq(drain(merge, into, 4), 0);
    run_merge_destroy(&merge);
}

/* It is also what an ended source looks like inside. */
Test(run_merge, the_highest_number_comes_out_once_if_it_is_there)
{
    const uint64_t highest[] = {UINT64_MAX, UINT64_MAX};
    const uint64_t lowest[] = {0, 0};
    const struct run_array arrays[] = {{highest, 2}, {lowest, 2}, {highest, 1}};
    struct run_merge *merge = make_merge(NULL, 0, arrays, 3);
    uint64_t into[8];

    cr_assert_eq(drain(merge, into, 1), 2);
    cr_assert_eq(into[1], UINT64_MAX);
    run_merge_destroy(&merge);

    merge = make_merge(NULL, 0, arrays, 2);
    cr_assert_eq(drain(merge, into, 8), 2);
    cr_assert_eq(into[0], 0);
    cr_assert_eq(into[1], UINT64_MAX);
    run_merge_destroy(&merge);

    merge = make_merge(NULL, 0, arrays + 1, 1);
    cr_assert_eq(drain(merge, into, 8), 1);
    cr_assert_eq(into[0], 0);
    run_merge_destroy(&merge);

    merge = make_merge(NULL, 0, arrays, 1);
    cr_assert_eq(drain(merge, into, 8), 1);
    cr_assert_eq(into[0], UINT64_MAX);
    run_merge_destroy(&merge);
}

Test(run_merge, runs_and_arrays_merge_alike)
{
    const uint64_t odd[] = {1, 3, 3, 5};
    const struct run_array array = {odd, 4};
    struct run_reader *run = make_run(1, 0, 2, 3);
    struct run_merge *merge = make_merge(&run, 1, &array, 1);
    uint64_t into[8];

    cr_assert_eq(drain(merge, into, 8), 6);
    cr_assert_arr_eq(into, ((uint64_t[]){0, 1, 2, 3, 4, 5}), 6 * sizeof *into);
    run_merge_destroy(&merge);
    run_reader_destroy(&run);
}

Test(run_merge, readers_go_on_from_where_they_were_sought)
{
    struct run_reader *runs[] = {make_run(1, 0, 2, MANY), make_run(2, 1, 2, MANY)};
    uint64_t *into = heap_alloc(2 * MANY, sizeof *into);
    struct run_merge *merge;

    run_reader_seek(runs[0], MANY);
    run_reader_seek(runs[1], MANY);
    merge = make_merge(runs, 2, NULL, 0);
    cr_assert_eq(drain(merge, into, 1000), MANY);
    for (size_t i = 0; i < MANY; i++) {
        cr_assert_eq(into[i], MANY + i);
    }
    run_merge_destroy(&merge);
    run_reader_destroy(&runs[0]);
    run_reader_destroy(&runs[1]);
    heap_free(into);
}

Test(run_merge, as_many_sources_as_allowed_and_not_one_more)
{
    uint64_t values[RUN_MERGE_MAX + 1];
    struct run_array arrays[RUN_MERGE_MAX + 1];
    uint64_t into[RUN_MERGE_MAX];
    struct run_merge *merge = NULL;

    for (size_t i = 0; i <= RUN_MERGE_MAX; i++) {
        values[i] = (i * 37) % RUN_MERGE_MAX; /* each once */
        arrays[i] = (struct run_array){&values[i], 1};
    }
    cr_assert_eq(run_merge_create(NULL, 0, arrays, RUN_MERGE_MAX + 1, &merge), STATUS_TOO_LARGE);
    cr_assert_eq(run_merge_create(NULL, RUN_MERGE_MAX + 1, NULL, 0, &merge), STATUS_TOO_LARGE);
    cr_assert_null(merge);
    for (size_t n = 1; n <= RUN_MERGE_MAX; n++) {
        merge = make_merge(NULL, 0, arrays, n);
        cr_assert_eq(drain(merge, into, RUN_MERGE_MAX), n);
        for (size_t i = 1; i < n; i++) {
            cr_assert_lt(into[i - 1], into[i]);
        }
        run_merge_destroy(&merge);
    }
}

/* What can't be read ends the merge: half a union must not pass for the whole. */
Test(run_merge, a_changed_run_is_told_and_told_again)
{
    struct run_reader *runs[] = {make_run(1, 0, 2, MANY), make_run(2, 1, 2, MANY)};
    uint64_t *into = heap_alloc(2 * MANY, sizeof *into);
    struct run_merge *merge = make_merge(runs, 2, NULL, 0);
    enum status status = STATUS_OK;
    size_t count = 1;

    /* In the second block of the second run. */
    memory_disk_flip(memory, "run-0000000000000002",
                     8 * (RUN_HEADER_BYTES + 9 * (uint64_t)RUN_BLOCK_KEYS));
    for (int i = 0; status == STATUS_OK; i++) {
        cr_assert_lt(i, 1000);
        status = run_merge_next(merge, into, 1000, &count);
        cr_assert_gt(count, 0);
    }
    cr_assert_eq(status, STATUS_MALFORMED);
    cr_assert_eq(run_merge_next(merge, into, 1000, &count), STATUS_MALFORMED);
    run_merge_destroy(&merge);
    run_reader_destroy(&runs[0]);
    run_reader_destroy(&runs[1]);
    heap_free(into);
}

Test(run_merge, memory_that_runs_out_is_told)
{
    struct run_merge *merge = NULL;

    heap_fault_after(0);
    cr_assert_eq(run_merge_create(NULL, 0, NULL, 0, &merge), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_null(merge);
}

/* ---- run_merge_plan ---- */

static struct record_run sized(uint64_t count)
{
    return (struct record_run){.filter_id = 1, .count = count};
}

static bool has(const size_t *chosen, size_t nchosen, size_t index)
{
    for (size_t i = 0; i < nchosen; i++) {
        if (chosen[i] == index) {
            return true;
        }
    }
    return false;
}

Test(run_merge_plan, few_runs_are_left_alone)
{
    struct record_run runs[RUN_MERGE_LEAST];
    size_t chosen[RUN_MERGE_MOST];

    for (size_t i = 0; i < RUN_MERGE_LEAST; i++) {
        runs[i] = sized(100);
        cr_assert_eq(run_merge_plan(runs, i, RUN_MERGE_LEAST, chosen), 0);
    }
    cr_assert_eq(run_merge_plan(runs, RUN_MERGE_LEAST, RUN_MERGE_LEAST, chosen), RUN_MERGE_LEAST);
}

Test(run_merge_plan, runs_of_other_sizes_stay)
{
    const uint64_t tier = RUN_TIER_KEYS;
    const uint64_t next = RUN_MERGE_LEAST * tier;
    const struct record_run runs[] = {
        sized(next),     sized(tier),     sized(next - 1), sized(tier - 1), sized(tier),
        sized(2 * tier), sized(3 * tier), sized(next / 2), sized(2 * tier), sized(5 * tier)};
    size_t chosen[RUN_MERGE_MOST];

    cr_assert_eq(run_merge_plan(runs, 10, RUN_MERGE_LEAST, chosen), 8);
    cr_assert_not(has(chosen, 8, 0));
    cr_assert_not(has(chosen, 8, 3));
}

Test(run_merge_plan, runs_of_other_sets_are_not_mixed)
{
    struct record_run runs[4 * (RUN_MERGE_LEAST - 1) + 1];
    size_t chosen[RUN_MERGE_MOST];
    size_t count = 0;

    for (size_t i = 0; i < RUN_MERGE_LEAST - 1; i++) {
        for (size_t kind = 0; kind < 4; kind++) {
            runs[count] = sized(10);
            runs[count].filter_id += kind == 1;
            runs[count].keyset += kind == 2;
            runs[count].slice += kind == 3;
            count++;
        }
    }
    cr_assert_eq(run_merge_plan(runs, count, RUN_MERGE_LEAST, chosen), 0);
    for (size_t kind = 0; kind < 4; kind++) {
        runs[count] = runs[kind];
        cr_assert_eq(run_merge_plan(runs, count + 1, RUN_MERGE_LEAST, chosen), RUN_MERGE_LEAST);
        for (size_t i = 0; i < RUN_MERGE_LEAST; i++) {
            cr_assert_eq(runs[chosen[i]].filter_id, runs[kind].filter_id);
            cr_assert_eq(runs[chosen[i]].keyset, runs[kind].keyset);
            cr_assert_eq(runs[chosen[i]].slice, runs[kind].slice);
        }
    }
}

Test(run_merge_plan, the_lowest_tier_and_its_smallest_runs_come_first)
{
    struct record_run runs[40];
    size_t chosen[RUN_MERGE_MOST];

    for (size_t i = 0; i < 20; i++) {
        runs[i] = sized(RUN_TIER_KEYS * 100);
    }
    for (size_t i = 20; i < 40; i++) {
        runs[i] = sized(1000 + (i * 7) % 20);
    }
    cr_assert_eq(run_merge_plan(runs, 40, RUN_MERGE_LEAST, chosen), RUN_MERGE_MOST);
    for (size_t i = 20; i < 40; i++) {
        cr_assert_eq(has(chosen, RUN_MERGE_MOST, i), runs[i].count < 1000 + RUN_MERGE_MOST);
    }
}

/* Runs come as segments are sealed, and merge at once: what it costs, and how many are left. */
static void simulate(uint64_t nsegments, uint64_t keys, double most_rewrites, size_t most_runs)
{
    struct record_run runs[64];
    size_t chosen[RUN_MERGE_MOST];
    size_t nruns = 0;
    double rewritten = 0;
    uint64_t state = 1;

    for (uint64_t i = 0; i < nsegments; i++) {
        size_t count = 1;

        runs[nruns++] = sized(keys / 2 + random_below(&state, keys));
        while (count > 0) {
            uint64_t sum = 0;

            count = run_merge_plan(runs, nruns, RUN_MERGE_LEAST, chosen);
            for (size_t c = 0; c < count; c++) {
                sum += runs[chosen[c]].count;
                runs[chosen[c]].count = 0;
            }
            rewritten += (double)sum;
            if (count > 0) {
                size_t kept = 0;

                for (size_t r = 0; r < nruns; r++) {
                    if (runs[r].count > 0) {
                        runs[kept++] = runs[r];
                    }
                }
                runs[kept] = sized(sum);
                nruns = kept + 1;
            }
        }
        cr_assert_leq(nruns, most_runs);
    }
    rewritten /= (double)(nsegments * keys);
    cr_assert_leq(rewritten, most_rewrites, "%g rewrites", rewritten);
    cr_log_info("%lu segments of %lu: %.2f rewrites, %zu runs", nsegments, keys, rewritten, nruns);
}

/* A million fingerprints a segment: tiers 3 to 7 hold what comes and what 4,096 of them become. */
Test(run_merge_plan, rewrites_and_runs_stay_within_the_logarithm)
{
    simulate(4096, 1000000, 4.2, 7 * 5 + 1);
    simulate(256, 4000000, 3, 7 * 4 + 1);
}

/* Runs of a tier below all bounds are rewritten more often, but cost a file each. */
Test(run_merge_plan, tiny_runs_stay_few)
{
    simulate(10000, 10, 100, 7 * 3 + 1);
}
