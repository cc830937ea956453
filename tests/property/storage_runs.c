/* What must hold for any fingerprints: sorting, runs and merging keep exactly the set. */
#include "base/heap.h"
#include "log/run_merge.h"
#include "tests/support/memory_disk.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 300, MOST = 60000, MANY = 600000, MOST_SOURCES = 12, CLUSTER = 1 };

/* How fingerprints come: hashes, of few shards, repeated, clustered, in a row. */
enum kind { HASHES, ONE_SHARD, TWO_SHARDS, REPEATED, CLUSTERED, SPARSE, IN_A_ROW, KINDS };

static uint64_t draw(enum kind kind, uint64_t *state, size_t index)
{
    uint64_t value = random_next(state);

    switch (kind) {
    case HASHES:
        return value;
    case ONE_SHARD:
        return value >> 12 | UINT64_C(0xabc) << 52;
    case TWO_SHARDS:
        return value >> 4 | (value & 1 ? UINT64_C(0x1) : UINT64_C(0xf)) << 60;
    case REPEATED:
        return (value % 50) * UINT64_C(0x9e3779b97f4a7c15);
    case CLUSTERED: /* hundreds share all but their last bits */
        return (value >> 32) % 7 << 57 | (value & 0x3ff);
    case SPARSE: /* bits far apart differ */
        return value & UINT64_C(0x8000100002000401);
    case IN_A_ROW:
        return UINT64_MAX - index;
    case KINDS:
        break;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* The reference. */
static size_t sort_plainly(uint64_t *values, size_t count)
{
    size_t kept = 0;

    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || values[kept - 1] != values[i]) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

/* Mostly few, sometimes many. */
static size_t draw_count(uint64_t *state)
{
    return (size_t)random_below(state,
                                1 + random_below(state, UINT64_C(1) << random_below(state, 16)));
}

static void expect_sorted(enum kind kind, uint64_t seed, size_t count)
{
    uint64_t *data = heap_alloc(count + 1, sizeof *data);
    uint64_t *spare = heap_alloc(count + 1, sizeof *spare);
    uint64_t *expected = heap_alloc(count + 1, sizeof *expected);
    uint64_t state = seed;
    size_t nexpected;

    for (size_t i = 0; i < count; i++) {
        data[i] = expected[i] = draw(kind, &state, i);
    }
    nexpected = sort_plainly(expected, count);
    cr_assert_eq(run_sort(data, spare, count), nexpected, "seed %lu", seed);
    cr_assert_arr_eq(data, expected, nexpected * sizeof *data, "seed %lu", seed);
    heap_free(data);
    heap_free(spare);
    heap_free(expected);
}

Test(runs, sorting_gives_the_set_in_order)
{
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        uint64_t state = seed;

        expect_sorted((enum kind)(seed % KINDS), seed,
                      seed < 4 * KINDS ? MOST : draw_count(&state));
    }
}

/* More than is sorted at once. */
Test(runs, sorting_many_gives_the_set_in_order)
{
    for (uint64_t seed = 0; seed < KINDS; seed++) {
        expect_sorted((enum kind)seed, seed, MANY);
    }
}

/* Some sources are runs, some arrays; their parts of the set overlap. */
struct sources {
    struct memory_disk *memory;
    struct run_reader *runs[MOST_SOURCES];
    struct run_array arrays[MOST_SOURCES];
    uint64_t *values[MOST_SOURCES];
    size_t nruns;
    size_t narrays;
    size_t count;
};

static void add_run(struct sources *self, const uint64_t *values, size_t count)
{
    struct record_run run = {.number = self->nruns, .filter_id = 1};
    struct run_writer *writer = NULL;

    cr_assert_eq(run_writer_create(memory_disk_seam(self->memory), CLUSTER, &run, count, &writer),
                 STATUS_OK);
    cr_assert_eq(run_writer_add(writer, values, count), STATUS_OK);
    cr_assert_eq(run_writer_finish(writer, &run), STATUS_OK);
    run_writer_destroy(&writer);
    if (run.count > 0) {
        cr_assert_eq(run_reader_create(memory_disk_seam(self->memory), CLUSTER, &run,
                                       &self->runs[self->nruns++]),
                     STATUS_OK);
    }
}

static void sources_init(struct sources *self, uint64_t *state, enum kind kind, uint64_t *all,
                         size_t *nall)
{
    memset(self, 0, sizeof *self);
    self->memory = memory_disk_create();
    self->count = (size_t)random_below(state, MOST_SOURCES + 1);
    *nall = 0;
    for (size_t s = 0; s < self->count; s++) {
        size_t count = draw_count(state);
        uint64_t *values = heap_alloc(count, sizeof *values);

        for (size_t i = 0; i < count; i++) {
            values[i] = *nall > 0 && random_below(state, 5) == 0 ? all[random_below(state, *nall)]
                                                                 : draw(kind, state, *nall);
            all[(*nall)++] = values[i];
        }
        qsort(values, count, sizeof *values, compare);
        self->values[s] = values;
        if (random_below(state, 2) == 0) {
            add_run(self, values, count);
        } else {
            self->arrays[self->narrays++] = (struct run_array){values, count};
        }
    }
}

static void sources_fini(struct sources *self)
{
    for (size_t i = 0; i < self->nruns; i++) {
        run_reader_destroy(&self->runs[i]);
    }
    for (size_t i = 0; i < self->count; i++) {
        heap_free(self->values[i]);
    }
    memory_disk_destroy(&self->memory);
}

Test(runs, merging_gives_the_union_in_order)
{
    static struct sources sources;
    uint64_t *all = heap_alloc((size_t)MOST_SOURCES << 16, sizeof *all);
    uint64_t *into = heap_alloc((size_t)MOST_SOURCES << 16, sizeof *into);

    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        uint64_t state = seed;
        struct run_merge *merge = NULL;
        size_t nall;
        size_t total = 0;
        size_t count = 1;

        sources_init(&sources, &state, (enum kind)(seed % KINDS), all, &nall);
        nall = sort_plainly(all, nall);
        cr_assert_eq(
            run_merge_create(sources.runs, sources.nruns, sources.arrays, sources.narrays, &merge),
            STATUS_OK);
        while (count > 0) {
            size_t room = 1 + (size_t)random_below(&state, 5000);

            cr_assert_eq(run_merge_next(merge, into + total, room, &count), STATUS_OK);
            cr_assert_leq(count, room);
            total += count;
            cr_assert_leq(total, nall, "seed %lu", seed);
        }
        cr_assert_eq(total, nall, "seed %lu", seed);
        cr_assert_arr_eq(into, all, nall * sizeof *all, "seed %lu", seed);
        run_merge_destroy(&merge);
        sources_fini(&sources);
    }
    heap_free(all);
    heap_free(into);
}

/* Writes as far as the disk lets it; after a failure the disk refuses everything, removing too. */
static bool write_until_failure(struct disk *disk, struct record_run *run, const uint64_t *values,
                                size_t count)
{
    struct run_writer *writer = NULL;
    enum status status = run_writer_create(disk, CLUSTER, run, count, &writer);

    if (status == STATUS_OK) {
        status = run_writer_add(writer, values, count);
    }
    if (status == STATUS_OK) {
        status = run_writer_finish(writer, run);
    }
    run_writer_destroy(&writer);
    run->count = count;
    return status == STATUS_OK;
}

/* Is it read to its end? What is read must be what was written. */
static bool read_back(struct disk *disk, const struct record_run *run, const uint64_t *values)
{
    struct run_reader *reader = NULL;
    enum status status = run_reader_create(disk, CLUSTER, run, &reader);
    size_t total = 0;
    size_t count = 1;

    while (status == STATUS_OK && count > 0) {
        const uint64_t *stretch = NULL;

        status = run_reader_next(reader, &stretch, &count);
        if (status == STATUS_OK) {
            cr_assert_leq(total + count, run->count);
            cr_assert_arr_eq(stretch, values + total, count * sizeof *values);
            total += count;
        }
    }
    run_reader_destroy(&reader);
    cr_assert(status == STATUS_OK || status == STATUS_MALFORMED || status == STATUS_NOT_FOUND);
    cr_assert(status != STATUS_OK || total == run->count);
    return status == STATUS_OK;
}

Test(runs, a_crash_spares_what_was_finished_and_half_a_run_is_never_believed)
{
    uint64_t *values = heap_alloc(MOST, sizeof *values);
    unsigned nfinished = 0;
    unsigned nleft = 0;

    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        struct memory_disk *memory = memory_disk_create();
        struct disk *disk = memory_disk_seam(memory);
        uint64_t state = seed;
        size_t count = 1 + draw_count(&state);
        struct record_run first = {.number = 1};
        struct record_run second = {.number = 2};
        bool finished;
        bool left;

        for (size_t i = 0; i < count; i++) {
            values[i] = draw(HASHES, &state, i);
        }
        count = sort_plainly(values, count);
        cr_assert(write_until_failure(disk, &first, values, count));
        memory_disk_fail_after(memory, (int64_t)random_below(&state, 12));
        finished = write_until_failure(disk, &second, values, count);
        memory_disk_crash(memory, &state);
        cr_assert(read_back(disk, &first, values), "seed %lu", seed);
        left = read_back(disk, &second, values);
        cr_assert(left || !finished, "seed %lu", seed);
        nfinished += finished;
        nleft += left;
        memory_disk_destroy(&memory);
    }
    cr_assert(nfinished > ROUNDS / 10 && nleft < ROUNDS * 9 / 10, "%u, %u", nfinished, nleft);
    heap_free(values);
}

/* Planned merges, done as planned on random runs, always end, and mix no sets. */
Test(runs, planning_ends_and_chooses_alike_runs)
{
    enum { NRUNS = 200 };

    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        struct record_run runs[NRUNS];
        size_t chosen[RUN_MERGE_MOST];
        uint64_t state = seed;
        size_t nruns = NRUNS;
        size_t count = 1;

        for (size_t i = 0; i < NRUNS; i++) {
            runs[i] = (struct record_run){
                .filter_id = random_below(&state, 2),
                .keyset = (uint32_t)random_below(&state, 2),
                .count = 1 + (random_next(&state) >> (34 + random_below(&state, 30)))};
        }
        while (count > 0) {
            count = run_merge_plan(runs, nruns, RUN_MERGE_LEAST, chosen);
            cr_assert(count == 0 || (count >= RUN_MERGE_LEAST && count <= RUN_MERGE_MOST));
            for (size_t i = 1; i < count; i++) {
                struct record_run *first = &runs[chosen[0]];
                struct record_run *other = &runs[chosen[i]];

                cr_assert_neq(first, other);
                cr_assert(other->count > 0, "chosen twice");
                cr_assert_eq(other->filter_id, first->filter_id);
                cr_assert_eq(other->keyset, first->keyset);
                first->count += other->count;
                other->count = 0;
            }
            for (size_t i = nruns; i-- > 0;) {
                if (runs[i].count == 0) {
                    runs[i] = runs[--nruns];
                }
            }
        }
        cr_assert_leq(nruns, 4 * (RUN_MERGE_LEAST - 1) * 8, "seed %lu", seed);
    }
}
