/* What a line between sites does to packets: delay, loss, rate, queue, cut. */
#include "bench/wan/line.h"

#include <criterion/criterion.h>

enum { MANY = 100000, SIZE = 1500 };

static uint64_t count_lost(uint32_t loss, uint64_t seed)
{
    struct line line = {.kind = {.loss = loss}, .random = seed};

    for (uint64_t i = 0; i < MANY; i++) {
        (void)line_carry(&line, SIZE, i);
    }
    cr_assert_eq(line.packets, MANY);
    cr_assert_eq(line.bytes, (uint64_t)MANY * SIZE, "what is lost was sent, too");
    cr_assert_eq(line.carried, (MANY - line.lost) * SIZE);
    return line.lost;
}

Test(wan_line, one_that_does_nothing_hands_on_at_once)
{
    struct line line = {0};

    cr_assert_eq(line_carry(&line, SIZE, 5), 5);
    cr_assert_eq(line_carry(&line, SIZE, 5), 5);
}

Test(wan_line, delays)
{
    struct line line = {.kind = {.delay_us = 40000}};

    cr_assert_eq(line_carry(&line, SIZE, 1), 40001);
    cr_assert_eq(line_carry(&line, 40, 7), 40007, "without a rate sizes do not matter");
}

Test(wan_line, packets_do_not_overtake_each_other)
{
    struct line line = {.kind = {.delay_us = 40000}};

    (void)line_carry(&line, SIZE, 1000);
    line.kind.delay_us = 0;
    cr_assert_eq(line_carry(&line, SIZE, 2000), 41000);
    cr_assert_eq(line_carry(&line, SIZE, 50000), 50000);
}

Test(wan_line, loses_as_many_as_it_is_told)
{
    cr_assert_eq(count_lost(0, 1), 0);
    cr_assert_eq(count_lost(LINE_ALL, 1), MANY);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t lost = count_lost(10000, seed);

        cr_assert(lost > 800 && lost < 1200, "of 1,000 expected: %lu", lost);
    }
}

Test(wan_line, a_seed_loses_the_same_ones)
{
    struct line one = {.kind = {.loss = 500000}, .random = 7};
    struct line other = one;

    for (uint64_t i = 0; i < 1000; i++) {
        cr_assert_eq(line_carry(&one, SIZE, i), line_carry(&other, SIZE, i));
    }
}

Test(wan_line, a_cut_loses_all_and_nothing_afterwards)
{
    struct line line = {.kind = {.delay_us = 10, .cut = true}};

    cr_assert_eq(line_carry(&line, SIZE, 1), LINE_LOST);
    line.kind.cut = false;
    cr_assert_eq(line_carry(&line, SIZE, 2), 12);
    cr_assert_eq(line.lost, 1);
    cr_assert_eq(line.dropped, 0);
}

Test(wan_line, a_rate_sends_one_after_the_other)
{
    struct line line = {.kind = {.delay_us = 1000, .rate = 1000000}}; /* a byte each us */

    cr_assert_eq(line_carry(&line, 500, 10), 1510);
    cr_assert_eq(line_carry(&line, 500, 10), 2010, "it waits for the first one");
    cr_assert_eq(line_carry(&line, 500, 9000), 10500, "the line has rested");
}

Test(wan_line, what_finds_the_queue_full_is_dropped)
{
    struct line line = {.kind = {.rate = 1000000}};
    uint64_t carried = 0;

    for (int i = 0; i < 1000; i++) {
        carried += line_carry(&line, 1000, 0) != LINE_LOST;
    }
    cr_assert_eq(carried, LINE_QUEUE_US / 1000 + 1);
    cr_assert_eq(line.dropped, 1000 - carried);
    cr_assert_eq(line.lost, 0);
    cr_assert_neq(line_carry(&line, 1000, 2000), LINE_LOST, "there is room again");
}
