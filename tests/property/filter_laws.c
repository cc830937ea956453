/* What must hold for lines of every geometry: sets that only grow, merged by OR. */
#include "base/heap.h"
#include "filter/lines.h"
#include "filter/lines_kernel.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <criterion/theories.h>
#include <stdbool.h>
#include <string.h>

enum { NKEYS = 3000, NWORDS = (NKEYS + 63) / 64, MAX_SHARDS = 4096 };

/* A whole filter; `array` holds its shards one after the other. */
struct filter {
    struct lines_view view;
    uint8_t *array;
    uint64_t size_bytes;
    uint8_t **shards;
};

static void filter_init(struct filter *filter, struct geometry geometry)
{
    uint64_t nshards = UINT64_C(1) << geometry.shard_bits;
    uint64_t shard_bytes = lines_shard_bytes(&geometry);

    cr_assert(nshards <= MAX_SHARDS);
    filter->size_bytes = nshards * shard_bytes;
    filter->array = heap_pages_alloc(filter->size_bytes, false);
    filter->shards = heap_alloc(nshards, sizeof *filter->shards);
    cr_assert(filter->array != NULL && filter->shards != NULL);
    for (uint64_t i = 0; i < nshards; i++) {
        filter->shards[i] = filter->array + i * shard_bytes;
    }
    filter->view = (struct lines_view){.geometry = geometry, .shards = filter->shards};
}

static void filter_fini(struct filter *filter)
{
    heap_pages_free(filter->array, filter->size_bytes);
    heap_free(filter->shards);
}

static bool filter_equal(const struct filter *a, const struct filter *b)
{
    return a->size_bytes == b->size_bytes && memcmp(a->array, b->array, a->size_bytes) == 0;
}

static void filter_merge(struct filter *target, const struct filter *source)
{
    lines_merge(target->array, source->array, target->size_bytes);
}

static void filter_add(struct filter *filter, const uint64_t *fingerprints, size_t count)
{
    uint64_t present[NWORDS];

    lines_add(&filter->view, fingerprints, count, present);
}

/* About a tenth repeats an earlier one, near or far, and both ends of the range occur. */
static void fill_fingerprints(uint64_t seed, uint64_t *fingerprints, size_t count)
{
    uint64_t state = seed;

    for (size_t i = 0; i < count; i++) {
        uint64_t value = random_next(&state);

        fingerprints[i] = value;
        if (i > 40 && value % 10 == 0) {
            fingerprints[i] = fingerprints[value % 3 == 0 ? i - 1 : value % i];
        }
    }
    if (count > 1) {
        fingerprints[0] = 0;
        fingerprints[count - 1] = UINT64_MAX;
    }
}

static bool bit_of(const uint64_t *words, size_t i)
{
    return words[i / 64] >> i % 64 & 1;
}

#define GEOMETRIES                                                              \
    DataPoints(uint64_t, 0, 1, UINT64_MAX, 0x123456789abcdef),                  \
        DataPoints(uint64_t, 7, 63, 64, 192, 4096), DataPoints(uint32_t, 1, 2), \
        DataPoints(uint32_t, 0, 1, 4, 12)

static struct geometry geometry_of(uint64_t seed, uint64_t lines, uint32_t z, uint32_t shard_bits)
{
    /* Many shards of few lines: the whole stays in a few MiB. */
    uint64_t most = shard_bits == 12 ? LINES_PER_PAGE : lines;

    return (struct geometry){.seed = seed,
                             .lines = lines < most ? lines : most,
                             .z = lines < LINES_PER_PAGE ? 1 : z,
                             .shard_bits = shard_bits};
}

/* An acknowledged key is never absent: not after later adds, not when added twice, not in
 * the merge with anything. */
TheoryDataPoints(filter_laws, no_added_key_is_ever_absent) = {GEOMETRIES};

Theory((uint64_t seed, uint64_t lines, uint32_t z, uint32_t shard_bits), filter_laws,
       no_added_key_is_ever_absent)
{
    static uint64_t fingerprints[NKEYS];
    uint64_t present[NWORDS];
    struct filter filter;
    struct filter other;

    filter_init(&filter, geometry_of(seed, lines, z, shard_bits));
    filter_init(&other, filter.view.geometry);
    fill_fingerprints(seed + z, fingerprints, NKEYS);
    for (size_t done = 0; done < NKEYS; done += 500) {
        filter_add(&filter, fingerprints + done, 500);
        lines_check(&filter.view, fingerprints, done + 500, present);
        for (size_t i = 0; i < done + 500; i++) {
            cr_assert(bit_of(present, i), "key %zu after %zu", i, done + 500);
        }
    }
    filter_merge(&other, &filter);
    lines_add(&other.view, fingerprints, NKEYS, present);
    for (size_t i = 0; i < NKEYS; i++) {
        cr_assert(bit_of(present, i), "key %zu after the merge", i);
    }
    filter_fini(&filter);
    filter_fini(&other);
}

/* What add says of key i is what check says just before key i is added, whether keys come
 * alone or in batches: the verdict NEW rests on it. A batch sets the same bits. */
TheoryDataPoints(filter_laws, add_answers_as_check_did_just_before) = {GEOMETRIES};

Theory((uint64_t seed, uint64_t lines, uint32_t z, uint32_t shard_bits), filter_laws,
       add_answers_as_check_did_just_before)
{
    static uint64_t fingerprints[NKEYS];
    uint64_t batch[NWORDS];
    struct filter together;
    struct filter alone;
    unsigned nnew = 0;

    filter_init(&together, geometry_of(seed, lines, z, shard_bits));
    filter_init(&alone, together.view.geometry);
    fill_fingerprints(seed + z + 1, fingerprints, NKEYS);
    lines_add(&together.view, fingerprints, NKEYS, batch);
    for (size_t i = 0; i < NKEYS; i++) {
        uint64_t checked = 0;
        uint64_t added = 0;
        uint64_t again = 0;

        lines_check(&alone.view, &fingerprints[i], 1, &checked);
        lines_add(&alone.view, &fingerprints[i], 1, &added);
        lines_add(&alone.view, &fingerprints[i], 1, &again);
        cr_assert_eq(added, checked, "key %zu", i);
        cr_assert_eq(again, 1, "key %zu", i);
        cr_assert_eq(bit_of(batch, i), checked == 1, "key %zu", i);
        nnew += checked == 0;
    }
    cr_assert(nnew > 100 && nnew < NKEYS, "%u new keys prove little", nnew);
    cr_assert(filter_equal(&together, &alone));
    filter_fini(&together);
    filter_fini(&alone);
}

/* A check changes nothing. */
TheoryDataPoints(filter_laws, check_leaves_the_lines_alone) = {GEOMETRIES};

Theory((uint64_t seed, uint64_t lines, uint32_t z, uint32_t shard_bits), filter_laws,
       check_leaves_the_lines_alone)
{
    static uint64_t fingerprints[NKEYS];
    uint64_t present[NWORDS];
    struct filter filter;
    struct filter copy;

    filter_init(&filter, geometry_of(seed, lines, z, shard_bits));
    filter_init(&copy, filter.view.geometry);
    fill_fingerprints(seed, fingerprints, NKEYS);
    filter_add(&filter, fingerprints, NKEYS / 2);
    filter_add(&copy, fingerprints, NKEYS / 2);
    lines_check(&filter.view, fingerprints, NKEYS, present);
    cr_assert(filter_equal(&filter, &copy));
    filter_fini(&filter);
    filter_fini(&copy);
}

/* Gossip may reorder, regroup and repeat merges, and a merge is the union of the keys. */
TheoryDataPoints(filter_laws, merges_commute_associate_and_repeat) = {GEOMETRIES};

Theory((uint64_t seed, uint64_t lines, uint32_t z, uint32_t shard_bits), filter_laws,
       merges_commute_associate_and_repeat)
{
    static uint64_t fingerprints[NKEYS];
    enum { A, B, C, LEFT, RIGHT, UNION, NFILTERS };
    struct filter filters[NFILTERS];
    const size_t third = NKEYS / 3;

    fill_fingerprints(seed + 2, fingerprints, NKEYS);
    for (size_t i = 0; i < NFILTERS; i++) {
        filter_init(&filters[i], geometry_of(seed, lines, z, shard_bits));
    }
    for (size_t i = A; i <= C; i++) {
        filter_add(&filters[i], fingerprints + i * third, third);
    }
    filter_add(&filters[UNION], fingerprints, NKEYS);

    /* (A | B) | C, each merge done twice. */
    filter_merge(&filters[LEFT], &filters[A]);
    filter_merge(&filters[LEFT], &filters[B]);
    filter_merge(&filters[LEFT], &filters[B]);
    cr_assert_not(filter_equal(&filters[LEFT], &filters[UNION]));
    filter_merge(&filters[LEFT], &filters[C]);
    filter_merge(&filters[LEFT], &filters[LEFT]);
    /* C | (B | A) */
    filter_merge(&filters[B], &filters[A]);
    filter_merge(&filters[RIGHT], &filters[C]);
    filter_merge(&filters[RIGHT], &filters[B]);

    cr_assert(filter_equal(&filters[LEFT], &filters[RIGHT]));
    cr_assert(filter_equal(&filters[LEFT], &filters[UNION]));
    for (size_t i = 0; i < NFILTERS; i++) {
        filter_fini(&filters[i]);
    }
}

/* A replica may move to a machine without AVX2 and take its snapshot along. */
TheoryDataPoints(filter_laws, every_kernel_sets_and_finds_the_same_bits) = {GEOMETRIES};

Theory((uint64_t seed, uint64_t lines, uint32_t z, uint32_t shard_bits), filter_laws,
       every_kernel_sets_and_finds_the_same_bits)
{
    static const size_t counts[] = {0, 1, 31, 32, 33, 63, 64, 65, 97, NKEYS};
    static uint64_t fingerprints[NKEYS];
    const struct lines_kernel *portable = lines_kernel_portable();
    const struct lines_kernel *avx2 = lines_kernel_avx2();
    struct filter ours;
    struct filter theirs;

    if (avx2 == NULL) {
        cr_skip_test("no AVX2 here");
    }
    filter_init(&ours, geometry_of(seed, lines, z, shard_bits));
    filter_init(&theirs, ours.view.geometry);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t nwords = (counts[c] + 63) / 64;
        uint64_t a[NWORDS] = {0};
        uint64_t b[NWORDS] = {0};

        fill_fingerprints(seed + c, fingerprints, counts[c]);
        portable->add(&ours.view, fingerprints, counts[c], a);
        avx2->add(&theirs.view, fingerprints, counts[c], b);
        cr_assert_arr_eq(a, b, nwords * sizeof *a);
        cr_assert(filter_equal(&ours, &theirs), "%zu keys", counts[c]);
        fill_fingerprints(seed + c + 1, fingerprints, counts[c]);
        portable->check(&ours.view, fingerprints, counts[c], a);
        avx2->check(&theirs.view, fingerprints, counts[c], b);
        cr_assert_arr_eq(a, b, nwords * sizeof *a);
    }
    cr_assert_eq(portable->popcount(ours.array, ours.size_bytes),
                 avx2->popcount(ours.array, ours.size_bytes));
    filter_fini(&ours);
    filter_fini(&theirs);
}
