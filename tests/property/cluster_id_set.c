/* Against a plain table of what was put in: membership, size, order, and that intervals are as few
 * as can be. */
#include "map/id_set.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

enum { IDS = 600, STEPS = 900, SEEDS = 40 };

static size_t runs_of(const bool *truth)
{
    size_t runs = 0;

    for (size_t id = 1; id < IDS; id++) {
        runs += truth[id] && !truth[id - 1];
    }
    return runs;
}

static void compare(const struct id_set *set, const bool *truth, uint64_t seed)
{
    uint64_t size = 0;
    uint64_t highest = 0;

    for (uint64_t id = 1; id < IDS; id++) {
        cr_assert_eq(id_set_has(set, id), truth[id], "seed %" PRIu64 ", id %" PRIu64, seed, id);
        size += truth[id];
        highest = truth[id] ? id : highest;
    }
    cr_assert_eq(id_set_size(set), size);
    cr_assert_eq(id_set_highest(set), highest);
    cr_assert_eq(set->count, runs_of(truth), "seed %" PRIu64, seed);
    cr_assert(id_set_valid(set));
}

Test(id_set_law, holds_what_was_put_in_and_nothing_else)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool truth[IDS] = {false};
        struct id_set set = {0};
        uint64_t state = seed;

        for (int step = 0; step < STEPS / (int)seed; step++) {
            uint64_t first = 1 + random_below(&state, IDS - 1);
            uint64_t most = seed % 3 == 0 ? 1 : 1 + random_below(&state, 20);
            uint64_t last = first + most - 1 < IDS ? first + most - 1 : IDS - 1;

            cr_assert_eq(id_set_add_interval(&set, (struct id_interval){first, last}), STATUS_OK);
            memset(&truth[first], true, last - first + 1);
            compare(&set, truth, seed);
        }
        id_set_fini(&set);
    }
}

Test(id_set_law, is_full_with_so_many_intervals_and_stays_what_it_is)
{
    struct id_set set = {0};

    for (uint64_t i = 0; i < ID_SET_MAX_INTERVALS; i++) {
        cr_assert_eq(id_set_add(&set, 2 * i + 2), STATUS_OK);
    }
    cr_assert_eq(id_set_add(&set, 2 * (uint64_t)ID_SET_MAX_INTERVALS + 2), STATUS_TOO_LARGE);
    cr_assert_not(id_set_has(&set, 2 * (uint64_t)ID_SET_MAX_INTERVALS + 2));
    cr_assert_eq(id_set_add(&set, 3), STATUS_OK, "what joins two of them always fits");
    cr_assert_eq(set.count, ID_SET_MAX_INTERVALS - 1);
    id_set_fini(&set);
}
