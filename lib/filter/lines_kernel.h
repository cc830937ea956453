/* lines_kernel.h - private to lines*.c and their tests: one kernel for each instruction set,
 * and what they share, the way from a fingerprint to lines and bits.
 *
 * Contract of the operations: lines.h. Whoever calls a kernel has checked the shapes.
 */
#ifndef ORBLOOM_FILTER_LINES_KERNEL_H
#define ORBLOOM_FILTER_LINES_KERNEL_H

#include "filter/lines.h"

/* How many keys ahead of its use a line is fetched: as many as a word has answers, so that
 * key b of a word makes room for key b of the next. */
enum { LINES_AHEAD = 64 };

/* Lane i takes its bit number from bits 6 i .. 6 i + 5 of the mix. */
enum { LINE_LANES = 8, LANE_SHIFT = 6, LANE_MASK = 63 };

struct lines_kernel {
    const char *name;
    void (*check)(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
                  uint64_t *present);
    void (*add)(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
                uint64_t *present);
    void (*merge)(uint8_t *target, const uint8_t *source, size_t size_bytes);
    uint64_t (*popcount)(const uint8_t *lines, size_t size_bytes);
};

const struct lines_kernel *lines_kernel_portable(void);

/* NULL where the machine or the compiler lacks AVX2. */
const struct lines_kernel *lines_kernel_avx2(void);

/* A seed spread over three words, so that near seeds (0, 1, 2) still give unrelated bits. */
struct lines_keys {
    uint64_t first;
    uint64_t second;
    uint64_t third;
};

/* A key on its way through the kernel: its lines, already being fetched, and its bits. */
struct lines_slot {
    uint8_t *line;
    uint64_t mix;
    uint8_t *line_two; /* With z = 2 only, as the mix of it. */
    uint64_t mix_two;
};

/* Both halves of the product: every bit of the result hangs on every bit of both factors. */
static inline uint64_t lines_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 uint128;
    uint128 product = (uint128)a * b;

    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

#define LINES_MULTIPLIER_1 UINT64_C(0xa0761d6478bd642f)
#define LINES_MULTIPLIER_2 UINT64_C(0xe7037ed1a0b428db)
#define LINES_MULTIPLIER_3 UINT64_C(0x8ebc6af09c88c6e3)

static inline struct lines_keys lines_keys_of(uint64_t seed)
{
    struct lines_keys keys;

    keys.first = lines_fold(seed ^ UINT64_C(0x589965cc75374cc3), LINES_MULTIPLIER_3);
    keys.second = lines_fold(keys.first ^ UINT64_C(0x1d8e4e27c47d124f), LINES_MULTIPLIER_2);
    keys.third = lines_fold(keys.second ^ UINT64_C(0xeb44accab455d165), LINES_MULTIPLIER_1);
    return keys;
}

/* Two folds, not one: keys of a line share their top bits, and after one fold near
 * fingerprints still choose related bits (tests/unit/filter_lines.c sees it). */
static inline uint64_t lines_mix_base(const struct lines_keys *keys, uint64_t fingerprint)
{
    return lines_fold(fingerprint ^ keys->first, LINES_MULTIPLIER_1);
}

static inline uint64_t lines_mix_one(const struct lines_keys *keys, uint64_t base)
{
    return lines_fold(base ^ keys->second, LINES_MULTIPLIER_2);
}

static inline uint64_t lines_mix_two(const struct lines_keys *keys, uint64_t base)
{
    return lines_fold(base ^ keys->third, LINES_MULTIPLIER_3);
}

/* 1 .. 63, from the 16 bits of the second mix that no lane uses. */
static inline uint64_t lines_second_offset(uint64_t mix_two)
{
    return (((mix_two >> 48) * 63) >> 16) + 1;
}

/* Into the second-level cache. Of lines on their way to the first level a core keeps few
 * (24 on Zen 4), and that bound the kernel to half of the speed (bench/kernel.c). */
static inline void lines_prefetch(const uint8_t *line)
{
    __builtin_prefetch(line, 0, 2);
}

/* Find the lines and bits of a fingerprint and have the lines fetched. */
static inline void lines_slot_fill(struct lines_slot *slot, const struct lines_view *view,
                                   const struct lines_keys *keys, uint64_t fingerprint)
{
    const struct geometry *geometry = &view->geometry;
    uint8_t *shard = view->shards[lines_shard_index(geometry->shard_bits, fingerprint)];
    uint64_t line = lines_line_index(geometry, fingerprint);
    uint64_t base = lines_mix_base(keys, fingerprint);

    slot->line = shard + line * LINE_BYTES;
    slot->mix = lines_mix_one(keys, base);
    lines_prefetch(slot->line);
    if (geometry->z == 2) {
        slot->mix_two = lines_mix_two(keys, base);
        slot->line_two = shard + (line ^ lines_second_offset(slot->mix_two)) * LINE_BYTES;
        lines_prefetch(slot->line_two);
    }
}

#endif
