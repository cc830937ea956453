/* How much may be under way to one node. */
#include "router/flight.h"

#include <criterion/criterion.h>

enum { MIB = 1 << 20, MOST = 64 * MIB, MS = 1000, PIECE = 8192 };

/* A node that answers `rate` bytes a second, of a sender that sends all it may, for so many looks.
 */
static uint64_t saturate(struct flight *flight, uint64_t *now_us, uint64_t rate, unsigned looks)
{
    const uint64_t step_us = 10 * MS;
    const uint64_t step = rate * step_us / 1000000;

    for (unsigned i = 0; i < looks * FLIGHT_LOOK_US / step_us; i++) {
        while (flight_has_room(flight, PIECE)) {
            flight_sent(flight, *now_us, PIECE);
        }
        *now_us += step_us;
        flight_answered(flight, *now_us, step > 0 ? step : 1, MOST);
    }
    return flight->limit_bytes;
}

Test(router_flight, at_first_something_may_be_sent)
{
    struct flight flight = flight_begin(MOST);

    cr_assert(flight_has_room(&flight, FLIGHT_FIRST_BYTES));
    cr_assert_not(flight_has_room(&flight, FLIGHT_FIRST_BYTES + 1));
    flight_sent(&flight, 5, FLIGHT_FIRST_BYTES - 10);
    cr_assert(flight_has_room(&flight, 10));
    cr_assert_not(flight_has_room(&flight, 11));
}

/* What is sent now is answered within about FLIGHT_AGE_US. */
Test(router_flight, a_slow_node_gets_what_it_answers_in_a_second)
{
    for (uint64_t rate = 2 * MIB; rate <= 32 * MIB; rate *= 2) {
        struct flight flight = flight_begin(MOST);
        uint64_t now_us = 7;

        (void)saturate(&flight, &now_us, rate, 60);
        for (unsigned i = 0; i < 20; i++) {
            uint64_t limit = saturate(&flight, &now_us, rate, 1);

            cr_assert_geq(limit, rate / 2);
            cr_assert_leq(limit, rate * 8 / 5, "%lu of %lu", limit, rate);
        }
    }
}

Test(router_flight, however_slow_a_node_is_it_gets_something)
{
    struct flight flight = flight_begin(MOST);
    uint64_t now_us = 7;

    cr_assert_eq(saturate(&flight, &now_us, 1000, 60), FLIGHT_LEAST_BYTES);
}

Test(router_flight, who_is_fast_again_soon_gets_all)
{
    struct flight flight = flight_begin(MOST);
    uint64_t now_us = 7;

    (void)saturate(&flight, &now_us, 1000, 60);
    cr_assert_eq(saturate(&flight, &now_us, 4 * (uint64_t)MOST, 16), MOST);
}

/* Little is wanted, and it is answered late: as after a sync of a disk. */
Test(router_flight, who_is_asked_little_is_not_slow)
{
    struct flight flight = flight_begin(MOST);
    uint64_t now_us = 7;

    flight_sent(&flight, now_us, 100);
    for (unsigned i = 0; i < 100; i++) {
        now_us += 300 * MS;
        flight_sent(&flight, now_us, 100); /* There always is something. */
        flight_answered(&flight, now_us, 100, MOST);
        cr_assert_geq(flight.limit_bytes, FLIGHT_FIRST_BYTES);
    }
}

Test(router_flight, who_has_answered_all_keeps_up)
{
    struct flight flight = flight_begin(MOST);
    uint64_t now_us = 7;

    (void)saturate(&flight, &now_us, 1000, 60);
    flight_lost(&flight, 0, MOST);
    for (unsigned i = 0; i < 11; i++) {
        uint64_t bytes = flight.limit_bytes * 3 / 4;

        cr_assert_lt(flight.limit_bytes, MOST);
        flight_sent(&flight, now_us, bytes);
        now_us += MS;
        flight_answered(&flight, now_us, bytes, MOST);
    }
    cr_assert_eq(flight.limit_bytes, MOST);
}

/* That a node keeps up with little says nothing of how it would with much. */
Test(router_flight, a_rush_after_quiet_finds_no_more_room_than_before)
{
    for (unsigned often = 0; often < 2; often++) {
        struct flight flight = flight_begin(MOST);
        uint64_t now_us = 7;

        for (unsigned i = 0; i < 100; i++) {
            flight_sent(&flight, now_us, 8192);
            if (often != 0) {
                flight_sent(&flight, now_us, 8192); /* There always is something. */
            }
            now_us += 8 * MS;
            flight_answered(&flight, now_us, 8192, MOST);
        }
        cr_assert_leq(flight.limit_bytes, FLIGHT_FIRST_BYTES);
    }
}

/* Answers to what was given up, and those to questions of no size. */
Test(router_flight, more_is_answered_than_was_sent)
{
    struct flight flight = flight_begin(MOST);

    flight_answered(&flight, 1000 * MS, 100, MOST);
    cr_assert_eq(flight.bytes, 0);
    flight_sent(&flight, 1000 * MS, 50);
    flight_answered(&flight, 3000 * MS, 0, MOST);
    cr_assert_eq(flight.bytes, 50);
    flight_answered(&flight, 3000 * MS, 100, MOST);
    cr_assert_eq(flight.bytes, 0);
    cr_assert_leq(flight.limit_bytes, MOST);
    cr_assert_geq(flight.limit_bytes, FLIGHT_LEAST_BYTES);
}

/* It gets less, and soon more again. */
Test(router_flight, a_node_that_was_given_up_gets_half)
{
    struct flight flight = flight_begin(MOST);

    flight_sent(&flight, 5, 3 * MIB);
    flight_lost(&flight, MIB, MOST);
    cr_assert_eq(flight.bytes, MIB);
    cr_assert_eq(flight.limit_bytes, FLIGHT_FIRST_BYTES / 2);
    flight_sent(&flight, 6, MIB / 2);
    flight_answered(&flight, 6, MIB * 3 / 2, MOST);
    cr_assert_eq(flight.limit_bytes, FLIGHT_FIRST_BYTES * 3 / 4);
}
