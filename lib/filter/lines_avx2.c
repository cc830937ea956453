/* The kernel with AVX2: a line is two vectors of four lanes, and a test is two instructions. */
#include "filter/lines_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <stdbool.h>

#define WITH_AVX2 __attribute__((target("avx2,popcnt")))
/* Always: the loops must know `z` and `add`, and ask nothing for each key. */
#define AVX2_INLINE WITH_AVX2 __attribute__((always_inline)) static inline

struct masks {
    __m256i low;
    __m256i high;
};

/* One bit in each lane: broadcast the mix, shift lane i's six bits down, shift a one up. */
AVX2_INLINE struct masks masks_of(uint64_t mix)
{
    const __m256i low_shifts = _mm256_setr_epi64x(0, 6, 12, 18);
    const __m256i high_shifts = _mm256_setr_epi64x(24, 30, 36, 42);
    const __m256i six_bits = _mm256_set1_epi64x(LANE_MASK);
    const __m256i ones = _mm256_set1_epi64x(1);
    __m256i all = _mm256_set1_epi64x((long long)mix);
    __m256i low = _mm256_and_si256(_mm256_srlv_epi64(all, low_shifts), six_bits);
    __m256i high = _mm256_and_si256(_mm256_srlv_epi64(all, high_shifts), six_bits);

    return (struct masks){_mm256_sllv_epi64(ones, low), _mm256_sllv_epi64(ones, high)};
}

AVX2_INLINE bool line_test(const uint8_t *bytes, uint64_t mix)
{
    const __m256i *line = (const __m256i *)(const void *)bytes;
    struct masks masks = masks_of(mix);
    int low = _mm256_testc_si256(_mm256_load_si256(line), masks.low);
    int high = _mm256_testc_si256(_mm256_load_si256(line + 1), masks.high);

    return low & high;
}

AVX2_INLINE bool line_set(uint8_t *bytes, uint64_t mix)
{
    __m256i *line = (__m256i *)(void *)bytes;
    struct masks masks = masks_of(mix);
    __m256i low = _mm256_load_si256(line);
    __m256i high = _mm256_load_si256(line + 1);
    int had = _mm256_testc_si256(low, masks.low) & _mm256_testc_si256(high, masks.high);

    _mm256_store_si256(line, _mm256_or_si256(low, masks.low));
    _mm256_store_si256(line + 1, _mm256_or_si256(high, masks.high));
    return had;
}

AVX2_INLINE bool slot_apply(const struct lines_slot *slot, uint32_t z, bool add)
{
    bool one = add ? line_set(slot->line, slot->mix) : line_test(slot->line, slot->mix);
    bool two = true;

    /* Whatever the first line says: no branch could guess which keys fail there. */
    if (z == 2) {
        two = add ? line_set(slot->line_two, slot->mix_two)
                  : line_test(slot->line_two, slot->mix_two);
    }
    return one & two;
}

/* A ring of keys whose lines are on their way: where one leaves, one a word later enters. */
AVX2_INLINE void run(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
                     uint64_t *present, uint32_t z, bool add)
{
    struct lines_slot ring[LINES_AHEAD];
    struct lines_keys keys = lines_keys_of(view->geometry.seed);
    struct lines_view local = *view;

    local.geometry.z = z;
    for (size_t i = 0; i < count && i < LINES_AHEAD; i++) {
        lines_slot_fill(&ring[i], &local, &keys, fingerprints[i]);
    }
    for (size_t done = 0; done < count; done += LINES_AHEAD) {
        size_t here = count - done < LINES_AHEAD ? count - done : LINES_AHEAD;
        size_t ahead = count - done - here < LINES_AHEAD ? count - done - here : LINES_AHEAD;
        uint64_t word = 0;
        size_t i = 0;

        for (; i < ahead; i++) {
            word |= (uint64_t)slot_apply(&ring[i], z, add) << i;
            lines_slot_fill(&ring[i], &local, &keys, fingerprints[done + LINES_AHEAD + i]);
        }
        for (; i < here; i++) {
            word |= (uint64_t)slot_apply(&ring[i], z, add) << i;
        }
        present[done / LINES_AHEAD] = word;
    }
}

WITH_AVX2 static void avx2_check(const struct lines_view *view, const uint64_t *fingerprints,
                                 size_t count, uint64_t *present)
{
    if (view->geometry.z == 1) {
        run(view, fingerprints, count, present, 1, false);
    } else {
        run(view, fingerprints, count, present, 2, false);
    }
}

WITH_AVX2 static void avx2_add(const struct lines_view *view, const uint64_t *fingerprints,
                               size_t count, uint64_t *present)
{
    if (view->geometry.z == 1) {
        run(view, fingerprints, count, present, 1, true);
    } else {
        run(view, fingerprints, count, present, 2, true);
    }
}

WITH_AVX2 static void avx2_merge(uint8_t *target, const uint8_t *source, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i += sizeof(__m256i)) {
        __m256i *ours = (__m256i *)(void *)(target + i);
        const __m256i *theirs = (const __m256i *)(const void *)(source + i);

        _mm256_store_si256(ours,
                           _mm256_or_si256(_mm256_load_si256(ours), _mm256_load_si256(theirs)));
    }
}

WITH_AVX2 static uint64_t avx2_popcount(const uint8_t *lines, size_t size_bytes)
{
    const unsigned long long *words = (const unsigned long long *)(const void *)lines;
    uint64_t total = 0;

    for (size_t i = 0; i < size_bytes / sizeof *words; i++) {
        total += (uint64_t)_mm_popcnt_u64(words[i]);
    }
    return total;
}

const struct lines_kernel *lines_kernel_avx2(void)
{
    static const struct lines_kernel avx2 = {
        .name = "avx2",
        .check = avx2_check,
        .add = avx2_add,
        .merge = avx2_merge,
        .popcount = avx2_popcount,
    };

    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") ? &avx2 : NULL;
}

#else

const struct lines_kernel *lines_kernel_avx2(void)
{
    return NULL;
}

#endif
