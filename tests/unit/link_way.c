/* How much of a stream is under way, by lines of several speeds. */
#include "link/sent/way.h"
#include "site/batch.h"

#include <criterion/criterion.h>

enum { ROOM = 16 << 20, ROUNDS = 200, TRIP_US = 80000 };

/* A line of so many bytes a second, and batches as large as may be, one after the other: how long
 * the last one takes. */
static uint64_t send_by(struct way *way, uint64_t rate, uint64_t room)
{
    uint64_t took_us = 0;

    way_begin(way);
    for (int i = 0; i < ROUNDS; i++) {
        took_us = TRIP_US + way->bytes * 1000000 / rate;
        way_applied(way, way->bytes / 4, took_us, way->bytes, room);
    }
    return took_us;
}

Test(link_way, begins_with_little)
{
    struct way way;

    way_begin(&way);
    cr_assert_eq(way.bytes, WAY_LEAST_BYTES);
    cr_assert_eq(way_batch_keys(&way), WAY_LEAST_BYTES / 16 / 8);
}

Test(link_way, a_fast_line_gets_all_that_there_is_room_for)
{
    struct way way;

    (void)send_by(&way, 1000 << 20, ROOM);
    cr_assert_eq(way.bytes, ROOM);
    cr_assert_eq(way_batch_keys(&way), SITE_BATCH_MAX_KEYS);
    (void)send_by(&way, 1000 << 20, WAY_LEAST_BYTES / 2);
    cr_assert_eq(way.bytes, WAY_LEAST_BYTES, "each may have that much");
}

Test(link_way, a_slow_line_holds_up_for_about_a_second)
{
    static const uint64_t rates[] = {1500000, 4000000, 12500000};
    struct way way;

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        uint64_t took_us = send_by(&way, rates[i], ROOM);

        cr_assert(took_us > WAY_US / 2 && took_us < 3 * WAY_US / 2, "%lu: %lu us", rates[i],
                  took_us);
    }
}

/* A second without a word is far below what links take for silence. */
Test(link_way, a_batch_takes_no_second_of_a_slow_line)
{
    struct way way;

    (void)send_by(&way, 100000, ROOM);
    cr_assert_eq(way.bytes, WAY_LEAST_BYTES);
    cr_assert_lt(way_batch_keys(&way) * 8, 100000);
}

Test(link_way, what_was_long_held_up_leaves_the_least)
{
    struct way way;

    (void)send_by(&way, 1000 << 20, ROOM);
    way_applied(&way, 400000, 3600 * UINT64_C(1000000), ROOM, ROOM);
    cr_assert_eq(way.bytes, WAY_LEAST_BYTES);
    cr_assert_gt(way_batch_keys(&way), 1000);
}
