/* Against a table that never forgets: "not met" is only ever said of what was not met, and is
 * said of everything new within the window while no series was evicted. */
#include "node/replay_window.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

enum { SERIES = 8, NUMBERS = 16000, STEPS = 30000, SEEDS = 10 };

static struct replay_window table;
static bool truth[SERIES][NUMBERS];
static uint64_t highest[SERIES];

/* As a cluster has them after its store was restored: epochs 65,536 further, next to filters whose
 * ids differ in their last bit. */
static struct replay_window_key key_of(uint64_t seed, uint64_t s)
{
    return (struct replay_window_key){
        .producer_id = seed,
        .filter_id = 2 + (s & 1),
        .epoch = 1 + ((s >> 1 & 1) << 16),
        .group = (s >> 2 & 1) << 12,
    };
}

static void run(uint64_t seed)
{
    uint64_t state = seed;

    table = (struct replay_window){0};
    for (int step = 0; step < STEPS; step++) {
        uint64_t s = random_below(&state, SERIES);
        const struct replay_window_key key = key_of(seed, s);
        uint64_t spread = random_below(&state, 20) == 0 ? 3 * REPLAY_WINDOW_NUMBERS : 40;
        uint64_t centre = (uint64_t)step * (NUMBERS - 2 * spread) / STEPS + spread;
        uint64_t number = centre - spread + random_below(&state, 2 * spread);
        bool met = replay_window_met(&table, &key, number);
        bool known = highest[s] < number + REPLAY_WINDOW_NUMBERS;

        cr_assert(met || !truth[s][number], "seed %" PRIu64 " step %d: a repeat was missed", seed,
                  step);
        if (known) {
            cr_assert_eq(met, truth[s][number], "seed %" PRIu64 " step %d: wrongly met", seed,
                         step);
        }
        truth[s][number] = true;
        highest[s] = number > highest[s] ? number : highest[s];
    }
}

Test(repeats_law, never_calls_new_what_was_met_and_never_old_what_is_known_to_be_new)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        memset(truth, 0, sizeof truth);
        memset(highest, 0, sizeof highest);
        run(seed);
    }
}
