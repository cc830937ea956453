/* What is read back while a filter grows leaves room for what clients ask for. */
#include "node/array/expansion_throttle.h"

#include <criterion/criterion.h>

#define SECOND UINT64_C(1000000)

enum { LIMIT = 5000000 };

/* For `seconds` from *now_us, in which `load` keys a second are served: the keys read a second, by
 * one who comes when told to, `late_us` later. */
static uint64_t read_beside(struct expansion_throttle *throttle, uint64_t *now_us, uint64_t seconds,
                            uint64_t load, uint64_t late_us)
{
    static uint64_t served;
    uint64_t start_us = *now_us;
    uint64_t end_us = start_us + seconds * SECOND;
    uint64_t base = served;
    uint64_t keys = 0;

    while (*now_us < end_us) {
        uint64_t ready_us;

        served = base + load * (*now_us - start_us) / SECOND;
        ready_us = expansion_throttle_ready_us(throttle, *now_us, served, LIMIT);
        cr_assert_geq(ready_us, *now_us);
        if (ready_us == *now_us) {
            expansion_throttle_take(throttle, *now_us, expansion_throttle_most(throttle));
            keys += expansion_throttle_most(throttle);
        } else {
            *now_us = ready_us + late_us;
        }
    }
    return keys / seconds;
}

static void expect_about(uint64_t value, uint64_t wanted)
{
    cr_assert(value > wanted - wanted / 20 && value < wanted + wanted / 20, "%lu, not about %lu",
              (unsigned long)value, (unsigned long)wanted);
}

Test(node_expansion_throttle, without_load_all_of_the_rate)
{
    struct expansion_throttle throttle = {0};
    uint64_t now_us = 17 * SECOND;

    (void)read_beside(&throttle, &now_us, 1, 0, 0);
    expect_about(read_beside(&throttle, &now_us, 4, 0, 0), LIMIT);
}

Test(node_expansion_throttle, timers_of_whole_milliseconds_cost_nothing)
{
    struct expansion_throttle throttle = {0};
    uint64_t now_us = 17 * SECOND;

    (void)read_beside(&throttle, &now_us, 1, 0, 1500);
    expect_about(read_beside(&throttle, &now_us, 4, 0, 1500), LIMIT);
}

Test(node_expansion_throttle, what_is_served_is_left_out)
{
    struct expansion_throttle throttle = {0};
    uint64_t now_us = 17 * SECOND;

    (void)read_beside(&throttle, &now_us, 1, 3000000, 0);
    expect_about(read_beside(&throttle, &now_us, 4, 3000000, 0), LIMIT - 3000000);
}

Test(node_expansion_throttle, it_goes_on_under_any_load)
{
    struct expansion_throttle throttle = {0};
    uint64_t now_us = 17 * SECOND;

    (void)read_beside(&throttle, &now_us, 1, 40 * (uint64_t)LIMIT, 0);
    expect_about(read_beside(&throttle, &now_us, 4, 40 * (uint64_t)LIMIT, 0),
                 LIMIT / EXPANSION_THROTTLE_FLOOR);
    expect_about(read_beside(&throttle, &now_us, 4, 4 * (uint64_t)LIMIT, 0),
                 LIMIT / EXPANSION_THROTTLE_FLOOR);
}

Test(node_expansion_throttle, it_follows_the_load)
{
    struct expansion_throttle throttle = {0};
    uint64_t now_us = 17 * SECOND;

    (void)read_beside(&throttle, &now_us, 2, 40 * (uint64_t)LIMIT, 0);
    expect_about(read_beside(&throttle, &now_us, 10, 0, 0), LIMIT);
    expect_about(read_beside(&throttle, &now_us, 10, 4000000, 0), LIMIT - 4000000);
}

/* Minutes after the last one: what was served since says nothing of what is served now. */
Test(node_expansion_throttle, begins_as_if_much_was_served)
{
    struct expansion_throttle throttle = {0};
    uint64_t now_us = 17 * SECOND;

    for (unsigned i = 0; i < 2; i++) {
        (void)expansion_throttle_ready_us(&throttle, now_us, 0, LIMIT);
        cr_assert_eq(throttle.rate, LIMIT / EXPANSION_THROTTLE_FLOOR);
        (void)expansion_throttle_ready_us(&throttle, now_us + SECOND / 2, 0, LIMIT);
        cr_assert_eq(throttle.rate, LIMIT);
        now_us += 600 * SECOND;
    }
}

Test(node_expansion_throttle, a_pause_is_followed_by_no_burst)
{
    struct expansion_throttle throttle = {0};
    uint64_t now_us = 17 * SECOND;
    uint64_t keys = 0;

    (void)read_beside(&throttle, &now_us, 1, 0, 0);
    now_us += SECOND / 2;
    while (expansion_throttle_ready_us(&throttle, now_us, 0, LIMIT) == now_us) {
        expansion_throttle_take(&throttle, now_us, expansion_throttle_most(&throttle));
        keys += expansion_throttle_most(&throttle);
    }
    cr_assert_leq(keys, LIMIT / 100, "a hundredth of a second's");
}

/* Requests wait for what is read at once: the less, the more there are of them. */
Test(node_expansion_throttle, little_is_read_at_once_beside_much)
{
    struct expansion_throttle throttle = {0};
    uint64_t now_us = 17 * SECOND;

    (void)read_beside(&throttle, &now_us, 1, 40 * (uint64_t)LIMIT, 0);
    cr_assert_eq(expansion_throttle_most(&throttle), LIMIT / EXPANSION_THROTTLE_FLOOR / 250);
    (void)read_beside(&throttle, &now_us, 1, 0, 0);
    cr_assert_eq(expansion_throttle_most(&throttle), LIMIT / 250);
}

Test(node_expansion_throttle, the_smallest_rate_is_one)
{
    struct expansion_throttle throttle = {0};

    cr_assert_eq(expansion_throttle_ready_us(&throttle, SECOND, 0, 1), SECOND);
    cr_assert_eq(expansion_throttle_most(&throttle), 1);
    expansion_throttle_take(&throttle, SECOND, 2);
    cr_assert_gt(expansion_throttle_ready_us(&throttle, SECOND, 0, 1), 2 * SECOND);
}
