/* How much may be under way to one node. */
#include "base/heap.h"
#include "router/flight.h"

#include <criterion/criterion.h>

enum { MIB = 1 << 20, MOST = 64 * MIB, MS = 1000, PIECE = 8192 };

/* As many of them as are under way. */
static void step_answered(struct flight *flight, uint64_t now_us, uint64_t bytes)
{
    flight_answered(flight, now_us, 0, bytes < flight->bytes ? bytes : flight->bytes, MOST);
}

/* A node that answers `rate` bytes a second, of a sender that sends all it may, for so many looks.
 */
static uint64_t saturate(struct flight *flight, uint64_t *now_us, uint64_t rate, unsigned looks)
{
    const uint64_t step_us = 10 * MS;
    const uint64_t step = rate * step_us / 1000000;

    for (unsigned i = 0; i < looks * FLIGHT_LOOK_US / step_us; i++) {
        while (flight_has_room(flight, 0, PIECE)) {
            flight_sent(flight, *now_us, 0, PIECE);
        }
        *now_us += step_us;
        step_answered(flight, *now_us, step > 0 ? step : 1);
    }
    return flight->limit_bytes;
}

Test(router_flight, at_first_something_may_be_sent)
{
    struct flight flight = flight_begin(MOST);

    cr_assert(flight_has_room(&flight, 0, FLIGHT_FIRST_BYTES));
    flight_sent(&flight, 5, 0, FLIGHT_FIRST_BYTES - 10);
    cr_assert(flight_has_room(&flight, 0, 10));
    cr_assert_not(flight_has_room(&flight, 0, 11));
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

    flight_sent(&flight, now_us, 0, 100);
    for (unsigned i = 0; i < 100; i++) {
        now_us += 300 * MS;
        flight_sent(&flight, now_us, 0, 100); /* There always is something. */
        flight_answered(&flight, now_us, 0, 100, MOST);
        cr_assert_geq(flight.limit_bytes, FLIGHT_FIRST_BYTES);
    }
}

Test(router_flight, who_has_answered_all_keeps_up)
{
    struct flight flight = flight_begin(MOST);
    uint64_t now_us = 7;

    (void)saturate(&flight, &now_us, 1000, 60);
    flight_lost(&flight, 0, flight.bytes);
    flight_slow(&flight, MOST);
    for (unsigned i = 0; i < 11; i++) {
        uint64_t bytes = flight.limit_bytes * 3 / 4;

        cr_assert_lt(flight.limit_bytes, MOST);
        flight_sent(&flight, now_us, 0, bytes);
        now_us += MS;
        flight_answered(&flight, now_us, 0, bytes, MOST);
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
            flight_sent(&flight, now_us, 0, 8192);
            if (often != 0) {
                flight_sent(&flight, now_us, 0, 8192); /* There always is something. */
            }
            now_us += 8 * MS;
            flight_answered(&flight, now_us, 0, 8192, MOST);
        }
        cr_assert_leq(flight.limit_bytes, FLIGHT_FIRST_BYTES);
    }
}

/* It gets less, and soon more again. */
Test(router_flight, a_node_that_was_given_up_gets_half)
{
    struct flight flight = flight_begin(MOST);

    flight_sent(&flight, 5, 0, 3 * MIB);
    flight_lost(&flight, 0, 2 * MIB);
    flight_slow(&flight, MOST);
    cr_assert_eq(flight.bytes, MIB);
    cr_assert_eq(flight.limit_bytes, FLIGHT_FIRST_BYTES / 2);
    flight_sent(&flight, 6, 0, MIB / 2);
    flight_answered(&flight, 6, 0, MIB * 3 / 2, MOST);
    cr_assert_eq(flight.limit_bytes, FLIGHT_FIRST_BYTES * 3 / 4);
}

/* ---- users ---- */

enum { FLOOD = 7, CALM = 9, NOBODY = 0 };

static void fill(struct flight *flight, uint32_t user)
{
    while (flight_has_room(flight, user, PIECE)) {
        flight_sent(flight, 5, user, PIECE);
    }
}

Test(router_flight, alone_a_user_may_have_all)
{
    struct flight flight = flight_begin(MOST);

    fill(&flight, FLOOD);
    cr_assert_eq(flight.bytes, FLIGHT_FIRST_BYTES);
    flight_fini(&flight);
}

/* Whoever comes finds its share, and who has more than its own waits until that is answered. */
Test(router_flight, what_one_has_leaves_the_others_their_shares)
{
    static const uint32_t floods[] = {FLOOD, NOBODY};

    for (unsigned i = 0; i < 2; i++) {
        struct flight flight = flight_begin(MOST);
        uint32_t flood = floods[i];

        fill(&flight, flood);
        cr_assert(flight_has_room(&flight, CALM, FLIGHT_FIRST_BYTES / 2));
        cr_assert(flight_has_room(&flight, CALM, FLIGHT_FIRST_BYTES), "one message, of any size");
        fill(&flight, CALM);
        cr_assert_eq(flight.bytes, FLIGHT_FIRST_BYTES * 3 / 2);
        flight_answered(&flight, 5, flood, FLIGHT_FIRST_BYTES / 2 - PIECE, MOST);
        cr_assert_not(flight_has_room(&flight, flood, PIECE));
        flight_answered(&flight, 5, flood, PIECE, MOST);
        cr_assert_not(flight_has_room(&flight, flood, PIECE), "it has its share");
        flight_answered(&flight, 5, flood, PIECE, MOST);
        cr_assert(flight_has_room(&flight, flood, PIECE));
        flight_fini(&flight);
    }
}

Test(router_flight, many_users_have_equal_shares)
{
    const uint64_t share = FLIGHT_FIRST_BYTES / 8;
    struct flight flight = flight_begin(MOST);

    for (uint32_t user = 1; user < 8; user++) {
        flight_sent(&flight, 5, user, FLIGHT_FIRST_BYTES);
    }
    flight_sent(&flight, 5, 8, PIECE);
    cr_assert(flight_has_room(&flight, 8, share - PIECE));
    cr_assert_not(flight_has_room(&flight, 8, share - PIECE + 1));
    flight_sent(&flight, 5, NOBODY, PIECE);
    cr_assert_not(flight_has_room(&flight, 8, share - PIECE), "nobody is one of them");
    for (uint32_t user = 1; user < 7; user++) {
        flight_lost(&flight, user, FLIGHT_FIRST_BYTES);
    }
    cr_assert(flight_has_room(&flight, 8, FLIGHT_FIRST_BYTES / 3 - PIECE),
              "who has none has no share");
    cr_assert_not(flight_has_room(&flight, 7, PIECE));
    flight_fini(&flight);
}

/* What could not be counted as a user's is nobody's, and nothing is taken off twice. */
Test(router_flight, without_memory_users_are_nobody)
{
    struct flight flight = flight_begin(MOST);

    heap_fault_after(0);
    flight_sent(&flight, 5, FLOOD, 10 * PIECE);
    heap_fault_clear();
    cr_assert_eq(flight.users_bytes, 0);
    flight_sent(&flight, 5, FLOOD, PIECE);
    cr_assert_eq(flight.users_bytes, PIECE);
    flight_answered(&flight, 5, FLOOD, 10 * PIECE, MOST);
    flight_answered(&flight, 5, FLOOD, PIECE, MOST);
    cr_assert_eq(flight.bytes, 0);
    cr_assert_eq(flight.users_bytes, 0);
    cr_assert_eq(flight.users_active, 0);
    flight_fini(&flight);
}
