/* Digests of runs: sums of their ranges, which show every missing or changed key. */
#include "base/heap.h"
#include "log/run_digest.h"
#include "log/run_merge.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>

enum { MANY = 20000, SHARD_BITS = 4, SHARD = 11, LEAF_BITS = 14 };

static uint64_t fingerprints[MANY];
static size_t nfingerprints;

/* Distinct, ascending, of one shard; the shard's ends among them. */
static void setup(void)
{
    uint64_t *spare = heap_alloc(MANY, sizeof *spare);
    uint64_t state = 5;

    for (size_t i = 0; i < MANY; i++) {
        fingerprints[i] = random_next(&state) >> SHARD_BITS | (uint64_t)SHARD << (64 - SHARD_BITS);
    }
    fingerprints[0] = (uint64_t)SHARD << (64 - SHARD_BITS);
    fingerprints[1] = fingerprints[0] | UINT64_MAX >> SHARD_BITS;
    nfingerprints = run_sort(fingerprints, spare, MANY);
    heap_free(spare);
}

TestSuite(digest, .init = setup);

/* Of all but fingerprint `without`, in pieces. */
static struct run_digest *make(uint32_t leaf_bits, size_t without)
{
    struct run_digest *digest = NULL;

    cr_assert_eq(run_digest_create(SHARD_BITS, SHARD, leaf_bits, &digest), STATUS_OK);
    for (size_t i = 0; i < nfingerprints; i++) {
        if (i != without) {
            run_digest_add(digest, &fingerprints[i], 1);
        }
    }
    run_digest_finish(digest);
    return digest;
}

static struct run_digest_range node(const struct run_digest *digest, uint32_t level, uint64_t index)
{
    struct run_digest_range range = {0};

    cr_assert(run_digest_node(digest, level, index, &range), "node %u, %lu", level, index);
    return range;
}

Test(digest, leaves_hold_about_what_they_should)
{
    cr_assert_eq(run_digest_leaf_bits(0), 0);
    cr_assert_eq(run_digest_leaf_bits(RUN_DIGEST_LEAF_KEYS), 0);
    cr_assert_eq(run_digest_leaf_bits(2 * RUN_DIGEST_LEAF_KEYS), 1);
    cr_assert_eq(run_digest_leaf_bits(RUN_DIGEST_LEAF_KEYS << 20), 20);
    cr_assert_eq(run_digest_leaf_bits(UINT64_MAX), RUN_DIGEST_LEAF_BITS);
    for (uint64_t expected = 1; expected < 1 << 20; expected += 977) {
        cr_assert_leq((expected >> run_digest_leaf_bits(expected)), RUN_DIGEST_LEAF_KEYS);
    }
}

/* A node says how many fingerprints are within its bounds, at every level. */
Test(digest, counts_are_those_of_the_ranges)
{
    struct run_digest *digest = make(LEAF_BITS, MANY);
    const uint64_t widths[] = {1, 1 << 6, 1 << 12, 1 << LEAF_BITS};

    cr_assert_eq(run_digest_levels(digest), 3);
    for (uint32_t level = 0; level <= 3; level++) {
        size_t at = 0;

        for (uint64_t index = 0; index < widths[level]; index++) {
            uint64_t first = 0;
            uint64_t last = 0;
            size_t begin = at;

            cr_assert(run_digest_bounds(digest, level, index, &first, &last));
            for (; at < nfingerprints && fingerprints[at] <= last; at++) {
                cr_assert_geq(fingerprints[at], first);
            }
            cr_assert_eq(node(digest, level, index).count, at - begin);
        }
        cr_assert_eq(at, nfingerprints);
        cr_assert_not(
            run_digest_bounds(digest, level, widths[level], &(uint64_t){0}, &(uint64_t){0}));
    }
    run_digest_destroy(&digest);
    cr_assert_null(digest);
}

Test(digest, a_node_is_the_sum_of_its_children)
{
    struct run_digest *digest = make(LEAF_BITS, MANY);

    for (uint32_t level = 0; level < 3; level++) {
        for (uint64_t index = 0; index < UINT64_C(1) << 6 * level; index++) {
            struct run_digest_range children[RUN_DIGEST_FANOUT];
            size_t n = run_digest_children(digest, level, index, children);
            struct run_digest_range sum = {0};

            cr_assert_eq(n, level < 2 ? 64 : 4);
            for (size_t i = 0; i < n; i++) {
                sum.count += children[i].count;
                sum.sum += children[i].sum;
                cr_assert(run_digest_equal(children[i], node(digest, level + 1, index * n + i)));
            }
            cr_assert(run_digest_equal(sum, node(digest, level, index)));
        }
    }
    run_digest_destroy(&digest);
}

/* From the root along the ranges that differ one arrives at its leaf, and only there. */
Test(digest, a_missing_fingerprint_is_found)
{
    struct run_digest *whole = make(LEAF_BITS, MANY);
    const size_t missing[] = {0, 1, nfingerprints / 2, nfingerprints - 1};

    for (size_t m = 0; m < 4; m++) {
        struct run_digest *other = make(LEAF_BITS, missing[m]);
        uint64_t index = 0;
        uint64_t first = 0;
        uint64_t last = 0;

        for (uint32_t level = 0; level < 3; level++) {
            struct run_digest_range ours[RUN_DIGEST_FANOUT];
            struct run_digest_range theirs[RUN_DIGEST_FANOUT];
            size_t n = run_digest_children(whole, level, index, ours);
            uint64_t differing;

            cr_assert_eq(run_digest_children(other, level, index, theirs), n);
            differing = run_digest_differing(ours, theirs, n);
            cr_assert_eq(__builtin_popcountll(differing), 1);
            index = index * n + (uint64_t)__builtin_ctzll(differing);
        }
        cr_assert(run_digest_bounds(whole, 3, index, &first, &last));
        cr_assert(first <= fingerprints[missing[m]] && fingerprints[missing[m]] <= last);
        run_digest_destroy(&other);
    }
    run_digest_destroy(&whole);
}

/* Counts alone would not do. */
Test(digest, a_changed_fingerprint_differs_though_the_count_is_the_same)
{
    struct run_digest *before = make(0, MANY);
    struct run_digest *after;

    fingerprints[7]++;
    after = make(0, MANY);
    cr_assert_eq(node(before, 0, 0).count, node(after, 0, 0).count);
    cr_assert_not(run_digest_equal(node(before, 0, 0), node(after, 0, 0)));
    run_digest_destroy(&before);
    run_digest_destroy(&after);
}

Test(digest, coarser_and_finer_ones_agree_above_their_leaves)
{
    struct run_digest *fine = make(14, MANY);
    struct run_digest *coarse = make(8, MANY);

    cr_assert_eq(run_digest_levels(coarse), 2);
    cr_assert(run_digest_equal(node(fine, 0, 0), node(coarse, 0, 0)));
    for (uint64_t i = 0; i < 64; i++) {
        cr_assert(run_digest_equal(node(fine, 1, i), node(coarse, 1, i)));
    }
    cr_assert_not(run_digest_equal(node(fine, 2, 0), node(coarse, 2, 0)));
    run_digest_destroy(&fine);
    run_digest_destroy(&coarse);
}

/* Peers may ask for anything. */
Test(digest, there_is_no_node_beyond_the_tree)
{
    struct run_digest *digest = make(LEAF_BITS, MANY);
    struct run_digest_range out[RUN_DIGEST_FANOUT];
    uint64_t bound = 0;
    const struct {
        uint32_t level;
        uint64_t index;
    } none[] = {{0, 1}, {1, 64}, {2, 4096}, {3, 1 << LEAF_BITS}, {3, UINT64_MAX},
                {4, 0}, {11, 0}, {64, 0},   {UINT32_MAX, 0},     {UINT32_MAX / 6 + 1, 0}};

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_assert_not(run_digest_node(digest, none[i].level, none[i].index, out), "%zu", i);
        cr_assert_not(run_digest_bounds(digest, none[i].level, none[i].index, &bound, &bound));
        cr_assert_eq(run_digest_children(digest, none[i].level, none[i].index, out), 0);
    }
    cr_assert_eq(run_digest_children(digest, 3, 0, out), 0, "a leaf has no children");
    run_digest_destroy(&digest);
}

Test(digest, one_range_may_be_all_there_is)
{
    struct run_digest *digest = NULL;
    const uint64_t ends[] = {0, UINT64_MAX};
    struct run_digest_range out[RUN_DIGEST_FANOUT];
    uint64_t first = 1;
    uint64_t last = 0;

    cr_assert_eq(run_digest_create(0, 0, 0, &digest), STATUS_OK);
    run_digest_add(digest, ends, 2);
    run_digest_finish(digest);
    cr_assert_eq(run_digest_levels(digest), 0);
    cr_assert_eq(node(digest, 0, 0).count, 2);
    cr_assert(run_digest_bounds(digest, 0, 0, &first, &last));
    cr_assert_eq(first, 0);
    cr_assert_eq(last, UINT64_MAX);
    cr_assert_eq(run_digest_children(digest, 0, 0, out), 0);
    run_digest_destroy(&digest);
}

Test(digest, nothing_has_a_digest_too)
{
    struct run_digest *digest = NULL;

    cr_assert_eq(run_digest_create(SHARD_BITS, SHARD, 7, &digest), STATUS_OK);
    run_digest_finish(digest);
    for (uint64_t i = 0; i < 128; i++) {
        cr_assert(run_digest_equal(node(digest, 2, i), (struct run_digest_range){0}));
    }
    run_digest_destroy(&digest);
}

/* Nodes of other versions compare these: the hash is part of the format. */
Test(digest, the_sum_of_known_fingerprints_is_known)
{
    struct run_digest *digest = NULL;
    const uint64_t known[] = {1, UINT64_C(0x0102030405060708)};

    cr_assert_eq(run_digest_create(0, 0, 0, &digest), STATUS_OK);
    run_digest_add(digest, known, 2);
    run_digest_finish(digest);
    cr_assert_eq(node(digest, 0, 0).sum, UINT64_C(0xd471860b061c80f3));
    run_digest_destroy(&digest);
}

Test(digest, bits_out_of_range_and_no_memory_are_told)
{
    struct run_digest *digest = NULL;

    cr_assert_eq(run_digest_create(SHARD_BITS, 16, 6, &digest), STATUS_INVALID);
    cr_assert_eq(run_digest_create(RUN_DIGEST_SHARD_BITS + 1, 0, 6, &digest), STATUS_INVALID);
    cr_assert_eq(run_digest_create(0, 0, RUN_DIGEST_LEAF_BITS + 1, &digest), STATUS_INVALID);
    heap_fault_after(0);
    cr_assert_eq(run_digest_create(0, 0, 6, &digest), STATUS_NOMEM);
    heap_fault_clear();
    cr_assert_null(digest);
}
