/* Batches of closed segments become runs, step by step, whatever fails meanwhile. */
#include "base/heap.h"
#include "log/run_merge.h"
#include "log/segment_merge.h"
#include "log/segment_sets.h"
#include "tests/support/memory_disk.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLUSTER = 3, BATCH = 1000, MAX_RUNS = 16, STEP_KEYS = 1 << 20 /* done by a step */ };

static struct memory_disk *memory;
static struct disk *disk;

static void setup(void)
{
    memory = memory_disk_create();
    disk = memory_disk_seam(memory);
}

static void teardown(void)
{
    memory_disk_destroy(&memory);
}

TestSuite(segment_merge, .init = setup, .fini = teardown);

static void count_name(void *argument, const char *name)
{
    (void)name;
    ++*(size_t *)argument;
}

static size_t count_files(void)
{
    size_t count = 0;

    cr_assert_eq(disk->list(disk->context, count_name, &count), STATUS_OK);
    return count;
}

static struct segment_merge *make(void)
{
    struct segment_merge *merge = NULL;

    cr_assert_eq(segment_merge_create(disk, CLUSTER, 0, &merge), STATUS_OK);
    return merge;
}

static struct record_batch batch_of(uint64_t filter_id, uint64_t slice, uint32_t keyset,
                                    const uint64_t *fingerprints, uint32_t count)
{
    return (struct record_batch){.filter_id = filter_id,
                                 .ntargets = 1,
                                 .targets = {{.slice = slice, .keyset = keyset}},
                                 .count = count,
                                 .fingerprints = fingerprints};
}

static void collect(struct segment_merge *merge, const struct record_batch *batch)
{
    cr_assert_eq(segment_merge_collect(merge, batch), STATUS_OK);
}

/* Steps to the end or an error; the runs are put into `runs`, from *nruns on. */
static enum status step_all(struct segment_merge *merge, uint64_t *next_number,
                            struct record_run *runs, size_t *nruns, size_t *nsteps)
{
    enum segment_merge_progress progress = MERGE_MORE;
    enum status status = STATUS_OK;

    for (*nsteps = 0; status == STATUS_OK && progress != MERGE_END; ++*nsteps) {
        struct record_run run = {0};

        cr_assert_lt(*nsteps, 1000);
        status = segment_merge_step(merge, next_number, &run, &progress);
        if (status == STATUS_OK && progress == MERGE_RUN) {
            cr_assert_lt(*nruns, MAX_RUNS);
            runs[(*nruns)++] = run;
        }
    }
    return status;
}

static size_t finish(struct segment_merge *merge, struct record_run *runs)
{
    uint64_t next_number = 1;
    size_t nruns = 0;
    size_t nsteps;

    cr_assert_eq(step_all(merge, &next_number, runs, &nruns, &nsteps), STATUS_OK);
    cr_assert_eq(next_number, 1 + nruns);
    cr_assert_eq(count_files(), nruns);
    cr_assert_eq(memory_disk_open_files(memory), 0);
    return nruns;
}

static void assert_holds(const struct record_run *run, const uint64_t *expected, size_t count)
{
    struct run_reader *reader = NULL;
    size_t at = 0;
    size_t got = 1;

    cr_assert_eq(run->count, count);
    cr_assert_eq(run_reader_create(disk, CLUSTER, run, &reader), STATUS_OK);
    while (got > 0) {
        const uint64_t *stretch = NULL;

        cr_assert_eq(run_reader_next(reader, &stretch, &got), STATUS_OK);
        cr_assert_leq(at + got, count);
        cr_assert_arr_eq(stretch, expected + at, got * sizeof *stretch);
        at += got;
    }
    cr_assert_eq(at, count);
    run_reader_destroy(&reader);
}

Test(segment_merge, no_batches_make_no_run)
{
    struct segment_merge *merge = make();
    struct record_batch empty = batch_of(1, 1, 1, NULL, 0);
    struct record_run runs[MAX_RUNS];

    collect(merge, &empty);
    cr_assert_eq(finish(merge, runs), 0);
    segment_merge_destroy(&merge);
    cr_assert_null(merge);
}

Test(segment_merge, each_filter_keyset_and_slice_has_a_run_of_its_own)
{
    struct segment_merge *merge = make();
    struct record_run runs[MAX_RUNS];
    uint64_t value = 100;

    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t set = 0; set < 8; set++) { /* in no order */
            uint64_t bits = (set * 5) % 8;
            struct record_batch batch = batch_of(1 + bits % 2, 1 + bits / 2 % 2,
                                                 (uint32_t)(1 + bits / 4), &value, 1);

            value = 100 * bits + round;
            collect(merge, &batch);
        }
    }
    cr_assert_eq(finish(merge, runs), 8);
    for (size_t i = 0; i < 8; i++) {
        uint64_t bits = runs[i].filter_id - 1 + 2 * (runs[i].slice - 1) +
                        4 * (uint64_t)(runs[i].keyset - 1);

        cr_assert_eq(runs[i].number, i + 1);
        assert_holds(&runs[i], (uint64_t[]){100 * bits, 100 * bits + 1}, 2);
    }
    segment_merge_destroy(&merge);
}

Test(segment_merge, a_batch_with_several_targets_goes_to_each)
{
    struct segment_merge *merge = make();
    const uint64_t both[] = {9, 4};
    const uint64_t one[] = {7, 9};
    struct record_batch batch = batch_of(1, 1, 1, both, 2);
    struct record_batch single = batch_of(1, 1, 2, one, 2);
    struct record_run runs[MAX_RUNS];

    batch.ntargets = 2;
    batch.targets[1] = (struct record_target){.slice = 1, .keyset = 2};
    collect(merge, &batch);
    collect(merge, &single);
    cr_assert_eq(finish(merge, runs), 2);
    cr_assert_eq(runs[0].keyset, 1);
    assert_holds(&runs[0], (uint64_t[]){4, 9}, 2);
    assert_holds(&runs[1], (uint64_t[]){4, 7, 9}, 3);
    segment_merge_destroy(&merge);
}

/* More than one piece; every third fingerprint comes twice, far apart. */
Test(segment_merge, a_large_set_takes_several_short_steps)
{
    const size_t count = 2 * STEP_KEYS + 12345;
    uint64_t *all = heap_alloc(2 * count, sizeof *all);
    struct segment_merge *merge = make();
    struct record_run runs[MAX_RUNS];
    uint64_t next_number = 77;
    uint64_t state = 1;
    size_t nruns = 0;
    size_t nsteps = 0;

    for (size_t i = 0; i < count; i++) {
        all[i] = i >= 3000 && i % 3 == 0 ? all[i - 3000] : random_next(&state);
    }
    for (size_t i = 0; i < count; i += BATCH) {
        size_t n = count - i < BATCH ? count - i : BATCH;
        struct record_batch batch = batch_of(1, 1, 1, all + i, (uint32_t)n);

        collect(merge, &batch);
    }
    cr_assert_eq(step_all(merge, &next_number, runs, &nruns, &nsteps), STATUS_OK);
    cr_assert_eq(nruns, 1);
    cr_assert_eq(next_number, 78);
    cr_assert_geq(nsteps, 4);
    assert_holds(&runs[0], all, run_sort(all, all + count, count));
    segment_merge_destroy(&merge);
    heap_free(all);
}

Test(segment_merge, a_set_of_too_many_is_refused)
{
    struct segment_set set = {.count = SEGMENT_MERGE_KEYS - 1};
    const uint64_t two[] = {1, 2};

    cr_assert_eq(segment_set_append(&set, two, 2), STATUS_TOO_LARGE);
    cr_assert_eq(set.count, SEGMENT_MERGE_KEYS - 1);
    cr_assert_eq(segment_set_append(&set, two, 1), STATUS_OK);
    segment_set_clear(&set);
}

static void expect_run_of(uint64_t *all, size_t count)
{
    uint64_t *spare = heap_alloc(count, sizeof *spare);
    struct segment_merge *merge = make();
    struct record_run runs[MAX_RUNS];
    char name[DISK_NAME_BYTES];

    for (size_t i = 0; i < count; i += BATCH) {
        size_t n = count - i < BATCH ? count - i : BATCH;
        struct record_batch batch = batch_of(1, 1, 1, all + i, (uint32_t)n);

        collect(merge, &batch);
    }
    cr_assert_eq(finish(merge, runs), 1);
    assert_holds(&runs[0], all, run_sort(all, spare, count));
    run_name(runs[0].number, name);
    cr_assert_eq(disk->remove(disk->context, name), STATUS_OK);
    segment_merge_destroy(&merge);
    heap_free(spare);
}

/* Just before and after a set is parted; and of one shard alone, so that it falls into one part. */
Test(segment_merge, a_set_is_whole_however_it_is_parted)
{
    static const int spans[] = {0, SEGMENT_PART_BITS, 20};
    uint64_t *all = heap_alloc(2 * SEGMENT_WHOLE_KEYS, sizeof *all);
    uint64_t state = 1;

    for (size_t s = 0; s < sizeof spans / sizeof spans[0]; s++) {
        for (size_t extra = 0; extra <= 2 * BATCH; extra += BATCH / 2) {
            size_t count = SEGMENT_WHOLE_KEYS - BATCH + extra;

            for (size_t i = 0; i < count; i++) {
                all[i] = random_next(&state) >> spans[s] | (spans[s] > 0 ? UINT64_C(5) << 61 : 0);
            }
            all[0] = 0;
            all[1] = UINT64_MAX;
            expect_run_of(all, count);
        }
    }
    heap_free(all);
}

static void collect_two(struct segment_merge *merge, const uint64_t *all, size_t count)
{
    for (uint64_t filter_id = 1; filter_id <= 2; filter_id++) {
        struct record_batch batch = batch_of(filter_id, 1, 1, all, (uint32_t)count);

        collect(merge, &batch);
    }
}

/* Whatever fails, and whenever: going on makes the same runs, and no file is left besides. */
Test(segment_merge, a_step_that_failed_is_made_good_by_the_next)
{
    enum { COUNT = 2 * RUN_BLOCK_KEYS };
    uint64_t *all = heap_alloc(COUNT, sizeof *all);
    size_t live = heap_live();
    bool failed = true;
    int n = 0;

    for (size_t i = 0; i < COUNT; i++) {
        all[i] = i;
    }
    for (; failed; n++) {
        struct segment_merge *merge = make();
        struct record_run runs[MAX_RUNS];
        uint64_t next_number = 1;
        size_t nruns = 0;
        size_t nsteps;
        enum status status;

        cr_assert_lt(n, 100);
        collect_two(merge, all, COUNT);
        memory_disk_fail_once(memory, n, STATUS_NO_SPACE);
        status = step_all(merge, &next_number, runs, &nruns, &nsteps);
        memory_disk_fail_after(memory, MEMORY_DISK_NEVER);
        failed = status != STATUS_OK;
        cr_assert(!failed || status == STATUS_NO_SPACE);
        cr_assert_eq(count_files(), nruns);
        cr_assert_eq(memory_disk_open_files(memory), 0);
        cr_assert_eq(step_all(merge, &next_number, runs, &nruns, &nsteps), STATUS_OK);
        cr_assert_eq(nruns, 2);
        cr_assert_eq(count_files(), 2);
        for (size_t i = 0; i < 2; i++) {
            char name[DISK_NAME_BYTES];

            cr_assert_eq(runs[i].filter_id, i + 1);
            cr_assert_lt(runs[i].number, next_number);
            assert_holds(&runs[i], all, COUNT);
            run_name(runs[i].number, name);
            cr_assert_eq(disk->remove(disk->context, name), STATUS_OK);
        }
        segment_merge_destroy(&merge);
        cr_assert_eq(heap_live(), live);
    }
    cr_assert_gt(n, 10);
    heap_free(all);
}

/* A leftover of a crash has the number: the next one is taken. */
Test(segment_merge, a_number_in_use_is_passed_over)
{
    struct segment_merge *merge = make();
    const uint64_t all[] = {1, 2};
    struct record_run runs[MAX_RUNS];
    uint64_t next_number = 5;
    uint32_t file = 0;
    size_t nruns = 0;
    size_t nsteps = 0;
    char name[DISK_NAME_BYTES];

    run_name(5, name);
    cr_assert_eq(disk->create(disk->context, name, 10, &file), STATUS_OK);
    disk->close(disk->context, file);
    collect_two(merge, all, 2);
    cr_assert_eq(step_all(merge, &next_number, runs, &nruns, &nsteps), STATUS_EXISTS);
    cr_assert_eq(step_all(merge, &next_number, runs, &nruns, &nsteps), STATUS_OK);
    cr_assert_eq(runs[0].number, 6);
    cr_assert_eq(runs[1].number, 7);
    cr_assert_eq(memory_disk_bytes(memory, name).size, 10);
    segment_merge_destroy(&merge);
}

Test(segment_merge, given_up_it_leaves_finished_runs_only)
{
    struct segment_merge *merge = make();
    uint64_t *all = heap_alloc(2 * STEP_KEYS, sizeof *all);
    enum segment_merge_progress progress = MERGE_MORE;
    struct record_run run;
    uint64_t next_number = 1;
    uint64_t state = 1;

    for (size_t i = 0; i < 2 * STEP_KEYS; i++) {
        all[i] = random_next(&state);
    }
    collect_two(merge, all, 2 * STEP_KEYS);
    while (progress != MERGE_RUN) {
        cr_assert_eq(segment_merge_step(merge, &next_number, &run, &progress), STATUS_OK);
    }
    while (next_number == 2) {
        cr_assert_eq(segment_merge_step(merge, &next_number, &run, &progress), STATUS_OK);
        cr_assert_eq(progress, MERGE_MORE);
    }
    cr_assert_eq(count_files(), 2);
    segment_merge_destroy(&merge);
    cr_assert_eq(count_files(), 1);
    cr_assert_gt(memory_disk_bytes(memory, "run-0000000000000001").size, 0);
    heap_free(all);
}

static enum status whole(const uint64_t *all, size_t count)
{
    struct segment_merge *merge = NULL;
    struct record_batch batch = batch_of(1, 1, 1, all, (uint32_t)count);
    enum status status = segment_merge_create(disk, CLUSTER, 0, &merge);
    struct record_run runs[MAX_RUNS];
    uint64_t next_number = 1;
    size_t nruns = 0;
    size_t nsteps;

    if (status == STATUS_OK) {
        status = segment_merge_collect(merge, &batch);
    }
    if (status == STATUS_OK) {
        status = step_all(merge, &next_number, runs, &nruns, &nsteps);
    }
    segment_merge_destroy(&merge);
    return status;
}

Test(segment_merge, every_allocation_may_fail)
{
    const uint64_t all[] = {3, 2, 1};
    size_t live = heap_live();
    enum status status = STATUS_NOMEM;

    for (unsigned n = 0; status != STATUS_OK; n++) {
        cr_assert_lt(n, 50);
        heap_fault_after(n);
        status = whole(all, 3);
        heap_fault_clear();
        cr_assert(status == STATUS_OK || status == STATUS_NOMEM);
        cr_assert_eq(heap_live(), live);
        cr_assert_eq(count_files(), status == STATUS_OK);
    }
}
