/* The kernel in plain C: what every other one must equal bit for bit. */
#include "filter/lines_kernel.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

static inline uint64_t lane_load(const uint8_t *line, unsigned lane)
{
    uint64_t value;

    memcpy(&value, line + lane * sizeof value, sizeof value);
    return le64toh(value);
}

static inline void lane_store(uint8_t *line, unsigned lane, uint64_t value)
{
    value = htole64(value);
    memcpy(line + lane * sizeof value, &value, sizeof value);
}

/* No early exit: a branch that nobody can predict costs more than seven more lanes. */
static inline bool line_test(const uint8_t *line, uint64_t mix)
{
    uint64_t all = 1;

    for (unsigned lane = 0; lane < LINE_LANES; lane++) {
        all &= lane_load(line, lane) >> (mix >> (lane * LANE_SHIFT) & LANE_MASK);
    }
    return all & 1;
}

static inline bool line_set(uint8_t *line, uint64_t mix)
{
    uint64_t all = 1;

    for (unsigned lane = 0; lane < LINE_LANES; lane++) {
        uint64_t position = mix >> (lane * LANE_SHIFT) & LANE_MASK;
        uint64_t value = lane_load(line, lane);

        all &= value >> position;
        lane_store(line, lane, value | UINT64_C(1) << position);
    }
    return all & 1;
}

static inline bool slot_apply(const struct lines_slot *slot, uint32_t z, bool add)
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
static inline void run(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
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

static void portable_check(const struct lines_view *view, const uint64_t *fingerprints,
                           size_t count, uint64_t *present)
{
    if (view->geometry.z == 1) {
        run(view, fingerprints, count, present, 1, false);
    } else {
        run(view, fingerprints, count, present, 2, false);
    }
}

static void portable_add(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
                         uint64_t *present)
{
    if (view->geometry.z == 1) {
        run(view, fingerprints, count, present, 1, true);
    } else {
        run(view, fingerprints, count, present, 2, true);
    }
}

/* Lane order does not matter to OR and to counting: native words will do. */
static void portable_merge(uint8_t *target, const uint8_t *source, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i += sizeof(uint64_t)) {
        uint64_t ours;
        uint64_t theirs;

        memcpy(&ours, target + i, sizeof ours);
        memcpy(&theirs, source + i, sizeof theirs);
        ours |= theirs;
        memcpy(target + i, &ours, sizeof ours);
    }
}

static uint64_t portable_popcount(const uint8_t *lines, size_t size_bytes)
{
    uint64_t total = 0;

    for (size_t i = 0; i < size_bytes; i += sizeof(uint64_t)) {
        uint64_t value;

        memcpy(&value, lines + i, sizeof value);
        total += (uint64_t)__builtin_popcountll(value);
    }
    return total;
}

const struct lines_kernel *lines_kernel_portable(void)
{
    static const struct lines_kernel portable = {
        .name = "portable",
        .check = portable_check,
        .add = portable_add,
        .merge = portable_merge,
        .popcount = portable_popcount,
    };

    return &portable;
}
